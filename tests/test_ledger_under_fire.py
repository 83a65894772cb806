"""A ledger shared by many processes, killed at any moment, on a full disk, tampered.

`pytest -m thorough tests/test_ledger_under_fire.py`: the same with 200 processes.
"""

import os
import resource
import signal
import time
from fractions import Fraction

import pytest

from dpjax import Ledger
from dpjax.privacy import ledger_file
from tests.helpers.ledger_processes import (
    CONTEXT,
    COST,
    charge_and_fork,
    charge_and_tell,
    charge_until_killed,
    delete_all_others,
    die_at_every_line,
    fork_in_a_charge,
    fork_in_memory,
    imported_by_charges,
    share_memory,
)

SIXTY = 60 * COST.epsilon
PLENTY = Fraction(10**6)
FIRST = '{"adjacency":"add-remove","budget":"60/97","format":"dpjax-ledger-1"}\n'


def shared(path, budget):
    return Ledger(budget, adjacency=COST.adjacency, path=path)


def told(calls):
    """What processes tell that run at once; without threads, so that they may fork."""
    queue = CONTEXT.SimpleQueue()
    started = [CONTEXT.Process(target=act, args=(*rest, queue)) for act, *rest in calls]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0] * len(started)
    return [queue.get() for _ in started]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "rounds"), [(4, 1), pytest.param(10, 10, marks=pytest.mark.thorough)]
)
def test_of_100_concurrent_charges_those_succeed_that_the_budget_allows(
    processes, rounds, tmp_path
):
    for number in range(rounds):
        path = tmp_path / f"{number}.jsonl"
        start, times = CONTEXT.Barrier(processes), 100 // processes
        call = (charge_and_tell, path, SIXTY, times, start)
        assert sum(told([call] * processes)) == 60
        assert len(path.read_text().splitlines()) == 61
        assert shared(path, None).spent == SIXTY == shared(path, None).budget


@pytest.mark.parametrize("kills", [6, pytest.param(60, marks=pytest.mark.thorough)])
def test_what_was_drawn_was_charged_whenever_the_process_is_killed(
    kills, tmp_path, rng
):
    record = tmp_path / "drawn"
    for number in range(kills):
        path = tmp_path / f"{number // 2}.jsonl"  # the first of two starts the file
        before = len(record.read_bytes()) if record.exists() else 0
        spent = shared(path, PLENTY).spent
        process = CONTEXT.Process(
            target=charge_until_killed, args=(path, record, PLENTY)
        )
        process.start()
        while not path.exists():
            time.sleep(0.0005)
        time.sleep(float(rng.uniform(0, 0.03)))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        drawn = record.read_bytes()[before:] if record.exists() else b""
        started = time.monotonic()
        charges = (shared(path, PLENTY).spent - spent) / COST.epsilon
        shared(path, PLENTY).charge(COST)
        assert time.monotonic() - started < 5  # a dead process keeps no lock
        assert drawn.count(b"drawn\n") <= charges <= drawn.count(b"drawn\n") + 1


