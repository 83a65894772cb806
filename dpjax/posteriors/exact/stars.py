r"""The released numbers of a star, and bounds of the mass outside the windows.

For Laplace noise z with density q, $\prod_k q(z_k) \le q(0)^{K-1} q(\sum_k z_k)$, since
$\sum |z_k| \ge |\sum z_k|$. Hence, for any prior, a table of K noisy cells with sum S
has at most the density $q(0)^{K-1} q(S - m)$ given a total of m records; this bound is
log-concave in m.
"""

__all__ = ["Leaves", "Star", "cell_tails"]

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int32

from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.rows import Rows


class Leaves(eqx.Module):
    """Noisy tables of leaves with equal numbers of levels, whose parent is the hub."""

    values: Float[Array, "cells leaves levels"]  # noisy counts
    alpha: Float[Array, "cells leaves levels"]  # Dirichlet parameters
    noise: LaplaceLaw  # with rates (leaves, 1)


class Star(eqx.Module):
    """The released numbers of a star (a hub and its leaves), and the prior."""

    values: Float[Array, " levels"]  # noisy counts of the hub's levels, where `seen`
    alpha: Float[Array, " levels"]  # Dirichlet parameters of the hub
    leaves: list[Leaves]
    n: Int32[Array, ""] | None  # number of records; None if private
    noise: LaplaceLaw  # noise of `values`, with one rate
    seen: tuple[bool, ...] = eqx.field(static=True)  # levels with a measured count
    step: int = eqx.field(static=True, default=1)  # change of a number by one record
    given: bool = eqx.field(static=True, default=False)  # `alpha` are probabilities

    def hub_tails(self, lowest: Array, length: int) -> Float[Array, " levels"]:
        """Log of a bound of the weight of each hub count outside its window.

        The window has `length` counts from `lowest` on.
        """

        def bound(count: Array) -> Array:
            own = self.noise.log_prob(self.values, count * self.step)
            total = jnp.where(jnp.asarray(self.seen), own, 0)
            for group in self.leaves:
                cells = len(group.values)
                sums = group.values.sum(axis=0)
                places = jnp.broadcast_to(count * self.step, sums.shape)
                total += group.noise.log_prob(sums, places).sum(axis=0)
                total += (cells - 1) * group.noise.peak().sum()
            return total

        most = None
        if self.n is not None:
            most = jnp.broadcast_to(self.n, lowest.shape)
        below, above = _edges(bound, lowest, length, most)
        return jnp.maximum(
            _falling(bound, lowest - 1, -1, below),
            _falling(bound, lowest + length, 1, above),
        )

    def outside(self, hub: Rows, first: Array, length: int) -> Float[Array, ""]:
        """Log of a bound of the evidence from hub counts and n outside their windows.

        The window of the number n of records has `length` numbers from `first` on.
        """
        norms = logsumexp(-hub.log_norm(first[None], length))
        if self.n is None:
            missed = hub.omitted()[0] + norms
            return jnp.logaddexp(missed, self._records_tail(first, length))
        if len(self.seen) == 2:  # both counts are outside their windows, or none is
            return hub.tail.sum() + norms
        return hub.omitted()[0] + norms

    def guess_records(self) -> Float[Array, ""]:
        """Estimate the number of records by the median of the noisy tables' sums."""
        sums = jnp.concatenate([sums for sums, _, _ in self._table_sums()])
        return jnp.maximum(jnp.median(sums), 0) / self.step

    def _table_sums(self) -> list[tuple[Float[Array, " tables"], LaplaceLaw, int]]:
        """Sums of tables by shape, their noise, and the number of cells minus 1."""
        groups = []
        for leaves in self.leaves:
            cells, _, levels = leaves.values.shape
            sums = leaves.values.sum(axis=(0, 2))
            groups.append((sums, leaves.noise.of(0), cells * levels - 1))
        if all(self.seen):
            groups.append((self.values.sum()[None], self.noise, self.values.size - 1))
        return groups

    def _records_tail(self, first: Array, length: int) -> Float[Array, ""]:
        """Log of the sum of bounds over all numbers of records outside the window.

        A log-concave bound falls at least as fast as a geometric series.
        """
        tables = self._table_sums()

        def bound(count: Array) -> Array:
            total = jnp.zeros(())
            for sums, noise, others in tables:
                places = jnp.broadcast_to(count * self.step, sums.shape)
                total += (noise.log_prob(sums, places) + others * noise.peak()).sum()
            return total

        def series(edge: Array, step: int) -> Array:
            start = bound(edge.astype(float))
            fall = start - bound((edge + step).astype(float))
            total = start - jnp.log(-jnp.expm1(-jnp.maximum(fall, 0)))
            return jnp.where(fall > 0, total, jnp.inf)

        below = jnp.where(first > 0, series(first - 1, -1), -jnp.inf)
        return jnp.logaddexp(below, series(first + length, 1))


def cell_tails(
    noise: LaplaceLaw,
    values: Float[Array, "cells rows"],
    step: int,
    lowest: Int32[Array, "cells rows"],
    length: int,
    largest: Int32[Array, "one rows"],
) -> Float[Array, "cells rows"]:
    """Log of a bound of the weight of each cell's hidden counts outside a window.

    A window has `length` counts from `lowest` on. It starts below the noisy count or at
    0, and ends above the noisy count or at `largest`.
    """

    def bound(count: Array) -> Array:
        return noise.log_prob(values, count * step)

    most = jnp.broadcast_to(largest, lowest.shape)
    return jnp.maximum(*_edges(bound, lowest, length, most))


def _edges(bound, lowest: Array, length: int, most: Array | None):
    """Evaluate `bound` just outside of a window; -inf for impossible counts."""
    below = jnp.where(lowest > 0, bound((lowest - 1).astype(float)), -jnp.inf)
    above = bound((lowest + length).astype(float))
    if most is not None:
        above = jnp.where(lowest + length <= most, above, -jnp.inf)
    return below, above


def _falling(bound, edge: Array, step: int, value: Array) -> Array:
    """Return `value`, the bound at an edge, if it decreases outwards; else infinity."""
    falls = bound((edge + step).astype(float)) <= bound(edge.astype(float))
    return jnp.where(falls | jnp.isneginf(value), value, jnp.inf)
