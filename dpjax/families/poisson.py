"""The Poisson family of counts up to a bound, with a Gamma prior on the rate."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, whole
from dpjax._later import dist, special
from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Number, Total
from dpjax.families.bounds import ClippedFamily
from dpjax.families.gamma_rate import GammaParameters, GammaPosterior
from dpjax.families.grids import Natural, Points, Truncation
from dpjax.families.log_densities import log_gamma_ratio

_MOST = 1 << 16  # so that a record is exact in units of 1


@dataclass(frozen=True)
class Poisson(ClippedFamily):
    r"""The Poisson family with rate λ: counts x up to `upper`, statistic $S(x) = x$.

    Records are rounded and clipped. The sum s of n records has sensitivity `upper`
    under either adjacency. A prior Gamma(a, b) gives the posterior Gamma(a + s, b + n),
    if no record is clipped. Posterior sampling needs λ in [least, most];
    `sampling_sensitivity` is $\frac12\,upper \log(most/least)$ under replace-one, and
    under add-remove the larger of the ranges of $x \log λ - λ$ over λ at x = 0 and at
    x = upper.

    Args:
        upper: the largest count, an integer from 1 to 65536.

    Raises:
        ValueError: if `upper` is not an integer from 1 to 65536.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    upper: int

    name: ClassVar[str] = "poisson"
    priors: ClassVar = {GammaParameters: GammaPosterior}
    parameters: ClassVar[Truncation] = {"rate": (0.0, math.inf)}

    def __post_init__(self):
        whole(1, upper=self.upper)
        if self.upper > _MOST:
            raise ValueError(f"`upper` must be at most {_MOST}, got {self.upper}.")

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Poisson":
        """Construct the family for one column with bounds 0 and an integer."""
        if lower != (0,) or len(upper) != 1 or upper[0] != int(upper[0]):
            raise ValueError(
                f"`lower` and `upper` must be 0 and a whole number for one column of "
                f"counts, got {lower} and {upper}."
            )
        return cls(int(upper[0]), **options)

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest count: 0 and `upper`."""
        return 0.0, float(self.upper)

    @property
    def lattice(self) -> int:
        """The integer `upper`: counts divided by `upper` are multiples of 1/`upper`."""
        return self.upper

    def cdf(
        self, values: Float[np.ndarray, " v"], points: Float[np.ndarray, " j"]
    ) -> Float[np.ndarray, "j v"]:
        """Probability that a count is at most each of `values` times `upper`."""
        counts = np.floor(values * self.upper)
        known = special.pdtr(np.maximum(counts, 0)[None, :], points[:, None])
        return np.where(counts < 0, 0.0, known)

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Return clipped, rounded counts / `upper`; NaN becomes `upper` // 2."""
        records = records.astype(float)
        records = jnp.where(jnp.isnan(records), self.upper // 2, records)
        return jnp.round(jnp.clip(records, 0, self.upper)) / self.upper

    def prior(self) -> GammaParameters:
        """Return an exponential prior of the rate, with mean `upper` / 2."""
        return GammaParameters(1.0, 2 / self.upper)

    def worth(self, mean: Scalar, records: Scalar) -> GammaParameters:
        """Return the prior that weighs as much as `records` records with this mean."""
        positive(mean=mean, records=records)
        return GammaParameters(records * mean, records)

    def update(
        self, prior: GammaParameters, total: Total, n: Scalar
    ) -> GammaParameters:
        """Return the prior's shape plus `total`, the sum of counts, and rate plus n."""
        return GammaParameters(
            prior.shape + total[..., 0].astype(float),
            prior.rate + jnp.asarray(n, float),
        )

    def log_total(self, prior: GammaParameters, total: Total, n: Number) -> Number:
        """Negative-binomial log-probability of the sum of n counts, plus a constant."""
        count, (shape, rate) = total[0], prior
        value = (
            log_gamma_ratio(count, shape, jnp.ones(()))
            - count * jnp.log1p(rate / n)
            - shape * jnp.log(rate + n)
        )
        return jnp.where(count >= 0, value, -jnp.inf)

    def predictive(self, parameters: GammaParameters) -> "dist.Distribution":
        """Return the negative binomial distribution of a record, the rate unknown."""
        return dist.GammaPoisson(*parameters)

    def natural(self, points: Points) -> Natural:
        """Return the natural parameter θ = log λ and log g(θ) = -λ for each rate λ."""
        return np.log(points), -points[:, 0]

    def expected(self, points: Points) -> Points:
        """Return the rate divided by `upper`."""
        return points / self.upper

    def truncation(self, share: float) -> Truncation:
        """Limit the rate to [share · upper, upper]."""
        return {"rate": (share * self.upper, float(self.upper))}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        least, most = limits["rate"]
        return Bound(self.upper * math.log(most / least) / 2)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The range is convex in x, so that it is largest at an end of the bounds."""
        least, most = limits["rate"]

        def log_likelihood(count, rate):
            return count * math.log(rate) - rate

        best = min(max(self.upper, least), most)
        worst = min(log_likelihood(self.upper, rate) for rate in (least, most))
        return Bound(max(most - least, log_likelihood(self.upper, best) - worst))
