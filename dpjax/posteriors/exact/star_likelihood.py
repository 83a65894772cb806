"""Likelihood of a star's released numbers, given the probabilities of its tables.

Given the hub's counts m, the counts of a leaf's row are multinomial, as are independent
Poisson counts given their sum. The sums over hidden counts are those of `star`, but the
numbers are logarithms: unlike the weights of a prior, those of given probabilities
differ by more than floating-point numbers do, where the noise is large.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32

from dpjax.posteriors.exact.convolution import LOG_ZERO, log_valid, take
from dpjax.posteriors.exact.count_weights import poisson
from dpjax.posteriors.exact.star_windows import (
    by_level,
    by_row,
    first_record,
    guess_hub,
    hub_window,
    leaf_cells,
    log_law,
    steps,
)
from dpjax.posteriors.exact.stars import Leaves, Star
from dpjax.posteriors.exact.windows import Windows


def log_likelihood(star: Star, windows: Windows) -> Float[Array, ""]:
    """Return the log-likelihood of a star whose `alpha` are probabilities.

    A private number of records has weight 1 at every value. With the fields of
    `windows`, a row of a leaf with two levels costs cells · hub exponentials.
    """
    guess = guess_hub(star)
    lowest = hub_window(star, guess, windows.hub)
    counts = (lowest[:, None] + steps(windows.hub)[None]).astype(float)
    logs, chances = log_law(star, counts), star.alpha / star.alpha.sum()
    for group in star.leaves:
        logs += by_level(_leaf_rows(star, group, lowest, guess, windows), group)
    if star.n is None:
        first = first_record(star, windows.records).astype(float)
        return _over_records(logs, counts, chances, first, windows.records)
    whole = guess.sum()[None]
    logs += poisson(counts, (chances * whole)[:, None])
    row = logs[..., None], lowest[:, None], star.n[None], whole
    return _totals(*row, 1)[0, 0]


def _over_records(
    logs: Float[Array, "levels hub"],
    counts: Float[Array, "levels hub"],
    chances: Float[Array, " levels"],
    first: Float[Array, ""],
    length: int,
) -> Float[Array, ""]:
    """Sum the likelihood over a private number of records, in logarithms.

    A sum over numbers of records is an integral over their Poisson mean μ, given which
    the counts of the levels are independent. With μ = log(1 + e^u)², the integrand is
    smooth, and a Poisson distribution of u has a standard deviation of about ½.
    """
    below, above, step = 16.0, 8.0, 0.35
    nodes = math.ceil((below + above + math.sqrt(length)) / step)
    start = jnp.sqrt(first) - below
    places = start + step * steps(nodes).astype(first.dtype)
    roots = jax.nn.softplus(places)

    def at(root: Array) -> Array:
        means = chances * root * root
        return logsumexp(logs + poisson(counts, means[:, None]), axis=1).sum()

    slopes = jnp.log(2 * step * roots) + jax.nn.log_sigmoid(places)
    return logsumexp(lax.map(at, roots) + slopes)


def _leaf_rows(
    star: Star, group: Leaves, lowest_of_hub: Array, guess: Array, windows: Windows
) -> Float[Array, "hub rows"]:
    """Log-likelihood of the rows of leaves, for each total in the hub's window."""
    cells = leaf_cells(star, group, lowest_of_hub, windows)
    guess, alpha = by_row(guess, group), cells.alpha
    means = alpha / alpha.sum(axis=0)[None] * guess[None]
    means = jnp.where(cells.padding, 1, means)  # derivatives at 0 are infinite
    logs = cells.unpadded(cells.logs + poisson(cells.counts, means[:, None]))
    return _totals(logs, cells.lowest, by_row(lowest_of_hub, group), guess, windows.hub)


def _totals(
    logs: Float[Array, "cells window rows"],
    lowest: Int32[Array, "cells rows"],
    start: Int32[Array, " rows"],
    guess: Float[Array, " rows"],
    length: int,
) -> Float[Array, "length rows"]:
    """Log-likelihood for each of `length` totals of rows, from `start` on.

    The weights of counts are Poisson, with `guess` as the mean of a row's total.
    """
    cells, window, _ = logs.shape
    logs = jnp.maximum(logs, LOG_ZERO)
    padding = (cells - 2) * (window - 1) if cells > 2 else 0
    others = jnp.pad(logs[0], ((0, padding), (0, 0)), constant_values=LOG_ZERO)

    def add(others: Array, cell: Array) -> tuple[Array, None]:
        margin = (window - 1, 0), (0, 0)
        series = jnp.pad(others, margin, constant_values=LOG_ZERO)
        return log_valid(cell, series, len(others)), None

    others, _ = lax.scan(add, others, logs[1:-1])
    places = start - lowest.sum(axis=0, dtype=jnp.int32) - (window - 1)
    met = take(others, places, length + window - 1, LOG_ZERO)
    totals = (start[None] + steps(length)[:, None]).astype(float)
    return log_valid(logs[-1], met, length) - poisson(totals, guess[None])
