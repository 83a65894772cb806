"""Recorded files for the tests of the written format, and alterations of them."""

__all__ = [
    "ALTERED",
    "CHAIN",
    "DOCUMENTS",
    "IN_LEDGERS",
    "LEDGERS",
    "ODD",
    "drop",
    "newest",
    "put",
]

import json

from dpjax.releases import Released
from tests.recorded.cases import FORMATS, RELEASES

DOCUMENTS = {name: json.loads(x.read_text("utf-8")) for name, x in RELEASES.items()}
LEDGERS = {
    path.stem: path.read_text("utf-8") for path in sorted(FORMATS.glob("ledger_*"))
}


def newest(name):
    """A recorded release as it is written today."""
    return json.loads(Released.from_text(RELEASES[name].read_text()).to_text())


def put(*path):
    """An alteration that replaces an entry: the last argument is the new value."""
    *place, last, value = path

    def change(content):
        for key in place:
            content = content[key]
        content[last] = value

    return change


def drop(*path):
    *place, last = path

    def change(content):
        for key in place:
            content = content[key]
        del content[last]

    return change


def everywhere(adjacency):
    def change(content):
        content["guarantee"]["adjacency"] = adjacency
        content["sensitivity"]["adjacency"] = adjacency
        content["records"] = None if adjacency == "add-remove" else 30

    return change


def both(*changes):
    def change(content):
        for one in changes:
            one(content)

    return change


