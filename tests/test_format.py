"""The written format: its page, and the schemas of releases and ledgers."""

import copy
import itertools
import json
import math
import os
import pathlib

import jsonschema
import numpy as np
import pytest

import dpjax as dp
from dpjax.releases import file_format
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.alterations import ALTERED, DOCUMENTS, LEDGERS, drop, newest, put
from tests.helpers.checker import CHECKER, FOLDER, run
from tests.recorded.cases import RELEASES

from .test_checker import GAUSSIAN, IN_GAUSSIAN, zcdp_ledger

ROOT = pathlib.Path(__file__).parents[1]


def validator(name):
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


RELEASE, LEDGER = validator("release"), validator("ledger")


@pytest.mark.parametrize("name", sorted(RELEASES))
def test_a_recorded_release_has_the_form_of_the_schema(name):
    RELEASE.validate(DOCUMENTS[name])
    RELEASE.validate(newest(name))


@pytest.mark.parametrize("name", LEDGERS)
def test_a_recorded_ledger_has_the_form_of_the_schema(name):
    lines = [json.loads(x) for x in LEDGERS[name].splitlines()]
    LEDGER.validate(lines)
    for line in range(len(lines)):
        for altered in (put(line, "note", 1), drop(line, next(iter(lines[line])))):
            wrong = copy.deepcopy(lines)
            altered(wrong)
            assert not LEDGER.is_valid(wrong)


def stated(place):
    """All constants of the schema's definitions at some entry."""
    found = set()
    for one in RELEASE.schema["$defs"].values():
        kinds = one.get("properties", {}).get(place, {})
        found |= {
            *kinds.get("enum", ()),
            *([kinds["const"]] if "const" in kinds else []),
        }
    return found


def own(registry):
    """The kinds of the package: other tests add some of theirs."""
    return {kind for kind in registry if registry[kind].__module__.startswith("dpjax.")}


def test_the_schema_knows_every_kind_of_the_package():
    kinds = own(dp.statistics.STATISTICS) | own(dp.mechanisms.MECHANISMS)
    assert stated("kind") == kinds
    assert stated("family") == own(dp.families.FAMILIES)
    guarantees = RELEASE.schema["$defs"]["guarantee"]["oneOf"]
    known = {x["properties"]["kind"]["const"] for x in guarantees}
    assert known == own(dp.privacy.GUARANTEES)
    assert RELEASE.schema["properties"]["version"]["maximum"] == file_format.VERSION


OF_SHAPE = {
    "no sensitivity", "an unknown entry", "an entry less", "no loss", "a value as text",
    "a value that is true", "a value that is no integer", "values as samples",
    "no such neighbours", "a loss as a number", "a loss as a decimal",
    "a negative loss", "persons of one row", "no records", "half a record",
    "a hidden number of records", "a number of records that is private",
    "a sensitivity as text", "tight as a number", "a scale as a number",
    "no noise table", "no such choice of tables", "parents as text", "a parent twice",
    "a level twice", "one level", "a level that is null", "a variable without a name",
    "a library without end", "a library as a number", "no hidden states", "no network",
    "order zero", "another basis", "an order beside a network", "no order",
    "a sensitivity beside parts",
    *(x for x in ALTERED if x.startswith("an unknown entry")),
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(OF_SHAPE))
def test_the_schema_refuses_what_has_another_form(what):
    name, change = ALTERED[what]
    content = copy.deepcopy(DOCUMENTS[name]["content"])
    change(content)
    assert not RELEASE.is_valid({**DOCUMENTS[name], "content": content})


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_noise_has_the_form_of_the_schema_of_version_3(name):
    RELEASE.validate(GAUSSIAN[name])
    for version in (1, 2):
        assert not RELEASE.is_valid({**GAUSSIAN[name], "version": version})
        other = newest("counts-all")
        other["content"]["guarantee"] = GAUSSIAN[name]["content"]["guarantee"]
        assert not RELEASE.is_valid({**other, "version": version})


OF_GAUSSIAN_SHAPE = {
    "a rho as a decimal", "a rho as a number", "a negative rho", "rho zero", "no rho",
    "an epsilon beside rho", "pure privacy", "a squared sensitivity as text",
    "an L1 sensitivity", "an L1 sensitivity beside it", "no sensitivity",
    "a variance as a number", "no variance", "a scale beside it", "no noise table",
    "the kind of Laplace noise", "a value too large", "a value too small",
    "a value that is no integer",
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(OF_GAUSSIAN_SHAPE))
def test_the_schema_refuses_gaussian_noise_of_another_form(what):
    content = copy.deepcopy(GAUSSIAN["counts"]["content"])
    IN_GAUSSIAN[what](content)
    assert not RELEASE.is_valid({**GAUSSIAN["counts"], "content": content})


