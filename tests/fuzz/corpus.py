"""Valid files to start from, in a folder a format: `python -m tests.fuzz.corpus`."""

__all__ = [
    "CANARIES",
    "CASES",
    "LEAVES",
    "LEVELS",
    "NUMBERS",
    "SEEDS",
    "SWEEP",
    "seeds",
]

import gzip
import json
import pathlib
import tempfile
from fractions import Fraction

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

import dpjax as dp
from dpjax.mechanisms.recipes import recipe_of
from dpjax.privacy import ApproximateDP, Guarantee, budget_of
from dpjax.privacy.ledger_lines import Book, Charge, with_charge
from dpjax.releases.about import FACTS
from dpjax.statistics import FourierCoefficients, NetworkCounts, Sufficient
from dpjax.study.sweeps.checkpoint import Checkpoint

HERE = pathlib.Path(__file__).parent
SEEDS, CASES = HERE / "seeds", HERE / "cases"

# Cells that no message may show; of the kinds that a table's cells have.
CANARIES = ("Zq7Secret", "7654321", "Zq8Private", "98765.4321")

# What the sweep of the checkpoints is, and the arrays of its blocks.
SWEEP = {"key": "0123", "block": 4, "epsilons": ["1/2", "1"], "datasets": None}
LEAVES = [((2, 4), np.dtype("f4")), ((3,), np.dtype("i4"))]

LEVELS = {
    "t": {"levels": ["no", "yes"]},
    "é x": {"levels": [1, 2, 3], "other": 3},
    "y": {"levels": [0.5, True, "a"]},
}
_COMMON = ("adjacency", "contributions", "about")  # options of `release` itself
NUMBERS = {
    "age": {"lower": 0, "upper": 120},
    "height": {"lower": -1.5, "upper": 2.5, "missing": 0},
}
KINDS = {
    "age": {"lower": 0, "upper": 120, "edges": [18, 65.5], "missing": "none"},
    "day": {"lower": "2024-01-30", "upper": "2024-03-02", "unit": "week"},
    "cause": {"codes": {"A00": "a", "B99": "b"}, "other": "b"},
    "sign": {"levels": [0, 1], "missing": 0, "missing_values": ["?", -9]},
}
IMPOSSIBLE = [{"cause": "a", "sign": 1}]
RECORD = {
    "t": {"enum": ["no", "yes", None]},
    "y": {"anyOf": [{"$ref": "#/$defs/y"}, {"type": "null"}]},
    "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 120},
    "known": {"type": "boolean"},
}
DEFINED = {"y": {"const": 1}}
PARENTS = {"t": [], "é x": ["t"], "y": ["é x", "t"]}
BIF = """network unknown {}
// a comment
variable t { type discrete [ 2 ] { no, yes }; }
variable x { type discrete [ 3 ] { "1", 2, 3 }; property p = q; }
variable "y" {
  type discrete[2]{0,1};
}
probability ( t ) { table 0.5, 0.5; }
probability ( x | t ) { (no) 0.1, 0.2, 0.7; (yes) 0.1, 0.2, 0.7; }
probability ( y | x, t ) { /* more */ default 0.5, 0.5; }
"""


def seeds(format: str) -> dict[str, bytes]:
    """The valid files of a format, by name."""
    return {x.name: x.read_bytes() for x in sorted((SEEDS / format).iterdir())}


def main() -> None:
    """Write all seeds anew: after a change of a format."""
    for format, files in _all().items():
        folder = SEEDS / format
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


def _all() -> dict[str, dict[str, bytes]]:
    return {
        "schema": {
            "levels.json": _json({"variables": LEVELS}),
            "numbers.json": _json({"$schema": "x", "variables": NUMBERS}),
            "both.json.gz": _compressed(_json({"variables": NUMBERS | LEVELS})),
            "kinds.json": _json({"variables": KINDS, "impossible": IMPOSSIBLE}),
        },
        "record": {"record.json": _json({"properties": RECORD, "$defs": DEFINED})},
        "codes": {
            "codes.json": _json({"A00": "a", "A01": "a", "B99": "b"}),
            "levels.json": b'["a", 1, true, 0.5]',
            "codes.csv": b'code,level\r\nA00,a\r\n"B,99",b\r\n',
            "levels.csv": "\ufeffcode\né\nb\n\nc\n".encode(),
        },
        "about": {"about.json": _json({x: f"{x} é" for x in FACTS})},
        "network": {
            "net.json": _json({"parents": PARENTS}),
            "empty.json": b'{"parents": {"t": []}}',
        },
        "bif": {
            "net.bif": BIF.encode(),
            "one.bif": b"variable t {type discrete [2] {no,yes};}\nprobability(t){}",
            "net.bif.gz": _compressed(BIF.encode()),
        },
        "csv": _csv(),
        "parquet": _parquet(),
        "grouped": _grouped(),
        "release": _releases(),
        "ledger": {
            "ledger.jsonl": b'{"adjacency":"replace-one","budget":"3",'
            b'"format":"dpjax-ledger-1"}\n{"epsilon":"1/3","purpose":"a"}\n'
            b'{"epsilon":"0.1","purpose":"\\u00e9"}\n',
            "new.jsonl": b'{"adjacency":"replace-one","budget":"1/2",'
            b'"format":"dpjax-ledger-1"}\n',
            "chained.jsonl": _ledger(budget_of(3, "replace-one")),
            "other.jsonl": _ledger(
                ApproximateDP(Fraction(3), Fraction(1, 9), "replace-one")
            ),
        },
        "checkpoint": {"sweep": _checkpoint()},
    }


