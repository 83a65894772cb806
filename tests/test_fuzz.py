"""Damaged, tampered and hostile files: refused in one line, in time, in memory.

`python -m tests.fuzz` looks for more such files, with atheris.
"""

import copy
import gzip
import json
import pathlib
import random
import re
import subprocess
import sys

import pytest
from jaxtyping import TypeCheckError

import dpjax as dp
from dpjax._documents import canonical_json
from dpjax.cli.main import main
from dpjax.data.evidence import encode_evidence
from dpjax.releases.entries import InconsistentRelease, UnreadableRelease
from tests.helpers.release_files import rehashed

from .fuzz.corpus import CASES, SEEDS, seeds
from .fuzz.formats import FORMATS, file_name
from .fuzz.verdicts import Fault, Hang, attempt, limits, refuse_message

RELEASES = sorted(seeds("release"))
CASE_FILES = sorted(path for path in CASES.rglob("*") if path.is_file())


@pytest.mark.thorough
def test_atheris_finds_no_fault_in_any_reader(tmp_path):
    """In processes without the type checker: as a user has the readers."""
    pytest.importorskip("atheris", reason="of the extra fuzz, for Linux on x86-64")
    words = ["-m", "tests.fuzz", "--seconds", "3", "--keep", str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    _, *lines = (line.split() for line in done.stdout.splitlines())
    assert [x for x, *_ in lines] == [*FORMATS]
    for name, inputs, branches, kept in lines:
        assert int(inputs) > 2 * len(seeds(name))
        assert int(branches) > 30  # the readers are looked at, and
        assert int(kept) > len(seeds(name))  # more of them by what was found


@pytest.mark.parametrize("path", CASE_FILES, ids=lambda x: f"{x.parent.name}/{x.name}")
def test_what_once_was_a_fault_is_one_no_more(path, tmp_path):
    """The cases are files that a reader hung on, or that it refused in a bad way."""
    copied = tmp_path / file_name(path.read_bytes())
    copied.write_bytes(path.read_bytes())
    with limits():
        attempt(path.parent.name, copied)


@pytest.mark.parametrize("format", FORMATS)
def test_every_seed_is_accepted_but_for_records_outside_the_schema(format, tmp_path):
    for name, data in seeds(format).items():
        path = tmp_path / file_name(data)
        path.write_bytes(data)
        with limits():
            outside = FORMATS[format].private and name.startswith(("levels", "quoted"))
            assert attempt(format, path) is not outside
        path.unlink()


def places(document, place=()):
    """Every entry of a document, by its path."""
    yield place
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, entry in entries if isinstance(document, dict | list) else ():
        yield (*place, key)
        if isinstance(entry, dict | list):
            yield from (x for x in places(entry, (*place, key)) if x != (*place, key))


def entry_at(document, place):
    for key in place:
        document = document[key]
    return document


def replaced(document, place, value):
    document = copy.deepcopy(document)
    entry_at(document, place[:-1])[place[-1]] = value
    return document


# What nobody can check without the data, or that is true of the release all the same:
# its numbers, who made it, what its public labels are called, and choices that leave
# the guarantee as it is stated, derived anew.
UNDETECTABLE = re.compile(
    r"(library|records|about\..*|values.*|hidden_states|parents.*|variables\.\d+(\..*)?"
    r"|mechanism\.(prior|points|temperature|least\.\d+|truncation.*)"
    r"|statistic\.(units|options\..*)|guarantee\.epsilon)"
)
CHANGES = [None, True, 0, 1, -1, 2, 1.0, 100, 2**40, "x", "1/2", "2", "add-remove"]
CHANGES += ["replace-one", "all", [], [0, 1], {}, {"a": 1}]


@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("most", [12, pytest.param(9999, marks=pytest.mark.thorough)])
def test_a_change_of_one_entry_is_found_or_leaves_the_guarantee_true(
    name, most, tmp_path, rng
):
    document, path = json.loads(seeds("release")[name]), tmp_path / name
    content = document["content"]
    stated = dp.load(SEEDS / "release" / name).guarantee()
    changes = [(x, value) for x in places(content) if x for value in CHANGES]
    for i in rng.permutation(len(changes))[:most]:
        place, value = changes[i]
        if canonical_json(entry_at(content, place)) == canonical_json(value):
            continue
        altered = {**document, "content": replaced(content, place, value)}
        path.write_text(json.dumps(rehashed(altered)))
        try:
            found = dp.load(path).guarantee()
        except ValueError as error:
            refuse_message(str(error), type(error), private=False)
            continue
        dotted = ".".join(map(str, place))
        assert UNDETECTABLE.fullmatch(dotted), (dotted, value)
        assert found.adjacency == stated.adjacency
        assert found.epsilon >= stated.epsilon  # derived, not believed


@pytest.mark.parametrize("name", RELEASES)
def test_a_change_of_any_byte_is_found_or_only_of_spaces(name, tmp_path, rng):
    """Without a new hash, whatever is changed is found: no list of exceptions."""
    data, path = seeds("release")[name], tmp_path / name
    meaning = canonical_json(json.loads(data))
    for place in rng.choice(len(data), 6, replace=False).tolist():
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(0, 7))
        path.write_bytes(changed)
        try:
            dp.load(path)
        except (UnreadableRelease, InconsistentRelease):
            continue
        assert canonical_json(json.loads(bytes(changed))) == meaning


