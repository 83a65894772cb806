"""Posteriors of a linear regression, and its predictions with intervals."""

import abc
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import parameters_of, probability, sample_shape
from dpjax._later import dist
from dpjax._private import shapes_only
from dpjax._products import einsum, matmul
from dpjax._types import Key
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.families.conjugate_base import ConjugatePosterior, host
from dpjax.families.log_densities import inverse_gamma_log_density
from dpjax.families.marginal_laws import Law, StudentLaw, inverse_gamma_law


class RegressionParameters(NamedTuple):
    """Noise variance v ~ InverseGamma(shape, scale), weights ~ N(mean, v precision⁻¹).

    For p weights (an intercept, if any, is the first weight), `mean` has shape (p,) and
    `precision` is positive definite, of shape (p, p). `shape` and `scale` are > 0.
    """

    mean: Any
    precision: Any
    shape: Any
    scale: Any
    __repr__ = shapes_only


class KnownNoiseParameters(NamedTuple):
    """Weights ~ N(mean, precision⁻¹), and noise of variance 1 / `noise_precision`.

    For p weights (an intercept, if any, is the first weight), `mean` has shape (p,) and
    `precision` has shape (p, p).
    """

    mean: Any
    precision: Any
    noise_precision: Any
    __repr__ = shapes_only