def _ledger(budget: Guarantee) -> bytes:
    """As one is written, but for the number of the file, which no copy keeps."""
    book, cost = Book.of(budget), budget_of("1/3", "replace-one")
    for purpose in ("a", "é"):
        book = with_charge(book, Charge(cost, purpose, None, "2026-11-26"), inode=0)
    return book.text


def _checkpoint() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "sweep")
        with Checkpoint(path, SWEEP, LEAVES) as file:
            for number in (0, 2, 1 << 32):
                file.append({number: [np.zeros(*leaf) for leaf in LEAVES]})
        return path.read_bytes()


def _json(document: object) -> bytes:
    return json.dumps(document, indent=1).encode()


def _compressed(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _tables() -> dict[str, pa.Table]:
    return {
        "levels": pa.table(
            {
                "t": ["no", "yes", "yes", CANARIES[0], "no"],
                "é x": ["1", "2", CANARIES[1], "3", "1"],
                "y": ["0.5", "True", "a", CANARIES[2], "0.5"],
            }
        ),
        "valid": pa.table({"t": ["no", "yes"], "é x": [1, 2], "y": ["0.5", "a"]}),
        "numbers": pa.table(
            {
                "age": [30.0, None, 98765.4321, float("inf")],
                "height": [1.0, 2.0, 7654321.0, 0.0],
            }
        ),
    }


def _written(table: pa.Table) -> bytes:
    csv.write_csv(table, sink := pa.BufferOutputStream())
    return sink.getvalue().to_pybytes()


def _grouped() -> dict[str, bytes]:
    """Numbers of rows beside levels, and beside numbers."""
    groups = {"t": ["no", "yes"], "é x": [1, 2], "y": ["0.5", "a"], "n": [7, 0]}
    tables = {"groups": groups, "numbers": {"age": [30.0, None], "n": ["3", "1.0"]}}
    files = {}
    for name, columns in tables.items():
        table = pa.table(columns)
        parquet.write_table(table, sink := pa.BufferOutputStream())
        files[f"{name}.parquet"] = sink.getvalue().to_pybytes()
        files[f"{name}.csv"] = _written(table)
    return files


def _csv() -> dict[str, bytes]:
    files = {f"{name}.csv": _written(table) for name, table in _tables().items()}
    quoted = f'age,height\r\n"3{CANARIES[3]}",1\r\n\r\n{CANARIES[2]},"a\nb"\r\n'
    files["quoted.csv"] = quoted.encode()
    return files | {"levels.csv.gz": _compressed(files["levels.csv"])}


def _parquet() -> dict[str, bytes]:
    files = {}
    for name, table in _tables().items():
        for compression in ("none", "snappy"):
            sink = pa.BufferOutputStream()
            parquet.write_table(table, sink, 2, compression=compression)
            files[f"{name}-{compression}.parquet"] = sink.getvalue().to_pybytes()
    return files


def _releases() -> dict[str, bytes]:
    binary = dp.Schema({"t": [0, 1], "x": ["a", "b"], "z": [0, 1]})
    net = dp.BayesNet.from_parents(binary, {"x": ["t"], "z": ["x", "t"]})
    mixed = dp.BayesNet.from_parents(dp.Schema(LEVELS), PARENTS)
    star = dp.BayesNet.naive_bayes(binary, "t")
    age = dp.Schema(NUMBERS)["age"]
    both = tuple(dp.Schema(NUMBERS).values())
    records = np.array([[0, 1, 1], [1, 0, 0], [1, 1, 0]], np.uint8)
    numbers = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 0.0]])
    one, any_n = {"adjacency": "replace-one"}, {"adjacency": "add-remove"}
    sample = {"mechanism": "posterior-sample"}
    wanted = {
        "counts": (mixed, records, one),
        "private-n": (net, records, any_n),
        "persons": (net, records, {**any_n, "contributions": 3}),
        "facts": (star, records, {**one, "about": {"title": "A é", "record": "visit"}}),
        "all-families": (NetworkCounts(star, "all"), records, one),
        "split": (star, records, {**one, "split": {"x": "1/3", "z": "2/3"}}),
        "fourier": (net, records, {**one, "mechanism": "fourier"}),
        "order": (
            FourierCoefficients(net.variables, "add-remove", order=2),
            records,
            {**any_n, "mechanism": "fourier"},
        ),
        "samples": (star, records, {**one, **sample, "samples": 2, "units": 50}),
        "map": (star, records, {**any_n, "mechanism": "map", "units": 50}),
        "cells": (
            dp.BayesNet.from_parents(binary, {"x": ["t"]}),
            records,
            {**one, "mechanism": "map-cells", "omega": "0.2", "units": 8},
        ),
        "normal": (Sufficient.of("gaussian", (age,), "add-remove"), numbers, any_n),
        "line": (Sufficient.of("linear-regression", both, "replace-one"), numbers, one),
        "rate": (
            Sufficient.of("poisson", (age,), "replace-one"),
            numbers,
            {**one, **sample, "points": 20, "truncation": {"rate": (1.0, 99.0)}},
        ),
        "mean": (
            Sufficient.of("gaussian-mean", (age,), "add-remove", variance=9.0),
            numbers,
            {**any_n, **sample, "points": 20},
        ),
    }
    files = {}
    for name, (what, table, options) in wanted.items():
        rows = numbers[:, :1] if len(what.variables) == 1 else numbers
        rows = records[:, : len(what.variables)] if table is records else rows
        common = {x: y for x, y in options.items() if x in _COMMON}
        own = {x: y for x, y in options.items() if x not in ("mechanism", *_COMMON)}
        recipe = recipe_of(options.get("mechanism", "laplace"), own)
        released = dp.release(what, rows, epsilon="1", mechanism=recipe, **common)
        path = SEEDS / "release" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        released.save(path)
        files[path.name] = path.read_bytes()
    return files


if __name__ == "__main__":
    main()
