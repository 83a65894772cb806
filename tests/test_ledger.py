import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
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
    one.charge(HALF)
    other = Ledger(adjacency="replace-one", path=path)
    other.charge(HALF)
    assert (
        one.spent == other.spent == Ledger(1, adjacency="replace-one", path=path).spent
    )
    with pytest.raises(BudgetExceeded):
        one.charge(HALF)
    assert len(path.read_text().splitlines()) == 3


def test_a_file_keeps_its_budget_and_adjacency(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Ledger(1, adjacency="replace-one", path=path).charge(HALF)
    with pytest.raises(ValueError, match="that of the ledger, ε = 1, got ε = 2"):
        Ledger(2, adjacency="replace-one", path=path)
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        Ledger(1, adjacency="add-remove", path=path)
    with pytest.raises(ValueError, match="`budget` must be given to start a ledger"):
        Ledger(adjacency="add-remove", path=tmp_path / "new.jsonl")
    lost = Ledger(1, adjacency="replace-one", path=tmp_path / "none" / "new.jsonl")
    with pytest.raises(ValueError, match="in a folder that can be written"):
        lost.charge(HALF)
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:-1],
        lambda text: text[:-5] + "\n",
        lambda text: text.replace("1/2", "-1/2"),
        lambda text: text.replace("dpjax-ledger-4", "dpjax-ledger-3"),
        lambda text: text.replace("dpjax-ledger-4", "dpjax-ledger-2"),
        lambda text: text.replace("dpjax-ledger-4", "dpjax-ledger-1").replace("/", "["),
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
    with pytest.raises(ValueError, match=r"an undamaged file|must only grow"):
        ledger.charge(HALF)
    with pytest.raises(ValueError, match="must be an undamaged file"):
        Ledger(1, adjacency="replace-one", path=path)


@pytest.mark.parametrize("epsilon", [Fraction(-1), 0.1, 1])
def test_a_cost_is_an_exact_fraction_that_is_not_negative(epsilon):
    with pytest.raises(Exception, match="Fraction"):
        PureDP(epsilon, "replace-one")


def test_a_file_is_made_by_the_first_charge_and_not_by_a_refusal(tmp_path):
    ledger = Ledger(1, adjacency="replace-one", path=tmp_path / "ledger.jsonl")
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(Fraction(2), "replace-one"))
    assert ledger.spent == 0
    assert not list(tmp_path.iterdir())
    ledger.charge(HALF)
    ledger.charge(HALF)
    assert list(tmp_path.iterdir()) == [tmp_path / "ledger.jsonl"]  # and nothing else


def test_whoever_starts_a_file_sets_its_budget(tmp_path):
    path = tmp_path / "ledger.jsonl"
    small = Ledger(1, adjacency="replace-one", path=path)
    large = Ledger(100, adjacency="replace-one", path=path)
    small.charge(HALF)
    with pytest.raises(ValueError, match="that of the ledger, ε = 1, got ε = 100"):
        large.charge(HALF)


def test_a_budget_that_is_none_is_called_so():
    with pytest.raises(ValueError, match="`budget` must be a finite number > 0"):
        Ledger("abc", adjacency="replace-one")


def test_all_names_of_a_file_are_one_ledger(tmp_path):
    path, link = tmp_path / "ledger.jsonl", tmp_path / "link"
    link.symlink_to(path)  # to nothing, yet
    Ledger(1, adjacency="replace-one", path=link).charge(HALF)
    assert Ledger(1, adjacency="replace-one", path=path).spent == HALF.epsilon
    assert link.is_symlink()
    os.link(path, tmp_path / "other name")
    with pytest.raises(ValueError, match="must have one name"):
        Ledger(1, adjacency="replace-one", path=tmp_path / "other name")


def test_a_file_that_has_gone_is_not_started_again(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(1, adjacency="replace-one", path=path)
    ledger.charge(HALF)
    path.unlink()
    with pytest.raises(ValueError, match="No such file"):
        ledger.charge(HALF)
    with pytest.raises(ValueError, match="No such file"):
        _ = ledger.spent
    assert not path.exists()


def test_a_compressed_ledger_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must not be compressed"):
        Ledger(1, adjacency="replace-one", path=tmp_path / "l.gz")


def test_threads_that_share_a_ledger_do_not_overspend_it():
    ledger = Ledger(10, adjacency="replace-one")

    def charge(_):
        with contextlib.suppress(BudgetExceeded):
            ledger.charge(HALF)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(charge, range(200)))
    assert ledger.spent == 10


