"""Draws of gamma, beta and Dirichlet numbers, for arrays of any shape.

All numbers of an array are drawn together, with keys of every implementation. The gamma
draws of `jax.random` are drawn one after the other, except on accelerators with JAX's
own Threefry keys. Parameters are broadcast to `shape` if it is given.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from dpjax._types import Key

Shape = tuple[int, ...] | None

_NEAR = 0.01  # below it, the series of `_log_acceptance` has full precision


def draw_dirichlet(
    key: Key, concentration: Float[Array, "*batch k"], shape: Shape = None
) -> Float[Array, "*shape k"]:
    """Draw probability vectors from Dirichlet distributions with parameters > 0."""
    (concentration,) = _broadcast(shape, concentration)
    return jnp.exp(log_normalise(draw_log_gamma(key, concentration)))


def draw_beta(
    key: Key,
    shapes: tuple[Float[Array, "*batch"], Float[Array, "*batch"]],
    shape: Shape = None,
) -> Float[Array, "*shape"]:
    """Draw from Beta(a, b) distributions, where `shapes` is the pair (a, b)."""
    both = jnp.stack(_broadcast(shape, *shapes))
    first, second = draw_log_gamma(key, both)
    return jax.nn.sigmoid(first - second)


def draw_gamma(
    key: Key,
    parameters: tuple[Float[Array, "*batch"], Float[Array, "*batch"]],
    shape: Shape = None,
) -> Float[Array, "*shape"]:
    """Draw from Gamma distributions, where `parameters` is (shape, rate)."""
    concentration, rate = _broadcast(shape, *parameters)
    middle, log_ratio = _draw(key, concentration)
    return middle * jnp.exp(log_ratio) / rate


def draw_log_gamma(
    key: Key, concentration: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Draw logarithms of Gamma(concentration, 1) numbers.

    Args:
        key: typed JAX key.
        concentration: shape parameter, > 0 and finite; other values give NaN.
    """
    middle, log_ratio = _draw(key, concentration)
    return jnp.log(middle) + log_ratio


def log_normalise(logs: Float[Array, "*shape k"]) -> Float[Array, "*shape k"]:
    """Normalise logs on the last axis; log-Gamma draws become log-Dirichlet draws."""
    return jax.nn.log_softmax(logs, axis=-1)


def _broadcast(shape: Shape, *arrays: Array) -> Sequence[Array]:
    return arrays if shape is None else [jnp.broadcast_to(x, shape) for x in arrays]


@jax.jit  # so that a call outside of programs compiles once
def _draw(key: Key, concentration: Array) -> tuple[Array, Array]:
    """Draw gamma numbers by rejection, as a number d and the log of their ratio to d.

    The first passes accept nearly all draws. For a concentration a below 1, a number is
    a draw for a + 1 times $u^{1/a}$, with u uniform.

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
        h = c * jr.normal(key_normal, shape, dtype)
        possible = h > -1
        h = jnp.where(possible, h, 0)
        log_u = jnp.log1p(-jr.uniform(key_uniform, shape, dtype))
        taken = ~done & possible & (log_u < d * _log_acceptance(h))
        return key, jnp.where(taken, 3 * jnp.log1p(h), found), done | taken

    start = key_passes, jnp.zeros(shape, dtype), jnp.zeros(shape, bool)
    _, found, _ = lax.while_loop(more, attempt, start)
    log_u = jnp.log1p(-jr.uniform(key_power, shape, dtype))
    found = found + jnp.where(small, log_u / jnp.where(small, given, 1), 0)
    return d, jnp.where(valid, found, jnp.nan)


def _log_acceptance(h: Array) -> Array:
    r"""3 (log(1 + h) - h + h²/2 - h³/3), by a series where these terms cancel.

    Times d, this is the bound $x^2/2 + d (1 - v + \log v)$ of the reference, where x is
    normal, $h = x / \sqrt{9 d}$ and $v = (1 + h)^3$.
    """
    series = -(h**4) * (1 / 4 - h * (1 / 5 - h * (1 / 6 - h / 7)))
    exact = jnp.log1p(h) - h + h * h / 2 - h**3 / 3
    return 3 * jnp.where(jnp.abs(h) < _NEAR, series, exact)
