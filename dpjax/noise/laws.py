"""Laws of independent noise, for inference from a release."""

__all__ = ["LaplaceLaw", "NoiseLaw"]

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._types import Scalars
from dpjax.noise import discrete_laplace, laplace


class NoiseLaw(eqx.Module):
    """The law of the independent noise of released numbers."""

    @abc.abstractmethod
    def of(self, places: int | slice | np.ndarray) -> "NoiseLaw":
        """The law of the noise of the numbers at these places."""

    @abc.abstractmethod
    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability of every released number given the exact number."""

    def as_laplace(self) -> "LaplaceLaw | None":
        """Return this law as a Laplace law; None if it is of another kind."""
        return None


class LaplaceLaw(NoiseLaw):
    """The law of Laplace noise, discrete or continuous.

    Args:
        rate: inverse scale, > 0: one for all numbers, or one for each on the last axes.
        discrete: whether released numbers are integers.
    """

    rate: Scalars
    discrete: bool = eqx.field(static=True)

    def as_laplace(self) -> "LaplaceLaw":
        """Return this law, which is a Laplace law."""
        return self

    def of(self, places: int | slice | np.ndarray) -> "LaplaceLaw":
        """The law of the noise of the numbers at these places."""
        return LaplaceLaw(jnp.asarray(self.rate)[..., places], self.discrete)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability of every released number given the exact number."""
        noise = released.astype(float) - exact.astype(float)
        if self.discrete:
            return discrete_laplace.log_prob(noise, self.rate)
        return laplace.log_prob(noise, 1 / jnp.asarray(self.rate, float))

    def peak(self) -> Float[Array, "..."]:
        """Largest log-probability of each number, which is that of noise 0."""
        none = jnp.zeros(jnp.shape(self.rate))
        return self.log_prob(none, none)
