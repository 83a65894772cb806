"""`dpjax ledger` shows what a ledger's file says, and charges nothing."""

import json

import pytest

from dpjax.cli.main import main
from dpjax.privacy import Ledger, exact_epsilon
from dpjax.privacy.kinds import budget_of


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.privacy.ledger._today", lambda: "2026-01-31")
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger("1", adjacency="add-remove", contributions=2, path=path)
    for part, purpose in ((None, "a\x1bb"), ("north", "of the north"), ("south", "")):
        cost = budget_of(exact_epsilon("1/4"), "add-remove", "cost", 2)
        ledger.charge(cost, purpose, part)
    return path


def test_it_shows_budget_spent_left_and_charges(path, capsys):
    before = path.read_bytes()
    assert main(["ledger", str(path)]) == 0
    assert path.read_bytes() == before
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        f"{path}: add-remove, protects a person with up to 2 rows",
        "budget ε = 1",
        "spent ε = 1/2",
        "left ε = 1/2",
        "charges 3",
        "2026-01-31 ε = 1/4 a\\x1bb",
        "2026-01-31 ε = 1/4 [north] of the north",
        "2026-01-31 ε = 1/4 [south]",
    ]


def test_json_has_the_same(path, capsys):
    assert main(["ledger", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left"] == found["spent"] == {"epsilon": "1/2"}
    assert found["charges"][1] == {
        "date": "2026-01-31",
        "cost": {"epsilon": "1/4"},
        "part": "north",
        "purpose": "of the north",
    }
    assert found["charges"][0]["part"] is found["period"] is None


@pytest.mark.parametrize("content", [None, "", "{}\n"])
def test_other_files_are_refused_in_one_line(content, tmp_path, capsys):
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    assert main(["ledger", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("dpjax ledger: `ledger` must be")
    assert said.err.count("\n") == 1
    assert path.exists() == (content is not None)
