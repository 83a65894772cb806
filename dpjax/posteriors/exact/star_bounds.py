r"""Bounds of the posterior mass outside the windows of a star.

For noise of Laplace type, $\prod_k q(z_k) \le q(0)^{K-1} q(\sum_k z_k)$, since
$\sum |z_k| \ge |\sum z_k|$. So whatever the prior, a table whose noisy cells sum to S
makes a total of m records at most that probable with z's sum S - m: log-concave in m.
"""

__all__ = ["cell_tails", "guess_records", "hub_tails", "outside"]

import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32

from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.rows import Rows
from dpjax.posteriors.exact.stars import Star


def cell_tails(
    noise: LaplaceLaw,
    values: Float[Array, "cells rows"],
    step: int,
    lowest: Int32[Array, "cells rows"],
    length: int,
    largest: Int32[Array, "one rows"],
) -> Float[Array, "cells rows"]:
    """Log bound of the weight outside of a cell's window: the law at its edges.

    A window starts below the noisy count or at 0, and ends above it or at `largest`.
    """

    def bound(count: Array) -> Array:
        return noise.log_prob(values, count * step)

    most = jnp.broadcast_to(largest, lowest.shape)
    return jnp.maximum(*_edges(bound, lowest, length, most))


def hub_tails(star: Star, lowest: Array, length: int) -> Float[Array, " levels"]:
    """Log bound of the weight of a hub's count outside its window."""

    def bound(count: Array) -> Array:
        own = star.noise.log_prob(star.values, count * star.step)
        total = jnp.where(jnp.asarray(star.seen), own, 0)
        for group in star.leaves:
            cells = len(group.values)
            sums = group.values.sum(axis=0)
            places = jnp.broadcast_to(count * star.step, sums.shape)
            total += group.noise.log_prob(sums, places).sum(axis=0)
            total += (cells - 1) * group.noise.peak().sum()
        return total

    most = None
    if star.n is not None:
        most = jnp.broadcast_to(star.n, lowest.shape)
    below, above = _edges(bound, lowest, length, most)
    return jnp.maximum(
        _falling(bound, lowest - 1, -1, below),
        _falling(bound, lowest + length, 1, above),
    )


def outside(star: Star, hub: Rows, first: Array, length: int) -> Float[Array, ""]:
    """Log bound of the evidence outside the windows of the hub and of the records."""
    norms = logsumexp(-hub.log_norm(first[None], length))
    if star.n is None:
        missed = hub.omitted()[0] + norms
        return jnp.logaddexp(missed, _records_tail(star, first, length))
    if len(star.seen) == 2:  # one count is outside of its window when the other is
        return hub.tail.sum() + norms
    return hub.omitted()[0] + norms


def guess_records(star: Star) -> Float[Array, ""]:
    """The median of the sums of the tables."""
    sums = jnp.concatenate([sums for sums, _, _ in _table_sums(star)])
    return jnp.maximum(jnp.median(sums), 0) / star.step


def _table_sums(star: Star) -> list[tuple[Float[Array, " tables"], LaplaceLaw, int]]:
    """Sums of measured tables by shape, their law, and the number of further cells."""
    groups = []
    for leaves in star.leaves:
        cells, _, levels = leaves.values.shape
        sums = leaves.values.sum(axis=(0, 2))
        groups.append((sums, leaves.noise.of(0), cells * levels - 1))
    if all(star.seen):
        groups.append((star.values.sum()[None], star.noise, star.values.size - 1))
    return groups


def _records_tail(star: Star, first: Array, length: int) -> Float[Array, ""]:
    """Log of the sum of the bound over all numbers of records outside the window.

    Beyond its peak, it falls at least as fast as a geometric series.
    """
    tables = _table_sums(star)

    def bound(count: Array) -> Array:
        total = jnp.zeros(())
        for sums, noise, others in tables:
            places = jnp.broadcast_to(count * star.step, sums.shape)
            total += (noise.log_prob(sums, places) + others * noise.peak()).sum()
        return total

    def series(edge: Array, step: int) -> Array:
        start = bound(edge.astype(float))
        fall = start - bound((edge + step).astype(float))
        total = start - jnp.log(-jnp.expm1(-jnp.maximum(fall, 0)))
        return jnp.where(fall > 0, total, jnp.inf)

    below = jnp.where(first > 0, series(first - 1, -1), -jnp.inf)
    return jnp.logaddexp(below, series(first + length, 1))


def _edges(bound, lowest: Array, length: int, most: Array | None):
    """The bound just below and just above a window; -inf where no count is possible."""
    below = jnp.where(lowest > 0, bound((lowest - 1).astype(float)), -jnp.inf)
    above = bound((lowest + length).astype(float))
    if most is not None:
        above = jnp.where(lowest + length <= most, above, -jnp.inf)
    return below, above


def _falling(bound, edge: Array, step: int, value: Array) -> Array:
    """The bound at an edge, if it falls from there on; else no bound."""
    falls = bound((edge + step).astype(float)) <= bound(edge.astype(float))
    return jnp.where(falls | jnp.isneginf(value), value, jnp.inf)
