"""`dpjax ledger`: what a ledger has spent, on what, and what it has left."""

import argparse
import os

from dpjax._documents import printable
from dpjax.cli.printing import print_json
from dpjax.exports.reports.budget import budget_of
from dpjax.privacy import Ledger
from dpjax.privacy.guarantee import in_words


def run(options: argparse.Namespace) -> None:
    """Run `dpjax ledger` with the given options."""
    if not os.path.exists(options.ledger):
        raise ValueError(
            f"`ledger` must be the file of a ledger, {options.ledger} does not exist."
        )
    ledger = Ledger(path=options.ledger)
    if options.json:
        print_json(budget_of(ledger))
        return
    limit, cost = ledger.limit, ledger.cost
    period = "" if ledger.period is None else f" of this {ledger.period}"
    print(f"{options.ledger}: {limit.adjacency}, protects {limit.unit}")
    for name, numbers in {
        "budget": limit.numbers,
        f"spent{period}": cost.numbers,
        "left": limit.remaining(cost),
    }.items():
        print(f"  {name:<20} {in_words(numbers)}")
    print(f"  {'charges':<20} {len(ledger.charges)}")
    for charge in ledger.charges:
        part = "" if charge.part is None else f" [{charge.part}]"
        note = printable(f"{in_words(charge.cost.numbers)}{part} {charge.purpose}")
        print(f"    {charge.date or 'no date':<10}  {note}".rstrip())
