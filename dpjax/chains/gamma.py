"""Gamma and Dirichlet draws for whole arrays at once: few passes, soon compiled."""

__all__ = ["draw_log_gamma", "log_normalise"]

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from dpjax._types import Key


def draw_log_gamma(
    key: Key, concentration: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Logs of Gamma(concentration, 1) draws, by rejection until every lane accepts.

    Nearly every lane does in the first passes, so that a pass over all of them again is
    cheap. Below 1 the draw is that of concentration + 1, times a power of a uniform.

    Args:
        key: typed.
        concentration: > 0 and finite; else the draw is NaN.

    Reference:
        Marsaglia & Tsang, "A simple method for generating gamma variables" (2000).
    """
    key_power, key_passes = jr.split(key)
    shape, dtype = concentration.shape, concentration.dtype
    valid = (concentration > 0) & jnp.isfinite(concentration)
    given = jnp.where(valid, concentration, 1)
    small = given < 1
    d = jnp.where(small, given + 1, given) - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def more(state):
        return ~state[2].all()

    def attempt(state):
        key, found, done = state
        key, key_normal, key_uniform = jr.split(key, 3)
        x = jr.normal(key_normal, shape, dtype)
        root = 1 + c * x
        log_v = 3 * jnp.log(jnp.where(root > 0, root, 1))
        log_u = jnp.log1p(-jr.uniform(key_uniform, shape, dtype))
        bound = x * x / 2 + d * (1 - jnp.exp(log_v) + log_v)
        taken = ~done & (root > 0) & (log_u < bound)
        return key, jnp.where(taken, jnp.log(d) + log_v, found), done | taken

    start = key_passes, jnp.zeros(shape, dtype), jnp.zeros(shape, bool)
    _, found, _ = lax.while_loop(more, attempt, start)
    log_u = jnp.log1p(-jr.uniform(key_power, shape, dtype))
    found = found + jnp.where(small, log_u / jnp.where(small, given, 1), 0)
    return jnp.where(valid, found, jnp.nan)


def log_normalise(logs: Float[Array, "*shape k"]) -> Float[Array, "*shape k"]:
    """Logs less that of their sum: of gamma draws, logs of a Dirichlet draw."""
    return jax.nn.log_softmax(logs, axis=-1)
