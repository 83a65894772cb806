"""The Gaussian family of unknown mean and variance, with a conjugate prior."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._checks import parameters_of, sample_shape
from dpjax._later import dist, stats
from dpjax._private import shapes_only
from dpjax._types import Flat, Key, Scalar
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.families.base import Bound, Ends, Number, Total
from dpjax.families.bounds import interval
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.grids import Natural, Points, Truncation
from dpjax.families.likelihood import (
    normal_likelihood_diameter,
    normal_likelihood_radius,
)
from dpjax.families.log_densities import inverse_gamma_log_density
from dpjax.families.marginal_laws import Law, StudentLaw, inverse_gamma_law
from dpjax.families.moment_totals import log_normal_moments
from dpjax.families.moments import MomentFamily, over


class NormalInverseGammaParameters(NamedTuple):
    """Variance v ~ InverseGamma(shape, scale), and mean ~ N(`mean`, v / strength).

    As a prior, the distribution of the mean weighs as much as `strength` records, and
    the distribution of the variance as much as 2 `shape` records with sum of squares
    2 `scale`. Only `mean` may be <= 0.
    """

    mean: Any
    strength: Any
    shape: Any
    scale: Any
    __repr__ = shapes_only


class NormalInverseGammaPosterior(ConjugatePosterior):
    """Posterior of the "mean" and the "variance" of normally distributed records."""

    _positive = ("strength", "shape", "scale")

    def mean(self) -> dict[str, Array]:
        """Posterior mean of each parameter; infinite variance if `shape` <= 1."""
        p = self.parameters
        expected = jnp.where(p.shape > 1, p.scale / (p.shape - 1), jnp.inf)
        return {"mean": p.mean, "variance": expected}

    def variance(self) -> dict[str, Array]:
        """Posterior variances: infinite if `shape` <= 1 (of "variance": if <= 2)."""
        p, expected = self.parameters, self.mean()["variance"]
        of_variance = jnp.where(p.shape > 2, expected**2 / (p.shape - 2), jnp.inf)
        return {"mean": expected / p.strength, "variance": of_variance}

    def marginals(self) -> dict[str, Law]:
        """Return Student's t (mean) and inverse gamma (variance) distributions."""
        mean, strength, shape, scale = host(*self.parameters)
        spread = np.sqrt(scale / (shape * strength))
        of_mean = StudentLaw(mean, spread, 2 * shape)
        return {"mean": of_mean, "variance": inverse_gamma_law(shape, scale)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Draw "mean" and "variance", of shape `shape` and then the batch shape."""
        shape = sample_shape(key, shape)
        key_variance, key_mean = jr.split(key)
        p = self.parameters
        shape = shape + jnp.shape(p.mean)
        variance = 1 / draw_gamma(key_variance, (p.shape, p.scale), shape)
        spread = jnp.sqrt(variance / p.strength)
        return {
            "mean": p.mean + spread * jr.normal(key_mean, shape),
            "variance": variance,
        }

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Joint log-density of the posterior at values of "mean" and "variance"."""
        mean, variance = parameters_of(["mean", "variance"], values).values()
        p = self.parameters
        of_mean = stats.norm.logpdf(mean, p.mean, jnp.sqrt(variance / p.strength))
        return of_mean + inverse_gamma_log_density(variance, p.shape, p.scale)

    def distribution(self) -> "dict[str, dist.Distribution]":
        """Return NumPyro's marginal distributions of "mean" and of "variance"."""
        p = self.parameters
        spread = jnp.sqrt(p.scale / (p.shape * p.strength))
        return {
            "mean": dist.StudentT(2 * p.shape, p.mean, spread),
            "variance": dist.InverseGamma(p.shape, p.scale),
        }

    def predictive(self) -> "dist.StudentT":
        """Return NumPyro's predictive distribution of a new record, before clipping."""
        p = self.parameters
        spread = jnp.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
        return dist.StudentT(2 * p.shape, p.mean, spread)


@dataclass(frozen=True)
class Gaussian(MomentFamily):
    r"""The Gaussian family with unknown mean and variance; the statistic is (z, z²).

    Here z = x - c for a record x, and c is the middle of the bounds. Centring limits
    the noise and rounding errors if the bounds are far from 0. With half width h, the
    sum of the statistic has sensitivity $h + h^2 + 1/4$ under replace-one (for h ≥ ½)
    and $h + h^2$ under add-remove. Posterior sampling needs intervals of the mean and
    the variance; its privacy loss is unbounded if the variance may approach 0.

    Args:
        lower: smallest record.
        upper: largest record.

    Raises:
        ValueError: if the bounds are missing or in the wrong order.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    lower: float | int
    upper: float | int

    name: ClassVar[str] = "gaussian"
    priors: ClassVar = {NormalInverseGammaParameters: NormalInverseGammaPosterior}
    parameters: ClassVar[Truncation] = {
        "mean": (-math.inf, math.inf),
        "variance": (0.0, math.inf),
    }

    def __post_init__(self):
        lower, upper = interval(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Gaussian":
        """Construct the family from the bounds of one column."""
        if len(upper) != 1:
            raise ValueError(
                f"`variables` must be of one column, got {len(upper)}: "
                "the family multivariate-gaussian takes more."
            )
        return cls(lower[0], upper[0], **options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of the only column."""
        return ((self.lower, self.upper),)

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds."""
        return (self.upper - self.lower) / 2

    def scales(self) -> tuple[float, ...]:
        """The half width of the bounds, and its square."""
        return (self.half_width, self.half_width**2)

    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Clip the sums of z = x - c and of z² to values that n records can have."""
        n = jnp.maximum(jnp.asarray(n, float), 0)
        scales = jnp.asarray(self.scales())
        scaled = total.astype(float) / scales.reshape((1,) * (total.ndim - 1) + (2,))
        first = jnp.clip(scaled[..., 0], -n, n)
        second = jnp.clip(scaled[..., 1], first**2 * over(n), n)
        return jnp.stack([first * scales[0], second * scales[1]], axis=-1), n

    def prior(self) -> NormalInverseGammaParameters:
        """Return a prior that weighs one record, E[variance] = (half width / 2)²."""
        return NormalInverseGammaParameters(
            self.centre[0], 1.0, 1.5, self.half_width**2 / 8
        )

    def vague_prior(self) -> NormalInverseGammaParameters:
        """Return a prior in which the sd is (half width / 10) / |N(0, 1)|."""
        return NormalInverseGammaParameters(
            self.centre[0], 0.01, 0.5, self.half_width**2 / 200
        )

    def update(
        self, prior: NormalInverseGammaParameters, total: Total, n: Scalar
    ) -> NormalInverseGammaParameters:
        """Return the posterior's parameters, given the sum `total` over n records."""
        n, total = jnp.asarray(n, float), total.astype(float)
        average = total[..., 0] * over(n)
        start = prior.mean - self.centre[0]
        strength = prior.strength + n
        scatter = jnp.maximum(total[..., 1] - total[..., 0] * average, 0)
        between = prior.strength * n / strength * (average - start) ** 2
        return NormalInverseGammaParameters(
            self.centre[0] + (prior.strength * start + total[..., 0]) / strength,
            strength,
            prior.shape + n / 2,
            prior.scale + (scatter + between) / 2,
        )

    def log_total(
        self, prior: NormalInverseGammaParameters, total: Total, n: Number
    ) -> Number:
        """Log-density of the sums of z and z² over n records, up to a constant."""
        mean = jnp.reshape(prior.mean - self.centre[0], (1,))
        degrees, scale = 2 * prior.shape, jnp.reshape(2 * prior.scale, (1, 1))
        wishart = mean, prior.strength, degrees, scale
        return log_normal_moments(total[:1], total[1:, None], n, *wishart)

    def natural(self, points: Points) -> Natural:
        """Return natural parameters θ and log g(θ) for each row (mean, variance)."""
        mean, variance = points[:, 0] - self.centre[0], points[:, 1]
        natural = np.stack([mean / variance, -1 / (2 * variance)], axis=1)
        return natural, -(mean**2) / (2 * variance) - np.log(variance) / 2

    def expected(self, points: Points) -> Points:
        """Return the expectations of z and z², divided by their scales."""
        mean = points[:, 0] - self.centre[0]
        both = np.stack([mean, mean**2 + points[:, 1]], axis=1)
        return both / np.array(self.scales())[None, :]

    def truncation(self, share: float) -> Truncation:
        """Limit the mean to the bounds, the sd to [share · half width, half width]."""
        least, most = share * self.half_width, self.half_width
        return {"mean": (self.lower, self.upper), "variance": (least**2, most**2)}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        box = limits["mean"], limits["variance"]
        return normal_likelihood_diameter(self.bounds[0], *box)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        box = limits["mean"], limits["variance"]
        return normal_likelihood_radius(self.bounds[0], *box)
