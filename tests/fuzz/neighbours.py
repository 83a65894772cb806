"""Does one record ever move more than itself? An adversarial search over neighbours.

    python -m tests.fuzz.neighbours --inputs 100000

A table of text becomes a source of each kind; a record of it is changed, added or
removed; the new one is chosen to disturb the reading of others. The encoded records of
both tables may differ in that record alone: the integer that every record contributes
to a statistic is then the same in both, whatever the statistic.
"""

__all__ = ["COUNTED", "Outcome", "main", "search"]

import argparse
import collections
import csv
import io
import multiprocessing
import os
import pathlib
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from unittest import mock

import numpy as np

import dpjax as dp
from dpjax.data.intervals import number
from dpjax.data.sources import csv_blocks

from .sources import OPENED, SOURCES

_GAPS = {"missing": "none", "missing_values": ["?", -9]}
VARIABLES = {
    "words": {"levels": ["true", "false", "unknown"], "other": "unknown"},
    "codes": {"levels": ["01", "2", "rest"], "other": "rest"},
    "numbers": {"levels": [0, 1, 9], "other": 9},
    "days": {"levels": ["2020-01-01", "12:30", "later"], "other": "later"},
    "decimals": {"levels": [0.1, 0.3, "more"], "other": "more"},
    "large": {"levels": [2**53, 2**53 + 64, "x"], "other": "x"},
    "answers": {"levels": [False, True, "?"], "other": "?"},
    "strict": ["a", "b", "1"],
    "literals": {"levels": ["0x1", "0X2", "rest"], "other": "rest"},
    "gaps": {"levels": ["a", "b", "1"], "other": "b", "missing": "a"},
    "marks": {"levels": [0, 1, "z"], "missing": "-", "missing_values": ["?", -9]},
    "age": {"lower": 0, "upper": 120, "missing": 40},
    "bins": {"lower": 0, "upper": 9, "edges": [0.3, 1], **_GAPS},
    "dates": {"lower": "2019-05-01", "upper": "2021-12-31", "unit": "month", **_GAPS},
    "causes": {"codes": {"01": "a", "1.50": "b", "A": "b"}, "other": "a"},
}
"""Each case reads one of them, and ignores a column of notes beside it."""

_PLAIN = {
    "words": "true false unknown TRUE False True maybe 1 0".split(),
    "codes": "01 2 rest 1 1.0 02 3 2.0".split(),
    "numbers": "0 1 9 1.0 5 0.0 -1 1e0 01".split(),
    "days": "2020-01-01 2021-01-01 12:30 later 2020-01-01T00:00:00".split(),
    "decimals": "0.1 0.3 0.10 0.30000000000000004 0.1000000000000000055 0.2".split(),
    "large": f"{2**53} {2**53 + 1} {2**53 + 64} 9007199254740992.0 x".split(),
    "answers": "true false True FALSE ? 1 0".split(),
    "strict": "a b 1 1.0".split(),
    "literals": "0x1 0X2 1 2 rest".split(),
    "gaps": "a b 1 NA nan null None c 1.0 nan(7) -nan(ind)".split(),
    "marks": "0 1 z - ? -9 -9.0 NA NaN 1.0 nan(7) -nan(ind)".split(),
    "age": "30 40.5 -1 130 1e2 true nan 0.1".split(),
    "bins": "0 0.3 0.30000000000000004 1 0.9999999 ? -9 NA 5 [1,9] inf".split(),
    "dates": "2020-01-01 2020-01-31T23:59 2020-02 2021-01-01 none NaT 12:30".split(),
    "causes": "01 1 1.0 1.5 1.50 A a b c 2".split(),
}
_ODD = [
    *("", " ", "NA", "nan", "NaN", "null", "None", "N/A", "inf", "-inf", "Infinity"),
    *(
        "0x1",
        "0X2",
        "0xffffffffffffffff",
        "1_0",
        "+1",
        " 1 ",
        "1.",
        ".1",
        "1e400",
        "-0",
    ),
    *("5e-324", "9007199254740993", "18446744073709551616", "9" * 70, "1,000"),
    *("2020-01-01", "01/02/2020", "2020-01-01 00:00:00", "12:30", "1 days", "T", "yes"),
    *("(1, 2)", "1j", "b'x'", "[1]", "{}", "é", "１", "\ufeff1", "a\x00b", "#", "'1'"),
    *("true ", "tRuE", "0.1 ", "1e-1", "0.30000000000000004", "x" * 300, "\\n", "\\"),
]
_BREAKS = ["\n", "\r", "\r\n", "\n\n", "yes,x\n" * 9, '"', '""', '"\n"', ",", "\ufeff"]
_RAW = [b'"', b'""', b'"""', b"\n", b"\r", b"\r\n", b",", b"x", b"\xff", b"\0", b" "]
_RAW += [b"true", b"1", b'"true"', b'a"b', b'"a"b', b"\xef\xbb\xbf", b"#", b"\\", b"'"]
NEIGHBOURS = 16  # of each table
HEADER = "{},note\n"
_PART = 20_000  # inputs of a process
_OF_BYTES = ("csv", "csv.gz")  # sources with records that Python's `csv` reads too


