"""A privacy budget that is charged before anything is drawn, and never refunded.

In memory or in an append-only file, which any number of processes may share.
"""

__all__ = ["BudgetExceeded", "Ledger"]

import contextlib
import os
import threading
from fractions import Fraction

from dpjax._checks import one_of
from dpjax._private import Unpickled
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.guarantee import Epsilon, PureDP, exact_epsilon
from dpjax.privacy.ledger_file import LedgerFile


class BudgetExceeded(ValueError):
    """A charge would spend more than is left; nothing was charged."""


class Ledger(Unpickled):
    """Basic composition: the losses of the releases from one table add up.

    Args:
        epsilon: the whole budget; None: that of the file at `path`, which must exist.
        adjacency: "replace-one" or "add-remove", the same for every charge.
        path: of a JSON Lines file, whose first line is the budget and the adjacency,
            and every other one a charge. Made by the first charge, if it is not there
            yet; None: in memory.

    Privacy:
        Charges are exact fractions, on disk before `charge` returns. A crash after
        that still costs. Processes that share a file never overspend it together.

    Raises:
        ValueError: if an argument is invalid, or the file is damaged or was made with
            another budget or adjacency.
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
        budget = None if epsilon is None else exact_epsilon(epsilon, "budget")
        self.adjacency = adjacency
        self._file = None if path is None else LedgerFile(path)
        self._charges: list[Fraction] = []  # of a ledger in memory
        self._lock = threading.Lock()
        self._started = self._file is not None and self._file.path.exists()
        if self._file is not None and self._started:
            with self._file.lock():
                budget, _ = self._agreed(self._file, budget)
        if budget is None:
            raise ValueError("`budget` must be given to start a ledger, got none.")
        self._budget = budget

    @property
    def budget(self) -> Fraction:
        """The whole budget."""
        return self._budget

    @property
    def spent(self) -> Fraction:
        """Sum of all charges so far, those of other processes included."""
        with self._reading():
            return self._spent()

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
        with self._reading():
            self._refuse(cost)

    def charge(self, cost: PureDP, purpose: str = "") -> None:
        """Spend `cost`, whatever happens next.

        Args:
            cost: of the release that is about to be drawn.
            purpose: a public note for the file.

        Raises:
            ValueError: as `require` does; then nothing is charged.
            BudgetExceeded: if less is left; then nothing is charged.
        """
        self.require(cost)  # so that a refusal makes no file, not even the lock's
        with self._charging():
            self._refuse(cost)
            if self._file is None:
                self._charges.append(cost.epsilon)
            else:
                self._file.append(self.budget, self.adjacency, cost.epsilon, purpose)
                self._started = True

    def __repr__(self) -> str:
        return f"Ledger(budget={self.budget}, spent={self.spent}, {self.adjacency})"

    def _charging(self) -> contextlib.AbstractContextManager:
        """Held from reading to charging, so that nobody else charges in between."""
        return self._lock if self._file is None else self._file.lock()

    def _reading(self) -> contextlib.AbstractContextManager:
        """Held while reading, unless there is no file to read yet."""
        if self._file is not None and not self._file.path.exists():
            return contextlib.nullcontext()
        return self._charging()

    def _agreed(
        self, file: LedgerFile, budget: Fraction | None
    ) -> tuple[Fraction, list[Fraction]]:
        """Budget and charges in the file, if that is for this adjacency and budget."""
        stored, adjacency, charges = file.read()
        if adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {adjacency!r:.80}, got "
                f"{self.adjacency!r:.80}."
            )
        if budget not in (None, stored):
            raise ValueError(
                f"`budget` must be that of the ledger, {stored}, got {budget}."
            )
        return stored, charges

    def _spent(self) -> Fraction:
        charges = self._charges
        if self._file is not None and (self._started or self._file.path.exists()):
            _, charges = self._agreed(self._file, self.budget)  # gone: refused
            self._started = True
        return sum(charges, Fraction(0))

    def _refuse(self, cost: object) -> None:
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
        remaining = self.budget - self._spent()
        if cost.epsilon > remaining:
            raise BudgetExceeded(
                f"`epsilon` must be at most what the ledger has left, {remaining} of "
                f"{self.budget}, got {cost.epsilon}."
            )
