"""Posteriors of mean and variance, and of mean and covariance."""

__all__ = ["NormalInverseGammaPosterior", "NormalInverseWishartPosterior"]

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular
from jax.scipy.stats import multivariate_normal, norm
from jaxtyping import Array

from dpjax._checks import positive, typed_key
from dpjax._types import Key
from dpjax.families.conjugate_base import ConjugatePosterior, as_arrays, host
from dpjax.families.gaussian import Gaussian
from dpjax.families.log_densities import (
    inverse_gamma_log_density,
    inverse_wishart_log_density,
)
from dpjax.families.marginal_laws import InverseGammaLaw, Law, StudentLaw
from dpjax.families.multivariate_gaussian import MultivariateGaussian
from dpjax.families.parameters import (
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
)


class NormalInverseGammaPosterior(ConjugatePosterior):
    """Of the "mean" and the "variance" of a normal law."""

    family: Gaussian = eqx.field(static=True)
    parameters: NormalInverseGammaParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        p = self.parameters
        positive(strength=p.strength, shape=p.shape, scale=p.scale)

    def mean(self) -> dict[str, Array]:
        """Of the variance: infinite for a shape of at most 1."""
        p = self.parameters
        expected = jnp.where(p.shape > 1, p.scale / (p.shape - 1), jnp.inf)
        return {"mean": p.mean, "variance": expected}

    def variance(self) -> dict[str, Array]:
        """Infinite where it has none (a shape of at most 1, or 2)."""
        p, expected = self.parameters, self.mean()["variance"]
        of_variance = jnp.where(p.shape > 2, expected**2 / (p.shape - 2), jnp.inf)
        return {"mean": expected / p.strength, "variance": of_variance}

    def marginals(self) -> dict[str, Law]:
        """Student's t, and inverse gamma."""
        mean, strength, shape, scale = host(*self.parameters)
        spread = np.sqrt(scale / (shape * strength))
        of_mean = StudentLaw(mean, spread, 2 * shape)
        return {"mean": of_mean, "variance": InverseGammaLaw(shape, scale)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Means and variances."""
        typed_key(key=key)
        key_variance, key_mean = jr.split(key)
        p = self.parameters
        shape = shape + jnp.shape(p.mean)
        variance = p.scale / jr.gamma(key_variance, p.shape, shape)
        spread = jnp.sqrt(variance / p.strength)
        return {
            "mean": p.mean + spread * jr.normal(key_mean, shape),
            "variance": variance,
        }

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Of mean and variance, jointly."""
        p, variance = self.parameters, values["variance"]
        of_mean = norm.logpdf(values["mean"], p.mean, jnp.sqrt(variance / p.strength))
        return of_mean + inverse_gamma_log_density(variance, p.shape, p.scale)

    def distribution(self) -> dict[str, dist.Distribution]:
        """The marginals."""
        p = self.parameters
        spread = jnp.sqrt(p.scale / (p.shape * p.strength))
        return {
            "mean": dist.StudentT(2 * p.shape, p.mean, spread),
            "variance": dist.InverseGamma(p.shape, p.scale),
        }

    def predictive(self) -> dist.StudentT:
        """The law of one record more, as if nothing were clipped."""
        p = self.parameters
        spread = jnp.sqrt(p.scale * (1 + 1 / p.strength) / p.shape)
        return dist.StudentT(2 * p.shape, p.mean, spread)


class NormalInverseWishartPosterior(ConjugatePosterior):
    """Of the "mean" (d,) and the "covariance" (d, d) of a multivariate normal law."""

    family: MultivariateGaussian = eqx.field(static=True)
    parameters: NormalInverseWishartParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        p = self.parameters
        positive(strength=p.strength, degrees=p.degrees - (self.family.columns - 1))

    @property
    def _surplus(self) -> Array:
        """Degrees of freedom of the mean's t law."""
        return self.parameters.degrees - (self.family.columns - 1)

    def mean(self) -> dict[str, Array]:
        """Of the covariance: infinite for at most d + 1 degrees of freedom."""
        p, more = self.parameters, self._surplus[..., None, None] - 2
        expected = jnp.where(more > 0, p.scale / more, jnp.inf)
        return {"mean": p.mean, "covariance": expected}

    def variance(self) -> dict[str, Array]:
        """Infinite where it has none."""
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
        """Of each component of the mean, and of each "variance", on its own."""
        p = self.parameters
        mean, strength, free, scale = host(p.mean, p.strength, self._surplus, p.scale)
        diagonal = np.diagonal(scale, axis1=-2, axis2=-1)
        free, strength = free[..., None], strength[..., None]
        spread = np.sqrt(diagonal / (free * strength))
        return {
            "mean": StudentLaw(mean, spread, free),
            "variance": InverseGammaLaw(free / 2, diagonal / 2),
        }

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Means and covariances; of one posterior, not of a stack (`vmap` it)."""
        typed_key(key=key)
        key_chi, key_below, key_mean = jr.split(key, 3)
        p, d = self.parameters, self.family.columns
        # Bartlett: the factor of a standard Wishart matrix, then its inverse
        halves = (p.degrees - jnp.arange(d).astype(p.scale.dtype)) / 2
        chi = jnp.sqrt(2 * jr.gamma(key_chi, halves, (*shape, d)))
        below = jnp.tril(jr.normal(key_below, (*shape, d, d)), -1)
        bartlett = below + chi[..., None] * jnp.eye(d).reshape(
            (1,) * len(shape) + (d, d)
        )
        factor = jnp.broadcast_to(jnp.linalg.cholesky(p.scale).T, bartlett.shape)
        root = solve_triangular(bartlett, factor, lower=True)
        normal = jr.normal(key_mean, (*shape, 1, d)) / jnp.sqrt(p.strength)
        return {
            "mean": jnp.broadcast_to(p.mean, (*shape, d)) + (normal @ root)[..., 0, :],
            "covariance": jnp.swapaxes(root, -1, -2) @ root,
        }

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Of mean and covariance, jointly; of one posterior, not of a stack."""
        p, covariance = self.parameters, values["covariance"]
        of_mean = multivariate_normal.logpdf(
            values["mean"], p.mean, covariance / p.strength
        )
        of_covariance = inverse_wishart_log_density(covariance, p.degrees, p.scale)
        return of_covariance + jnp.asarray(of_mean)

    def distribution(self) -> dict[str, dist.Distribution]:
        """The marginals."""
        p = self.parameters
        return {
            "mean": self._student(1 / p.strength),
            "covariance": dist.InverseWishart(p.degrees, scale_matrix=p.scale),
        }

    def predictive(self) -> dist.MultivariateStudentT:
        """The law of one record more, as if nothing were clipped."""
        return self._student(1 + 1 / self.parameters.strength)

    def _student(self, factor: Array) -> dist.MultivariateStudentT:
        p, free = self.parameters, self._surplus
        root = jnp.linalg.cholesky(p.scale)
        return dist.MultivariateStudentT(
            free, p.mean, root * jnp.sqrt(factor / free)[..., None, None]
        )