def test_a_charge_that_does_not_fit_on_the_disk_is_none(tmp_path):
    path = tmp_path / "ledger.jsonl"
    ledger = shared(path, PLENTY)
    ledger.charge(COST)
    text = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(text) + 10, limit[1]))
    try:
        with pytest.raises(ValueError, match="`ledger` must be possible to write"):
            ledger.charge(COST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == text
    ledger.charge(COST)
    assert ledger.spent == 2 * COST.epsilon


def test_a_disk_that_loses_what_was_written_charges_nothing(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    ledger = shared(path, PLENTY)
    ledger.charge(COST)

    def fail(_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(ledger_file.os, "fsync", fail)
    with pytest.raises(ValueError, match="Input/output error; nothing is charged"):
        ledger.charge(COST)
    monkeypatch.undo()
    assert ledger.spent == COST.epsilon


def test_a_lock_that_cannot_be_had_is_one_clear_line(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    ledger, other = shared(path, PLENTY), shared(path, PLENTY)
    ledger.charge(COST)
    monkeypatch.setattr(ledger_file, "_PATIENCE", 0.01)
    with ledger._opened():
        for attempt in (other.charge, other.require, ledger.charge):
            with pytest.raises(ValueError, match="another process keeps it") as error:
                attempt(COST)
    assert "\n" not in str(error.value)

    def fail(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(ledger_file.fcntl, "flock", fail)
    with pytest.raises(ValueError, match=r"to open and to lock.*No locks available"):
        other.charge(COST)
    monkeypatch.undo()
    assert ledger.spent == COST.epsilon


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + '{"epsilon":"-1","purpose":"refund"}\n',
        lambda text: text + '{"epsilon":"0","purpose":""}\n',
        lambda text: text + '{"epsilon":1e999,"purpose":""}\n',
        lambda text: text + '{"epsilon":"1","epsilon":"1/1000"}\n',
        lambda text: text.replace("1/97", "1/0"),
        lambda text: text.replace("1/97", "nan"),
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace('"1000000"', '"-1"'),
        lambda text: "\ufeff" + text,
        lambda text: "[" * 100_000,
    ],
)
def test_a_ledger_edited_by_hand_into_nonsense_is_refused(edit, tmp_path):
    path = tmp_path / "ledger.jsonl"
    shared(path, PLENTY).charge(COST)
    path.write_text(edit(path.read_text()), newline="")
    text = path.read_bytes()
    with pytest.raises(ValueError, match="`ledger` must be an undamaged") as error:
        shared(path, None)
    assert str(error.value).isprintable()
    assert path.read_bytes() == text


def test_a_ledger_that_was_made_to_overspend_is_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text(FIRST + '{"epsilon":"1000","purpose":"by hand"}\n')
    with pytest.raises(ValueError, match="must be an undamaged"):
        shared(path, None)


@pytest.mark.parametrize("act", [fork_in_memory, share_memory])
def test_a_ledger_in_memory_is_of_one_process(act):
    ((forked, charged, spent),) = told([(act,)])
    assert forked == [5] * len(forked)  # all uses are refused, and `repr` says why
    assert charged * COST.epsilon <= spent <= 3 * COST.epsilon
    assert charged > 0


def test_a_fork_in_the_middle_of_a_charge_keeps_no_lock(tmp_path):
    path = tmp_path / "ledger.jsonl"
    assert told([(fork_in_a_charge, path)]) == [(3, 0, 5 * COST.epsilon)]


def test_charges_import_nothing(tmp_path):
    """A process that is forked during an import would wait for its end for ever."""
    assert told([(imported_by_charges, tmp_path / "ledger.jsonl")]) == [(2, set())]


@pytest.mark.parametrize(
    ("processes", "budget", "times"),
    [(3, 20, 10), pytest.param(200, 100, 1, marks=pytest.mark.thorough)],
)
def test_deleted_helpers_and_forks_do_not_overspend(processes, budget, times, tmp_path):
    path, stop = tmp_path / "ledger.jsonl", CONTEXT.Event()
    start = CONTEXT.Barrier(processes + 1)
    deleting = CONTEXT.Process(target=delete_all_others, args=(path, start, stop))
    deleting.start()
    call = (charge_and_fork, path, budget * COST.epsilon, times, start)
    try:
        assert sum(told([call] * processes)) == budget
    finally:  # a process that goes on would keep the tests from ending
        stop.set()
        deleting.join()
    assert deleting.exitcode == 0
    assert shared(path, None).spent == budget * COST.epsilon
    assert list(tmp_path.iterdir()) == [path]


def test_of_ledgers_that_are_made_at_once_one_is(tmp_path):
    """Budgets differ: the others are told so, and no charge that succeeded is lost."""
    for number in range(3):
        path, start = tmp_path / f"{number}.jsonl", CONTEXT.Barrier(4)
        budgets = [units * COST.epsilon for units in (2, 3, 4, 5)]
        calls = [(charge_and_tell, path, budget, 9, start) for budget in budgets]
        spent = sum(told(calls)) * COST.epsilon
        assert spent == shared(path, None).spent == shared(path, None).budget


@pytest.mark.slow
def test_whoever_is_killed_while_making_a_ledger_leaves_all_of_it_or_none(tmp_path):
    (statuses,) = told([(die_at_every_line, tmp_path)])
    assert set(statuses) == {0, -signal.SIGKILL}
    seen = set()
    for number in range(len(statuses)):
        path = tmp_path / f"{number}" / "ledger.jsonl"
        assert not path.exists() or path.read_text().count("\n") == 2
        ledger = shared(path, 1)
        seen.add(ledger.spent)
        ledger.charge(COST)  # no lock is left, either
        assert {x.suffix for x in path.parent.iterdir()} <= {".jsonl", ".tmp"}
    assert seen == {0, COST.epsilon}
