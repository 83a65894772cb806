"""`Ledger`: a privacy budget that is charged before each draw, and never refunded.

A ledger is in memory, or in an append-only file that many processes may share.
"""

import contextlib
import datetime
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, cast

from dpjax._checks import one_of
from dpjax._private import Unpickled
from dpjax.privacy.guarantee import Guarantee, guarantee_of
from dpjax.privacy.kinds import budget_of
from dpjax.privacy.ledger_file import LedgerFile
from dpjax.privacy.ledger_lines import PERIODS, Book, Charge, read_back
from dpjax.privacy.rounding import Epsilon
from dpjax.privacy.sensitivity import ADJACENCIES, Adjacency
from dpjax.privacy.unit import rows_of


class BudgetExceeded(ValueError):
    """Raised if a cost exceeds a ledger's remaining budget; nothing is charged."""


class Ledger(Unpickled):
    """A privacy budget for all releases from one table, and the sum of their costs.

    Args:
        epsilon: ε of the whole budget, for pure DP. None: `budget` is used.
        adjacency: "replace-one" or "add-remove". None: the adjacency of `budget`, or
            that of the file if only `path` is given, as is `contributions`.
        contributions: the most rows of a person, in all charges. None: that of
            `budget`, or 1, which protects each row on its own.
        budget: the whole budget as a guarantee, in place of `epsilon`; all charges are
            converted to its class. If `budget` and `epsilon` are None, the budget is
            read from the file at `path`, which must exist.
        period: "day", "month" or "year", in UTC, after which the budget renews: charges
            of earlier periods no longer count. None: that of the file, or never.
        path: path of a JSON Lines file. The first line has the budget and the
            adjacency, and every other line has a charge. The first charge creates the
            file. None: the ledger is in memory, for this process alone.

    Privacy:
        A budget that renews limits the cost of each period alone: the cost over all
        periods for the same records is not limited.

        Charges are exact fractions. In a file, they are on disk before `charge` returns
        so that a crash does not refund them. Processes that share a file never exceed
        the budget together. A file that was copied, edited or replaced is refused, and
        so is a file that does not begin with the lines that this object read or wrote.
        A new process cannot detect that the last lines were removed, or that an older
        state of the file was restored: all who can write the file are trusted.

    Attributes:
        limit: the whole budget, as a guarantee.
        adjacency: adjacency of the budget and of every charge.
        period: after which the budget renews, or None.
        contributions: the most rows of a person, of the budget and of every charge.

    Raises:
        ValueError: if an argument is invalid, or the file is damaged, is a copy, or has
            another budget, adjacency or `contributions`. In a forked process, all
            methods of a ledger in memory raise it.
    """

    _instead = "a copy would be a second budget; processes share one of the same `path`"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        adjacency: Adjacency | None = None,
        contributions: int | None = None,
        budget: Guarantee | None = None,
        period: str | None = None,
        path: str | os.PathLike | None = None,
    ) -> None:
        if period is not None:
            one_of(tuple(PERIODS), period=period)
        limit, self.adjacency = _limit(epsilon, adjacency, contributions, budget)
        if adjacency is not None:
            contributions = rows_of(1 if contributions is None else contributions)
        self.contributions: Any = limit.contributions if limit else contributions
        if limit is None and (path is None or not os.path.exists(path)):
            what = "none" if path is None else f"none, and no ledger at {path}"
            raise ValueError(f"`budget` must be given to start a ledger, got {what}.")
        self.period = period
        self._book: Any = limit and Book.of(limit, period)  # of a ledger in memory
        self._file = None if path is None else LedgerFile(path, self._book)
        self._process, self._lock = os.getpid(), threading.Lock()
        with self._opened() as book:
            self.limit, self.period = book.budget, book.period
        self.adjacency = self.limit.adjacency
        self.contributions = self.limit.contributions

    @property
    def cost(self) -> Guarantee:
        """The cost of all charges so far, including charges by other processes.

        It is the sum of the charges to the whole table, plus the largest sum of charges
        to one part; if the budget renews, of this period.
        """
        with self._opened() as book:
            return book.spent

    @property
    def budget(self) -> Fraction:
        """The only number of `limit`, such as ε; `ValueError` if it has several."""
        return _one_number(self.limit.numbers)

    @property
    def spent(self) -> Fraction:
        """The only number of `cost`, such as ε; `ValueError` if it has several."""
        return _one_number(self.cost.numbers)

    @property
    def remaining(self) -> Fraction:
        """`budget` minus `spent`; `ValueError` if the budget has several numbers."""
        return _one_number(self.limit.remaining(self.cost))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges so far, in order, also those of earlier periods.

        Each has a `cost`, which is a guarantee, a public note on its `purpose`, the
        `part` of the table (None: the whole table), and an ISO `date`, in UTC.
        """
        with self._opened() as book:
            return book.charges

    def require(self, cost: Guarantee, part: str | None = None) -> None:
        """Raise unless `cost` can be charged now; call this before data is read.

        The argument `part` is that of `charge`.

        Raises:
            ValueError: if the cost does not convert to the budget's class, has another
                adjacency or unit of protection, or is too long a fraction (`rounded_up`
                shortens it), or a new part has nearly the name of a known one.
            BudgetExceeded: if the cost exceeds the remaining budget.
        """
        with self._opened() as book:
            self._refuse(Charge(cost, "", part, _today()), book)

    def charge(
        self, cost: Guarantee, purpose: str = "", part: str | None = None
    ) -> None:
        """Add `cost` to the charges, even if the release fails afterwards.

        Args:
            cost: cost of the release that is drawn next.
            purpose: a public note, written to the file with the charge.
            part: public name of the part of the table from which alone the release is
                drawn. Parts have no record in common, and it is public which part a
                record is in: a replaced record stays in its part. Of several parts,
                only the largest sum of charges counts. None: the whole table. For a
                person with up to k rows, k rows are those in all parts together, and
                `cost` is that of k rows by group privacy (`Guarantee.of_group`), so
                that fewer rows cost less.

        Raises:
            ValueError: if the cost is invalid, as in `require`; nothing is charged.
            BudgetExceeded: if the cost exceeds what remains; nothing is charged.
        """
        charge = Charge(cost, purpose, part, _today())
        with self._opened(charging=True) as book:
            self._refuse(charge, book)
            if self._file is None:
                charges = (*book.charges, charge)
                self._book = book.plus(charge)._replace(charges=charges)
            else:
                self._file.append(book, charge)

    def __repr__(self) -> str:
        spent = f"known to process {self._process}" if self._forked() else self.cost
        facts = f"{self.adjacency}, unit: {self.limit.unit}"
        if self.period is not None:
            facts += f", renews every {self.period}"
        return f"Ledger(budget: {self.limit}, spent: {spent}, {facts})"

    def _forked(self) -> bool:
        """Whether this ledger is in memory and was copied to another process."""
        return self._file is None and os.getpid() != self._process

    @contextlib.contextmanager
    def _opened(self, charging: bool = False) -> Iterator[Book]:
        """Yield the ledger's state, locked against other processes and threads."""
        if self._forked():  # known without the lock: after a fork it may never be free
            raise ValueError(
                "`ledger` must stay in the process that made it, unless it is in a "
                "file: give it a `path`, which processes may share."
            )
        if self._file is None:
            with self._lock:
                yield self._book.on(_today())
        else:
            with self._file.opened(charging) as book:
                self._agree(book)
                yield book.on(_today())

    def _agree(self, book: Book) -> None:
        """Raise unless the file has this adjacency, unit and budget."""
        if self.adjacency not in (None, book.budget.adjacency):
            raise ValueError(
                "`adjacency` must be that of the ledger, "
                f"{book.budget.adjacency!r:.80}, got {self.adjacency!r:.80}."
            )
        if self.contributions not in (None, book.budget.contributions):
            raise _other_unit(book.budget.contributions, self.contributions)
        if self.period not in (None, book.period):
            raise ValueError(
                f"`period` must be that of the ledger, {book.period}, got "
                f"{self.period!r}."
            )
        given = self._book and self._book.budget
        if given not in (None, book.budget):
            raise ValueError(
                f"`budget` must be that of the ledger, {book.budget}, got {given}."
            )

    def _refuse(self, charge: Charge, book: Book) -> None:
        """Raise unless the cost can be converted and is within the remaining budget."""
        cost: Any = charge.cost
        try:
            numbers = type(book.budget).of(cost, "cost").numbers
        except ValueError as error:
            raise ValueError(
                f"{error} A ledger that takes it has a `budget` of that kind."
            ) from None
        if cost.adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {self.adjacency!r:.80}, got "
                f"{cost.adjacency!r}."
            )
        if cost.contributions != self.contributions:
            raise _other_unit(self.contributions, cost.contributions)
        read_back(book, charge)
        book.check_part(charge.part)
        for name, left in book.budget.remaining(book.before(charge.part)).items():
            if numbers[name] > left:
                raise BudgetExceeded(
                    f"`{name}` must be at most what the ledger has left, {left} of "
                    f"{book.budget.numbers[name]}, got {numbers[name]}."
                )


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _limit(
    epsilon: Epsilon | None,
    adjacency: Adjacency | None,
    contributions: int | None,
    budget: Guarantee | None,
) -> tuple[Guarantee | None, Any]:
    """The budget as given, and its adjacency; None for what the file has."""
    if budget is epsilon is adjacency is contributions is None:
        return None, None
    if budget is None:
        one_of(ADJACENCIES, adjacency=adjacency)
        known = cast(Adjacency, adjacency)
        rows = 1 if contributions is None else contributions
        limit = None if epsilon is None else budget_of(epsilon, known, "budget", rows)
        return limit, known
    other = adjacency not in (None, budget.adjacency)
    other = other or contributions not in (None, budget.contributions)
    if epsilon is not None or other:
        raise ValueError(
            "`budget` must be given alone, without `epsilon` and with no other "
            "`adjacency` or `contributions` than its own."
        )
    return guarantee_of(budget.describe()), budget.adjacency  # as if from a file


def _other_unit(own: int, got: int) -> ValueError:
    return ValueError(
        f"`contributions` must be that of the ledger, {own}, got {got}: the ledger adds"
        " up the costs for a person with up to that many rows."
    )


def _one_number(numbers: dict[str, Fraction]) -> Fraction:
    if len(numbers) > 1:
        raise ValueError(
            f"`ledger` must have a budget of one number, not of {', '.join(numbers)}: "
            "ask `limit` and `cost`, which are guarantees."
        )
    (number,) = numbers.values()
    return number
