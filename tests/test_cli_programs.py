"""The compiled programs that the command line keeps hold public facts only."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import zlib

import numpy as np
import pytest

from dpjax.cli import programs

CHILD = """
import json, os, sys
urandom, drawn = os.urandom, []
os.urandom = lambda size: drawn.append(urandom(size)) or drawn[-1]
from dpjax.cli.main import main
for arguments in json.loads(sys.argv[1]):
    assert main(arguments) == 0, arguments
print(json.dumps([found.hex() for found in drawn]))
"""
CLOSURE = """
import sys
import jax, numpy as np
from dpjax.runtime import cache_compilations
cache_compilations(sys.argv[1])
records = np.frombuffer(bytes.fromhex(sys.argv[2]), np.float32)
jax.jit(lambda x: x * records)(1.0)
"""
SCHEMA = {
    "t": {"levels": ["a", "b"]},
    "x": {"levels": ["k", "l"], "other": "l"},
}
NUMBERS = {"v": {"lower": 0, "upper": 1e6}, "w": {"lower": 0, "upper": 1e6}}
TABLES = (
    {"rows": 1409, "word": "canary-linnet", "real": 271828.19, "whole": 14142135},
    {"rows": 2718, "word": "canary-siskin", "real": 314159.28, "whole": 17320508},
)
ADD_REMOVE = ("--adjacency", "add-remove", "--epsilon", "1")
COUNTS = ("--schema", "schema.json", "--network", "naive-bayes:t", "--ignore", "*")
LINE = ("--schema", "numbers.json", "--model", "linear-regression", "--target", "w")
RELEASES = (
    (*COUNTS,),
    (*COUNTS, "--id", "p", "--contributions", "2"),
    (*LINE, "--ignore", "*"),
    (*LINE, "--ignore", "*", "--id", "p", "--contributions", "2"),
    (*LINE, "--ignore", "*", "--multiplicity", "m"),
)
OTHERS = (
    (*COUNTS, "--multiplicity", "m"),
    (*COUNTS, "--split", "x=1"),
    (*COUNTS, "--mechanism", "fourier"),
    (*COUNTS, "--mechanism", "posterior-sample", "--units", "10"),
    (*COUNTS, "--mechanism", "map", "--units", "10"),
    (*COUNTS, "--mechanism", "map-cells", "--units", "3", "--omega", "1/4"),
    ("--schema", "number.json", "--model", "exponential", "--ignore", "*")
    + ("--mechanism", "posterior-sample", "--points", "20"),
)


def write(folder, table):
    """A table with canaries, of records and of multiplicities."""
    x, v = ["k", "l", table["word"]], table["real"]
    lines = [
        f"{'ab'[i % 2]},{x[i % 3]},{v + i / 8},{v - i / 8},{i // 3},{table['whole']}"
        for i in range(table["rows"])
    ]
    text = "\n".join(["t,x,v,w,p,m", *lines]) + "\n"
    (folder / "table.csv").write_text(text)


@pytest.fixture
def folder(tmp_path):
    for name, declared in (
        ("schema.json", SCHEMA),
        ("numbers.json", NUMBERS),
        ("number.json", {"v": NUMBERS["v"]}),
    ):
        (tmp_path / name).write_text(json.dumps({"variables": declared}))
    return tmp_path


def run(folder, commands):
    """Run commands in a new process that keeps programs; return random bits."""
    environment = {**os.environ, "DPJAX_CACHE": "programs"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(commands)],
        **{"cwd": folder, "env": environment, "capture_output": True, "text": True},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [bytes.fromhex(x) for x in json.loads(done.stdout.splitlines()[-1])]


def kept(folder):
    return {path.name: path.read_bytes() for path in (folder / "programs").iterdir()}


def contents(folder):
    """All bytes of names and of programs, which JAX compresses."""
    return b"".join(
        name.encode() + data + decompressed(data)
        for name, data in kept(folder).items()
        if not name.endswith("-atime")
    )


def decompressed(data):
    try:
        return zlib.decompress(data)
    except zlib.error:  # JAX prefers Zstandard
        zstd = pytest.importorskip("compression.zstd")
        return zstd.decompress(data)


def secrets(table):
    """Bytes by which a table's values, number of rows and exact sums would show."""
    real, whole = table["real"], table["whole"]
    first = np.array([real + i / 8 for i in range(2)])
    counted = [whole, whole * table["rows"]]
    return [
        *(table["word"].encode(), str(real).encode(), str(whole).encode()),
        *(first.astype(kind).tobytes() for kind in (np.float32, np.float64)),
        *(np.array([x], np.int64).tobytes() for x in counted),
    ]


def releases(cases):
    out = ("--out", "release.json")
    return [["release", "table.csv", *case, *ADD_REMOVE, *out] for case in cases]


@pytest.mark.parametrize(
    "cases", [RELEASES, pytest.param(OTHERS, marks=pytest.mark.thorough)]
)
def test_programs_of_releases_are_those_of_public_facts(cases, folder):
    found, programs = [], []
    for table in TABLES:
        write(folder, table)
        found += [*secrets(table), *run(folder, releases(cases))]
        programs.append(kept(folder))
    assert len(found) >= 2 * len(cases)
    assert programs[0]
    assert programs[1].keys() - programs[0].keys() == set()  # a second table adds none
    everything = contents(folder)
    assert not [secret for secret in found if secret in everything]


def test_programs_of_predictions_are_those_of_the_release(folder):
    write(folder, TABLES[0])
    predict = ["predict", "release.json", "table.csv", "--target", "t"]
    run(folder, [*releases(RELEASES[:1]), predict])
    before = kept(folder)
    write(folder, TABLES[1])
    run(folder, [predict])
    assert kept(folder).keys() == before.keys()
    everything = contents(folder)
    assert not [x for table in TABLES for x in secrets(table) if x in everything]


def test_a_record_that_a_program_holds_is_found(folder):
    """Power: of the two tests above."""
    secret = secrets(TABLES[0])[3]
    command = [sys.executable, "-c", CLOSURE, "programs", secret.hex()]
    subprocess.run(command, cwd=folder, check=True)
    assert secret in contents(folder)
