"""Negative binomial and Poisson log-probabilities, accurate also in float32."""

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from dpjax.distributions.special import log1p_minus

_FROM = 10.0  # the series is used for larger arguments
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def negative_binomial(
    counts: Float[Array, "..."],
    alpha: Float[Array, "..."],
    guess: Float[Array, "..."],
    whole: Float[Array, "..."],
) -> Float[Array, "..."]:
    r"""Negative binomial log-probability of counts; -inf for negative counts.

    For a count c and p = guess / (guess + whole), the value is
    $\log Γ(α + c) / (Γ(α) c!) + c \log p + α \log(1 - p)$. These terms cancel, so that
    deviances and errors of Stirling's formula are summed instead.

    Reference:
        Loader, "Fast and accurate computation of binomial probabilities" (2000).
    """
    counts, alpha, guess, whole = jnp.broadcast_arrays(counts, alpha, guess, whole)
    p, rest = guess / (guess + whole), whole / (guess + whole)
    count = jnp.where(counts > 0, counts, 1)
    excess = alpha * p - count * rest
    # Stacked and summed by one reduction, to compile faster.
    parts = jnp.stack([count, alpha])
    deviance = (parts * log1p_minus(jnp.stack([excess, -excess]) / parts)).sum(axis=0)
    number = alpha + count
    error = stirling_error(jnp.stack([number, count, alpha]))
    signs = np.array([1, -1, -1], error.dtype).reshape(3, *(1,) * number.ndim)
    root = jnp.log(alpha / (number * count * (2 * math.pi))) / 2
    positive = (signs * error).sum(axis=0) + deviance + root
    return _from_zero(counts, positive, -alpha * jnp.log1p(guess / whole))


def poisson(
    counts: Float[Array, "..."], mean: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Poisson log-probability of counts; -inf for negative counts."""
    count = jnp.where(counts > 0, counts, 1)
    ratio, excess = mean / count, (mean - count) / count
    near = log1p_minus(jnp.maximum(excess, -0.5))
    deviance = count * jnp.where(ratio > 0.5, near, jnp.log(ratio) - excess)
    root = jnp.log(count * (2 * math.pi)) / 2
    return _from_zero(counts, deviance - stirling_error(count) - root, -mean)


def _from_zero(counts: Array, positive: Array, none: Array) -> Array:
    logs = jnp.where(counts > 0, positive, jnp.broadcast_to(none, positive.shape))
    return jnp.where(counts >= 0, logs, -jnp.inf)


def stirling_error(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """Error of Stirling's formula, log Γ(x) - ((x - ½) log x - x + ½ log 2π)."""
    large = jnp.maximum(x, _FROM)
    inverse = 1 / large
    series = jnp.zeros_like(x)
    for term in reversed(_SERIES):
        series = series * inverse * inverse + term
    small = jnp.minimum(x, _FROM)
    exact = gammaln(small) - (small - 0.5) * jnp.log(small) + small
    return jnp.where(x > _FROM, series * inverse, exact - math.log(2 * math.pi) / 2)
