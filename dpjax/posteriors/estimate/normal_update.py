"""Normal approximation of what noisy numbers say about some parameters."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax.posteriors.estimate.number_law import laplace_variance

_ROUNDS = 4  # of the fixed point of `posterior_noise`


class NormalUpdate(NamedTuple):
    """Posterior of parameters whose prior and whose numbers' noise are normal."""

    covariance: Float[Array, "k k"]  # of the parameters
    slopes: Float[Array, "m k"]  # of the log-likelihood, for a residual of 1
    precision: Float[Array, " m"]  # of each noisy number, given all others

    def variance(self, noise: Float[Array, " m"]) -> Float[Array, " m"]:
        """Variance of each exact number, given all others, from that of the noise."""
        share = jnp.maximum(noise * self.precision, 1e-6)  # it may be rounded to 0
        return noise / share - noise


def normal_update(
    information: Float[Array, "k k"],
    moved: Float[Array, "m k"],
    spread: Float[Array, "m m"],
    noise: Float[Array, " m"],
) -> NormalUpdate:
    """Compute the posterior of parameters, given noisy numbers.

    Args:
        information: the information matrix of the prior of the parameters.
        moved: derivatives of the exact numbers' means by the parameters.
        spread: covariance of the exact numbers given the parameters.
        noise: variance of the noise of each number.
    """

    # With a triangular root, rounding errors keep the information non-negative.
    root = jnp.linalg.cholesky(spread + jnp.diag(noise))
    both = jnp.concatenate([moved, jnp.eye(len(root), dtype=root.dtype)], axis=1)
    whitened = solve_triangular(root, both, lower=True)
    moved, inverse = jnp.split(whitened, [moved.shape[1]], axis=1)
    information = information + matmul(moved.T, moved)
    unit = jnp.eye(len(information), dtype=root.dtype)
    found = cho_solve(cho_factor(information), unit)
    slopes = matmul(inverse.T, moved)
    alone = jnp.sum(inverse * inverse, axis=0)
    precision = alone - jnp.sum(matmul(slopes, found) * slopes, axis=1)
    return NormalUpdate(found, slopes, precision)


def posterior_noise(
    information: Float[Array, "k k"],
    moved: Float[Array, "m k"],
    spread: Float[Array, "m m"],
    scale: Float[Array, " m"],
) -> Float[Array, " m"]:
    r"""Variances of normal noise that leave as much uncertainty as Laplace noise does.

    Laplace noise of scale b leaves the variance $2 b^2$ if nothing else is known of a
    number, and that of normal noise of variance $b^2$ if much is known. Hence the
    result depends on the variance of each number given all others, as in expectation
    propagation, and is found by iteration. For other arguments, see `normal_update`.
    """

    def improve(_, noise):
        update = normal_update(information, moved, spread, noise)
        return laplace_variance(update.variance(noise), scale)

    return lax.fori_loop(0, _ROUNDS, improve, 2 * scale**2)