def wide(number, size=2):
    return [{"name": f"v{i}", "levels": list(range(size))} for i in range(number)]


def family(number):
    return {f"v{number - 1}": [f"v{i}" for i in range(number - 1)]}


ASKS_FOR_MUCH = {
    "2^59 cells": ("counts", {"variables": wide(60), "parents": family(60)}),
    "2^27 counts": ("counts", {"variables": wide(27), "parents": family(27)}),
    "2^27 waves": ("fourier", {"variables": wide(27), "parents": family(27)}),
    "many tables": ("order", {"variables": wide(40), "statistic.order": 4}),
    "large tables": ("order", {"variables": wide(25), "statistic.order": 8}),
    "2^30 samples": ("samples", {"mechanism.samples": 2**30}),
    "many units": ("samples", {"mechanism.units": 2**14}),
    "a fine grid": ("rate", {"mechanism.points": 2**20}),
    "cells of cells": ("cells", {"mechanism.units": 4000}),
    "no end": ("mean", {"mechanism.truncation": {"mean": [-1e308, 1e308]}}),
}


@pytest.mark.parametrize("name", ASKS_FOR_MUCH)
def test_a_small_release_file_that_asks_for_much_is_refused_at_once(name, tmp_path):
    seed, changes = ASKS_FOR_MUCH[name]
    document = json.loads(seeds("release")[f"{seed}.json"])
    for place, value in changes.items():
        document["content"] = replaced(document["content"], place.split("."), value)
    path = tmp_path / "release.json"
    path.write_text(json.dumps(rehashed(document)))
    with limits():
        assert not attempt("release", path)


def _bomb():
    """300 MiB of spaces in 300 kB, made a piece at a time."""
    return gzip.compress(b" " * (1 << 20), 1) * 300


