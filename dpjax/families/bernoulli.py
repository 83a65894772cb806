"""The Bernoulli family: records 0 or 1, with a Beta prior on the probability of 1."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, sample_shape
from dpjax._later import dist
from dpjax._private import shapes_only
from dpjax._types import Key, Scalar
from dpjax.distributions.gamma_draws import draw_beta
from dpjax.families.base import Bound, Ends, Number, Total
from dpjax.families.bounds import SumFamily
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.grids import Natural, Points, Truncation
from dpjax.families.log_densities import dirichlet_log_density, dirichlet_multinomial
from dpjax.families.marginal_laws import Law, beta_law


class BetaParameters(NamedTuple):
    """Parameters of a beta distribution: pseudo-counts of 1 and of 0, both > 0."""

    successes: Any = 1.0
    failures: Any = 1.0
    __repr__ = shapes_only

    @property
    def concentration(self) -> Array:
        """The pseudo-counts in the order of a Dirichlet distribution: of 0, of 1."""
        ends = self.failures, self.successes
        return jnp.stack([jnp.asarray(x, float) for x in ends])


class BetaPosterior(ConjugatePosterior):
    """Beta distribution of the probability that a record is 1."""

    _positive = ("successes", "failures")

    def mean(self) -> Array:
        """Expected probability of 1, which is also the predictive probability."""
        a, b = self.parameters
        return a / (a + b)

    def variance(self) -> Array:
        """Posterior variance of the probability of 1."""
        a, b = self.parameters
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def marginals(self) -> dict[str, Law]:
        """Return a dictionary from "" to the beta distribution of the probability."""
        return {"": beta_law(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw probabilities of 1; the shape is `shape + successes.shape`."""
        shape = sample_shape(key, shape)
        a, b = self.parameters
        return draw_beta(key, (a, b), shape + jnp.shape(a))

    def log_prob(self, values: Array) -> Array:
        """Log-density of the posterior at each of `values`, probabilities of 1."""
        parts = jnp.stack([values, 1 - values], axis=-1)
        both = jnp.stack(jnp.broadcast_arrays(*self.parameters), axis=-1)
        return dirichlet_log_density(parts, jnp.broadcast_to(both, parts.shape))

    def distribution(self) -> "dist.Beta":
        """Return NumPyro's beta distribution of the probability of 1."""
        return dist.Beta(*self.parameters)

    def predictive(self) -> "dist.Distribution":
        """Return NumPyro's predictive distribution of a new record."""
        return dist.BernoulliProbs(self.mean())


@dataclass(frozen=True)
class Bernoulli(SumFamily):
    r"""The Bernoulli family: records x in {0, 1}, with the statistic $S(x) = x$.

    The sum s of n records has sensitivity 1 under either adjacency. A prior Beta(a, b)
    gives the posterior Beta(a + s, b + n - s). Posterior sampling needs an interval of
    the probability; for $[a_0, 1 - a_0]$, `sampling_sensitivity` is
    $\log((1 - a_0)/a_0)$ under either adjacency.

    Reference:
        Foulds et al. (UAI-16), section 3.1, beta-Bernoulli example and equation 15.
    """

    name: ClassVar[str] = "bernoulli"
    priors: ClassVar = {BetaParameters: BetaPosterior}
    categorical: ClassVar[bool] = True
    parameters: ClassVar[Truncation] = {"probability": (0.0, 1.0)}

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Bernoulli":
        """Construct the family for one column with lower bound 0 and upper bound 1."""
        if lower != (0,) or upper != (1,):
            raise ValueError(
                "`variables` must be one, with two levels, for the family bernoulli: "
                "the family categorical takes more levels."
            )
        return cls(**options)

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest value of S(x) = x: 0 and 1."""
        return 0.0, 1.0

    @property
    def lattice(self) -> int:
        """The integer 1, since S(x) = x is an integer."""
        return 1

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Return the records, clipped to [0, 1] and rounded; NaN becomes 0."""
        return jnp.round(jnp.clip(jnp.nan_to_num(records.astype(float)), 0, 1))

    def prior(self) -> BetaParameters:
        """Return the uniform prior Beta(1, 1)."""
        return BetaParameters()

    def worth(self, mean: Scalar, records: Scalar) -> BetaParameters:
        """Return the prior that weighs as much as `records` records with this mean."""
        positive(mean=mean, rest=1 - mean, records=records)
        return BetaParameters(records * mean, records * (1 - mean))

    def update(self, prior: BetaParameters, total: Total, n: Scalar) -> BetaParameters:
        """Return the prior's pseudo-counts plus the numbers of ones and of zeros."""
        successes = total[..., 0].astype(float)
        return BetaParameters(
            prior.successes + successes,
            prior.failures + (jnp.asarray(n, float) - successes),
        )

    def log_total(self, prior: BetaParameters, total: Total, n: Number) -> Number:
        """Beta-binomial log-probability of the sum of n records, up to a constant."""
        counts = jnp.stack([total[0], n - total[0]])
        return dirichlet_multinomial(counts, jnp.stack(prior), n)

    def natural(self, points: Points) -> Natural:
        """Return the log-odds θ of each probability p, and log g(θ) = log(1 - p)."""
        p = points[:, 0]
        return (np.log(p) - np.log1p(-p))[:, None], np.log1p(-p)

    def expected(self, points: Points) -> Points:
        """Return the probability of 1."""
        return points

    def truncation(self, share: float) -> Truncation:
        """Return the interval [share / 2, 1 - share / 2] of the probability of 1."""
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
