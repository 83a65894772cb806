"""The categorical family, with a Dirichlet prior on the levels' probabilities."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import positive, sample_shape, whole
from dpjax._later import dist
from dpjax._private import shapes_only
from dpjax._types import Flat, Key, Scalar
from dpjax.distributions.gamma_draws import draw_dirichlet
from dpjax.families.base import Bound, Ends, Number, Total, Truncation
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.families.log_densities import dirichlet_log_density, dirichlet_multinomial
from dpjax.families.marginal_laws import Law, beta_law


class DirichletParameters(NamedTuple):
    """Parameters of a Dirichlet distribution: a pseudo-count > 0 for each level."""

    concentration: Any
    __repr__ = shapes_only


class DirichletPosterior(ConjugatePosterior):
    """Dirichlet distribution of the level probabilities, on the last axis."""

    _positive = ("concentration",)

    def mean(self) -> Array:
        """Expected probability of each level, which is also the predictive one."""
        alpha = self.parameters.concentration
        return alpha / alpha.sum(axis=-1, keepdims=True)

    def variance(self) -> Array:
        """Posterior variance of the probability of each level."""
        whole = self.parameters.concentration.sum(axis=-1, keepdims=True)
        mean = self.mean()
        return mean * (1 - mean) / (whole + 1)

    def marginals(self) -> dict[str, Law]:
        """Return a dictionary from "" to the probabilities' beta distributions."""
        (alpha,) = host(self.parameters.concentration)
        return {"": beta_law(alpha, alpha.sum(-1, keepdims=True) - alpha)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> Array:
        """Draw probabilities; the shape is `shape + concentration.shape`."""
        shape = sample_shape(key, shape)
        alpha = self.parameters.concentration
        return draw_dirichlet(key, alpha, shape + jnp.shape(alpha))

    def log_prob(self, values: Array) -> Array:
        """Log-density at level probabilities of shape (…, levels) that sum to 1."""
        alpha = jnp.broadcast_to(self.parameters.concentration, values.shape)
        return dirichlet_log_density(values, alpha)

    def distribution(self) -> "dist.Dirichlet":
        """Return NumPyro's Dirichlet distribution of the level probabilities."""
        return dist.Dirichlet(self.parameters.concentration)

    def predictive(self) -> "dist.Distribution":
        """Return NumPyro's predictive distribution of a new record."""
        return dist.CategoricalProbs(self.mean())


@dataclass(frozen=True)
class Categorical(FamilyWithLaw):
    r"""The categorical family: S(x) is the vector of indicators of the levels.

    The sum of S(x) is the vector of counts of the levels. Its sensitivity is 2 under
    replace-one and 1 under add-remove. A prior Dirichlet(a) gives the posterior
    Dirichlet(a + counts). Posterior sampling needs every probability in [least, most];
    `sampling_sensitivity` is $\log(hi/lo)$ under either adjacency, where $lo =
    \max(least, 1 - (r - 1) \cdot most)$ and $hi = \min(most, 1 - (r - 1) \cdot least)$.

    Args:
        levels: number of levels r, at least 2.

    Raises:
        ValueError: if `levels` is not an integer of at least 2.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    levels: int

    name: ClassVar[str] = "categorical"
    priors: ClassVar = {DirichletParameters: DirichletPosterior}
    categorical: ClassVar[bool] = True
    parameters: ClassVar[Truncation] = {"probability": (0.0, 1.0)}

    def __post_init__(self):
        whole(2, levels=self.levels)

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Categorical":
        """Construct the family for one column with bounds 0 and the last level."""
        if lower != (0,) or len(upper) != 1 or upper[0] != int(upper[0]):
            raise ValueError(f"`upper` must be of one column of levels, got {upper}.")
        return cls(int(upper[0]) + 1, **options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """The first and the last level of the only column: 0 and `levels` - 1."""
        return ((0.0, self.levels - 1.0),)

    @property
    def complement(self) -> None:
        """None, since the counts of the levels sum to the number of records."""
        return None

    @property
    def lattice(self) -> int:
        """The integer 1, since counts are integers."""
        return 1

    def scales(self) -> tuple[float, ...]:
        """The scale 1 of the indicator of each level."""
        return (1.0,) * self.levels

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n m"]:
        """Return indicators of each record's level; NaN becomes the middle level."""
        middle = (self.levels - 1) // 2
        codes = records[:, 0].astype(float)
        codes = jnp.where(jnp.isnan(codes), middle, codes)
        codes = jnp.round(jnp.clip(codes, 0, self.levels - 1))
        levels = jnp.arange(self.levels).astype(float)
        return (codes[:, None] == levels[None, :]).astype(float)

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Return 0 and 1, the values of the indicator of each level."""
        return ((0.0, 1.0),) * self.levels

    def diameter(self, scaled: bool = False) -> Bound:
        """2, since a replaced record moves 1 from one count to another count."""
        return Bound(2.0)

    def radius(self, scaled: bool = False) -> Bound:
        """1, since an added record increases one count by 1."""
        return Bound(1.0)

    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Return the counts >= 0 with sum n that are nearest to `total`, and n >= 0."""
        n = jnp.maximum(jnp.asarray(n, float), 0)
        return _nearest_on_simplex(total.astype(float), n), n

    def prior(self) -> DirichletParameters:
        """Return the uniform prior on the simplex, with one pseudo-count per level."""
        return DirichletParameters(jnp.ones(self.levels))

    def worth(
        self, mean: Real[ArrayLike, " k"], records: Scalar
    ) -> DirichletParameters:
        """Return the prior that weighs as much as `records` records with this mean."""
        positive(mean=mean, records=records)
        return DirichletParameters(records * jnp.asarray(mean, float))

    def update(
        self, prior: DirichletParameters, total: Total, n: Scalar
    ) -> DirichletParameters:
        """Return the prior's pseudo-counts plus `total`, the counts of the levels."""
        return DirichletParameters(prior.concentration + total.astype(float))

    def log_total(self, prior: DirichletParameters, total: Total, n: Number) -> Number:
        """Dirichlet-multinomial log-probability of the counts, up to a constant."""
        return dirichlet_multinomial(total, prior.concentration, n)

    def _limits(self, truncation: Truncation) -> Truncation:
        least, most = super()._limits(truncation)["probability"]
        if not least * self.levels < 1 < most * self.levels:
            raise ValueError(
                f"`truncation` must leave some of the simplex of {self.levels} levels: "
                f"least < 1/{self.levels} < most, got {least} and {most}."
            )
        others = self.levels - 1
        return {
            "probability": (
                max(least, 1 - others * most),
                min(most, 1 - others * least),
            )
        }

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        least, most = limits["probability"]
        return Bound(math.log(most / least))

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        return self._likelihood_diameter(limits)


def _nearest_on_simplex(counts: Array, n: Array) -> Array:
    """Positive parts of `counts` minus a constant, such that these parts sum to n."""
    size = counts.shape[-1]
    falling = -jnp.sort(-counts, axis=-1)
    ranks = jnp.arange(1, size + 1).astype(counts.dtype)
    ranks = ranks.reshape((1,) * (counts.ndim - 1) + (size,))
    lowered = (jnp.cumsum(falling, axis=-1) - n) / ranks
    kept = jnp.sum(falling > lowered, axis=-1, keepdims=True)
    amount = jnp.take_along_axis(lowered, jnp.maximum(kept, 1) - 1, axis=-1)
    return jnp.maximum(counts - amount, 0)