def test_a_ledger_in_rho_has_the_form_of_the_schema():
    lines = zcdp_ledger({"rho": "1/3"}, {"epsilon": "1/3"})
    for line in lines[1:]:
        line["chain"] = "0" * 64
    LEDGER.validate(lines)
    for wrong in ({"rho": "0"}, {"rho": 0.5}, {"rho": "1/3", "epsilon": "1/3"}):
        altered = copy.deepcopy(lines)
        altered[1]["cost"] = {"adjacency": "replace-one", "kind": "zcdp", **wrong}
        assert not LEDGER.is_valid(altered)


def entries(schema):
    """The names of all entries that a schema describes."""
    if isinstance(schema, list):
        return set().union(*map(entries, schema))
    if not isinstance(schema, dict):
        return set()
    own = {*schema.get("properties", {})}
    return own.union(*map(entries, schema.values()))


def test_the_page_explains_every_entry():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    names = entries(RELEASE.schema) | entries(LEDGER.schema)
    assert len(names) > 50
    missing = {x for x in names if f"`{x}`" not in page}
    assert missing == set()
    kinds = stated("kind") | stated("family") | own(dp.privacy.GUARANTEES)
    assert {x for x in kinds if f"`{x}`" not in page} == set()


def b(a, x):
    """The functions of a variable, as the page defines them."""
    return 1 if a == 0 or x == 0 else -1 if a == x else 0


def within(group):
    """The supports of a table: by size, then by the indices of their variables."""
    ordered = sorted(group)
    for size in range(len(ordered) + 1):
        yield from itertools.combinations(ordered, size)


def as_the_page_says(net, groups, records, adjacency, single):
    """The Fourier coefficients, in the order and the form of the page."""
    values, seen, n = [], set(), len(records)
    for group in groups:
        axes = [range(net.sizes[i]) for i in group]
        entries = [dict(zip(group, x, strict=True)) for x in itertools.product(*axes)]
        if not single:
            entries = [
                dict(zip(support, x, strict=True))
                for support in within(group)
                for x in itertools.product(*(range(1, net.sizes[i]) for i in support))
            ]
        for entry in entries:
            entry = {i: a for i, a in entry.items() if a}
            key = tuple(sorted(entry.items()))
            if key in seen or (adjacency == "replace-one" and not entry):
                continue
            seen.add(key)
            products = (
                math.prod(b(a, x[i]) for i, a in entry.items())
                for x in records.tolist()
            )
            value = sum(products)
            halved = adjacency == "replace-one" and all(
                net.sizes[i] == 2 for i in entry
            )
            values.append((n - value) // 2 if halved else value)
    return values


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "parents", [{"c": ["b", "a"]}, {"b": ["a"], "c": ["b"], "d": []}]
)
def test_values_are_in_the_order_and_of_the_form_that_the_page_gives(
    parents, adjacency
):
    schema = dp.Schema({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2]})
    net = dp.BayesNet.from_parents(schema, parents)
    records = np.random.default_rng(0).integers(0, net.sizes, (20, len(net.sizes)))
    records = records.astype(np.int32)
    names = [*net.parent_names()]
    groups = [
        (*(names.index(x) for x in above), i)
        for i, above in enumerate(net.parent_names().values())
    ]
    maximal = [x for x in groups if not any({*x} < {*y} for y in groups)]
    for families, measured in (("all", groups), ("maximal", maximal)):
        wanted = [
            int(sum(tuple(row[i] for i in group) == cell for row in records.tolist()))
            for group in measured
            for cell in itertools.product(*(range(net.sizes[i]) for i in group))
        ]
        assert NetworkCounts(net, families).measure(records).tolist() == wanted
    found = FourierCoefficients.of_network(net, adjacency).measure(records).tolist()
    single = len(maximal) == 1
    assert found == as_the_page_says(net, maximal, records, adjacency, single)
    for order in (1, 2):
        groups = [*itertools.combinations(range(len(names)), order)]
        statistic = FourierCoefficients(net.variables, adjacency, order=order)
        wanted = as_the_page_says(net, groups, records, adjacency, len(groups) == 1)
        assert statistic.measure(records).tolist() == wanted


def test_the_page_shows_what_the_checker_prints():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    done = run(RELEASES["counts-maximal"])
    assert done.stdout in page
    assert os.path.relpath(CHECKER, ROOT / "docs") in page