class Told:
    """A lock that tells when somebody comes to it."""

    def __init__(self, lock, reached):
        self.lock, self.reached = lock, reached

    def __enter__(self):
        self.reached.set()
        self.lock.acquire()

    def __exit__(self, *_):
        self.lock.release()


def test_a_charge_in_memory_is_alone_from_reading_to_writing(monkeypatch):
    """Between the two of one thread another one is let loose; no luck is needed."""
    ledger, reached = Ledger(1, adjacency="replace-one"), threading.Event()
    threads, charged = [], []
    monkeypatch.setattr(ledger, "_lock", Told(ledger._lock, reached))
    refuse = ledger._refuse

    def charge():
        with contextlib.suppress(BudgetExceeded):
            ledger.charge(PureDP(Fraction(1), "replace-one"))
            charged.append(1)
        reached.set()

    def interrupted(*arguments):
        refuse(*arguments)
        if not threads:
            reached.clear()
            threads.append(threading.Thread(target=charge))
            threads[0].start()
            assert reached.wait(60)  # until it is done, or waits for its turn

    monkeypatch.setattr(ledger, "_refuse", interrupted)
    charge()
    threads[0].join()
    assert ledger.spent == sum(charged) == 1


def test_an_unknown_adjacency_is_refused():
    with pytest.raises(ValueError, match="`adjacency` must be 'replace-one' or"):
        Ledger(1, adjacency="unbounded")


def day(monkeypatch, date):
    monkeypatch.setattr("dpjax.privacy.ledger._today", lambda: date)


def part_of(number, adjacency="replace-one"):
    return PureDP(Fraction(number), adjacency)


def test_of_disjoint_parts_the_largest_counts(ledger):
    ledger.charge(part_of("1/4"), "all")
    ledger.charge(part_of("1/4"), "one", part="north")
    ledger.charge(part_of("1/2"), "two", part="south")
    assert ledger.spent == Fraction(3, 4)  # 1/4 and the larger of 1/4 and 1/2
    ledger.charge(part_of("1/4"), part="north")
    assert ledger.spent == Fraction(3, 4)
    for charge in (part_of("1/4"), part_of("1/3")):
        ledger.require(part_of("1/4"), part="south")
        if charge.epsilon > Fraction(1, 4):
            with pytest.raises(BudgetExceeded, match="left, 1/4 of 1"):
                ledger.charge(charge, part="south")
    ledger.charge(part_of("1/4"), part="south")
    assert ledger.remaining == 0
    with pytest.raises(BudgetExceeded, match="left, 0 of 1"):
        ledger.charge(part_of("1/10"))
    ledger.charge(part_of("1/4"), part="north")
    with pytest.raises(BudgetExceeded, match="left, 0 of 1"):
        ledger.charge(part_of("1/10"), part="north")
    ledger.charge(part_of("3/4"), part="west")  # nothing but 1/4 was charged to it
    assert ledger.spent == 1


def test_parts_are_in_the_file(tmp_path):
    path = tmp_path / "ledger.jsonl"
    one = Ledger(1, adjacency="add-remove", path=path)
    one.charge(part_of("1/2", "add-remove"), part="a")
    one.charge(part_of("1/3", "add-remove"), part="b")
    again = Ledger(adjacency="add-remove", path=path)
    assert again.spent == one.spent == Fraction(1, 2)
    path.write_text(path.read_text().replace('"part":"b"', '"part":"a"'))
    with pytest.raises(ValueError, match="only grow"):
        assert again.spent


@pytest.mark.parametrize("name", ["", 3, ("a",)])
def test_a_part_has_a_name(ledger, name, as_for_a_user):
    with pytest.raises(ValueError, match="`part` must be the name"):
        ledger.charge(HALF, part=name)
    assert ledger.spent == 0


@pytest.mark.parametrize("name", ["North", "nor th ", "\uff4eorth"])
def test_a_part_is_not_taken_for_another_that_is_written_alike(ledger, name):
    ledger.charge(HALF, part="north")
    with pytest.raises(ValueError, match="`part` must be 'north', as before"):
        ledger.charge(HALF, part=name)
    ledger.charge(HALF, part="south")
    assert ledger.spent == Fraction(1, 2)


@pytest.fixture(params=["memory", "file"])
def monthly(request, tmp_path, monkeypatch):
    day(monkeypatch, "2026-11-29")
    path = tmp_path / "ledger.jsonl" if request.param == "file" else None
    return Ledger("1", adjacency="replace-one", period="month", path=path)


