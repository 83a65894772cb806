"""Draws from conditional distributions of conjugate models, for arrays of any shape."""

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.chains.path_draws import draw_states


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
