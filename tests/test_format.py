"""The written format: its page, and the schemas of releases and ledgers."""

import copy
import json
import os
import pathlib

import jsonschema
import pytest

import dpjax as dp
from dpjax.releases import file_format
from tests.helpers.alterations import ALTERED, DOCUMENTS, LEDGERS, drop, newest, put
from tests.helpers.checker import CHECKER, FOLDER, run
from tests.recorded.cases import RELEASES

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


def test_the_schema_knows_every_kind_of_the_package():
    kinds = stated("kind")
    assert kinds == {*dp.statistics.STATISTICS, *dp.mechanisms.MECHANISMS}
    assert stated("family") == {*dp.families.FAMILIES}
    guarantees = RELEASE.schema["$defs"]["guarantee"]["oneOf"]
    known = {x["properties"]["kind"]["const"] for x in guarantees}
    assert known == {*dp.privacy.GUARANTEES}
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
    "a sensitivity beside parts", *(x for x in ALTERED if x.startswith("an unknown entry")),
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(OF_SHAPE))
def test_the_schema_refuses_what_has_another_form(what):
    name, change = ALTERED[what]
    content = copy.deepcopy(DOCUMENTS[name]["content"])
    change(content)
    assert not RELEASE.is_valid({**DOCUMENTS[name], "content": content})


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
    kinds = stated("kind") | stated("family") | {"pure-dp", "approximate-dp"}
    assert {x for x in kinds if f"`{x}`" not in page} == set()


def test_the_page_shows_what_the_checker_prints():
    page = (ROOT / "docs" / "format.md").read_text("utf-8")
    done = run(RELEASES["counts-maximal"])
    assert done.stdout in page
    assert os.path.relpath(CHECKER, ROOT / "docs") in page
