"""What processes do to a ledger in `test_ledger_under_fire`: a module they can import.

They are forked from a server that has imported it: each starts in milliseconds.
"""

__all__ = [
    "CONTEXT",
    "COST",
    "charge_and_fork",
    "charge_and_tell",
    "charge_until_killed",
    "delete_all_others",
    "die_at_every_line",
    "fork_in_a_charge",
    "fork_in_memory",
    "imported_by_charges",
    "share_memory",
]

import functools
import multiprocessing
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Callable
from fractions import Fraction

from dpjax import BudgetExceeded, Ledger
from dpjax.privacy import PureDP, ledger_file

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

COST = PureDP(Fraction(1, 97), "add-remove")
_WRITERS = ("ledger_file.py", "_documents.py")


def charge_and_tell(path: pathlib.Path, budget: Fraction, times: int, start, told):
    """Try to charge so often, once all others are ready; tell how often it worked."""
    ledger = Ledger(budget, adjacency=COST.adjacency, path=path)
    start.wait()
    told.put(charged(ledger, times))


def charge_until_killed(path: pathlib.Path, record: pathlib.Path, budget: Fraction):
    """Charge, draw, charge, draw, …: each draw on the disk before the next charge."""
    ledger = Ledger(budget, adjacency=COST.adjacency, path=path)
    drawn = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        ledger.charge(COST, "a draw follows")
        os.write(drawn, b"drawn\n")
        os.fsync(drawn)


def charged(ledger: Ledger, times: int) -> int:
    """How many of so many charges succeed; what is deleted is charged again."""
    succeeded = 0
    while succeeded < times:
        try:
            ledger.charge(COST)
            succeeded += 1
        except BudgetExceeded:
            break
        except ValueError as error:
            if "`budget` must be that of the ledger" in str(error):  # another began it
                break
            if "a file must be writable" not in str(error):  # not begun: was deleted
                raise
    return succeeded


def in_a_fork(act: Callable[[], int], seconds: int = 100) -> int:
    """What it returns, at most 100, in a process of its own; 200 if that fails."""
    process = os.fork()
    if not process:
        signal.alarm(seconds)
        status = 200
        try:
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def fork_in_memory(told):
    """Nine processes charge one ledger in memory; some are forked under its lock."""
    ledger = Ledger(3 * COST.epsilon, adjacency=COST.adjacency)
    ledger.charge(COST)
    forked = [in_a_fork(lambda: _refused(ledger)) for _ in range(7)]
    with ledger._lock:  # as if another thread were in the middle of a charge
        forked += [in_a_fork(lambda: _refused(ledger), seconds=20)]
    told.put((forked, charged(ledger, 9), ledger.spent))


def _refused(ledger: Ledger) -> int:
    """How many ways to use it end in one line that says what to do instead."""
    refused, own = 0, Ledger(1, adjacency=COST.adjacency)
    for use in (
        lambda: ledger.charge(COST),
        lambda: ledger.require(COST),
        lambda: ledger.spent,
        lambda: ledger.remaining,
    ):
        try:
            use()
        except ValueError as error:
            refused += str(error).isprintable() and "give it a `path`" in str(error)
    own.charge(COST)  # a ledger of the process is its own
    return refused + (f"process {os.getppid()}" in repr(ledger))


def share_memory(told):
    """The same by `multiprocessing`, whose fork hands the ledger over unpickled."""
    ledger = Ledger(3, adjacency=COST.adjacency)
    context = multiprocessing.get_context("fork")
    refused = context.SimpleQueue()
    for _ in range(2):
        process = context.Process(target=lambda: refused.put(_refused(ledger)))
        process.start()
        process.join()
    told.put(([refused.get(), refused.get()], charged(ledger, 1), ledger.spent))


def imported_by_charges(path: pathlib.Path, told):
    """Which modules the first charges import, in a process that made none before."""
    before = {*sys.modules}
    ledger = Ledger(5 * COST.epsilon, adjacency=COST.adjacency, path=path)
    told.put((charged(ledger, 2), {*sys.modules} - before))


def fork_in_a_charge(path: pathlib.Path, told):
    """Fork while a thread is between locking and unlocking the file; both charge."""
    ledger = Ledger(5 * COST.epsilon, adjacency=COST.adjacency, path=path)
    ledger.charge(COST)
    inside, forked, synchronise = threading.Event(), threading.Event(), os.fsync

    def interrupted(descriptor: int) -> None:
        inside.set()
        assert forked.wait(60)
        synchronise(descriptor)

    ledger_file.os.fsync = interrupted
    thread = threading.Thread(target=ledger.charge, args=(COST,))
    thread.start()
    assert inside.wait(60)
    process = os.fork()
    ledger_file.os.fsync = synchronise
    if not process:
        ledger_file._PATIENCE = 20
        status = 200
        try:
            status = charged(ledger, 100)
        finally:
            os._exit(status)
    forked.set()
    thread.join()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    told.put((status, charged(ledger, 1), ledger.spent))


def charge_and_fork(path: pathlib.Path, budget: Fraction, times: int, start, told):
    """Charge in a thread and in processes forked meanwhile, so often in each."""
    ledger, counts = Ledger(budget, adjacency=COST.adjacency, path=path), []
    thread = threading.Thread(target=lambda: counts.append(charged(ledger, times)))
    start.wait()
    thread.start()
    counts += [in_a_fork(lambda: charged(ledger, times)) for _ in range(2)]
    thread.join()
    told.put(sum(counts))


def delete_all_others(path: pathlib.Path, start, stop):
    """Whatever else is in the folder of a ledger, again and again.

    The pauses grow: a file can be begun on a disk of any speed, and until then the
    process that tries keeps the folder locked, for which the others wait a minute.
    """
    pause = 0.005
    start.wait()
    while not stop.wait(pause):
        pause = min(1.05 * pause, 1)
        for file in path.parent.iterdir():
            if file != path:
                file.unlink(missing_ok=True)


def die_at_every_line(folder: pathlib.Path, told):
    """Processes that make a ledger by its first charge, each killed one line later."""
    statuses = []
    while statuses[-1:] != [0]:
        path = folder / f"{len(statuses)}" / "ledger.jsonl"
        path.parent.mkdir()
        statuses.append(in_a_fork(functools.partial(_die, path, len(statuses))))
    told.put(statuses)


def _die(path: pathlib.Path, number: int) -> int:
    ledger, lines = Ledger(1, adjacency=COST.adjacency, path=path), iter(range(number))

    def trace(frame, event, argument):
        if pathlib.Path(frame.f_code.co_filename).name not in _WRITERS:
            return None
        if event == "line" and next(lines, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    ledger.charge(COST)
    sys.settrace(None)
    return 0
