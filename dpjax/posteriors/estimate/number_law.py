r"""Distribution of one released number, which is an exact number plus Laplace noise.

A count with mean $\lambda$ is modelled as Poisson if $\lambda$ is small, by an explicit
sum, and as normal if $\lambda$ is large, by a closed form of the convolution with the
Laplace distribution. In between, the two log-densities are interpolated smoothly.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, log_ndtr
from jaxtyping import Array, Bool, Float

_LOW, _HIGH = 8.0, 20.0  # between these means, the two forms are interpolated
_TERMS = 48  # terms of the sum: a Poisson(20) count exceeds this once in 1e7
_SMALLEST_MEAN = 1e-6
_SMALLEST_VARIANCE = 0.05
# Smallest noise scale, relative to the sampling deviation: less noise changes little,
# and the closed form loses accuracy.
LEAST_NOISE = 0.125


def number_log_prob(
    values: Float[Array, " m"],
    mean: Float[Array, " m"],
    variance: Float[Array, " m"],  # variance of the exact numbers
    scale: Float[Array, " m"],  # scale of the Laplace noise, > 0
    counts: Bool[np.ndarray, " m"],  # whether exact numbers are counts, hence ≥ 0
) -> Float[Array, " m"]:
    """Return the log-density of released numbers, exact numbers plus Laplace noise."""
    large = _normal(values, mean, variance, scale)
    if not counts.any():
        return large
    rising = jnp.log(jnp.maximum(mean, _SMALLEST_MEAN) / _LOW) / np.log(_HIGH / _LOW)
    part = jnp.clip(rising, 0, 1)
    weight = part * part * (3 - 2 * part)
    # Each form is evaluated only where it is accurate, so that all slopes are finite.
    floor = jnp.where(counts, jnp.asarray(_LOW, mean.dtype), -jnp.inf)
    at_least = jnp.maximum(mean, floor)
    ratio = jnp.where(mean < _LOW, _LOW / jnp.maximum(mean, _SMALLEST_MEAN), 1)
    spread = jnp.where(counts, variance * ratio, variance)
    large = _normal(values, at_least, spread, scale)
    small = _poisson(values, jnp.clip(mean, _SMALLEST_MEAN, _HIGH), scale)
    return jnp.where(counts, weight * large + (1 - weight) * small, large)


def normal_log_prob(
    values: Float[Array, " m"],
    mean: Float[Array, " m"],
    variance: Float[Array, " m"],  # variance of the exact numbers
    deviation: Float[Array, " m"],  # of the noise, > 0
    weights: Float[Array, " m"],
) -> Float[Array, " m"]:
    """Return the log-density of exact numbers plus normal noise, times `weights`."""
    total = jnp.maximum(variance, 0) + deviation**2
    return weights * (-((values - mean) ** 2) / total - jnp.log(total)) / 2


def laplace_variance(
    variance: Float[Array, " m"], scale: Float[Array, " m"]
) -> Float[Array, " m"]:
    r"""Variance of normal noise that has the Fisher information of Laplace noise.

    The information is that about the location of a normal variable of the given
    variance v, to which noise of scale b is added: 1 / I - v, which rises with v from
    $b^2$ to $2 b^2$. The formula is within 1 % of the integral.
    """
    ratio = jnp.sqrt(jnp.maximum(variance, 0)) / scale
    rising = 2 / np.sqrt(np.pi) * ratio * jnp.exp(0.75 * jnp.minimum(ratio, 40))
    return scale**2 * (1 + 2 * rising) / (1 + rising)


def _poisson(values: Array, mean: Array, scale: Array) -> Array:
    terms = jnp.arange(_TERMS, dtype=mean.dtype)
    distance = jnp.abs(values[:, None] - terms[None])
    logs = jnp.log(mean)[:, None] * terms[None] - (gammaln(terms + 1))[None]
    total = jax.nn.logsumexp(logs - distance / scale[:, None], axis=1)
    return total - mean - jnp.log(2 * scale)


def _normal(values: Array, mean: Array, variance: Array, scale: Array) -> Array:
    deviation = jnp.sqrt(jnp.maximum(variance, _SMALLEST_VARIANCE))
    scale = jnp.maximum(scale, LEAST_NOISE * deviation)
    ratio, off = deviation / scale, (values - mean) / deviation
    both = jnp.stack([off, -off])
    sides = jax.nn.logsumexp(log_ndtr(both - ratio[None]) - both * ratio[None], axis=0)
    return sides + ratio * ratio / 2 - jnp.log(2 * scale)
