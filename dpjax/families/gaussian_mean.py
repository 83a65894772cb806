"""The Gaussian family of known variance, with a normal prior on the mean."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, sample_shape
from dpjax._later import dist, special, stats
from dpjax._private import shapes_only
from dpjax._types import Key, Scalar
from dpjax.families.base import Bound, Ends, Number, Total
from dpjax.families.bounds import ClippedFamily, interval, standardise
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.grids import Natural, Points, Truncation
from dpjax.families.likelihood import (
    normal_likelihood_diameter,
    normal_likelihood_radius,
)
from dpjax.families.marginal_laws import Law, StudentLaw


class NormalParameters(NamedTuple):
    """A normal law of the unknown mean: its `mean` and `precision` (1 / variance)."""

    mean: Any
    precision: Any
    __repr__ = shapes_only


class NormalPosterior(ConjugatePosterior):
    """Normal posterior of the mean of normal records with known variance."""

    _positive = ("precision",)

    def mean(self) -> Array:
        """Posterior mean of the unknown mean."""
        return self.parameters.mean

    def variance(self) -> Array:
        """Posterior variance of the unknown mean."""
        return 1 / self.parameters.precision

    def marginals(self) -> dict[str, Law]:
        """Return a dictionary from "" to the normal distribution of the mean."""
        mean, precision = host(*self.parameters)
        return {"": StudentLaw(mean, 1 / np.sqrt(precision), None)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw means; the shape is `shape + mean.shape`."""
        shape = sample_shape(key, shape)
        mean = self.parameters.mean
        return mean + self.sd() * jr.normal(key, shape + jnp.shape(mean))

    def log_prob(self, values: Array) -> Array:
        """Log-density of the posterior at each of `values`, which are means."""
        return stats.norm.logpdf(values, self.parameters.mean, self.sd())

    def log_kernel(self, values: Float[np.ndarray, " j"]) -> Float[np.ndarray, " j"]:
        """Log-density at means, up to a constant; in double precision, on the host."""
        mean, precision = host(*self.parameters)
        return -precision * (values - mean) ** 2 / 2

    def distribution(self) -> "dist.Normal":
        """Return NumPyro's normal distribution of the mean."""
        return dist.Normal(self.parameters.mean, self.sd())

    def predictive(self) -> "dist.Normal":
        """Return NumPyro's predictive distribution of a new record, before clipping."""
        spread = jnp.sqrt(self.variance() + self.family.variance)
        return dist.Normal(self.parameters.mean, spread)


@dataclass(frozen=True)
class GaussianMean(ClippedFamily):
    r"""The Gaussian family with known, public variance; the statistic is x - `lower`.

    The sum of the statistic has sensitivity upper - lower under either adjacency. The
    posterior is normal. Posterior sampling needs the mean in [least, most]; with
    variance v, `sampling_sensitivity` is $(upper - lower)(most - least)/(2v)$ under
    replace-one.

    Args:
        lower: smallest record.
        upper: largest record.
        variance: variance of the records about their mean, > 0.

    Raises:
        ValueError: if the bounds are missing or in the wrong order, or `variance` <= 0.

    Reference:
        Foulds et al. (UAI-16), section 3.3, on bounds for a finite sensitivity.
    """

    lower: float | int
    upper: float | int
    variance: float | int

    name: ClassVar[str] = "gaussian-mean"
    priors: ClassVar = {NormalParameters: NormalPosterior}
    parameters: ClassVar[Truncation] = {"mean": (-math.inf, math.inf)}

    def __post_init__(self):
        lower, upper = interval(self.lower, self.upper)
        positive(variance=self.variance)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "variance", float(self.variance))

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "GaussianMean":
        """Construct the family from one column's bounds and the option `variance`."""
        if "variance" not in options:
            raise ValueError("`variance` must be given for a Gaussian mean, got none.")
        if len(upper) != 1:
            raise ValueError(
                f"`variables` must be one for a Gaussian mean, got {len(upper)}."
            )
        return cls(lower[0], upper[0], **options)

    def options(self) -> dict[str, Any]:
        """Return the known variance of the records, by the name "variance"."""
        return {"variance": self.variance}

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of the only column."""
        return ((self.lower, self.upper),)

    @property
    def width(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest statistic: 0 and upper - lower."""
        return 0.0, self.width

    def cdf(
        self, values: Float[np.ndarray, " v"], points: Float[np.ndarray, " j"]
    ) -> Float[np.ndarray, "j v"]:
        """Probability that (x - lower) / (upper - lower) is at most each value."""
        records = self.lower + values * self.width
        return special.ndtr((records - points[:, None]) / math.sqrt(self.variance))

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Return (x - lower) / (upper - lower), clipped to [0, 1]; NaN becomes 1/2."""
        half = self.width / 2
        return (1 + standardise(records, [self.lower + half], [half])) / 2

    def prior(self) -> NormalParameters:
        """Return a normal prior with mean mid-bounds and sd (upper - lower) / 2."""
        middle = (self.lower + self.upper) / 2
        return NormalParameters(middle, 4 / self.width**2)

    def worth(self, mean: Scalar, records: Scalar) -> NormalParameters:
        """Return the prior that weighs as much as `records` records with this mean."""
        positive(records=records)
        return NormalParameters(mean, records / self.variance)

    def update(
        self, prior: NormalParameters, total: Total, n: Scalar
    ) -> NormalParameters:
        """Return the posterior's parameters, given the sum `total` over n records."""
        gain = jnp.asarray(n, float) / self.variance
        precision = prior.precision + gain
        excess = total[..., 0].astype(float) / self.variance  # sum of (x - lower) / v
        mean = (prior.precision * (prior.mean - self.lower) + excess) / precision
        return NormalParameters(self.lower + mean, precision)

    def log_total(self, prior: NormalParameters, total: Total, n: Number) -> Number:
        """Normal log-density of the sum of the statistic, the mean integrated out."""
        variance = n * self.variance + n**2 / prior.precision
        return stats.norm.logpdf(
            total[0], n * (prior.mean - self.lower), jnp.sqrt(variance)
        )

    def natural(self, points: Points) -> Natural:
        """Return θ = (m - lower) / variance and log g(θ) for each mean m."""
        natural = (points - self.lower) / self.variance
        return natural, -self.variance * natural[:, 0] ** 2 / 2

    def expected(self, points: Points) -> Points:
        """Return the mean's distance from `lower`, divided by the width."""
        return (points - self.lower) / self.width

    def truncation(self, share: float) -> Truncation:
        """Limit the mean to the bounds of the records; `share` is not used."""
        return {"mean": (self.lower, self.upper)}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        box = limits["mean"], (self.variance, self.variance)
        return normal_likelihood_diameter(self.bounds[0], *box)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        box = limits["mean"], (self.variance, self.variance)
        return normal_likelihood_radius(self.bounds[0], *box)
