"""Draws from the laws of conjugate blocks, for arrays of any shape at once."""

__all__ = [
    "draw_beta",
    "draw_categorical",
    "draw_dirichlet",
    "draw_gamma",
    "draw_gaussian",
    "draw_gaussian_vector",
]

import jax
import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.chains.gamma import draw_log_gamma, log_normalise
from dpjax.chains.hidden_paths import draw_states


def draw_dirichlet(
    key: Key, concentration: Float[Array, "*shape k"]
) -> Float[Array, "*shape k"]:
    """Probabilities with a Dirichlet law; its parameters, > 0, are on the last axis."""
    return jnp.exp(log_normalise(draw_log_gamma(key, concentration)))


def draw_beta(
    key: Key, shapes: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    """Probabilities of success with a Beta law: parameters of success and failure."""
    first, second = draw_log_gamma(key, jnp.stack(shapes))
    return jax.nn.sigmoid(first - second)


def draw_gamma(
    key: Key, parameters: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    """Positive numbers with a Gamma law, such as precisions: its shape and its rate."""
    shape, rate = parameters
    return jnp.exp(draw_log_gamma(key, shape)) / rate


def draw_gaussian(
    key: Key, parameters: tuple[Float[Array, "*shape"], Float[Array, "*shape"]]
) -> Float[Array, "*shape"]:
    r"""Independent numbers with densities $\propto e^{-p x^2 / 2 + h x}$.

    The precision p and the shift h add up: of a prior, and of all that is seen of x.
    """
    precision, shift = parameters
    noise = jr.normal(key, shift.shape, shift.dtype)
    return shift / precision + noise / jnp.sqrt(precision)


def draw_gaussian_vector(
    key: Key, parameters: tuple[Float[Array, "*shape d d"], Float[Array, "*shape d"]]
) -> Float[Array, "*shape d"]:
    r"""Vectors with densities $\propto e^{-x^T P x / 2 + h^T x}$, such as coefficients.

    The precision P, positive definite, and the shift h add up, as numbers' do.
    """
    precision, shift = parameters
    noise = jr.normal(key, shift.shape, shift.dtype)
    lower = jnp.linalg.cholesky(precision)

    def solve(vector: Array, transpose: bool) -> Array:
        return jax.lax.linalg.triangular_solve(
            lower, vector[..., None], left_side=True, lower=True, transpose_a=transpose
        )[..., 0]

    return solve(solve(shift, False) + noise, True)


def draw_categorical(
    key: Key, logits: Float[Array, "*shape k"]
) -> Int32[Array, "*shape"]:
    """A level each, in proportion to the exponentials of its logits, not all -inf."""
    scaled = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    return draw_states(jr.uniform(key, logits.shape[:-1], logits.dtype), scaled)
