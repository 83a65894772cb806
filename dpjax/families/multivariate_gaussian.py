"""Multivariate Gaussian, with a normal-inverse-Wishart prior on mean and covariance."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array

from dpjax._checks import parameters_of, positive, sample_shape
from dpjax._later import dist, stats
from dpjax._private import shapes_only
from dpjax._products import matmul
from dpjax._types import Key, Scalar
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.families.base import Bound, Ends, Number, Total, Truncation
from dpjax.families.bounds import intervals
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.log_densities import inverse_wishart_log_density
from dpjax.families.marginal_laws import Law, StudentLaw, inverse_gamma_law
from dpjax.families.moment_grids import GaussianGrid
from dpjax.families.moment_totals import log_normal_moments
from dpjax.families.moments import over, split


class NormalInverseWishartParameters(NamedTuple):
    """Covariance C ~ InverseWishart(degrees, scale), mean ~ N(`mean`, C / strength).

    For d columns, `mean` has shape (d,), `strength` > 0 and `degrees` > d - 1. `scale`
    is positive definite (d, d). The mean of C is scale / (degrees - d - 1).
    """

    mean: Any
    strength: Any
    degrees: Any
    scale: Any
    __repr__ = shapes_only


class NormalInverseWishartPosterior(ConjugatePosterior):
    """Posterior of the "mean" (d,) and "covariance" (d, d) of normal records."""

    _positive = ("strength",)

    def __check_init__(self):
        positive(degrees=self._surplus)

    @property
    def _surplus(self) -> Array:
        """Degrees of freedom of the mean's marginal t distribution."""
        return self.parameters.degrees - (self.family.columns - 1)

    def mean(self) -> dict[str, Array]:
        """Posterior mean of each parameter; covariance inf if `degrees` <= d + 1."""
        p, more = self.parameters, self._surplus[..., None, None] - 2
        expected = jnp.where(more > 0, p.scale / more, jnp.inf)
        return {"mean": p.mean, "covariance": expected}

    def variance(self) -> dict[str, Array]:
        """Posterior variance of every entry; infinite if it does not exist."""
        p, free = self.parameters, self._surplus[..., None, None]
        covariance = self.mean()["covariance"]
        diagonal = jnp.diagonal(p.scale, axis1=-2, axis2=-1)
        squares = diagonal[..., :, None] * diagonal[..., None, :]
        spread = (free * p.scale**2 + (free - 2) * squares) / (
            (free - 1) * (free - 2) ** 2 * (free - 4)
        )
        of_mean = jnp.diagonal(covariance, axis1=-2, axis2=-1)
        return {
            "mean": of_mean / p.strength[..., None],
            "covariance": jnp.where(free > 4, spread, jnp.inf),
        }

    def marginals(self) -> dict[str, Law]:
        """Return marginals of each component of "mean" and of each "variance"."""
        p = self.parameters
        mean, strength, free, scale = host(p.mean, p.strength, self._surplus, p.scale)
        diagonal = np.diagonal(scale, axis1=-2, axis2=-1)
        free, strength = free[..., None], strength[..., None]
        spread = np.sqrt(diagonal / (free * strength))
        return {
            "mean": StudentLaw(mean, spread, free),
            "variance": inverse_gamma_law(free / 2, diagonal / 2),
        }

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Draw "mean" and "covariance"; with batch axes, use `jax.vmap`."""
        shape = sample_shape(key, shape)
        key_chi, key_below, key_mean = jr.split(key, 3)
        p, d = self.parameters, self.family.columns
        # Bartlett: the factor of a standard Wishart matrix, then its inverse
        halves = (p.degrees - jnp.arange(d).astype(p.scale.dtype)) / 2
        squares = draw_gamma(key_chi, (halves, jnp.full_like(halves, 0.5)), (*shape, d))
        chi = jnp.sqrt(squares)
        below = jnp.tril(jr.normal(key_below, (*shape, d, d)), -1)
        bartlett = below + chi[..., None] * jnp.eye(d).reshape(
            (1,) * len(shape) + (d, d)
        )
        factor = jnp.broadcast_to(jnp.linalg.cholesky(p.scale).T, bartlett.shape)
        root = solve_triangular(bartlett, factor, lower=True)
        normal = jr.normal(key_mean, (*shape, 1, d)) / jnp.sqrt(p.strength)
        return {
            "mean": jnp.broadcast_to(p.mean, (*shape, d))
            + matmul(normal, root)[..., 0, :],
            "covariance": matmul(jnp.swapaxes(root, -1, -2), root),
        }

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Joint log-density at `values`; with batch axes, use `jax.vmap`."""
        mean, covariance = parameters_of(["mean", "covariance"], values).values()
        p = self.parameters
        of_mean = stats.multivariate_normal.logpdf(
            mean, p.mean, covariance / p.strength
        )
        of_covariance = inverse_wishart_log_density(covariance, p.degrees, p.scale)
        return of_covariance + jnp.asarray(of_mean)

    def distribution(self) -> "dict[str, dist.Distribution]":
        """Return NumPyro's marginal distributions of "mean" and "covariance"."""
        p = self.parameters
        return {
            "mean": self._student(1 / p.strength),
            "covariance": dist.InverseWishart(p.degrees, scale_matrix=p.scale),
        }

    def predictive(self) -> "dist.MultivariateStudentT":
        """Return NumPyro's predictive distribution of a new record, before clipping."""
        return self._student(1 + 1 / self.parameters.strength)

    def _student(self, factor: Array) -> "dist.MultivariateStudentT":
        p, free = self.parameters, self._surplus
        root = jnp.linalg.cholesky(p.scale)
        return dist.MultivariateStudentT(
            free, p.mean, root * jnp.sqrt(factor / free)[..., None, None]
        )