CHAIN, MIXED = "counts-maximal-chain", "counts-all-mixed-add-remove"
ORDER, TRIANGLE = "fourier-order-1", "fourier-triangle"
PRINTED, SPLIT = "fourier-as-printed", "split-all-add-remove"
TWO_GROUPS = "k-norm-mixed-add-remove"
STAR, LOOSE = "k-norm", "marginals-order-2-add-remove"
ODD, BINS = "levels-of-every-form-add-remove", "bins-and-periods"
OTHER_TABLE = DOCUMENTS["counts-all"]["content"]["mechanism"]["table"]
ALTERED = {
    "half the loss": (CHAIN, put("guarantee", "epsilon", "1/2")),
    "a loss not reduced": (CHAIN, put("guarantee", "epsilon", "2/2")),
    "a loss as a decimal": (CHAIN, put("guarantee", "epsilon", "1.0")),
    "a loss as a number": (CHAIN, put("guarantee", "epsilon", 1)),
    "a negative loss": (CHAIN, put("guarantee", "epsilon", "-1")),
    "no loss": (CHAIN, put("guarantee", "epsilon", "0")),
    "a guarantee for others": (CHAIN, put("guarantee", "adjacency", "add-remove")),
    "no such neighbours": (CHAIN, put("guarantee", "adjacency", "any")),
    "other neighbours everywhere": (CHAIN, everywhere("add-remove")),
    "a public number everywhere": (MIXED, everywhere("replace-one")),
    "a delta": (
        CHAIN,
        both(
            put("guarantee", "kind", "approximate-dp"),
            put("guarantee", "delta", "1/100000"),
        ),
    ),
    "an unknown entry of a guarantee": (CHAIN, put("guarantee", "rows", 2)),
    "persons of three rows": (CHAIN, put("guarantee", "contributions", 3)),
    "persons of one row": (CHAIN, put("guarantee", "contributions", 1)),
    "a hidden number of records": (CHAIN, put("records", None)),
    "no records": (CHAIN, put("records", 0)),
    "half a record": (CHAIN, put("records", 30.5)),
    "a number of records that is private": (MIXED, put("records", 30)),
    "half the sensitivity": (CHAIN, put("sensitivity", "value", 2)),
    "double the sensitivity": (CHAIN, put("sensitivity", "value", 8)),
    "a sensitivity as text": (CHAIN, put("sensitivity", "value", "4")),
    "a bound that is exact": (CHAIN, put("sensitivity", "tight", False)),
    "tight as a number": (CHAIN, put("sensitivity", "tight", 1)),
    "a sensitivity for others": (CHAIN, put("sensitivity", "adjacency", "add-remove")),
    "no sensitivity": (CHAIN, drop("sensitivity")),
    "an unknown entry of a sensitivity": (CHAIN, put("sensitivity", "norm", 1)),
    "half the scale": (CHAIN, put("mechanism", "scale", "2")),
    "a scale not reduced": (CHAIN, put("mechanism", "scale", "8/2")),
    "a scale as a number": (CHAIN, put("mechanism", "scale", 4)),
    "another noise table": (CHAIN, put("mechanism", "table", OTHER_TABLE)),
    "no noise table": (CHAIN, drop("mechanism", "table")),
    "an unknown entry of a mechanism": (CHAIN, put("mechanism", "clip", 10)),
    "tables that are not measured": (CHAIN, put("statistic", "families", "all")),
    "no such choice of tables": (CHAIN, put("statistic", "families", "some")),
    "an unknown entry of a statistic": (CHAIN, put("statistic", "basis", "any")),
    "an edge less": (CHAIN, put("parents", "z", [])),
    "an edge more": (CHAIN, put("parents", "z", ["x", "t"])),
    "a cycle": (CHAIN, put("parents", "t", ["z"])),
    "a parent of itself": (CHAIN, put("parents", "t", ["t"])),
    "an unknown parent": (CHAIN, put("parents", "z", ["y"])),
    "a parent twice": (CHAIN, put("parents", "z", ["x", "x"])),
    "a node without parents": (CHAIN, drop("parents", "t")),
    "no network": (CHAIN, put("parents", None)),
    "parents as text": (CHAIN, put("parents", "z", "x")),
    "a level less": (MIXED, put("variables", 1, "levels", [2, 3])),
    "a level more": (CHAIN, put("variables", 0, "levels", [0, 1, 2])),
    "a level twice": (CHAIN, put("variables", 0, "levels", [0, 0])),
    "one level": (CHAIN, put("variables", 0, "levels", [0])),
    "a level that is null": (CHAIN, put("variables", 0, "levels", [0, None])),
    "no other level": (MIXED, put("variables", 1, "other", 4)),
    "a mark of no level": (CHAIN, put("variables", 0, "missing_values", ["?"])),
    "an unknown entry of a variable": (CHAIN, put("variables", 0, "unit", "cm")),
    "a variable less": (CHAIN, drop("variables", 2)),
    "a variable without a name": (CHAIN, put("variables", 0, "name", "")),
    "two variables of one name": (CHAIN, put("variables", 0, "name", "x")),
    "a variable of another name": (CHAIN, put("variables", 0, "name", "y")),
    "a level in a second form": (
        ODD,
        put("variables", 0, "levels", 0, {"number": "1.00"}),
    ),
    "an edge of bins less": (BINS, put("variables", 0, "edges", [17.5])),
    "edges that do not increase": (BINS, put("variables", 0, "edges", [65, 17.5])),
    "an edge beyond the bounds": (BINS, put("variables", 0, "edges", [17.5, 130])),
    "no missing level": (BINS, drop("variables", 0, "missing")),
    "another unit of time": (BINS, put("variables", 1, "unit", "day")),
    "days in another form": (BINS, put("variables", 1, "upper", "20240302")),
    "a later end": (BINS, put("variables", 1, "upper", "2024-04-02")),
    "an end before the start": (BINS, put("variables", 1, "upper", "2023-01-01")),
    "a week more": (BINS, put("variables", 2, "upper", "2024-01-22")),
    "a code for no level": (BINS, put("variables", 3, "codes", "B1", "c")),
    "a value less": (CHAIN, drop("values", 0)),
    "a value that is no integer": (CHAIN, put("values", 0, 1.5)),
    "a value that is true": (CHAIN, put("values", 0, True)),
    "a value as text": (CHAIN, put("values", 0, "1")),
    "values as samples": (CHAIN, put("values", [[1] * 8])),
    "a library without end": (CHAIN, put("library", "x" * 41)),
    "a library as a number": (CHAIN, put("library", 1)),
    "no hidden states": (CHAIN, put("hidden_states", 0)),
    "an unknown entry": (CHAIN, put("note", "true")),
    "no public facts": (CHAIN, put("about", {})),
    "an unknown public fact": (CHAIN, put("about", {"note": "true"})),
    "a public fact of two lines": (CHAIN, put("about", {"title": "a\nb"})),
    "an entry less": (CHAIN, drop("library")),
    "a larger order": (ORDER, put("statistic", "order", 2)),
    "an order above all": (ORDER, put("statistic", "order", 4)),
    "order zero": (ORDER, put("statistic", "order", 0)),
    "no order": (ORDER, drop("statistic", "order")),
    "another basis": (ORDER, put("statistic", "basis", "Helmert")),
    "an order beside a network": (TRIANGLE, put("statistic", "order", 3)),
    "the printed sensitivity": (TRIANGLE, put("sensitivity", "value", 14)),
    "the kind that is as printed": (
        TRIANGLE,
        put("statistic", "kind", "fourier-coefficients-as-printed"),
    ),
    "the kind that is not as printed": (
        PRINTED,
        put("statistic", "kind", "fourier-coefficients"),
    ),
    "an exact bound": (PRINTED, put("sensitivity", "tight", True)),
    "budgets that do not add up": (SPLIT, put("mechanism", "parts", 0, "epsilon", "1")),
    "budgets moved": (
        SPLIT,
        both(
            put("mechanism", "parts", 0, "epsilon", "1"),
            put("mechanism", "parts", 1, "epsilon", "1/2"),
        ),
    ),
    "a part of another name": (SPLIT, put("mechanism", "parts", 0, "name", "x")),
    "a part less": (SPLIT, drop("mechanism", "parts", 0)),
    "the scale of a part": (SPLIT, put("mechanism", "parts", 0, "scale", "1")),
    "the table of a part": (SPLIT, put("mechanism", "parts", 0, "table", OTHER_TABLE)),
    "a sensitivity beside parts": (
        SPLIT,
        put("sensitivity", {"adjacency": "add-remove", "tight": True, "value": 3}),
    ),
    "a budget of a group": (STAR, put("mechanism", "groups", 0, "epsilon", "1/2")),
    "a budget of a group not reduced": (
        STAR,
        put("mechanism", "groups", 0, "epsilon", "2/2"),
    ),
    "budgets of groups that do not add up": (
        TWO_GROUPS,
        put("mechanism", "groups", 0, "epsilon", "1/2"),
    ),
    "a dimension less": (STAR, put("mechanism", "groups", 0, "dimension", 8)),
    "points of another ball": (
        STAR,
        put("mechanism", "groups", 0, "points", OTHER_TABLE),
    ),
    "a star cut in two": (
        STAR,
        put("mechanism", "groups", 0, "stars", [[1], [2], [0]]),
    ),
    "a star of all blocks": (STAR, put("mechanism", "groups", 0, "stars", [[1, 2, 0]])),
    "a block twice": (STAR, put("mechanism", "groups", 0, "stars", [[1, 2], [0], [0]])),
    "a block in no group": (STAR, put("mechanism", "groups", 0, "stars", [[1, 2]])),
    "a star without blocks": (
        STAR,
        put("mechanism", "groups", 0, "stars", [[1, 2], [0], []]),
    ),
    "a place that is true": (
        STAR,
        put("mechanism", "groups", 0, "stars", [[True, 2], [0]]),
    ),
    "a group less": (TWO_GROUPS, drop("mechanism", "groups", 1)),
    "no groups": (STAR, put("mechanism", "groups", [])),
    "an unknown entry of a group": (STAR, put("mechanism", "groups", 0, "steps", 2)),
    "a sensitivity beside groups": (
        STAR,
        put("sensitivity", {"adjacency": "replace-one", "tight": True, "value": 1}),
    ),
    "blocks of other neighbours": (
        STAR,
        both(put("guarantee", "adjacency", "add-remove"), put("records", None)),
    ),
    "a margin that is not known": (
        STAR,
        put("statistic", "blocks", 1, "given", ["b"]),
    ),
    "a block without its margin": (STAR, put("statistic", "blocks", 1, "given", [])),
    "a block of a variable twice": (
        STAR,
        put("statistic", "blocks", 1, "table", ["a", "a"]),
    ),
    "a block of an unknown variable": (
        STAR,
        put("statistic", "blocks", 1, "table", ["e"]),
    ),
    "a block that adds nothing": (STAR, put("statistic", "blocks", 1, "table", ["c"])),
    "blocks in another order": (
        LOOSE,
        lambda content: content["statistic"]["blocks"].reverse(),
    ),
    "a network beside loose blocks": (
        LOOSE,
        put("parents", {"t": [], "é x": [], "y": []}),
    ),
    "blocks of a network without one": (LOOSE, put("statistic", "kind", "contrasts")),
}