@dataclass
class Outcome:
    """What became of the neighbours of one source.

    Attributes:
        inputs: neighbours tried.
        same: both tables were read, and differ in one record.
        refused: both were refused.
        record: one was refused, and so is a table of its own record alone.
        type: one was refused where a reader had inferred the types.
        above: others moved too, or the records are not those of Python's `csv`.
        faults: the first few of the latter.
    """

    inputs: int = 0
    same: int = 0
    refused: int = 0
    record: int = 0
    type: int = 0
    above: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: "Outcome") -> None:
        """Count what became of others too."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.faults = (self.faults + other.faults)[:5]


COUNTED = ("inputs", "same", "refused", "record", "type", "above")


def search(inputs: int, seed: int, names=tuple(SOURCES)) -> dict[str, Outcome]:
    """Try so many neighbours, and say by source what became of them."""
    rng, outcomes = random.Random(seed), {name: Outcome() for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the readers that infer types
        for number in range(-(-inputs // NEIGHBOURS)):
            name = names[number % len(names)]
            for field_name, case in _neighbours(rng, name):
                faults = [f"{name}: {case}"] * (field_name == "above")
                outcomes[name].add(Outcome(1, **{field_name: 1}, faults=faults))
    return outcomes


def _neighbours(rng: random.Random, source: str) -> Iterator[tuple[str, str]]:
    """What becomes of the neighbours of a table: a field of `Outcome`, and the case."""
    name = rng.choice(list(VARIABLES))
    raw = source in _OF_BYTES and rng.random() < 0.5
    pool = rng.choices(_PLAIN[name], k=rng.choice((1, 2, 5)))
    pool += rng.sample(_ODD, rng.choice((0, 0, 0, 1)))
    records = [_written(rng.choice(pool), "") for _ in range(rng.randint(2, 6))]
    before = _encoded(rng, source, name, records)
    for change in range(NEIGHBOURS):
        place = rng.randrange(len(records))
        removed = [] if change % 3 == 0 else records[place : place + 1]
        new = _raw(rng) if raw else _disturbing(rng, name)
        added = [] if change % 16 == 1 else [new]
        rest = [*records[:place], *added, *records[place + len(removed) :]]
        after = _encoded(rng, source, name, rest)
        case = f"{name} {records} -{removed} +{added}: {before} {after}"
        alone = added if after is None else removed
        if source in _OF_BYTES and after != _oracle(name, rest):
            yield "above", case
        elif raw:
            yield "same" if after is not None else "refused", case
        elif before is not None and after is not None:
            lost, gained = before - after, after - before
            moved = lost.total() > len(removed) or gained.total() > len(added)
            yield "above" if moved else "same", case
        elif before is after:
            yield "refused", case
        elif alone and _encoded(rng, source, name, alone) is None:
            yield "record", case
        else:
            yield "above" if source in OPENED else "type", case


def _written(cell: str, note: str) -> bytes:
    """A record as `csv` writes it, which leaves carriage returns without quotes."""
    sink, quoting = io.StringIO(), "\r" in cell + note
    csv.writer(sink, lineterminator="\n", quoting=int(quoting)).writerow([cell, note])
    return sink.getvalue().encode()


def _disturbing(rng: random.Random, name: str) -> bytes:
    """A record that is chosen to be read otherwise, or to make others be."""
    cell = rng.choice(rng.choice((_PLAIN[name], _ODD)))
    note = "".join(rng.choices(_BREAKS, k=rng.choice((0, 0, 1, 3))))
    if rng.random() < 0.1:
        cell += rng.choice(_BREAKS)
    return _written(cell, note)


def _raw(rng: random.Random) -> bytes:
    return b"".join(rng.choices(_RAW, k=rng.randint(0, 8))) + b"\n"


def _encoded(
    rng: random.Random, source: str, name: str, records: Sequence[bytes]
) -> collections.Counter | None:
    """How often each code comes in a table of the records; None if it is refused."""
    schema = dp.Schema({name: VARIABLES[name]})
    size = rng.choice((1, 3, 7, 16, 40, 1 << 12))
    text = HEADER.format(name).encode() + b"".join(records)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(csv_blocks, "_BLOCK", size),
    ):
        try:
            table = SOURCES[source](text, pathlib.Path(folder))
        except Exception:  # the reader before the library refuses it
            return None
        try:
            batches = list(schema.encode_batches(table, ignore="*"))
        except ValueError:
            return None
    return collections.Counter(np.concatenate(batches)[:, 0].tolist())


def _oracle(name: str, records: Sequence[bytes]) -> collections.Counter | None:
    """The same by Python's own strict reader, and cell by cell."""
    text = b"".join(records).decode(errors="surrogateescape")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if any(len(row) not in (0, 2) for row in rows):
            return None
        cells = [row[0].encode().decode() for row in rows if row]
    except (csv.Error, UnicodeEncodeError):
        return None
    variable = dp.Schema({name: VARIABLES[name]})[name]
    if not isinstance(variable, dp.Interval):
        codes = [variable.code(cell) for cell in cells]
        return None if None in codes else collections.Counter(codes)
    numbers = [number(cell) for cell in cells]
    found = None if None in numbers else variable.clip(numbers).tolist()
    return None if found is None else collections.Counter(found)


def main() -> int:
    """Print a table; 1 if one record moved others, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.neighbours")
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    inputs, seed = options.inputs, options.seed
    print("".join(f"{x:>20}" for x in ("source", *COUNTED)))
    totals = {name: Outcome() for name in SOURCES}
    parts = range(seed, seed + -(-inputs // _PART))
    with multiprocessing.get_context("spawn").Pool(
        len(os.sched_getaffinity(0))
    ) as pool:
        sizes = [(min(_PART, inputs - i * _PART), x) for i, x in enumerate(parts)]
        for found in pool.starmap(search, sizes):
            for name, outcome in found.items():
                totals[name].add(outcome)
    for name, outcome in totals.items():
        counts = [getattr(outcome, x) for x in COUNTED]
        print("".join(f"{x:>20}" for x in (name, *counts)), *outcome.faults, sep="\n  ")
    above = sum(outcome.above for outcome in totals.values())
    print(f"differences above the sensitivity: {above}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
