"""Draws from conditional distributions of conjugate models, for arrays of any shape.

Gamma and Dirichlet draws take few passes over a whole array, and compile quickly.
"""

__all__ = [
    "draw_beta",
    "draw_categorical",
    "draw_dirichlet",
    "draw_gamma",
    "draw_gaussian",
    "draw_gaussian_vector",
    "draw_log_gamma",
    "log_normalise",
]

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.chains.hidden_paths import draw_states


def draw_dirichlet(
    key: Key, concentration: Float[Array, "*shape k"]
) -> Float[Array, "*shape k"]:
    """Draw probability vectors from Dirichlet distributions with parameters > 0."""
    return jnp.exp(log_normalise(draw_log_gamma(key, concentration)))


def draw_beta(
    key: Key, shapes: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    """Draw from Beta(a, b) distributions, where `shapes` is the pair (a, b)."""
    first, second = draw_log_gamma(key, jnp.stack(shapes))
    return jax.nn.sigmoid(first - second)


def draw_gamma(
    key: Key, parameters: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    """Draw from Gamma distributions, where `parameters` is (shape, rate)."""
    shape, rate = parameters
    return jnp.exp(draw_log_gamma(key, shape)) / rate


def draw_gaussian(
    key: Key, parameters: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    r"""Draw independent Gaussian numbers with densities $\propto e^{-p x^2 / 2 + h x}$.

    `parameters` is (p, h). The mean is h / p and the variance 1 / p. In a posterior, p
    and h are sums over the prior and all observations of x.
    """
    precision, shift = parameters
    noise = jr.normal(key, shift.shape, shift.dtype)
    return shift / precision + noise / jnp.sqrt(precision)


def draw_gaussian_vector(
    key: Key, parameters: tuple[Float[Array, "*shape d d"], Float[Array, "*shape d"]]
) -> Float[Array, "*shape d"]:
    r"""Draw Gaussian vectors with densities $\propto e^{-x^T P x / 2 + h^T x}$.

    `parameters` is (P, h), with positive definite precision P. The mean is $P^{-1} h$.
    """
    precision, shift = parameters
    noise = jr.normal(key, shift.shape, shift.dtype)
    lower = jnp.linalg.cholesky(precision)

    def solve(vector: Array, transpose: bool) -> Array:
        return lax.linalg.triangular_solve(
            lower, vector[..., None], left_side=True, lower=True, transpose_a=transpose
        )[..., 0]

    return solve(solve(shift, False) + noise, True)


def draw_categorical(
    key: Key, logits: Float[Array, "*shape k"]
) -> Int32[Array, "*shape"]:
    """Draw levels with probabilities ∝ exp(logits); not all logits may be -inf."""
    scaled = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    return draw_states(jr.uniform(key, logits.shape[:-1], logits.dtype), scaled)


def draw_log_gamma(
    key: Key, concentration: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Draw logarithms of Gamma(concentration, 1) numbers, by rejection sampling.

    The first passes accept nearly all draws. For a concentration a below 1, a number is
    a draw for a + 1 times $u^{1/a}$, with u uniform.

    Args:
        key: typed JAX key.
        concentration: shape parameter, > 0 and finite; other values give NaN.

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
    """Normalise logs on the last axis; log-Gamma draws become log-Dirichlet draws."""
    return jax.nn.log_softmax(logs, axis=-1)