IN_LEDGERS = {
    "a smaller budget": put(0, "budget", "epsilon", "1/3"),
    "a budget for others": put(0, "budget", "adjacency", "add-remove"),
    "a budget for persons": put(0, "budget", "contributions", 2),
    "an unknown entry of the first line": put(0, "note", ""),
    "no number of the file": drop(0, "inode"),
    "a number of the file with zeros": put(0, "inode", "007"),
    "an unknown period": put(0, "period", "week"),
    "a charge without a date": drop(1, "date"),
    "a cost above what is left": put(2, "cost", "epsilon", "2.7"),
    "a cost of all": put(2, "cost", "epsilon", "3"),
    "a negative cost": put(1, "cost", "epsilon", "-1/3"),
    "a cost for others": put(1, "cost", "adjacency", "add-remove"),
    "a cost for persons": put(1, "cost", "contributions", 5),
    "no cost": drop(1, "cost"),
    "no purpose": drop(1, "purpose"),
    "a purpose that is no text": put(1, "purpose", 1),
    "a part without a name": put(1, "part", ""),
    "a date that is none": put(1, "date", "2024-02-30"),
    "dates out of order": both(
        put(0, "period", "day"),
        put(1, "date", "2024-01-02"),
        put(2, "date", "2024-01-01"),
    ),
    "no date": both(
        put(0, "period", "day"), put(1, "date", "soon"), put(2, "date", "soon")
    ),
    "an unknown entry of a charge": put(1, "refund", "1/3"),
}
