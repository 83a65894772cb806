"""The JSON lines of a ledger's file: first the budget, then one line for each charge.

Each charge has a hash of itself and of all earlier lines, to detect edits. Formats 1
(without hashes) and 2 store pure budgets for one row as one number; format 3 stores a
budget of any other kind or unit, and its charges, as descriptions of guarantees.
"""

__all__ = ["FORMATS", "Book", "read_back", "read_on", "with_charge"]

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from dpjax._checks import one_of
from dpjax._documents import canonical_json, parse_json
from dpjax.privacy.guarantee import Guarantee, guarantee_of
from dpjax.privacy.kinds import budget_of

_UNCHAINED, _PURE, _ANY = FORMATS = (
    "dpjax-ledger-1",
    "dpjax-ledger-2",
    "dpjax-ledger-3",
)


class Book(NamedTuple):
    """The state of a ledger.

    Attributes:
        budget: the whole budget.
        spent: the sum of all charges, of the class of `budget`.
        text: all lines of the file; empty if there is no file.
        chain: text to hash with the next charge; None if the format has no hashes.
        inode: inode number of the original file; None if the format has no hashes.
        held: descriptor of the locked file or, if there is no file yet, of its folder.
    """

    budget: Guarantee
    spent: Guarantee
    text: bytes = b""
    chain: str | None = None
    inode: int | None = None
    held: int = -1

    @classmethod
    def of(cls, budget: Guarantee) -> "Book":
        """Return the state of a ledger that has no charges."""
        return cls(budget, budget.nothing())

    def plus(self, cost: Guarantee) -> "Book":
        """Return the state after a further charge of the budget's adjacency."""
        return self._replace(spent=self.spent.composed(type(self.budget).of(cost)))


def with_charge(book: Book, cost: Guarantee, purpose: str, inode: int) -> Book:
    """Return the state after a charge; the first charge also adds the first line."""
    start, chain = "", book.chain
    if not book.text:
        chain = canonical_json({"inode": inode, **_facts(book.budget)})
        start = f"{chain}\n"
    line = _line(chain, _entry(book, cost), purpose)
    return read_on(book, book.text + f"{start}{line}\n".encode())


def read_on(book: Book | None, text: bytes) -> Book:
    """Return the state after all lines of `text`, of which `book` verified the first.

    Invalid lines raise `ValueError`, `TypeError`, `LookupError` or `RecursionError`.
    """
    seen = book.text if book else b""
    *lines, rest = text[len(seen) :].decode().split("\n")
    if rest:
        raise ValueError("the last line is not whole")
    if not book or not book.text:
        book = _header(lines.pop(0))
    for line in lines:
        entry = _parsed(line)
        cost = _cost(book, entry)
        book = book.plus(cost)
        if book.chain is not None:
            if line != _line(book.chain, _entry(book, cost), entry["purpose"]):
                raise ValueError("not what was written after the line before")
            book = book._replace(chain=entry["chain"])
    return book._replace(text=text)


def read_back(book: Book, cost: Guarantee) -> Guarantee:
    """Return the cost as read from a file's line; `ValueError` if it does not fit."""
    return _cost(book, _entry(book, cost))


def _is_pure(budget: Guarantee) -> bool:
    one_row = budget_of(1, budget.adjacency)
    return (budget.kind, budget.unit) == (one_row.kind, one_row.unit)


def _facts(budget: Guarantee) -> dict[str, Any]:
    """Return the content of the first line for a budget."""
    described = budget.describe()
    if not _is_pure(budget):
        return {"format": _ANY, "budget": described}
    number, adjacency = described["epsilon"], described["adjacency"]
    return {"format": _PURE, "budget": number, "adjacency": adjacency}


def _header(line: str) -> Book:
    facts = _parsed(line)
    one_of(FORMATS, format=facts["format"])
    if facts["format"] == _ANY:
        budget = guarantee_of(facts["budget"])
    else:
        budget = budget_of(facts["budget"], facts["adjacency"])
    book = Book.of(budget)
    if facts["format"] == _UNCHAINED:
        return book
    if facts["format"] != _facts(budget)["format"]:
        raise ValueError("a pure budget has a format of its own")
    return book._replace(chain=line, inode=int(facts["inode"]))


def _entry(book: Book, cost: Guarantee) -> dict[str, Any]:
    """Return the content of a charge's line that states its cost."""
    described = cost.describe()
    if _is_pure(book.budget):
        return {"epsilon": described["epsilon"]}
    return {"cost": described}


def _cost(book: Book, entry: Mapping[str, Any]) -> Guarantee:
    if _is_pure(book.budget):
        return budget_of(entry["epsilon"], book.budget.adjacency)
    return guarantee_of(entry["cost"])


def _line(chain: str | None, entry: Mapping[str, Any], purpose: str) -> str:
    """Return the line of a charge, with a hash if `chain` is not None."""
    content = {**entry, "purpose": purpose}
    if chain is None:
        return canonical_json(content)
    data = (chain + canonical_json(content)).encode()
    return canonical_json({"chain": hashlib.sha256(data).hexdigest(), **content})


def _parsed(line: str) -> dict[str, Any]:
    parsed = parse_json(line, "ledger")
    if not isinstance(parsed, dict):
        raise ValueError("a line that is not an object")
    return parsed
