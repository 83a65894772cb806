"""Thirty mistakes of a user: one clear line each, and nothing is charged."""

import ibis
import numpy as np
import polars as pl
import pytest

import dpjax as dp

SECRET = "s3cret"
LEVELS = {"x": ["a", "b"], "age": {"lower": 0, "upper": 90, "edges": [18, 65]}}
TABLE = {"x": ["a", "b", "b"], "age": [7, 50, 70]}
FULL = {**TABLE, "n": [1, 2, 3], "id": [1, 1, 2]}
FRAME = pl.DataFrame(TABLE)


def bins(**declaration):
    return lambda: dp.Schema({"age": {"lower": 0, "upper": 90, **declaration}})


def levels(declaration):
    return lambda: dp.Schema({"x": declaration})


def of(table, levels=LEVELS, **options):
    """A release that must be refused, with nothing charged."""

    def release():
        net = dp.BayesNet.from_parents(levels, {name: [] for name in levels})
        adjacency = options.setdefault("adjacency", "add-remove")
        ledger = dp.Ledger(9, adjacency=adjacency, contributions=options.get("k", 1))
        if "k" in options:
            options["contributions"] = options.pop("k")
        try:
            dp.release(
                net, table, ledger=ledger,
                **{"epsilon": 1, **options},
            )  # fmt: skip
        finally:
            assert ledger.spent == 0

    return release


PUBLIC = {"adjacency": "replace-one"}
MISTAKES = {
    "no level for a missing cell": (
        of({**TABLE, "x": ["a", None, "b"]}),
        'declare a "missing" level',
    ),
    "a missing number": (of({**TABLE, "age": [7, None, 70]}), '"missing"'),
    "a level that is not declared": (of({**TABLE, "x": ["a", SECRET, "b"]}), "'x'"),
    "text in bins": (of({**TABLE, "age": ["7", SECRET, "70"]}), "'age'"),
    "no levels": (levels({"levels": []}), "at least two"),
    "two levels alike": (levels(["a", "a"]), "must all differ"),
    "one bin": (bins(edges=[]), "edges"),
    "bins that overlap": (bins(edges=[30, 20]), "edges"),
    "edges outside the bounds": (bins(edges=[10, 95]), "edges"),
    "edges and bins": (bins(edges=[10], bins=3), "edges"),
    "no bins": (bins(bins=0), "bins"),
    "bounds exchanged": (bins(upper=-1, bins=3), "upper"),
    "a unit of nothing": (
        lambda: dp.Schema({"d": {"lower": "2024", "upper": "2025", "unit": "moon"}}),
        "unit",
    ),
    "levels of records": (levels(FRAME["x"]), "write the list"),
    "a column that is not there": (of({"x": ["a"]}), "got no 'age'"),
    "a column too many": (of(FULL), "must have only columns of the schema"),
    "no id column": (of(TABLE, id="id", k=2), "got no 'id'"),
    "an id and no most rows": (
        of(FULL, id="id", ignore="n"),
        "`contributions` must be",
    ),
    "an id that is a variable": (of(TABLE, id="x", k=2), "that is no variable"),
    "an id under replace-one": (
        of(FULL, id="id", k=2, ignore="n", **PUBLIC),
        "`id` must be left out under",
    ),
    "no persons": (of(TABLE, k=0), "`contributions` must be an integer"),
    "a multiplicity of -1": (
        of({**TABLE, "n": [1, -1, 1]}, multiplicity="n"),
        "from 0 to 9007199254740992",
    ),
    "a multiplicity of 2^60": (
        of({**TABLE, "n": [1, 2**60, 1]}, multiplicity="n"),
        "from 0 to 9007199254740992",
    ),
    "a multiplicity of one and a half": (
        of({**TABLE, "n": [1, 1.5, 1]}, multiplicity="n"),
        "must be an integer",
    ),
    "no column of multiplicities": (of(TABLE, multiplicity="n"), "got no 'n'"),
    "a weight above the public most": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w", k=2),
        "must be an integer from 0 to 2",
    ),
    "weights and no most": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w"),
        "`contributions` must be given with",
    ),
    "weights under replace-one": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w", k=3, **PUBLIC),
        "`weights` must be left out",
    ),
    "a collation that is not known": (of(ibis.memtable(FRAME)), "binary=True"),
    "a lazy frame without records": (
        of(FRAME.lazy().head(0), **PUBLIC),
        "must not be empty",
    ),
    "a lazy frame that fails": (
        of(FRAME.lazy().with_columns(age=pl.lit(SECRET).cast(int))),
        "does not",
    ),
    "tables of two states": (
        of(dp.data.Grouped([{"x": ["a"], "n": [2]}, {"age": [7], "n": [3]}])),
        "their numbers of records differ",
    ),
    "encoded records with a multiplicity": (
        of(np.zeros((3, 2), int), multiplicity="n"),
        "give the table itself",
    ),
    "no table": (of(SECRET), "must be"),
    "a row for a table": (of([["a", 7]]), "must be"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_line(name):
    make, message = MISTAKES[name]
    with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
        make()
    shown = str(caught.value)
    assert type(caught.value) is ValueError
    assert message in shown
    assert SECRET not in shown or name == "no table"  # a path is public
    assert "\n" not in shown
    assert shown.startswith("`")
    assert shown.endswith(".") or name == "a missing cell"
    assert len(shown) < 400


def test_they_are_thirty():
    assert len(MISTAKES) >= 30
