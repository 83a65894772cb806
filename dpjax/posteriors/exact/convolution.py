"""Direct convolutions of many rows at once, which are accurate in the tails.

The last axis of arrays is for rows, which are computed in parallel; positions are on
earlier axes. Fourier transforms would lose relative accuracy in the tails.
"""

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

LOG_ZERO = -1e30


def valid(
    kernel: Float[Array, "k *many rows"],
    series: Float[Array, "s rows"],
    length: int,
    at_once: int = 16,
) -> Float[Array, "length *many rows"]:
    r"""Convolve each row of `series` with `kernel`, where they overlap completely.

    The results are $\sum_c kernel_c \, series_{k - 1 + j - c}$ for j below `length`,
    which must be s - k + 1. Each step of a loop adds `at_once` terms.
    """
    size = kernel.shape[0]
    shifts = min(size, at_once)
    steps = -(-size // shifts)
    missing = steps * shifts - size
    more = kernel.ndim - 2  # several kernels for each row of the series
    kernel = jnp.pad(kernel, ((0, missing), *((0, 0),) * (more + 1)))
    series = jnp.pad(series, ((missing, 0), (0, 0)))
    series = jnp.expand_dims(series, range(1, 1 + more))

    def add(step, total):
        start = (steps - 1 - step) * shifts
        part = lax.dynamic_slice_in_dim(series, start, length + shifts - 1)
        weights = lax.dynamic_slice_in_dim(kernel, step * shifts, shifts)
        for shift in range(shifts):
            late = shifts - 1 - shift
            # Slices of `lax` take less time to trace than those of arrays.
            met = lax.slice_in_dim(part, late, late + length)
            total += lax.slice_in_dim(weights, shift, shift + 1) * met
        return total

    return lax.fori_loop(0, steps, add, jnp.zeros((length, *kernel.shape[1:])))


def log_valid(
    kernel: Float[Array, "k rows"],
    series: Float[Array, "s rows"],
    length: int,
    at_once: int = 8,
) -> Float[Array, "length rows"]:
    """Return the logarithms of `valid`, of arrays that are given by their logarithms.

    Numbers may differ by more than floating-point numbers do. The logarithm of 0 is
    `LOG_ZERO`, so that derivatives are finite.
    """
    steps = -(-kernel.shape[0] // at_once)
    missing = ((0, steps * at_once - kernel.shape[0]), (0, 0))
    kernel = jnp.pad(kernel, missing, constant_values=LOG_ZERO)
    series = jnp.pad(series, (missing[0][::-1], (0, 0)), constant_values=LOG_ZERO)

    def add(step, total):
        start = (steps - 1 - step) * at_once
        part = lax.dynamic_slice_in_dim(series, start, length + at_once - 1)
        weights = lax.dynamic_slice_in_dim(kernel, step * at_once, at_once)
        terms = [
            weights[shift][None] + part[at_once - 1 - shift :][:length]
            for shift in range(at_once)
        ]
        return logsumexp(jnp.stack([total, *terms]), axis=0)

    none = jnp.full((length, kernel.shape[1]), LOG_ZERO, kernel.dtype)
    return lax.fori_loop(0, steps, add, none)


def take(
    series: Float[Array, "s rows"],
    start: Int[Array, " rows"],
    length: int,
    outside: float = 0.0,
) -> Float[Array, "length rows"]:
    """Take `length` entries of each row from its `start` on; `outside` is around it."""
    places = start[None] + jnp.arange(length, dtype=start.dtype)[:, None]
    inside = (places >= 0) & (places < series.shape[0])
    found = jnp.take_along_axis(
        series, jnp.clip(places, 0, series.shape[0] - 1), axis=0
    )
    return jnp.where(inside, found, outside)