def test_a_budget_renews_with_its_period(monthly, monkeypatch):
    assert "renews every month" in repr(monthly)
    monthly.charge(HALF)
    monthly.charge(HALF, part="north")
    day(monkeypatch, "2026-11-30")
    assert monthly.spent == 1
    with pytest.raises(BudgetExceeded):
        monthly.require(HALF)
    day(monkeypatch, "2026-12-01")
    assert monthly.spent == 0
    monthly.charge(HALF)
    assert monthly.spent == HALF.epsilon
    day(monkeypatch, "2027-12-01")
    assert monthly.spent == 0


def test_a_budget_without_a_period_never_renews(monkeypatch, tmp_path):
    day(monkeypatch, "2026-11-29")
    ledger = Ledger("1", adjacency="replace-one", path=tmp_path / "ledger.jsonl")
    ledger.charge(HALF)
    day(monkeypatch, "2036-01-01")
    assert ledger.spent == HALF.epsilon
    assert [charge.date for charge in ledger.charges] == ["2026-11-29"]


@pytest.mark.parametrize("filed", [True, False])
@pytest.mark.parametrize("period", [None, "month"])
def test_a_ledger_lists_its_charges(filed, period, monkeypatch, tmp_path):
    path = tmp_path / "ledger.jsonl" if filed else None
    ledger = Ledger("2", adjacency="replace-one", period=period, path=path)
    assert ledger.charges == ()
    day(monkeypatch, "2026-11-29")
    ledger.charge(HALF, "one")
    day(monkeypatch, "2026-12-01")
    ledger.charge(HALF, "two", part="north")
    known = [ledger] if path is None else [ledger, Ledger(path=path)]
    for each in known:
        assert [(*charge,) for charge in each.charges] == [
            (HALF, "one", None, "2026-11-29"),
            (HALF, "two", "north", "2026-12-01"),
        ]
        assert each.spent == (HALF.epsilon if period else 2 * HALF.epsilon)


def test_a_file_alone_says_all_about_its_ledger(tmp_path):
    path = tmp_path / "ledger.jsonl"
    with pytest.raises(ValueError, match="`budget` must be given to start a ledger"):
        Ledger(path=path)
    first = Ledger(2, adjacency="add-remove", contributions=3, path=path)
    first.charge(PureDP(HALF.epsilon, "add-remove", contributions=3))
    again = Ledger(path=path)
    assert (again.adjacency, again.contributions, again.period) == (
        "add-remove",
        3,
        None,
    )
    assert again.remaining == 2 - HALF.epsilon
    with pytest.raises(ValueError, match="`contributions` must be that of the ledger"):
        Ledger(adjacency="add-remove", path=path)
    with pytest.raises(ValueError, match="`adjacency` must be that of the ledger"):
        again.charge(PureDP(HALF.epsilon, "replace-one", contributions=3))


def test_the_clock_must_not_go_back(monthly, monkeypatch):
    monthly.charge(HALF)
    day(monkeypatch, "2026-10-01")
    assert monthly.spent == HALF.epsilon
    with pytest.raises(ValueError, match="in the order of dates"):
        monthly.charge(HALF)
    assert monthly.spent == HALF.epsilon


def test_the_period_of_a_file_stays(tmp_path):
    path = tmp_path / "ledger.jsonl"
    Ledger(1, adjacency="replace-one", period="year", path=path).charge(HALF)
    assert Ledger(adjacency="replace-one", path=path).period == "year"
    with pytest.raises(ValueError, match="`period` must be that of the ledger, year"):
        Ledger(adjacency="replace-one", path=path, period="month")
    with pytest.raises(ValueError, match="`period` must be"):
        Ledger(1, adjacency="replace-one", period="week")
    other = tmp_path / "other.jsonl"
    Ledger(1, adjacency="replace-one", path=other).charge(HALF)
    with pytest.raises(ValueError, match="`period` must be that of the ledger, None"):
        Ledger(adjacency="replace-one", path=other, period="month")


def test_a_renewed_file_has_hashes_of_its_dates(monkeypatch, tmp_path):
    path = tmp_path / "ledger.jsonl"
    day(monkeypatch, "2026-11-29")
    Ledger(1, adjacency="replace-one", period="month", path=path).charge(HALF)
    path.write_text(path.read_text().replace("2026-11-29", "2026-10-29"))
    with pytest.raises(ValueError, match="undamaged"):
        Ledger(adjacency="replace-one", path=path)
