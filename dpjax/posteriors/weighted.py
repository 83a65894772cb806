"""Averages over draws that may have weights, and weights by a likelihood."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._types import Key, Scalar


@jax.jit
def weighted_mean(draws: Array, log_weights: Array | None) -> Array:
    """Return the mean over axis 0; None means equal weights."""
    weights = None if log_weights is None else jnp.exp(log_weights)
    return jnp.average(draws, axis=0, weights=weights)


@jax.jit
def weighted_variance(draws: Array, log_weights: Array | None) -> Array:
    """Return the variance over axis 0, NaN of one draw; None means equal weights."""
    if len(draws) == 1:
        return jnp.full_like(draws[0], jnp.nan)
    off = draws - weighted_mean(draws, log_weights)[None]
    return weighted_mean(off**2, log_weights)


@jax.jit
def weighted_quantile(draws: Array, log_weights: Array | None, q: Scalar) -> Array:
    """Quantiles of columns; with weights, of a line through the midpoints of steps.

    The quantiles of a single draw are NaN.
    """
    if len(draws) == 1:
        return jnp.full_like(draws[0], jnp.nan)
    if log_weights is None:
        return jnp.quantile(draws, q, axis=0)
    order = jnp.argsort(draws, axis=0)
    weights = jnp.exp(log_weights)[order]
    middles = jnp.cumsum(weights, axis=0) - weights / 2
    values = jnp.take_along_axis(draws, order, axis=0)
    return jax.vmap(partial(jnp.interp, q), 1)(middles, values)


def weighted_choice(
    key: Key, draws: Array, log_weights: Array | None, shape: tuple[int, ...] = ()
) -> Array:
    """Choose entries of axis 0 with replacement; None means equal weights."""
    weights = None if log_weights is None else jnp.exp(log_weights)
    return jr.choice(key, draws, shape, p=weights)


def reweighted(log_weights: Array | None, likelihood: Array) -> Array:
    """Logarithms of weights, given the log-likelihood of records at every sample."""
    before = jnp.zeros_like(likelihood) if log_weights is None else log_weights
    found = jax.nn.log_softmax(before + likelihood)
    try:
        impossible = np.isnan(np.asarray(found)).any()
    except jax.errors.TracerArrayConversionError:
        return found
    if impossible:
        raise ValueError(
            "`records` must be possible under one of the samples: leave out the others."
        )
    return found


def weighted_log_mean(logs: Array, log_weights: Array | None) -> Array:
    """Logarithm of the average over axis 0 of numbers, given their logarithms."""
    if log_weights is None:
        total = jax.nn.logsumexp(logs, axis=0)
        return total - jnp.log(jnp.asarray(len(logs), logs.dtype))
    weights = log_weights.reshape(-1, *(1 for _ in logs.shape[1:]))
    return jax.nn.logsumexp(logs + weights, axis=0)
