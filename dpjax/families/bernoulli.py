"""Bernoulli: 0 or 1, with a Beta prior on the probability of 1."""

__all__ = ["Bernoulli", "BetaParameters", "BetaPosterior"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
from jaxtyping import Array, Float, Real

from dpjax._checks import positive, typed_key
from dpjax._private import shapes_only
from dpjax._types import Key, Scalar
from dpjax.families.base import Bound, Ends, Natural, Number, Points, Total, Truncation
from dpjax.families.bounds import SumFamily
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.log_densities import dirichlet_log_density, dirichlet_multinomial
from dpjax.families.marginal_laws import Law, beta_law


class BetaParameters(NamedTuple):
    """Pseudo-counts of 1 and of 0, > 0."""

    successes: Any = 1.0
    failures: Any = 1.0
    __repr__ = shapes_only

    @property
    def concentration(self) -> Array:
        """Parameters of the same law as a Dirichlet law: for 0, and for 1."""
        ends = self.failures, self.successes
        return jnp.stack([jnp.asarray(x, float) for x in ends])


class BetaPosterior(ConjugatePosterior):
    """Beta law of the probability of 1."""

    _positive = ("successes", "failures")

    def mean(self) -> Array:
        """Expected probability of 1, which is also the predictive probability."""
        a, b = self.parameters
        return a / (a + b)

    def variance(self) -> Array:
        """Variance of the probability."""
        a, b = self.parameters
        return a * b / ((a + b) ** 2 * (a + b + 1))

    def marginals(self) -> dict[str, Law]:
        """The beta law of the probability of 1."""
        return {"": beta_law(*host(*self.parameters))}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw probabilities of 1."""
        typed_key(key=key)
        a, b = self.parameters
        return jr.beta(key, a, b, shape + jnp.shape(a))

    def log_prob(self, values: Array) -> Array:
        """Log-density of probabilities of shape (…,)."""
        parts = jnp.stack([values, 1 - values], axis=-1)
        both = jnp.stack(jnp.broadcast_arrays(*self.parameters), axis=-1)
        return dirichlet_log_density(parts, jnp.broadcast_to(both, parts.shape))

    def distribution(self) -> dist.Beta:
        """The beta distribution of the probability of 1."""
        return dist.Beta(*self.parameters)

    def predictive(self) -> dist.Distribution:
        """The predictive distribution of one more record."""
        return dist.BernoulliProbs(self.mean())


@dataclass(frozen=True)
class Bernoulli(SumFamily):
    r"""The Bernoulli family, with $S(x) = x$ in {0, 1}.

    ΔS is 1 under replace-one (2 for the paper's $S(x) = (x, 1 - x)$) and 1 under
    add-remove, where 1 - x is measured too. The posterior is Beta(a + s, b + n - s).
    Posterior sampling needs the probability in [least, most]; for $[a_0, 1 - a_0]$ Δ is
    $\log((1 - a_0)/a_0)$ under either adjacency.

    Reference:
        Foulds et al. (UAI-16), section 3.1, beta-Bernoulli example and equation 15.
    """

    name: ClassVar[str] = "bernoulli"
    on_grid: ClassVar[bool] = True
    priors: ClassVar = {BetaParameters: BetaPosterior}
    categorical: ClassVar[bool] = True
    parameters: ClassVar[Truncation] = {"probability": (0.0, 1.0)}

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Bernoulli":
        """Construct the family for one column of two levels."""
        if lower != (0,) or upper != (1,):
            raise ValueError(
                f"`upper` must be 1, for one column of two levels, got {upper}: "
                "`Categorical` takes more levels."
            )
        return cls(**options)

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest statistic: 0 and 1."""
        return 0.0, 1.0

    @property
    def lattice(self) -> int:
        """1, since records are integers."""
        return 1

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 1"]:
        """Rounded records; NaN becomes 0."""
        return jnp.round(jnp.clip(jnp.nan_to_num(records.astype(float)), 0, 1))

    def prior(self) -> BetaParameters:
        """The uniform prior."""
        return BetaParameters()

    def worth(self, mean: Scalar, records: Scalar) -> BetaParameters:
        """The prior worth `records` records with this mean (Foulds et al.: α, χ)."""
        positive(mean=mean, rest=1 - mean, records=records)
        return BetaParameters(records * mean, records * (1 - mean))

    def update(self, prior: BetaParameters, total: Total, n: Scalar) -> BetaParameters:
        """Parameters of the posterior, Beta(a + s, b + n - s)."""
        successes = total[..., 0].astype(float)
        return BetaParameters(
            prior.successes + successes,
            prior.failures + (jnp.asarray(n, float) - successes),
        )

    def log_total(self, prior: BetaParameters, total: Total, n: Number) -> Number:
        """Log-density of the exact total: beta-binomial."""
        counts = jnp.stack([total[0], n - total[0]])
        return dirichlet_multinomial(counts, jnp.stack(prior), n)

    def natural(self, points: Points) -> Natural:
        """Log-odds θ, and log g(θ) = log(1 - p)."""
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