@dataclass(frozen=True)
class MultivariateGaussian(GaussianGrid):
    r"""The multivariate Gaussian family with unknown mean and covariance.

    The statistic of a record x is $(z_i, z_i z_j)_{i \le j}$, where z = x - c and c is
    the middle of the bounds. If all d columns have half width 1, its sum has
    sensitivity $d(d + 2)^2/(2(d + 1))$ under replace-one and $d + d(d + 1)/2$ under
    add-remove. Posterior sampling restricts the mean to the bounds, and needs every
    eigenvalue of the covariance in [least, most]. If D is the length of the diagonal of
    the bounds, `sampling_sensitivity` is $D^2/(2\,least)$ under replace-one.

    Args:
        lower: smallest value of every column.
        upper: largest value of every column.

    Raises:
        ValueError: if bounds are missing or in the wrong order, or `lower` and `upper`
            differ in length.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]

    name: ClassVar[str] = "multivariate-gaussian"
    priors: ClassVar = {NormalInverseWishartParameters: NormalInverseWishartPosterior}
    parameters: ClassVar[Truncation] = {"variance": (0.0, math.inf)}

    def __post_init__(self):
        lower, upper = intervals(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def from_bounds(
        cls, lower: Ends, upper: Ends, **options: Any
    ) -> "MultivariateGaussian":
        """Construct the family from the bounds of one or more columns."""
        return cls(lower, upper, **options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of every column."""
        return tuple(zip(self.lower, self.upper, strict=True))

    def prior(self) -> NormalInverseWishartParameters:
        """Return a prior that weighs one record, E[variance] = (half width / 2)²."""
        d = self.columns
        scale = jnp.diag(jnp.asarray(self.half_widths) ** 2 / 4)
        return NormalInverseWishartParameters(
            jnp.asarray(self.centre), 1.0, d + 2.0, scale
        )

    def vague_prior(self) -> NormalInverseWishartParameters:
        """Return a prior in which each sd is (half width / 10) / |N(0, 1)|."""
        scale = jnp.diag(jnp.asarray(self.half_widths) ** 2 / 100)
        return NormalInverseWishartParameters(
            jnp.asarray(self.centre), 0.01, float(self.columns), scale
        )

    def update(
        self, prior: NormalInverseWishartParameters, total: Total, n: Scalar
    ) -> NormalInverseWishartParameters:
        """Return the posterior's parameters, given the sum `total` over n records."""
        n, centre = jnp.asarray(n, float), jnp.asarray(self.centre)
        first, second = split(total, self.columns, linear=True)
        average = first * over(n)
        start = prior.mean - centre
        strength = prior.strength + n
        between = prior.strength * n / strength * _outer(average - start)
        return NormalInverseWishartParameters(
            centre + (prior.strength * start + first) / strength,
            strength,
            prior.degrees + n,
            prior.scale + second - n * _outer(average) + between,
        )

    def log_total(
        self, prior: NormalInverseWishartParameters, total: Total, n: Number
    ) -> Number:
        """Log-density of the sum of the statistic over n records, up to a constant."""
        moments = split(total, self.columns, linear=True)
        start = prior.mean - jnp.asarray(self.centre)
        return log_normal_moments(*moments, n, start, *prior[1:])

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """The supremum has means x and x', and the least variance along x' - x."""
        diagonal, (least, _) = self._diagonal_and_eigenvalues(limits)
        return Bound(diagonal / (2 * least))

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The range is largest for a record at a corner of the bounds.

        Its density is largest with the mean at this corner, and smallest with the mean
        at the opposite corner.
        """
        diagonal, (least, most) = self._diagonal_and_eigenvalues(limits)
        worst = max(math.log(v / least) + diagonal / v for v in (least, most))
        others = (self.columns - 1) * math.log(most / least)
        return Bound((worst + others) / 2)

    def _diagonal_and_eigenvalues(self, limits: Truncation) -> tuple[float, Any]:
        """Squared diagonal of the bounds, as for the eigenvalues: of scaled columns?"""
        if "eigenvalue" in limits:
            return 4.0 * self.columns, limits["eigenvalue"]
        widths = (upper - lower for lower, upper in self.bounds)
        return sum(width**2 for width in widths), limits["variance"]


def _outer(vector: Array) -> Array:
    return vector[:, None] * vector[None, :]
