"""Bernoulli: 0 or 1, with a Beta prior on the probability of 1."""

__all__ = ["Bernoulli"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive
from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Family, Truncation, clip_sum
from dpjax.families.parameters import BetaParameters


@dataclass(frozen=True)
class Bernoulli(Family):
    r"""$S(x) = x$ in {0, 1}: the minimal form of F's $(x, 1 - x)$.

    ΔS is 1 under replace-one (F's form has 2) and 1 under add-remove, where 1 - x is
    measured too. Posterior: Beta(a + s, b + n - s). Sampling needs the probability
    within [least, most]; on $[a_0, 1 - a_0]$ Δ is $\log((1 - a_0)/a_0)$ either way.

    Reference:
        Foulds et al. (UAI-16), section 3.1, beta-Bernoulli example and equation 15.
    """

    name: ClassVar[str] = "bernoulli"
    on_grid: ClassVar[bool] = True
    priors: ClassVar[tuple[type, ...]] = (BetaParameters,)
    categorical: ClassVar[bool] = True
    parameters: ClassVar[Truncation] = {"probability": (0.0, 1.0)}

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Bernoulli":
        """The family, for one column of two levels."""
        if lower != (0,) or upper != (1,):
            raise ValueError(
                f"`upper` must be 1, for one column of two levels, got {upper}: "
                "`Categorical` takes more levels."
            )
        return cls(**options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """0 and 1."""
        return ((0.0, 1.0),)

    @property
    def lattice(self) -> int:
        """Records are whole."""
        return 1

    def scales(self) -> tuple[float, ...]:
        """One."""
        return (1.0,)

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Records, rounded; NaN is 0."""
        return jnp.round(jnp.clip(jnp.nan_to_num(records.astype(float)), 0, 1))

    def diameter(self, scaled: bool = False) -> Bound:
        """1."""
        return Bound(1.0)

    def radius(self, scaled: bool = False) -> Bound:
        """1."""
        return Bound(1.0)

    def project(
        self, total: Real[Array, "*batch m"], n: Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, ""]]:
        """A count within [0, n]."""
        return clip_sum(total, n, 0, 1)

    def prior(self) -> BetaParameters:
        """Uniform."""
        return BetaParameters()

    def worth(self, mean: Scalar, records: Scalar) -> BetaParameters:
        """The prior worth so many records with this mean: F's χ and α."""
        positive(mean=mean, rest=1 - mean, records=records)
        return BetaParameters(records * mean, records * (1 - mean))

    def update(
        self, prior: BetaParameters, total: Real[Array, " m"], n: Scalar
    ) -> BetaParameters:
        """Beta(a + s, b + n - s)."""
        successes = total[..., 0].astype(float)
        return BetaParameters(
            prior.successes + successes,
            prior.failures + (jnp.asarray(n, float) - successes),
        )

    def natural(
        self, points: Float[np.ndarray, "j p"]
    ) -> tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]:
        """Log-odds, and log(1 - p)."""
        p = points[:, 0]
        return (np.log(p) - np.log1p(-p))[:, None], np.log1p(-p)

    def truncation(self, share: float) -> Truncation:
        """The probability is at least half of `share` away from 0 and 1."""
        return {"probability": (share / 2, 1 - share / 2)}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        least, most = limits["probability"]
        return Bound((_logit(most) - _logit(least)) / 2)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        least, most = limits["probability"]
        one, zero = math.log(most / least), math.log((1 - least) / (1 - most))
        return Bound(max(one, zero))


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))
