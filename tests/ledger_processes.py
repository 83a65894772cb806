"""What processes do to a ledger in `test_ledger_under_fire`: a module they can import.

They are forked from a server that has imported it: each starts in milliseconds.
"""

__all__ = ["CONTEXT", "COST", "charge_and_tell", "charge_until_killed"]

import multiprocessing
import os
import pathlib
from fractions import Fraction

from dpjax import BudgetExceeded, Ledger
from dpjax.privacy import PureDP

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])

COST = PureDP(Fraction(1, 97), "add-remove")


def charge_and_tell(path: pathlib.Path, budget: Fraction, times: int, start, told):
    """Try to charge so often, once all others are ready; tell how often it worked."""
    ledger, charged = Ledger(budget, adjacency=COST.adjacency, path=path), 0
    start.wait()
    for _ in range(times):
        try:
            ledger.charge(COST)
            charged += 1
        except BudgetExceeded:
            pass
    told.put(charged)


def charge_until_killed(path: pathlib.Path, record: pathlib.Path, budget: Fraction):
    """Charge, draw, charge, draw, …: each draw on the disk before the next charge."""
    ledger = Ledger(budget, adjacency=COST.adjacency, path=path)
    drawn = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        ledger.charge(COST, "a draw follows")
        os.write(drawn, b"drawn\n")
        os.fsync(drawn)
