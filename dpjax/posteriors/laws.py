"""Which releases say how likely they were, given the exact statistic."""

__all__ = ["LaplaceLaw", "laplace_law", "laplace_scale", "law_of"]

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._types import Scalars
from dpjax.mechanisms import DiscreteLaplace, Laplace, MechanismWithLaw, SplitLaplace
from dpjax.noise import discrete_laplace, laplace
from dpjax.releases.released import Released


class LaplaceLaw(eqx.Module):
    """The law of Laplace noise, discrete or not, that falls by `rate` a unit.

    Args:
        rate: the inverse of the scale, > 0: one, or of each number along the last axes.
        discrete: whether released numbers are integers.
    """

    rate: Scalars
    discrete: bool = eqx.field(static=True)

    def of(self, places: int | slice | np.ndarray) -> "LaplaceLaw":
        """The law of the numbers at these places."""
        return LaplaceLaw(jnp.asarray(self.rate)[..., places], self.discrete)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Log-probability of every released number."""
        noise = released.astype(float) - exact.astype(float)
        if self.discrete:
            return discrete_laplace.log_prob(noise, self.rate)
        return laplace.log_prob(noise, 1 / jnp.asarray(self.rate, float))

    def peak(self) -> Float[Array, "..."]:
        """The largest log-probability of each, of a number without noise."""
        none = jnp.zeros(jnp.shape(self.rate))
        return self.log_prob(none, none)


def law_of(released: Released) -> MechanismWithLaw:
    """The mechanism of a release, if the law of its output is known.

    Raises:
        ValueError: if it is not.
    """
    mechanism = released.mechanism
    if not isinstance(mechanism, MechanismWithLaw):
        raise ValueError(
            "`released` must be of a mechanism with a law for its output, "
            f"such as DiscreteLaplace or Laplace, got {type(mechanism).__name__}."
        )
    return mechanism


def laplace_law(released: Released) -> LaplaceLaw:
    """The law of every released number, if it is one of Laplace's.

    Raises:
        ValueError: if it is not.
    """
    mechanism = law_of(released)
    shape = jnp.shape(released.values)
    if isinstance(mechanism, SplitLaplace):
        return LaplaceLaw(jnp.broadcast_to(mechanism.rates, shape), discrete=True)
    if isinstance(mechanism, DiscreteLaplace):
        rate = jnp.asarray(mechanism.rho, float)[..., None]
        return LaplaceLaw(jnp.broadcast_to(rate, shape), discrete=True)
    if isinstance(mechanism, Laplace):
        rate = 1 / jnp.asarray(mechanism.scale, float)[..., None]
        return LaplaceLaw(jnp.broadcast_to(rate, shape), discrete=False)
    raise ValueError(
        "`released` must be of DiscreteLaplace, SplitLaplace or Laplace, got "
        f"{type(mechanism).__name__}: `gibbs_posterior` takes any law."
    )


def laplace_scale(released: Released) -> Float[Array, "*batch m"]:
    """Scale of the noise of each number.

    Raises:
        ValueError: if the noise is not Laplace, discrete or continuous.
    """
    return 1 / jnp.asarray(laplace_law(released).rate)