HOSTILE = {
    "network.bif": b"variable" + b" " * 100_000,
    "comments.bif": b"/* " * 60_000,
    "deep.json": b"[" * 100_000,
    "bomb.json.gz": _bomb(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_made_to_hang_is_refused_in_time(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(HOSTILE[name])
    with limits():
        assert not attempt("bif" if name.endswith("bif") else "schema", path)


def test_the_fuzzer_sees_what_it_looks_for(tmp_path, monkeypatch):
    """Each fault planted once: a traceback, a hang, memory, a leak, a file left."""

    def hang(_):
        while True:
            pass

    planted = {
        "KeyError at": lambda _: {}["x"],
        "not in the style": lambda _: int("x"),
        "not one short": lambda _: _raise("`x` must\n"),
        "shows a record": lambda _: _raise("`table` must not hold Zq7Secret."),
        "behind": lambda path: path.with_name("half.tmp").touch(),
    }
    path = tmp_path / "work" / "t.csv"
    path.parent.mkdir()
    for message, read in planted.items():
        path.write_text("t\n")
        monkeypatch.setitem(FORMATS, "csv", FORMATS["csv"]._replace(readers=(read,)))
        with limits(), pytest.raises(Fault, match=message):
            attempt("csv", path)
    monkeypatch.setattr("tests.fuzz.verdicts.SECONDS", 0.05)
    monkeypatch.setitem(FORMATS, "csv", FORMATS["csv"]._replace(readers=(hang,)))
    with limits(), pytest.raises(Hang):
        attempt("csv", path)


def _raise(message):
    raise ValueError(message)


COMMANDS = {
    "release": "release valid.csv --schema levels.json --network net.json --epsilon 1 "
    "--adjacency replace-one --out out.json --ledger ledger.jsonl",
    "verify": "verify counts.json",
    "predict": "predict counts.json valid.csv --target t",
    "sample": "sample counts.json --states 2 --out states.csv",
    "plan": "plan --schema levels.json --network net.json --n 10 --epsilon 1 "
    "--adjacency replace-one",
    "sweep": "sweep valid.csv --schema levels.json --network net.json --target t "
    "--epsilons 1 --adjacency replace-one --out fits.csv",
}
INPUTS = {
    "valid.csv": "csv",
    "levels.json": "schema",
    "net.json": "network",
    "counts.json": "release",
    "ledger.jsonl": "ledger",
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("inputs", [3, pytest.param(150, marks=pytest.mark.thorough)])
def test_a_command_refuses_a_bad_file_in_one_line_and_writes_nothing(
    command, inputs, request, tmp_path, monkeypatch, capsys
):
    rng = random.Random(f"{command} {request.config.getoption('--seed')}")
    monkeypatch.chdir(tmp_path)
    words = COMMANDS[command].split()
    used = [name for name in INPUTS if name in words]
    for name in used:
        pathlib.Path(name).write_bytes(seeds(INPUTS[name])[name])
    before = sorted(tmp_path.iterdir())
    for name in rng.choices(used, k=inputs):
        bad, good = refused_file(rng, name, tmp_path / "alone"), seeds(INPUTS[name])
        pathlib.Path(name).write_bytes(bad)
        try:
            status = main(words)
        except TypeCheckError:  # the tests' type checker looks at items by chance
            pathlib.Path(name).write_bytes(good[name])
            continue
        if status == 0:  # the target's column is not read, and others may be absent
            assert (command, name) == ("predict", "valid.csv")
            rows = encode_evidence(name, dp.load("counts.json").schema, "t")
            assert capsys.readouterr().out.count("\n") == len(rows) + 1
            pathlib.Path(name).write_bytes(good[name])
            continue
        assert status in ((1, 2) if command == "verify" else (2,))
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.count("\n") == 1
        assert output.err.startswith(f"dpjax {command}: `")
        assert output.err[:-1].isprintable()
        assert sorted(tmp_path.iterdir()) == before
        pathlib.Path(name).write_bytes(good[name])


def refused_file(rng, name, folder):
    """A file that its reader refuses, with a piece of a seed cut short."""
    folder.mkdir(exist_ok=True)
    path, seed = folder / name, seeds(INPUTS[name])[name]

    def cut(piece):
        return piece[: rng.randint(0, len(piece))]

    while True:
        data = FORMATS[INPUTS[name]].alter(rng, seed, cut)
        path.write_bytes(data)
        with limits():
            refused = attempt(INPUTS[name], path) is False
        path.unlink()
        if refused:
            folder.rmdir()
            return data
