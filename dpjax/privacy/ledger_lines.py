"""The JSON lines of a ledger's file: first the budget, then one line for each charge.

Each charge has a hash of itself and of all earlier lines, to detect edits. A new file
has format 4: lines in the canonical form of RFC 8785, with the budget and all costs as
descriptions of guarantees. Files of earlier formats go on as they began: formats 1
(without hashes) and 2 store pure budgets for one row as one number, and format 3 those
of any other kind or unit. A charge to a part of the table has the part's name. If the
budget renews, the first line has the period. Every charge of format 4, or of a budget
that renews, has its date.
"""

import datetime
import hashlib
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dpjax._checks import one_of
from dpjax._documents import canonical_json, escaped_json, parse_json
from dpjax.privacy.guarantee import Guarantee, guarantee_of
from dpjax.privacy.kinds import budget_of

_UNCHAINED, _PURE, _ANY, _CANONICAL = FORMATS = (
    "dpjax-ledger-1",
    "dpjax-ledger-2",
    "dpjax-ledger-3",
    "dpjax-ledger-4",
)


PERIODS = {"day": 10, "month": 7, "year": 4}
"""Periods after which a budget renews, and how many characters of a date name one."""


class Charge(NamedTuple):
    """A charge to a ledger.

    Attributes:
        cost: cost of a release.
        purpose: a public note.
        part: name of the part of the table that is released; None: the whole table.
        date: ISO date of the charge, in UTC; "" if an older file does not have it.
    """

    cost: Guarantee
    purpose: str
    part: str | None
    date: str


class Book(NamedTuple):
    """The state of a ledger.

    Attributes:
        budget: the whole budget.
        shared: the sum of this period's charges to the whole table, of the class of
            `budget`.
        parts: the sums of this period's other charges, by part.
        period: a key of `PERIODS`; None: the budget never renews.
        date: date of the last charge, or of the state; "" before the first charge.
        format: one of `FORMATS`.
        text: all lines of the file; empty if there is no file.
        chain: text to hash with the next charge; None if the format has no hashes.
        inode: inode number of the original file; None if the format has no hashes.
        held: descriptor of the locked file or, if there is no file yet, of its folder.
        charges: all charges, in order, also those of earlier periods.
    """

    budget: Guarantee
    shared: Guarantee
    parts: Mapping[str, Guarantee] = {}
    period: str | None = None
    date: str = ""
    format: str = _CANONICAL
    text: bytes = b""
    chain: str | None = None
    inode: int | None = None
    held: int = -1
    charges: tuple[Charge, ...] = ()

    @classmethod
    def of(cls, budget: Guarantee, period: str | None = None) -> "Book":
        """Return the state of a ledger that has no charges."""
        return cls(budget, budget.nothing(), period=period)

    @property
    def spent(self) -> Guarantee:
        """The cost of this period's charges: each record is in one part at most."""
        most = self.budget.nothing().largest(*self.parts.values())
        return self.shared.composed(most)

    def before(self, part: str | None) -> Guarantee:
        """Return the cost to which a further charge to a part is added."""
        if part is None:
            return self.spent
        return self.shared.composed(self.parts.get(part, self.budget.nothing()))

    def check_part(self, part: str | None) -> None:
        """Raise `ValueError` if a new part has nearly the name of a known one."""
        if part is None or part in self.parts:
            return
        for known in self.parts:
            if _plain(known) == _plain(part):
                raise ValueError(
                    f"`part` must be {known!r:.80}, as before, or have another name, "
                    f"got {part!r:.80}."
                )

    def on(self, date: str) -> "Book":
        """Return the state at a date, when the budget may have been renewed."""
        if self.period is None or not self.date:
            return self
        end = PERIODS[self.period]
        if date[:end] <= self.date[:end]:
            return self
        return self._replace(shared=self.budget.nothing(), parts={}, date=date)

    def plus(self, charge: Charge) -> "Book":
        """Return the state after a further charge of the budget's adjacency."""
        book = self.on(charge.date)
        cost = type(self.budget).of(charge.cost)
        if self.period is not None:
            book = book._replace(date=charge.date)
        if charge.part is None:
            return book._replace(shared=book.shared.composed(cost))
        nothing = self.budget.nothing()
        own = book.parts.get(charge.part, nothing).composed(cost)
        return book._replace(parts={**book.parts, charge.part: own})


def _plain(part: str) -> str:
    """Return a name without what a reader overlooks: case, spaces, forms of letters."""
    return "".join(unicodedata.normalize("NFKC", part).casefold().split())


