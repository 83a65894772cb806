"""A privacy budget that is charged before anything is drawn, and never refunded.

In memory or in an append-only file, which any number of processes may share.
"""

__all__ = ["BudgetExceeded", "Ledger"]

import contextlib
import os
from fractions import Fraction

from dpjax._checks import one_of
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.guarantee import PureDP, exact_epsilon
from dpjax.privacy.ledger_file import LedgerFile


class BudgetExceeded(ValueError):
    """A charge would spend more than is left; nothing was charged."""


class Ledger:
    """Basic composition: the losses of the releases from one table add up.

    Args:
        epsilon: the whole budget; None: that of the file at `path`, which must exist.
        adjacency: "replace-one" or "add-remove", the same for every charge.
        path: of a JSON Lines file, whose first line is the budget and the adjacency,
            and every other one a charge. Made if it does not exist; None: in memory.

    Privacy:
        Charges are exact fractions, on disk before `charge` returns. A crash after
        that still costs. Processes that share a file never overspend it together.

    Raises:
        ValueError: if an argument is invalid, or the file is damaged or was made with
            another budget or adjacency.
    """

    def __init__(
        self,
        epsilon: str | int | float | Fraction | None = None,
        *,
        adjacency: str,
        path: str | os.PathLike | None = None,
    ) -> None:
        one_of(ADJACENCIES, adjacency=adjacency)
        budget = None if epsilon is None else exact_epsilon(epsilon)
        self.adjacency = adjacency
        self._file = None if path is None else LedgerFile(path)
        self._charges: list[Fraction] = []
        if self._file is not None:
            budget = self._open(self._file, budget)
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
        with self._shared():
            return self._spent()

    @property
    def remaining(self) -> Fraction:
        """What can still be charged."""
        return self.budget - self.spent

    def require(self, cost: PureDP) -> None:
        """Raise unless `cost` could be charged now: to be asked before touching data.

        Raises:
            ValueError: if the adjacency is not the ledger's.
            BudgetExceeded: if less is left.
        """
        with self._shared():
            self._refuse(cost)

    def charge(self, cost: PureDP, purpose: str = "") -> None:
        """Spend `cost`, whatever happens next.

        Args:
            cost: of the release that is about to be drawn.
            purpose: a public note for the file.

        Raises:
            ValueError: if the adjacency is not the ledger's.
            BudgetExceeded: if less is left; then nothing is charged.
        """
        with self._shared():
            self._refuse(cost)
            if self._file is None:
                self._charges.append(cost.epsilon)
            else:
                self._file.append(cost.epsilon, purpose)

    def __repr__(self) -> str:
        return f"Ledger(budget={self.budget}, spent={self.spent}, {self.adjacency})"

    def _open(self, file: LedgerFile, budget: Fraction | None) -> Fraction | None:
        """The budget in the file, made first if it is not there."""
        if not file.path.exists():
            if budget is None:
                return None
            file.create(budget, self.adjacency)
        with file.lock():
            stored, adjacency, _ = file.read()
        if adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {adjacency!r}, got "
                f"{self.adjacency!r}."
            )
        if budget not in (None, stored):
            raise ValueError(
                f"`budget` must be that of the ledger, {stored}, got {budget}."
            )
        return stored

    def _shared(self) -> contextlib.AbstractContextManager:
        """Held while reading and charging, so that nobody else charges in between."""
        return contextlib.nullcontext() if self._file is None else self._file.lock()

    def _spent(self) -> Fraction:
        charges = self._charges if self._file is None else self._file.read()[2]
        return sum(charges, Fraction(0))

    def _refuse(self, cost: PureDP) -> None:
        if cost.adjacency != self.adjacency:
            raise ValueError(
                f"`adjacency` must be that of the ledger, {self.adjacency!r}, got "
                f"{cost.adjacency!r}."
            )
        remaining = self.budget - self._spent()
        if cost.epsilon > remaining:
            raise BudgetExceeded(
                f"`epsilon` must be at most what the ledger has left, {remaining} of "
                f"{self.budget}, got {cost.epsilon}."
            )
