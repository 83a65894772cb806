"""A ledger shared by many processes, killed at any moment, on a full disk, tampered."""

import os
import resource
import signal
import time
from fractions import Fraction

import pytest

from dpjax import BudgetExceeded, Ledger
from dpjax.privacy import ledger_file

from .ledger_processes import CONTEXT, COST, charge_and_tell, charge_until_killed

SIXTY = 60 * COST.epsilon
PLENTY = Fraction(10**6)


def shared(path, budget):
    return Ledger(budget, adjacency=COST.adjacency, path=path)


@pytest.mark.parametrize(
    ("processes", "rounds"), [(4, 1), pytest.param(10, 10, marks=pytest.mark.thorough)]
)
def test_of_100_concurrent_charges_those_succeed_that_the_budget_allows(
    processes, rounds, tmp_path
):
    for number in range(rounds):
        path = tmp_path / f"{number}.jsonl"
        start, told = CONTEXT.Barrier(processes), CONTEXT.SimpleQueue()
        arguments = (path, SIXTY, 100 // processes, start, told)
        started = [
            CONTEXT.Process(target=charge_and_tell, args=arguments)
            for _ in range(processes)
        ]
        for process in started:
            process.start()
        charged = [told.get() for _ in started]
        for process in started:
            process.join()
        assert sum(charged) == 60
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
    with ledger_file.LedgerFile(path).lock():
        with pytest.raises(ValueError, match="another process keeps it") as error:
            other.charge(COST)
    assert "\n" not in str(error.value)
    path.with_name("ledger.jsonl.lock").unlink()
    path.with_name("ledger.jsonl.lock").mkdir()
    with pytest.raises(ValueError, match=r"`ledger` must have a lock .*directory"):
        other.charge(COST)


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


def test_a_ledger_that_was_made_to_overspend_spends_no_more(tmp_path):
    path = tmp_path / "ledger.jsonl"
    shared(path, SIXTY).charge(COST)
    with path.open("a") as file:
        file.write('{"epsilon":"1000","purpose":"by hand"}\n')
    with pytest.raises(BudgetExceeded, match="has left, -"):
        shared(path, None).charge(COST)
