"""Exponential families with a density of the sum S(x) over records, without noise.

The parameters are integrated out: beta-binomial, Dirichlet-multinomial and so on. The
density is exact for records of the model, without clipping and rounding. For noisy sums
see `dpjax.posteriors.hidden_totals`.
"""

import abc
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from dpjax.families.base import Family, Number, Total

_NEVER = "The family has no coordinates."


class FamilyWithLaw(Family):
    """An exponential family with a density of the sum of its statistic over records.

    `dpjax.posteriors.family_posterior` runs Markov chains over this sum. They need the
    density, a starting point and, if the components of the statistic constrain each
    other, coordinates of the possible sums.
    """

    @abc.abstractmethod
    def log_total(self, prior: Any, total: Total, n: Number) -> Number:
        """Log-density of the sum of the statistic over n records, up to a constant.

        Args:
            prior: parameters of the conjugate prior, as arrays of floats.
            total: sum of the statistic over the records, not divided by `scales`.
            n: number of records, > 0; the constant is the same for every n.

        Returns:
            The log-density; minus infinity or NaN if n records cannot have this sum.
        """

    @property
    def hyperparameters(self) -> int:
        """Number of unknown hyperparameters of `default_prior`; 0 if there are none."""
        return 0

    def default_prior(self, hyper: Float[Array, " h"], total: Total, n: Number) -> Any:
        """Return the default conjugate prior, given hyperparameters.

        Args:
            hyper: hyperparameters, which are independent N(0, 1) variables.
            total: sum of the statistic over the records. Only the prior of a regression
                depends on it, and only on the sums of the features.
            n: number of records.
        """
        return self.vague_prior()

    def log_hierarchical(
        self, hyper: Float[Array, " h"], prior: Any, total: Total, n: Number
    ) -> Number:
        """Log-density of the sum, given hyperparameters, up to a constant.

        Args:
            hyper: hyperparameters.
            prior: `default_prior(hyper, total, n)`, or its update with further records.
            total: sum of the statistic over the records, not divided by `scales`.
            n: number of records. The constant is the same for every n, for every
                `hyper` and for every `prior`.
        """
        return self.log_total(prior, total, n)

    @property
    def fewest(self) -> int:
        """Smallest number of records for which `log_total` is finite."""
        return 1

    @property
    def middle(self) -> np.ndarray:
        """A value of S(x) / `scales` far from all limits.

        The starting points of Markov chains are moved towards it.
        """
        share = 1 / self.dimension if self.complement is None else 0.5
        return np.full(self.dimension, share)

    @property
    def has_coordinates(self) -> bool:
        """Whether totals have coordinates without limits; then `lattice` is None."""
        return False

    def coordinates(self, scaled: Total, n: Number) -> Total:
        """Return the coordinates of the sum of the statistic, divided by `scales`.

        Args:
            scaled: sum of the statistic over the records, divided by `scales`.
            n: number of records.
        """
        raise NotImplementedError(_NEVER)  # asked only if `has_coordinates` is True

    def average_at(self, coordinates: Total) -> tuple[Total, Number]:
        """Return the average of S(x) / `scales` over the records, at coordinates.

        Returns:
            The average, and the log-Jacobian of the map from the coordinates to it.
        """
        raise NotImplementedError(_NEVER)  # asked only if `has_coordinates` is True
