"""Exponential distributions of bounded times, with a Gamma prior on the rate."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive
from dpjax._later import dist
from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Number, Total
from dpjax.families.bounds import ClippedFamily, divided, interval
from dpjax.families.gamma_rate import GammaParameters, GammaPosterior
from dpjax.families.grids import Natural, Points, Truncation
from dpjax.families.log_densities import log_gamma_ratio


@dataclass(frozen=True)
class Exponential(ClippedFamily):
    r"""The family of exponential distributions with rate λ and statistic $S(x) = x$.

    The sum s of n records has sensitivity upper - lower under replace-one, and `upper`
    under add-remove. A prior Gamma(a, b) gives the posterior Gamma(a + n, b + s).
    Posterior sampling needs λ in [least, most]; `sampling_sensitivity` is
    $\frac12 (upper - lower)(most - least)$ under replace-one, and under add-remove the
    larger of the ranges of $\log λ - λx$ over λ at x = lower and at x = upper.

    Args:
        upper: the longest time.
        lower: the shortest time, at least 0; the model itself has support x > 0.

    Raises:
        ValueError: if the bounds are missing, in the wrong order or negative.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    upper: float | int
    lower: float | int = 0.0

    name: ClassVar[str] = "exponential"
    priors: ClassVar = {GammaParameters: GammaPosterior}
    parameters: ClassVar[Truncation] = {"rate": (0.0, math.inf)}

    def __post_init__(self):
        lower, upper = interval(self.lower, self.upper)
        if lower < 0:
            raise ValueError(f"`lower` must be at least 0, got {lower}.")
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Exponential":
        """Construct the family from the bounds of one column."""
        if len(upper) != 1:
            raise ValueError(f"`variables` must be of one column, got {len(upper)}.")
        return cls(upper[0], lower[0], **options)

    @property
    def span(self) -> tuple[float, float]:
        """The shortest and the longest time within the bounds."""
        return self.lower, self.upper

    def cdf(
        self, values: Float[np.ndarray, " v"], points: Float[np.ndarray, " j"]
    ) -> Float[np.ndarray, "j v"]:
        """Probability that a time is at most each of `values` times the longest."""
        return -np.expm1(-np.outer(points, np.maximum(values, 0) * self.upper))

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Return times divided by the longest; NaN becomes the middle of the bounds."""
        records = records.astype(float)
        middle = (self.lower + self.upper) / 2
        records = jnp.where(jnp.isnan(records), middle, records)
        return jnp.clip(divided(records, self.upper), self.lower / self.upper, 1)

    def prior(self) -> GammaParameters:
        """Return an exponential prior of the rate, with mean 2 / (lower + upper)."""
        return GammaParameters(1.0, (self.lower + self.upper) / 2)

    def worth(self, mean: Scalar, records: Scalar) -> GammaParameters:
        """Return the prior that weighs as much as `records` records with this mean."""
        positive(mean=mean, records=records)
        return GammaParameters(records + 1.0, records * mean)

    def update(
        self, prior: GammaParameters, total: Total, n: Scalar
    ) -> GammaParameters:
        """Return the prior's shape plus n and rate plus `total`, the sum of times."""
        return GammaParameters(
            prior.shape + jnp.asarray(n, float),
            prior.rate + total[..., 0].astype(float),
        )

    def log_total(self, prior: GammaParameters, total: Total, n: Number) -> Number:
        """Log-density of the sum of n times (scaled beta prime), up to a constant."""
        time, (shape, rate) = total[0], prior
        value = (
            log_gamma_ratio(n, shape, jnp.zeros(()))
            - (shape + n) * jnp.log1p(rate / time)
            - (shape + 1) * jnp.log(time)
        )
        return jnp.where(time > 0, value, -jnp.inf)

    def predictive(self, parameters: GammaParameters) -> "dist.Distribution":
        """Return the Lomax distribution: one record with the rate integrated out."""
        shape, rate = parameters
        shift = dist.transforms.AffineTransform(-rate, 1.0)
        return dist.TransformedDistribution(dist.Pareto(rate, shape), shift)

    def natural(self, points: Points) -> Natural:
        """Return the natural parameter θ = -λ and log g(θ) = log λ for each rate λ."""
        return -points, np.log(points[:, 0])

    def expected(self, points: Points) -> Points:
        """Return the inverse of the rate, divided by `upper`."""
        return 1 / (points * self.upper)

    def truncation(self, share: float) -> Truncation:
        """Limit the rate so that its inverse is in [share · upper, upper]."""
        return {"rate": (1 / self.upper, 1 / (share * self.upper))}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        least, most = limits["rate"]
        return Bound((self.upper - self.lower) * (most - least) / 2)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The range is convex in x, so that it is largest at an end of the bounds."""
        least, most = limits["rate"]

        def range_at(time):
            best = min(max(1 / time, least), most) if time else most
            values = [math.log(rate) - rate * time for rate in (best, least, most)]
            return values[0] - min(values)

        return Bound(max(range_at(self.lower), range_at(self.upper)))
