"""The continuous Laplace distribution in floating point: for studies only.

Floating-point samples lie on an uneven grid, which can reveal the data: never publish
them.
"""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Real

from dpjax._types import Key, Scalar, Scalars


def sample(key: Key, scale: Scalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Draw independent numbers with density exp(-|x| / scale) / (2 scale)."""
    return jnp.asarray(scale, float) * jr.laplace(key, shape)


def log_prob(noise: Real[Array, "..."], scale: Scalars) -> Float[Array, "..."]:
    """Return the log-density at each entry of `noise`; `scale` broadcasts to it."""
    scale = jnp.broadcast_to(jnp.asarray(scale, float), noise.shape)
    return -jnp.abs(noise.astype(float)) / scale - jnp.log(2 * scale)