def with_charge(book: Book, charge: Charge, inode: int) -> Book:
    """Return the state after a charge; the first charge also adds the first line."""
    start, chain = "", book.chain
    if not book.text:
        chain = _first_line(book, inode)
        start = f"{chain}\n"
    line = _line(book, chain, _entry(book, charge))
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
    charges = [*book.charges]
    for line in lines:
        entry = _parsed(line)
        charge = _charge(book, entry)
        charges.append(charge)
        if book.on(charge.date) is not book:
            _refuse_overspent(book)
        book = book.plus(charge)
        if book.chain is not None:
            if line != _line(book, book.chain, _entry(book, charge)):
                raise ValueError("not what was written after the line before")
            book = book._replace(chain=entry["chain"])
    _refuse_overspent(book)
    return book._replace(text=text, charges=(*charges,))


def _refuse_overspent(book: Book) -> None:
    """Raise `ValueError` if a period's charges exceed the budget: they only add up."""
    if min(book.budget.remaining(book.spent).values()) < 0:
        raise ValueError("more is spent than the budget")


def read_back(book: Book, charge: Charge) -> Charge:
    """Return the charge as read from a file's line; `ValueError` if it does not fit."""
    return _charge(book, _entry(book, charge))


def _is_pure(budget: Guarantee) -> bool:
    one_row = budget_of(1, budget.adjacency)
    return (budget.kind, budget.unit) == (one_row.kind, one_row.unit)


def _first_line(book: Book, inode: int) -> str:
    budget = book.budget.describe()
    facts: dict[str, Any] = {"format": book.format, "budget": budget, "inode": inode}
    if book.format == _CANONICAL:
        facts["inode"] = str(inode)
    if book.format == _PURE:
        facts |= {"budget": budget["epsilon"], "adjacency": budget["adjacency"]}
    if book.period is not None:
        facts["period"] = book.period
    return _form(book)(facts)


def _form(book: Book) -> Callable[[object], str]:
    return canonical_json if book.format == _CANONICAL else escaped_json


def _header(line: str) -> Book:
    facts = _parsed(line)
    one_of(FORMATS, format=facts["format"])
    if facts["format"] in (_ANY, _CANONICAL):
        budget = guarantee_of(facts["budget"])
    else:
        budget = budget_of(facts["budget"], facts["adjacency"])
    period = facts.get("period")
    if period is not None:
        one_of(tuple(PERIODS), period=period)
    book = Book.of(budget, period)._replace(format=facts["format"])
    if book.format == _UNCHAINED:
        return book
    if book.format == _ANY and _is_pure(budget):
        raise ValueError("a pure budget has a format of its own")
    inode = int(facts["inode"])
    if inode not in range(1 << 64) or line != _first_line(book, inode):
        raise ValueError("not what is written of this budget")
    return book._replace(chain=line, inode=inode)


def _entry(book: Book, charge: Charge) -> dict[str, Any]:
    """Return the content of a charge's line."""
    described = charge.cost.describe()
    alone = book.format in (_UNCHAINED, _PURE)
    cost = {"epsilon": described["epsilon"]} if alone else {"cost": described}
    entry: dict[str, Any] = {**cost, "purpose": charge.purpose}
    if charge.part is not None:
        entry["part"] = charge.part
    if _is_dated(book):
        entry["date"] = charge.date
    return entry


def _is_dated(book: Book) -> bool:
    return book.period is not None or book.format == _CANONICAL


def _charge(book: Book, entry: Mapping[str, Any]) -> Charge:
    if book.format in (_UNCHAINED, _PURE):
        cost = budget_of(entry["epsilon"], book.budget.adjacency)
    else:
        cost = guarantee_of(entry["cost"])
    part = entry.get("part")
    if part is not None and (not isinstance(part, str) or not part):
        raise ValueError("`part` must be the name of a part of the table.")
    date = ""
    if _is_dated(book):
        date = datetime.date.fromisoformat(entry["date"]).isoformat()
    if book.period is not None and date < book.date:
        raise ValueError(
            "`ledger` must be charged in the order of dates, and the clock says "
            f"{date}, before the last charge, of {book.date}."
        )
    if not isinstance(entry["purpose"], str):
        raise ValueError("`purpose` must be text.")
    return Charge(cost, entry["purpose"], part, date)


def _line(book: Book, chain: str | None, content: Mapping[str, Any]) -> str:
    """Return the line of a charge, with a hash if `chain` is not None."""
    written = _form(book)
    if chain is None:
        return written(content)
    data = (chain + written(content)).encode()
    return written({"chain": hashlib.sha256(data).hexdigest(), **content})


def _parsed(line: str) -> dict[str, Any]:
    parsed = parse_json(line, "ledger")
    if not isinstance(parsed, dict):
        raise ValueError("a line that is not an object")
    return parsed