class _LinearPosterior(ConjugatePosterior):
    """Posterior of weights with squared scale `_factor` · precision⁻¹."""

    @property
    @abc.abstractmethod
    def _factor(self) -> Array:
        """Ratio of the weights' squared scale to the inverse precision matrix."""

    @property
    @abc.abstractmethod
    def _noise(self) -> Array:
        """Squared scale of a target about its expectation."""

    @property
    @abc.abstractmethod
    def _degrees(self) -> Array | None:
        """Degrees of freedom of weights and targets; None: they are normal."""

    def predict(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        """Return the expected target for each row of `features`."""
        rows = self.family.design(features)
        return matmul(rows, self.parameters.mean) + self.family.centre[-1]

    def interval(
        self, features: Real[ArrayLike, "n f"], level: float = 0.95
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper ends of each target's central prediction interval.

        Raises:
            ValueError: if `level` is not between 0 and 1.
        """
        probability(level=level)
        law = jax.tree.map(lambda x: host(x)[0], self.target_law(features))
        return law.ppf((1 - level) / 2), law.ppf((1 + level) / 2)

    def target_law(self, features: Real[ArrayLike, "n f"]) -> StudentLaw:
        """Return the predictive distribution of each target, before clipping."""
        degrees = None if self._degrees is None else self._degrees[..., None]
        return StudentLaw(self.predict(features), self._target_scale(features), degrees)

    def _target_scale(self, features: Real[ArrayLike, "n f"]) -> Float[Array, " n"]:
        spread = self._spread(self.family.design(features))
        return jnp.sqrt(self._noise + self._factor * spread)

    def _expected_weights(self) -> Float[Array, "*batch p"]:
        return self._as_seen(self.parameters.mean)

    def _squared_scales(self) -> Float[Array, "*batch p"]:
        """Squared scales of the reported weights, after the intercept, if any."""
        return self._factor[..., None] * self._spread(self._directions())

    def _weights_laws(self) -> dict[str, Law]:
        means, squares = host(self._expected_weights(), self._squared_scales())
        laws = {}
        for name, mean in self._by_name(means).items():
            scale = np.sqrt(self._by_name(squares)[name])
            degrees = None if self._degrees is None else host(self._degrees)[0]
            if degrees is not None and name == "weights":
                degrees = degrees[..., None]
            laws[name] = StudentLaw(mean, scale, degrees)
        return laws

    def _directions(self) -> Float[Array, "p p"]:
        """Matrix from the family's weights to the reported weights.

        With an intercept, the family's first weight is the expected target at the
        middle of the features' bounds, minus the middle of the target's bounds. The
        reported intercept is the expected target for features 0.
        """
        size = self.parameters.mean.shape[-1]
        if not self.family.intercept:
            return jnp.eye(size)
        first = jnp.asarray([1.0, *(-c for c in self.family.centre[:-1])])
        return jnp.eye(size).at[0].set(first)

    def _as_seen(self, weights: Float[Array, "*shape p"]) -> Float[Array, "*shape p"]:
        """Convert the family's weights to the reported ones, intercept first."""
        seen = einsum("ij,...j->...i", self._directions(), weights)
        if not self.family.intercept:
            return seen
        intercept = seen[..., :1] + self.family.centre[-1]
        return jnp.concatenate([intercept, seen[..., 1:]], axis=-1)

    def _by_name(self, seen: Any) -> dict[str, Any]:
        if not self.family.intercept:
            return {"weights": seen}
        return {"intercept": seen[..., 0], "weights": seen[..., 1:]}

    def _from_names(self, values: dict[str, Array]) -> Float[Array, " p"]:
        """The family's weights: the inverse of `_as_seen` and `_by_name`."""
        if not self.family.intercept:
            return values["weights"]
        middle = matmul(values["weights"], jnp.asarray(self.family.centre[:-1]))
        first = values["intercept"] + middle - self.family.centre[-1]
        return jnp.concatenate([first[None], values["weights"]])

    def _spread(self, rows: Float[Array, "n p"]) -> Float[Array, "*batch n"]:
        """Variance of the product of every row and the weights, without `_factor`."""
        root = jnp.linalg.cholesky(self.parameters.precision)
        turned = jnp.broadcast_to(rows.T, (*root.shape[:-2], *rows.T.shape))
        return (solve_triangular(root, turned, lower=True) ** 2).sum(axis=-2)

    def _sample_weights(self, key: Key, factor: Float[Array, "*shape"]) -> Array:
        p = self.parameters
        normal = jr.normal(key, (*factor.shape, p.mean.shape[-1], 1))
        root = jnp.linalg.cholesky(p.precision)
        root = jnp.broadcast_to(root, (*factor.shape, *root.shape))
        change = solve_triangular(root, normal, lower=True, trans=1)[..., 0]
        weights = change * jnp.sqrt(factor)[..., None]
        weights = weights + jnp.broadcast_to(p.mean, weights.shape)
        return self._as_seen(weights)

    def _weights_log_prob(self, values: dict[str, Array], factor: Array) -> Array:
        root = jnp.linalg.cholesky(self.parameters.precision)
        change = self._from_names(values) - self.parameters.mean
        volume = jnp.log(jnp.diagonal(root)).sum()
        volume = volume - len(change) / 2 * jnp.log(2 * jnp.pi * factor)
        return volume - (matmul(root.T, change) ** 2).sum() / (2 * factor)

    def _scale_tril(self) -> Float[Array, "p p"]:
        """Cholesky factor of the reported weights' squared scale, intercept first."""
        rows = self._directions()
        precision = jnp.linalg.cholesky(self.parameters.precision)
        covariance = matmul(rows, cho_solve((precision, True), rows.T))
        return jnp.linalg.cholesky(self._factor * covariance)


class RegressionPosterior(_LinearPosterior):
    """Posterior of "weights", "intercept" and noise "variance" of a regression."""

    _positive = ("shape", "scale")

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
        """Posterior mean of each parameter; infinite variance if `shape` <= 1."""
        p = self.parameters
        expected = jnp.where(p.shape > 1, p.scale / (p.shape - 1), jnp.inf)
        weights = self._by_name(self._expected_weights())
        return {**weights, "variance": expected}

    def variance(self) -> dict[str, Array]:
        """Posterior variances: infinite if `shape` <= 1 (of "variance": if <= 2)."""
        p, expected = self.parameters, self.mean()["variance"]
        weights = self._squared_scales() * (expected / self._factor)
        of_variance = jnp.where(p.shape > 2, expected**2 / (p.shape - 2), jnp.inf)
        return {**self._by_name(weights), "variance": of_variance}

    def marginals(self) -> dict[str, Law]:
        """Return Student's t (weights) and inverse gamma (variance) distributions."""
        shape, scale = host(self.parameters.shape, self.parameters.scale)
        return {**self._weights_laws(), "variance": inverse_gamma_law(shape, scale)}

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Draw all parameters; for parameters with batch axes, use `jax.vmap`."""
        shape = sample_shape(key, shape)
        key_variance, key_weights = jr.split(key)
        p = self.parameters
        variance = 1 / draw_gamma(key_variance, (p.shape, p.scale), shape)
        weights = self._sample_weights(key_weights, variance)
        return {**self._by_name(weights), "variance": variance}

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Joint log-density at `values`; with batch axes, use `jax.vmap`."""
        values = parameters_of(self.mean(), values)
        p, variance = self.parameters, values["variance"]
        of_weights = self._weights_log_prob(values, variance)
        return of_weights + inverse_gamma_log_density(variance, p.shape, p.scale)

    def distribution(self) -> "dict[str, dist.Distribution]":
        """Return NumPyro's marginals; an intercept is the first of the weights."""
        p = self.parameters
        return {
            "weights": dist.MultivariateStudentT(
                2 * p.shape, self._expected_weights(), self._scale_tril()
            ),
            "variance": dist.InverseGamma(p.shape, p.scale),
        }

    def predictive(self, features: Real[ArrayLike, "n f"]) -> "dist.StudentT":
        """Return NumPyro's predictive distribution of targets, before clipping."""
        location, scale, degrees = self.target_law(features)
        return dist.StudentT(degrees, location, scale)


class KnownNoisePosterior(_LinearPosterior):
    """Posterior of "weights" and "intercept" of a regression with known noise."""

    _positive = ("noise_precision",)

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
        """Posterior means of "weights" and, if there is one, "intercept"."""
        return self._by_name(self._expected_weights())

    def variance(self) -> dict[str, Array]:
        """Posterior variances of "weights" and, if there is one, "intercept"."""
        return self._by_name(self._squared_scales())

    def marginals(self) -> dict[str, Law]:
        """Return the normal distribution of each weight and of the intercept."""
        return self._weights_laws()

    def sample(self, key: Key, shape: tuple[int, ...] = ()) -> dict[str, Array]:
        """Draw weights and intercept; with batch axes, use `jax.vmap`."""
        shape = sample_shape(key, shape)
        return self._by_name(self._sample_weights(key, jnp.ones(shape)))

    def log_prob(self, values: dict[str, Array]) -> Array:
        """Joint log-density at `values`; with batch axes, use `jax.vmap`."""
        return self._weights_log_prob(parameters_of(self.mean(), values), self._factor)

    def distribution(self) -> "dist.MultivariateNormal":
        """Return NumPyro's joint distribution of (intercept, weights)."""
        return dist.MultivariateNormal(
            self._expected_weights(), scale_tril=self._scale_tril()
        )

    def predictive(self, features: Real[ArrayLike, "n f"]) -> "dist.Normal":
        """Return NumPyro's predictive distribution of targets, before clipping."""
        return dist.Normal(*self.target_law(features)[:2])
