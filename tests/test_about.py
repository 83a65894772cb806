"""Public facts are a part of the release, of its file and of its hash."""

import json
from typing import Any

import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.releases.entries import InconsistentRelease
from tests.helpers.release_files import rehashed

NET = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
BUDGET: Any = {"epsilon": "1", "adjacency": "replace-one"}
FACTS = {"contact": "ask@example.org", "title": "Élan vital", "record": "a visit"}


def released(**about):
    return dp.release(NET, {"x": [0, 1, 1]}, about=about, **BUDGET)


def test_facts_go_through_the_file_and_change_its_hash(tmp_path):
    made = released(**FACTS)
    made.save(tmp_path / "r.json")
    loaded = dp.load(tmp_path / "r.json")
    assert dict(loaded.about) == FACTS
    assert [name for name, _ in loaded.about] == ["title", "record", "contact"]
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["version"] == 3
    document["content"]["about"]["title"] = "Other"
    (tmp_path / "r.json").write_text(json.dumps(document))
    with pytest.raises(InconsistentRelease, match="content hash differs"):
        dp.load(tmp_path / "r.json")
    assert released().about == ()


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"name": "x"}, "`about` must have facts of title, description"),
        ({"title": ""}, "`about` must have text of one line for 'title'"),
        ({"title": "  "}, "`about` must have text of one line for 'title'"),
        ({"use": "a\nb"}, "`about` must have text of one line for 'use'"),
        ({"use": "\x1b[0m"}, "`about` must have text of one line for 'use'"),
        ({"use": "x" * 2001}, "of at most 2000 characters"),
        ({"use": "\ud800"}, "`about` must have text of one line for 'use'"),
    ],
)
def test_other_facts_are_refused_and_nothing_is_charged(about, message):
    ledger = dp.Ledger(1, adjacency="replace-one")
    with pytest.raises(ValueError, match=message):
        dp.release(NET, {"x": [0]}, about=about, ledger=ledger, **BUDGET)
    assert ledger.spent == 0


@pytest.mark.parametrize("about", [{}, {"title": "x"}, {"x": "y"}, [], "x", 1])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_has_facts_from_version_3_on(about, version, tmp_path):
    released().save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    document["content"]["about"] = about
    document["version"] = version
    (tmp_path / "r.json").write_text(json.dumps(rehashed(document)))
    if version == 3 and about == {"title": "x"}:
        assert dict(dp.load(tmp_path / "r.json").about) == about
        return
    with pytest.raises(InconsistentRelease):
        dp.load(tmp_path / "r.json")


def test_the_command_takes_a_file_of_facts(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x,y\n0,1\n1,0\n")
    levels = {"levels": [0, 1]}
    schema = {"variables": {"x": levels, "y": levels}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    (tmp_path / "a.json").write_text(json.dumps(FACTS))
    names = ("t.csv", "s.json", "a.json", "r.json", "l.jsonl")
    table, schema, about, out, ledger = (str(tmp_path / name) for name in names)
    command = ["release", table, "--schema", schema, "--network", "naive-bayes:y"]
    command += ["--epsilon", "1", "--adjacency", "replace-one", "--out", out]
    assert main([*command, "--about", about]) == 0
    assert dict(dp.load(out).about) == FACTS
    (tmp_path / "r.json").unlink()
    capsys.readouterr()
    charged = [*command, "--ledger", ledger, "--budget", "1", "--about", about]
    for wrong in ("[]", '{"title": 1}', "{", '{"title": "a", "title": "b"}'):
        (tmp_path / "a.json").write_text(wrong)
        assert main(charged) == 2
        assert capsys.readouterr().err.startswith("dpjax release: `about` must")
    assert not (tmp_path / "r.json").exists()
    assert not (tmp_path / "l.jsonl").exists()
