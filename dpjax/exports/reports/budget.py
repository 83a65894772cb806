"""What a ledger has spent, on what, and what it has left, as plain data."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpjax._checks import of_type
from dpjax.privacy import Ledger


def budget_of(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger's budget, what is spent and left, and all charges, for JSON."""
    of_type(Ledger, "open it with `dpjax.Ledger(path=…)`", ledger=ledger)
    limit, cost = ledger.limit, ledger.cost
    return {
        "adjacency": limit.adjacency,
        "unit": limit.unit,
        "period": ledger.period,
        "budget": texts(limit.numbers),
        "spent": texts(cost.numbers),
        "left": texts(limit.remaining(cost)),
        "charges": [
            {
                "date": charge.date or None,
                "cost": texts(charge.cost.numbers),
                "part": charge.part,
                "purpose": charge.purpose,
            }
            for charge in ledger.charges
        ],
    }


def texts(numbers: Mapping[str, Fraction]) -> dict[str, str]:
    """Return exact numbers as text, such as "1/3", by name."""
    return {name: str(number) for name, number in numbers.items()}
