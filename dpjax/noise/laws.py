"""Probability distributions of a release's independent noise, for inference."""

import abc

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._types import Key, Scalars
from dpjax.noise import discrete_gaussian, discrete_laplace, laplace


class NoiseLaw(eqx.Module):
    """The probability distribution of the independent noise of released numbers."""

    @abc.abstractmethod
    def of(self, places: int | slice | np.ndarray) -> "NoiseLaw":
        """Return the distribution of the noise of the released numbers at `places`."""

    @abc.abstractmethod
    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability (or log-density) of each released number given `exact`."""

    @abc.abstractmethod
    def continuous(self, unit: Scalars) -> "NoiseLaw":
        """Return the noise divided by `unit`, with a density, as if not discrete."""

    @abc.abstractmethod
    def variance(self) -> Float[Array, "..."]:
        """Return the variance of the noise of each released number."""

    @abc.abstractmethod
    def simulate(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw noise of this shape in floating point, not to be published."""

    def as_laplace(self) -> "LaplaceLaw | None":
        """Return this distribution if it is a Laplace distribution, otherwise None."""
        return None

    def normal_deviation(self) -> Float[Array, "..."] | None:
        """Return the standard deviations if the noise is normal, otherwise None."""
        return None


class LaplaceLaw(NoiseLaw):
    """The distribution of Laplace noise, discrete or continuous.

    Args:
        rate: inverse scale, > 0: one number, or one for each released number.
        discrete: whether released numbers are integers.
    """

    rate: Scalars
    discrete: bool = eqx.field(static=True)

    def as_laplace(self) -> "LaplaceLaw":
        """Return this object, which is a Laplace distribution."""
        return self

    def continuous(self, unit: Scalars) -> "LaplaceLaw":
        """Return the density of the noise divided by `unit`."""
        return LaplaceLaw(jnp.asarray(self.rate) * unit, discrete=False)

    def variance(self) -> Float[Array, "..."]:
        """Return the variance of each released number's noise."""
        rate = jnp.asarray(self.rate, float)
        return 0.5 / jnp.sinh(rate / 2) ** 2 if self.discrete else 2 / rate**2

    def simulate(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw Laplace noise of this shape."""
        return laplace.sample(key, 1.0, shape) / jnp.asarray(self.rate, float)

    def of(self, places: int | slice | np.ndarray) -> "LaplaceLaw":
        """Return the distribution of the noise of the released numbers at `places`."""
        return LaplaceLaw(jnp.asarray(self.rate)[..., places], self.discrete)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability (or log-density) of each released number given `exact`."""
        noise = released.astype(float) - exact.astype(float)
        if self.discrete:
            return discrete_laplace.log_prob(noise, self.rate)
        return laplace.log_prob(noise, 1 / jnp.asarray(self.rate, float))

    def peak(self) -> Float[Array, "..."]:
        """Return each released number's largest log-probability, that of noise 0."""
        none = jnp.zeros(jnp.shape(self.rate))
        return self.log_prob(none, none)


class GaussianLaw(NoiseLaw):
    r"""The distribution of Gaussian noise, $P(z) \propto e^{-h z^2}$.

    Args:
        h: half the inverse of σ², > 0: one number, or one for each released number.
        discrete: whether released numbers are integers.
    """

    h: Scalars
    discrete: bool = eqx.field(static=True, default=True)

    def continuous(self, unit: Scalars) -> "GaussianLaw":
        """Return the density of the noise divided by `unit`."""
        return GaussianLaw(jnp.asarray(self.h) * unit**2, discrete=False)

    def variance(self) -> Float[Array, "..."]:
        """Return σ² for each released number."""
        return 0.5 / jnp.asarray(self.h, float)

    def simulate(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw normal noise of this shape."""
        return jr.normal(key, shape) * self.normal_deviation()

    def of(self, places: int | slice | np.ndarray) -> "GaussianLaw":
        """Return the distribution of the noise of the released numbers at `places`."""
        return GaussianLaw(jnp.asarray(self.h)[..., places], self.discrete)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability (or log-density) of each released number given `exact`."""
        noise = released.astype(float) - exact.astype(float)
        if self.discrete:
            return discrete_gaussian.log_prob(noise, self.h)
        h = jnp.asarray(self.h, float)
        return 0.5 * jnp.log(h / jnp.pi) - h * noise**2

    def normal_deviation(self) -> Float[Array, "..."]:
        """Return σ for each released number."""
        return jnp.sqrt(self.variance())
