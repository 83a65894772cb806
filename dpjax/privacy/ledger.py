"""A privacy budget that is charged before anything is drawn, and never refunded.

In memory or in an append-only file, which any number of processes may share.
"""

__all__ = ["BudgetExceeded", "Ledger"]

import contextlib
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpjax._checks import one_of
from dpjax._private import Unpickled
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.guarantee import Epsilon, PureDP, exact_epsilon
from dpjax.privacy.ledger_file import LedgerFile
from dpjax.privacy.ledger_lines import Book


class BudgetExceeded(ValueError):
    """A charge would spend more than is left; nothing was charged."""


class Ledger(Unpickled):
    """Basic composition: the losses of the releases from one table add up.

    Args:
        epsilon: the whole budget; None: that of the file at `path`, which must exist.
        adjacency: "replace-one" or "add-remove", the same for every charge.
        path: of a JSON Lines file, whose first line is the budget and the adjacency,
            and every other one a charge. Made by the first charge, if it is not there
            yet; None: in memory, for this process alone.

    Privacy:
        Charges are exact fractions, on disk before `charge` returns. A crash after
        that still costs. Processes that share a file never overspend it together. A
        file that was copied, edited or replaced is refused, and so is one that no
        longer begins with what this object read from it or wrote to it. A new process
        cannot know that the last charges were cut off, or that an older state was
        written back into the file: whoever can write the file is trusted.

    Raises:
        ValueError: if an argument is invalid, or the file is damaged, a copy, or was
            made with another budget or adjacency; by all methods of a ledger in memory
            in a process that was forked from the one that made it.
    """

    _instead = "a copy would be a second budget; processes share one of the same `path`"

    def __init__(
        self,
        epsilon: Epsilon | None = None,
        *,
        adjacency: str,
        path: str | os.PathLike | None = None,
    ) -> None:
        one_of(ADJACENCIES, adjacency=adjacency)
        budget: Any = None if epsilon is None else exact_epsilon(epsilon, "budget")
        self._budget, self.adjacency = budget, adjacency
        self._book = Book(budget, adjacency)  # of a ledger in memory
        self._file = None if path is None else LedgerFile(path, self._book)
        self._process, self._lock = os.getpid(), threading.Lock()
        with self._opened() as book:
            self._budget = book.budget
        if self._budget is None:
            raise ValueError("`budget` must be given to start a ledger, got none.")

    @property
    def budget(self) -> Fraction:
        """The whole budget."""
        return self._budget

    @property
    def spent(self) -> Fraction:
        """Sum of all charges so far, those of other processes included."""
        with self._opened() as book:
            return book.spent

    @property
    def remaining(self) -> Fraction:
        """What can still be charged."""
        return self.budget - self.spent

    def require(self, cost: PureDP) -> None:
        """Raise unless `cost` could be charged now: to be asked before touching data.

        Raises:
            ValueError: if the cost is not pure, or too long a fraction to be written
                (`rounded_up` shortens it), or the adjacency is not the ledger's.
            BudgetExceeded: if less is left.
        """
        with self._opened() as book:
            self._refuse(cost, book)

    def charge(self, cost: PureDP, purpose: str = "") -> None:
        """Spend `cost`, whatever happens next.

        Args:
            cost: of the release that is about to be drawn.
            purpose: a public note for the file.

        Raises:
            ValueError: as `require` does; then nothing is charged.
            BudgetExceeded: if less is left; then nothing is charged.
        """
        with self._opened(charging=True) as book:
            self._refuse(cost, book)
            if self._file is None:
                self._book = book._replace(spent=book.spent + cost.epsilon)
            else:
                self._file.append(book, cost.epsilon, purpose)

    def __repr__(self) -> str:
        spent = f"known to process {self._process}" if self._forked() else self.spent
        return f"Ledger(budget={self.budget}, spent={spent}, {self.adjacency})"

    def _forked(self) -> bool:
        """Whether this is a copy in memory that a fork has made for another process."""
        return self._file is None and os.getpid() != self._process

    @contextlib.contextmanager
    def _opened(self, charging: bool = False) -> Iterator[Book]:
        """What the ledger says; nobody else charges it within the `with` block."""
        if self._forked():  # known without the lock, which a lost thread may hold
            raise ValueError(
                "`ledger` must stay in the process that made it, unless it is in a "
                "file: give it a `path`, which processes may share."
            )
        if self._file is None:
            with self._lock:
                yield self._book
        else:
            with self._file.opened(charging) as book:
                self._agree(book)
                yield book

    def _agree(self, book: Book) -> None:
        """Raise unless a file is for this adjacency and budget."""
        if book.adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {book.adjacency!r:.80}, got "
                f"{self.adjacency!r:.80}."
            )
        if self._budget not in (None, book.budget):
            raise ValueError(
                f"`budget` must be that of the ledger, {book.budget}, got "
                f"{self._budget}."
            )

    def _refuse(self, cost: object, book: Book) -> None:
        if not isinstance(cost, PureDP):
            raise ValueError(
                "`cost` must be pure (PureDP): δs are for planning, no ledger adds "
                f"them up; got {type(cost).__name__}."
            )
        exact_epsilon(str(cost.epsilon))  # as the file will be read
        if cost.adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {self.adjacency!r:.80}, got "
                f"{cost.adjacency!r}."
            )
        remaining = self.budget - book.spent
        if cost.epsilon > remaining:
            raise BudgetExceeded(
                f"`epsilon` must be at most what the ledger has left, {remaining} of "
                f"{self.budget}, got {cost.epsilon}."
            )
