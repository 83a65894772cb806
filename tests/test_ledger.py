import multiprocessing
from fractions import Fraction

import pytest

from dpjax import BudgetExceeded, Ledger
from dpjax.privacy import PureDP

HALF = PureDP(Fraction(1, 2), "replace-one")


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    path = tmp_path / "ledger.jsonl" if request.param == "file" else None
    return Ledger("1", adjacency="replace-one", path=path)


def test_charges_are_exact_and_never_overspend(ledger):
    tenth = PureDP(Fraction(1, 10), "replace-one")
    for _ in range(10):
        ledger.charge(tenth, "a tenth")
    assert ledger.spent == ledger.budget == 1
    with pytest.raises(BudgetExceeded, match="what the ledger has left, 0 of 1"):
        ledger.charge(PureDP(Fraction(1, 10**9), "replace-one"))
    assert ledger.spent == 1


def test_asking_charges_nothing(ledger):
    ledger.require(HALF)
    assert ledger.remaining == 1
    with pytest.raises(BudgetExceeded):
        ledger.require(PureDP(Fraction(2), "replace-one"))


def test_one_adjacency_a_ledger(ledger):
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        ledger.charge(PureDP(Fraction(1, 2), "add-remove"))
    assert ledger.spent == 0


def test_a_file_is_shared_and_outlives_its_ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    one = Ledger(1, adjacency="replace-one", path=path)
    other = Ledger(adjacency="replace-one", path=path)
    one.charge(HALF)
    other.charge(HALF)
    assert (
        one.spent == other.spent == Ledger(1, adjacency="replace-one", path=path).spent
    )
    with pytest.raises(BudgetExceeded):
        one.charge(HALF)
    assert len(path.read_text().splitlines()) == 3


def test_a_file_keeps_its_budget_and_adjacency(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Ledger(1, adjacency="replace-one", path=path)
    with pytest.raises(ValueError, match="must be that of the ledger, 1, got 2"):
        Ledger(2, adjacency="replace-one", path=path)
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        Ledger(1, adjacency="add-remove", path=path)
    with pytest.raises(ValueError, match="`budget` must be given to start a ledger"):
        Ledger(adjacency="add-remove", path=tmp_path / "new.jsonl")
    with pytest.raises(ValueError, match="in a folder that can be written"):
        Ledger(1, adjacency="add-remove", path=tmp_path / "none" / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text[:-5] + "\n",
        lambda text: text.replace("1/2", "-1/2"),
        lambda text: text.replace("dpjax-ledger-1", "dpjax-ledger-2"),
        lambda text: text + "[]\n",
        lambda text: text + "{}\n",
        lambda text: "\n" + text,
        lambda text: "",
    ],
)
def test_a_damaged_file_stops_everything(damage, tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(1, adjacency="replace-one", path=path)
    ledger.charge(HALF)
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match="must be an undamaged file"):
        ledger.charge(HALF)
    with pytest.raises(ValueError, match="must be an undamaged file"):
        Ledger(1, adjacency="replace-one", path=path)


def charge_often(path):
    ledger = Ledger(adjacency="add-remove", path=path)
    charged = 0
    for _ in range(20):
        try:
            ledger.charge(PureDP(Fraction(1, 10), "add-remove"))
            charged += 1
        except BudgetExceeded:
            pass
    return charged


def test_processes_that_share_a_file_do_not_overspend_it(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(3, adjacency="add-remove", path=path)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        charged = pool.map(charge_often, [path, path])
    assert sum(charged) == 30
    assert ledger.spent == 3


def test_an_unknown_adjacency_is_refused():
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or"):
        Ledger(1, adjacency="unbounded")
