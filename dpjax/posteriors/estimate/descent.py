"""Gradient descent with expectations over a low-discrepancy sequence."""

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtri
from jaxtyping import Array

from dpjax._later import optax

_Adam = tuple[Array, Any]

_RATE = 0.2  # step size of the first step, in posterior standard deviations


def descend(slope, start: Array, steps: int) -> tuple[Array, Array]:
    """Run Adam with a cosine schedule; return the last position and mean gradient.

    Reference:
        Kingma & Ba (ICLR 2015), Algorithm 1.
    """
    adam = optax.scale_by_adam()
    rate = optax.cosine_decay_schedule(_RATE, steps)

    def improve(state: _Adam, step: Array):
        position, memory = state
        found = slope(position, step)
        with jax.numpy_dtype_promotion("standard"):  # optax mixes dtypes
            move, memory = cast(_Adam, adam.update(found, memory))
            position = position - jnp.asarray(rate(step) * move, start.dtype)
        return (position, memory), None

    state = start, adam.init(start)
    each = jnp.arange(steps, dtype=jnp.uint32)
    (position, memory), _ = lax.scan(improve, state, each)
    return position, cast(Array, memory.mu)


def multipliers(size: int) -> np.ndarray:
    """Return odd multipliers for `normal_nodes`, one a coordinate."""
    numbers = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    return (numbers >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def normal_nodes(factors: np.ndarray, step: Array, pairs: int) -> Array:
    """Normal nodes of a Weyl sequence, then their negatives, (2 pairs, size)."""
    index = step * jnp.uint32(pairs) + jnp.arange(1, pairs + 1, dtype=jnp.uint32)
    bits = index[:, None] * jnp.asarray(factors)[None]
    uniforms = ((bits >> jnp.uint32(9)).astype(float) + 0.5) / (1 << 23)
    points = ndtri(uniforms)
    return jnp.concatenate([points, -points])
