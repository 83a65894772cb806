"""What earlier code wrote and drew is read and drawn the same today."""

import hashlib
import json
import os
import shutil
from fractions import Fraction

import pytest

from dpjax._documents import canonical_json

from .recorded import cases
from .recorded.results import CLOSE, assert_same, recorded, summary

SLOW = {
    *cases.THOROUGH,
    *(name for name in cases.ALL if name.startswith(("linear-", "multivariate-"))),
}
CHAINS = ("gaussian",)  # whose steps depend on how a program rounds
CONTENTS = {
    name: json.loads(cases.RELEASES[name].read_text("utf-8"))["content"]
    for name in cases.ALL
}


def marked(names):
    """Those that take long to compile are `thorough`."""
    thorough = pytest.mark.thorough
    return [pytest.param(x, marks=thorough) if x in SLOW else x for x in names]


@pytest.mark.parametrize("name", cases.ALL)
def test_an_old_release_is_verified_and_saved_with_all_that_it_states(name, tmp_path):
    facts = cases.facts(name)
    assert facts.pop("unit") == "one row"  # which those who recorded did not say
    assert facts == recorded("facts")[name]
    new = tmp_path / "again.json"
    cases.load(cases.RELEASES[name]).save(new)
    written = json.loads(new.read_text("utf-8"))
    assert written["version"] == 3
    stated = {**CONTENTS[name], "library": written["content"]["library"]}
    assert canonical_json(written["content"]) == canonical_json(stated)


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(cases.ALL))
def test_the_posterior_of_an_old_release_is_the_same(name):
    # 200 steps of a fit enlarge how a program rounds, which depends on the processor.
    close = 1e-4 if name.startswith("learned-pairs") else CLOSE
    assert_same(summary(cases.mean(name)), recorded("means")[name], close)


@pytest.mark.relaxed
@pytest.mark.thorough
@pytest.mark.parametrize("name", [x for x in cases.DEFAULT if x not in CHAINS])
def test_the_noise_aware_posterior_of_an_old_release_is_the_same(name):
    assert_same(summary(cases.mean(name, True)), recorded("defaults")[name])


@pytest.mark.relaxed
@pytest.mark.thorough
@pytest.mark.parametrize("name", CHAINS)
def test_chains_for_an_old_release_agree_with_those_recorded(name):
    """Within five Monte Carlo errors of 300 draws: another chain was recorded."""
    found = cases.posterior(cases.released(name))
    mean, deviation = found.mean(), found.sd()
    for parameter, (wanted,) in recorded("defaults")[name]["mean"].items():
        error = float(deviation[parameter]) / 300**0.5
        assert abs(float(mean[parameter]) - wanted) < 5 * error


def test_the_files_are_all_there():
    assert cases.ALL == sorted(recorded("facts")) == sorted(recorded("means"))
    assert sorted(cases.DRAWS) == sorted(recorded("draws"))
    assert sorted(cases.DEFAULT) == sorted(recorded("defaults"))


@pytest.mark.parametrize("part", cases.KINDS)
def test_there_is_a_release_of_every_kind(part):
    assert {content[part]["kind"] for content in CONTENTS.values()} == cases.KINDS[part]


def test_there_is_a_release_of_every_family():
    released = {content["statistic"].get("family") for content in CONTENTS.values()}
    assert released - {None} == set(cases.FAMILIES)


@pytest.mark.slow
@pytest.mark.relaxed
@pytest.mark.parametrize("name", marked(cases.DRAWS))
def test_equal_keys_draw_what_they_drew(name):
    assert_same(summary(cases.DRAWS[name]()), recorded("draws")[name])


def test_a_schema_and_a_network_say_what_they_said():
    path = cases.FORMATS / "schema.json"
    schema = cases.read_schema(path)
    assert schema.to_json() == json.loads(path.read_text("utf-8"))
    net = cases.read_network(cases.FORMATS / "network.json", schema)
    assert net.parent_names() == {"t": [], "é x": ["t"], "y": ["é x", "t"]}
    net = cases.read_bif(cases.FORMATS / "network.bif")
    assert net.parent_names() == {"t": [], "x": ["t"], "y": ["x", "t"]}
    levels = [("no", "yes"), ("1", "2", "3"), ("0", "1")]
    assert [variable.levels for variable in net.variables] == levels


def test_a_ledger_without_hashes_goes_on_as_it_was(tmp_path):
    path = tmp_path / "ledger.jsonl"
    shutil.copy(cases.FORMATS / "ledger_1.jsonl", path)
    before = path.read_bytes()
    ledger = cases.Ledger(None, adjacency="replace-one", path=path)
    assert (ledger.budget, ledger.spent) == (3, Fraction(13, 30))
    ledger.charge(cases.PureDP(Fraction(1, 2), "replace-one"), "b")
    assert path.read_bytes() == before + b'{"epsilon":"1/2","purpose":"b"}\n'


def chained(text, inode):
    """The same ledger in a file of another number: it is in every hash."""
    header, *charges = map(json.loads, text.splitlines())
    new = header["format"] == "dpjax-ledger-4"

    def written(document):
        form = {"separators": (",", ":"), "ensure_ascii": not new}
        return json.dumps(document, sort_keys=True, **form)

    lines = [written({**header, "inode": str(inode) if new else inode})]
    chain = lines[0]
    for charge in charges:
        charge.pop("chain")
        chain = hashlib.sha256((chain + written(charge)).encode()).hexdigest()
        lines.append(written({"chain": chain, **charge}))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_ledger_with_hashes_is_read_and_goes_on_as_it_was(
    version, tmp_path, monkeypatch
):
    text = (cases.FORMATS / f"ledger_{version}.jsonl").read_text("utf-8")
    header = json.loads(text.splitlines()[0])
    assert chained(text, header["inode"]) == text
    path = tmp_path / "ledger.jsonl"
    path.touch()
    whole = chained(text, os.stat(path).st_ino)
    first, one, *more = whole.splitlines(keepends=True)
    path.write_text(first + one, "utf-8")
    ledger = cases.Ledger(None, adjacency="replace-one", path=path)
    for charge in map(json.loads, more):
        cost = charge.get("cost", {"epsilon": charge.get("epsilon")})
        pure = cases.PureDP(Fraction(cost["epsilon"]), "replace-one")
        day = charge.get("date", "2020-01-01")  # older ledgers have none
        monkeypatch.setattr("dpjax.privacy.ledger._today", lambda day=day: day)
        ledger.charge(pure, charge["purpose"])
    assert path.read_text("utf-8") == whole
    again = cases.Ledger(None, adjacency="replace-one", path=path)
    assert again.limit.numbers["epsilon"] == 3
    assert again.cost.numbers["epsilon"] == Fraction(13, 30)
    if version == 4:  # as new ones are written
        new = cases.Ledger("3", adjacency="replace-one", path=tmp_path / "new.jsonl")
        for charge in map(json.loads, text.splitlines()[1:]):
            pure = cases.PureDP(Fraction(charge["cost"]["epsilon"]), "replace-one")
            new.charge(pure, charge["purpose"])
        inode = os.stat(tmp_path / "new.jsonl").st_ino
        assert (tmp_path / "new.jsonl").read_text("utf-8") == chained(text, inode)
