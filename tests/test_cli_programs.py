"""The compiled programs that the command line keeps hold public facts only."""

import json
import os
import subprocess
import sys
import types
import zlib

import jax
import numpy as np
import pytest

from dpjax.cli import programs, running
from dpjax.cli.main import main

CHILD = """
import json, os, sys
urandom, drawn = os.urandom, []
os.urandom = lambda size: drawn.append(urandom(size)) or drawn[-1]
from dpjax.cli.main import main
for arguments in json.loads(sys.argv[1]):
    if arguments[0] == "release" and os.path.exists("release.json"):
        os.remove("release.json")
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
    (
        *("--schema", "number.json", "--model", "exponential", "--ignore", "*"),
        *("--mechanism", "posterior-sample", "--points", "20"),
    ),
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
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(commands)],
        **{"cwd": folder, "env": environment, "capture_output": True, "text": True},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [bytes.fromhex(x) for x in json.loads(done.stdout.splitlines()[-1])]


def kept(folder):
    paths = (x for x in (folder / "programs").rglob("*") if x.is_file())
    return {path.name: path.read_bytes() for path in paths}


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


@pytest.mark.slow
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


@pytest.mark.thorough
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


@pytest.mark.slow
def test_a_record_that_a_program_holds_is_found(folder):
    """Power: of the two tests above."""
    secret = secrets(TABLES[0])[3]
    command = [sys.executable, "-c", CLOSURE, "programs", secret.hex()]
    subprocess.run(command, cwd=folder, check=True)
    assert secret in contents(folder)


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """Folders in which JAX would keep programs."""
    found = []
    monkeypatch.setattr(programs, "cache_compilations", found.append)
    monkeypatch.delenv("DPJAX_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(programs.sys, "platform", "linux")
    before = jax.config.values["jax_compilation_cache_dir"]
    jax.config.update("jax_compilation_cache_dir", None)
    yield found
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {}, "cache/dpjax"),
        ("linux", {"XDG_CACHE_HOME": ""}, "home/.cache/dpjax"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/dpjax"),
        ("darwin", {}, "home/Library/Caches/dpjax"),
        ("win32", {"LOCALAPPDATA": "local"}, "local/dpjax"),
        ("linux", {"DPJAX_CACHE": "here"}, "here"),
    ],
)
def test_programs_are_kept_where_the_platform_or_the_user_says(
    platform, variables, place, chosen, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(programs.sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for _ in range(2):  # new, and there already
        programs.keep_programs("release")
    folder, again = chosen
    assert folder.resolve() == again.resolve() == tmp_path / place
    assert folder.stat().st_mode & 0o777 == 0o700
    assert capsys.readouterr() == ("", "")


def test_programs_are_not_kept_if_the_user_says_so(chosen, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    called = []
    monkeypatch.setattr(running, "keep_programs", called.append)
    assert main(["verify", "none.json", "--no-cache"]) == 2
    assert called == []
    assert main(["verify", "none.json"]) == 2
    assert called == ["verify"]
    monkeypatch.setenv("DPJAX_CACHE", "off")
    programs.keep_programs("verify")
    assert chosen == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_jax_has_already_is_left(chosen, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    programs.keep_programs("verify")
    assert chosen == []


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_is_refused(mode, chosen, tmp_path, capsys):
    folder = tmp_path / "cache" / "dpjax"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    programs.keep_programs("release")
    assert chosen == []
    assert capsys.readouterr().err == (
        "dpjax release: compiled programs are not kept, since others can write to "
        f"{folder}\n"
    )
    folder.chmod(0o755)
    programs.keep_programs("release")
    assert chosen == [folder]


def test_a_folder_of_somebody_else_is_refused(chosen, monkeypatch, capsys):
    other = types.SimpleNamespace(environ={}, getuid=lambda: os.getuid() + 1)
    monkeypatch.setattr(programs, "os", other)
    programs.keep_programs("release")
    assert chosen == []
    assert "others can write" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_left_out(chosen, tmp_path, capsys):
    (tmp_path / "cache").touch()
    programs.keep_programs("release")
    assert chosen == []
    assert capsys.readouterr() == ("", "")
