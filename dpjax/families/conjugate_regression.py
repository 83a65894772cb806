"""Posteriors of a linear regression, and its predictions with intervals."""

__all__ = ["KnownNoisePosterior", "RegressionPosterior"]

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro.distributions as dist
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import positive, typed_key
from dpjax._types import Key
from dpjax.families import regression_line as line
from dpjax.families.conjugate_base import (
    ConjugatePosterior,
    as_arrays,
    host,
    probability,
)
from dpjax.families.linear_regression import LinearRegression
from dpjax.families.log_densities import inverse_gamma_log_density
from dpjax.families.marginal_laws import InverseGammaLaw, Law, StudentLaw
from dpjax.families.parameters import KnownNoiseParameters, RegressionParameters


class _LinearPosterior(ConjugatePosterior):
    """Weights around a mean: their spread is a factor over the precision matrix."""

    @property
    @abc.abstractmethod
    def _factor(self) -> Array:
        """Of the weights' covariance, as a scale."""

    @property
    @abc.abstractmethod
    def _noise(self) -> Array:
        """Squared scale of a target about its expectation."""

    @property
    @abc.abstractmethod
    def _degrees(self) -> Array | None:
        """Of freedom, of the law of weights and targets; None: they are normal."""

    def predict(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        """Expected targets."""
        rows = line.design(self.family, features)
        return rows @ self.parameters.mean + self.family.centre[-1]

    def interval(
        self, features: Real[ArrayLike, "n f"], level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Between what a new target is with probability `level`; on the host.

        Raises:
            ValueError: if `level` is not between 0 and 1.
        """
        probability(level=level)
        law = jax.tree.map(lambda x: host(x)[0], self.target_law(features))
        return law.ppf((1 - level) / 2), law.ppf((1 + level) / 2)

    def target_law(self, features: Real[ArrayLike, "n f"]) -> StudentLaw:
        """The law of every new target, as if nothing were clipped."""
        degrees = None if self._degrees is None else self._degrees[..., None]
        return StudentLaw(self.predict(features), self._target_scale(features), degrees)

    def _target_scale(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        rows = line.design(self.family, features)
        spread = line.spread(self.parameters.precision, rows)
        return jnp.sqrt(self._noise + self._factor * spread)

    def _expected_weights(self) -> Float[Array, "*batch p"]:
        return line.as_seen(self.family, self.parameters.mean)

    def _squared_scales(self) -> Float[Array, "*batch p"]:
        """Of intercept, if any, and weights, as users see them."""
        spread = line.spread(self.parameters.precision, line.directions(self.family))
        return self._factor[..., None] * spread

    def _weights_laws(self) -> dict[str, Law]:
        means, squares = host(self._expected_weights(), self._squared_scales())
        laws = {}
        for name, mean in line.by_name(self.family, means).items():
            scale = np.sqrt(line.by_name(self.family, squares)[name])
            degrees = None if self._degrees is None else host(self._degrees)[0]
            if degrees is not None and name == "weights":
                degrees = degrees[..., None]
            laws[name] = StudentLaw(mean, scale, degrees)
        return laws

    def _sample_weights(self, key: Key, factor: Float[Array, "*shape"]) -> Array:
        """One draw a factor of the covariance."""
        p = self.parameters
        normal = jr.normal(key, (*factor.shape, p.mean.shape[-1], 1))
        root = jnp.linalg.cholesky(p.precision)
        root = jnp.broadcast_to(root, (*factor.shape, *root.shape))
        change = solve_triangular(root, normal, lower=True, trans=1)[..., 0]
        weights = change * jnp.sqrt(factor)[..., None]
        weights = weights + jnp.broadcast_to(p.mean, weights.shape)
        return line.as_seen(self.family, weights)

    def _weights_log_prob(self, values: dict[str, Array], factor: Array) -> Array:
        root = jnp.linalg.cholesky(self.parameters.precision)
        change = line.from_names(self.family, values) - self.parameters.mean
        volume = jnp.log(jnp.diagonal(root)).sum()
        volume = volume - len(change) / 2 * jnp.log(2 * jnp.pi * factor)
        return volume - ((root.T @ change) ** 2).sum() / (2 * factor)

    def _scale_tril(self) -> Float[Array, "p p"]:
        """Factor of the covariance of what users see, intercept first."""
        rows = line.directions(self.family)
        precision = jnp.linalg.cholesky(self.parameters.precision)
        covariance = rows @ cho_solve((precision, True), rows.T)
        return jnp.linalg.cholesky(self._factor * covariance)


class RegressionPosterior(_LinearPosterior):
    """Of the "weights", the "intercept" (at 0) and the noise's "variance"."""

    family: LinearRegression = eqx.field(static=True)
    parameters: RegressionParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(shape=self.parameters.shape, scale=self.parameters.scale)

    @property
    def _factor(self) -> Array:
        return self.parameters.scale / self.parameters.shape

    @property
    def _noise(self) -> Array:
        return self._factor

    @property
    def _degrees(self) -> Array:
        return 2 * self.parameters.shape

    def mean(self) -> dict[str, Array]:
        """Of the variance: infinite for a shape of at most 1."""
        p = self.parameters
        expected = jnp.where(p.shape > 1, p.scale / (p.shape - 1), jnp.inf)
        weights = line.by_name(self.family, self._expected_weights())
        return {**weights, "variance": expected}

    def variance(self) -> dict[str, Array]:
        """Infinite where it has none (a shape of at most 1, or 2)."""
        p, expected = self.parameters, self.mean()["variance"]
        weights = self._squared_scales() * (expected / self._factor)
        of_variance = jnp.where(p.shape > 2, expected**2 / (p.shape - 2), jnp.inf)
        return {**line.by_name(self.family, weights), "variance": of_variance}

    def marginals(self) -> dict[str, Law]:
        """Student's t, and inverse gamma."""
        shape, scale = host(self.parameters.shape, self.parameters.scale)
        return {**self._weights_laws(), "variance": InverseGammaLaw(shape, scale)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Weights and variances; of one posterior, not of a stack (`vmap` it)."""
        typed_key(key=key)
        key_variance, key_weights = jr.split(key)
        p = self.parameters
        variance = p.scale / jr.gamma(key_variance, p.shape, shape)
        weights = self._sample_weights(key_weights, variance)
        return {**line.by_name(self.family, weights), "variance": variance}

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Of all, jointly; of one posterior, not of a stack."""
        p, variance = self.parameters, values["variance"]
        of_weights = self._weights_log_prob(values, variance)
        return of_weights + inverse_gamma_log_density(variance, p.shape, p.scale)

    def distribution(self) -> dict[str, dist.Distribution]:
        """The marginals; the weights with the intercept first, if there is one."""
        p = self.parameters
        return {
            "weights": dist.MultivariateStudentT(
                2 * p.shape, self._expected_weights(), self._scale_tril()
            ),
            "variance": dist.InverseGamma(p.shape, p.scale),
        }

    def predictive(self, features: Real[ArrayLike, "n f"]) -> dist.StudentT:
        """The laws of new targets, as if nothing were clipped."""
        location, scale, degrees = self.target_law(features)
        return dist.StudentT(degrees, location, scale)


class KnownNoisePosterior(_LinearPosterior):
    """Of the "weights" and the "intercept" (at 0), the noise being known."""

    family: LinearRegression = eqx.field(static=True)
    parameters: KnownNoiseParameters = eqx.field(converter=as_arrays)

    def __check_init__(self):
        positive(noise_precision=self.parameters.noise_precision)

    @property
    def _factor(self) -> Array:
        return jnp.ones(())

    @property
    def _noise(self) -> Array:
        return 1 / self.parameters.noise_precision

    @property
    def _degrees(self) -> None:
        return None

    def mean(self) -> dict[str, Array]:
        """Of intercept, if any, and weights."""
        return line.by_name(self.family, self._expected_weights())

    def variance(self) -> dict[str, Array]:
        """Of intercept, if any, and weights."""
        return line.by_name(self.family, self._squared_scales())

    def marginals(self) -> dict[str, Law]:
        """Normal."""
        return self._weights_laws()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Weights; of one posterior, not of a stack (`vmap` it)."""
        typed_key(key=key)
        return line.by_name(self.family, self._sample_weights(key, jnp.ones(shape)))

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Of all, jointly; of one posterior, not of a stack."""
        return self._weights_log_prob(values, self._factor)

    def distribution(self) -> dist.MultivariateNormal:
        """Of the weights, with the intercept first, if there is one."""
        return dist.MultivariateNormal(
            self._expected_weights(), scale_tril=self._scale_tril()
        )

    def predictive(self, features: Real[ArrayLike, "n f"]) -> dist.Normal:
        """The laws of new targets, as if nothing were clipped."""
        return dist.Normal(*self.target_law(features)[:2])
