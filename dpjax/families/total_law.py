"""Exponential families with a known law of an exact total, before any release.

The parameters are integrated out: beta-binomial, Dirichlet-multinomial and so on. The
law is exact for records of the model, without clipping and rounding. The law of a noisy
total also depends on the noise: see `dpjax.posteriors.hidden_totals`.
"""

__all__ = ["FamilyWithLaw"]

import abc
from typing import Any

import numpy as np
from jaxtyping import Array, Int

from dpjax.families.base import Family, Number, Total


class FamilyWithLaw(Family):
    """An exponential family with a law for the exact total of its statistic.

    `dpjax.posteriors.family_posterior` needs it. Its Markov chains also need a starting
    point and, if the components of the statistic constrain each other, maps from one
    possible total to another.
    """

    @abc.abstractmethod
    def log_total(self, prior: Any, total: Total, n: Number) -> Number:
        """Log-density of a total of n records, up to a constant.

        Args:
            prior: conjugate parameters, arrays of floats.
            total: total of the statistic, in natural units.
            n: number of records, > 0; the constant is the same for every n.

        Returns:
            The log-density; minus infinity or NaN if the total is not possible.
        """

    @property
    def fewest(self) -> int:
        """The least number of records whose total has a density."""
        return 1

    @property
    def middle(self) -> np.ndarray:
        """Expected scaled statistic in a data set that is far from all limits."""
        share = 1 / self.dimension if self.complement is None else 0.5
        return np.full(self.dimension, share)

    @property
    def maps(self) -> int:
        """Number of kinds of maps between possible totals: see `mapped`."""
        return 0

    def mapped(
        self, kind: Int[Array, ""], amount: Number, scaled: Total, n: Number
    ) -> tuple[Total, Number]:
        """The scaled total after a map of all records, and the log of the Jacobian.

        Args:
            kind: from 0 to `maps` - 1; traced.
            amount: distance of the map from the identity.
            scaled: the total divided by `scales`.
            n: number of records.
        """
        raise NotImplementedError(f"The {self.name} family has no maps.")
