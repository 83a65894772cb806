"""The sampling of records before a release, as part of the release."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpjax.data.sampling import poisson_sample, sample_of_fixed_size
from dpjax.mechanisms.recipe import Recipe
from dpjax.privacy import (
    REPLACE_ONE,
    ZCDP,
    ApproximateDP,
    Epsilon,
    Guarantee,
    PureDP,
    exact_epsilon,
)
from dpjax.privacy.composition import for_sample, subsampled


@dataclass(frozen=True)
class Sampled:
    """The secret random sample of records that a release was computed from.

    Under add-remove each record is in the sample with probability `rate`, independently
    of all others. Under replace-one the sample has a share of at most `rate` of all
    records, without replacement.

    Args:
        rate: q, > 0 and < 1.
        cost: the guarantee of the release for one row of the whole table.
        records: public number of records of the whole table under replace-one; None
            under add-remove, and until it is known.
    """

    rate: Fraction
    cost: Guarantee
    records: int | None = None

    def __post_init__(self) -> None:
        if self.rate >= 1:
            raise ValueError(f"`sample_rate` must be below 1, got {self.rate}.")

    @classmethod
    def of(
        cls, rate: Epsilon | None, recipe: Recipe, budget: Guarantee
    ) -> "tuple[Sampled | None, Recipe, Guarantee]":
        """Return the sampling, the recipe, and what its mechanism may cost a row.

        Without a rate there is no sampling.

        The cost of a pure mechanism is one of ε for the whole table and for the sample.
        For a mechanism of zero-concentrated privacy, `budget` must be an (ε, δ).

        Raises:
            ValueError: if the rate is not > 0 and < 1, or the budget is of another
                kind.
        """
        if rate is None:
            return None, *recipe.paid_by(budget)
        row, exact = budget.per_record(), exact_epsilon(rate, "sample_rate")
        if PureDP in recipe.costs and row.pure_epsilon:
            row = PureDP(row.pure_epsilon, row.adjacency)
        if row.kind not in (PureDP.kind, ApproximateDP.kind):
            raise ValueError(
                f"`sample_rate` must come with a budget of an (ε, δ) for {recipe}: "
                "`dpjax.privacy.ApproximateDP`, or --epsilon E with --delta D."
            )
        made = cls(exact, row)
        return made, *recipe.paid_by(for_sample(row, exact, made._way))

    def draw(self, batches: Iterable[np.ndarray]) -> "tuple[np.ndarray, Sampled]":
        """Draw the sample, and return it with the public number of all records.

        Privacy:
            The rows are those of records. Which records they are is secret.
        """
        if self.cost.adjacency != REPLACE_ONE:
            return poisson_sample(batches, self.rate), self
        rows = np.concatenate([*batches])
        sampled = Sampled(self.rate, self.cost, len(rows))
        if sampled.size < 1:
            raise ValueError(
                f"`sample_rate` must be at least 1 / n for the n = {len(rows)} records "
                f"of the table, got {float(self.rate):.3g}."
            )
        return sample_of_fixed_size(rows, sampled.size), sampled

    @property
    def size(self) -> int:
        """Number of records in a sample of fixed size."""
        return int(self.rate * (self.records or 0))

    def check(self, spent: Guarantee, n: Any) -> None:
        """Raise `ValueError` unless a release from n sampled records costs `cost`.

        Args:
            spent: the cost of the mechanism for one row of the sample.
            n: the number of records in the sample, or None if it is private.
        """
        whole = self._of_whole(spent)
        if not whole.fits(self.cost):
            raise ValueError(
                f"`sampled` must cost at most {self.cost}, got {whole} at this rate."
            )
        if n is not None and int(n) != self.size:
            raise ValueError(
                f"`sampled` must have {self.size} records in the sample, got {int(n)}."
            )

    def charged(self, spent: Guarantee, allowed: Guarantee) -> "Sampled":
        """Return the sampling at its cost, if a mechanism costs less than it may.

        Args:
            spent: the cost of the mechanism for one row of the sample.
            allowed: what it may cost.
        """
        if spent == allowed:
            return self
        return replace(self, cost=self._of_whole(spent))

    def _of_whole(self, spent: Guarantee) -> Guarantee:
        """Cost for one row of the whole table, given that for one of the sample."""
        if spent.kind == ZCDP.kind:
            delta = ApproximateDP.of(self.cost, "sampled").delta
            spent = ZCDP.of(spent).approximate(delta / self.rate)
        return subsampled(spent, self.rate, self._way)

    @property
    def _way(self) -> str:
        return "fixed-size" if self.cost.adjacency == REPLACE_ONE else "poisson"
