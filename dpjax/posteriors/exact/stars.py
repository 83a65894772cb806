r"""The released numbers of a star, and bounds of the mass outside the windows.

A table of K noisy cells with sum S, given a total of m records, has a density P that is
a sum over the hidden counts c with sum m: of their prior DM(c) times $\prod_k q(z_k)$,
where q is the density of the noise z. Two bounds hold.

- Since $\sum |z_k| \ge |\sum z_k|$, Laplace noise has
  $\prod_k q(z_k) \le q(0)^{K-1} q(S - m)$, and the priors of all c sum to 1.
- If no Dirichlet parameter exceeds 1, and their sum is A ≥ 2, the largest DM(c) is at
  most $Γ(A) (m + 1)^{1 - A}$. It multiplies the sum of $\prod_k q(z_k)$ over all c. By
  Markov's inequality, this sum is at most $M(t)^K e^{-t |S - m|}$ for every t from 0 to
  the rate of the noise, where M(t) is the sum of $q(z) e^{t z}$ over possible z.

The first bound suits strong priors. For counts far above the noise, only the second is
near the density. Without the prior's factor, both are log-concave in m.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln, logsumexp
from jaxtyping import Array, Float, Int32

from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.rows import Rows
from dpjax.posteriors.exact.windows import SHARES


class Leaves(eqx.Module):
    """Noisy tables of leaves, whose parent is the hub, padded to one number of cells.

    Padding cells have the noisy count 0, the Dirichlet parameter 0 and no records.
    """

    values: Float[Array, "cells leaves levels"]  # noisy counts
    alpha: Float[Array, "cells leaves levels"]  # Dirichlet parameters
    noise: LaplaceLaw  # with rates (leaves, 1)
    sizes: tuple[int, ...] = eqx.field(static=True)  # numbers of levels of the leaves

    @property
    def is_padding(self) -> np.ndarray:
        """Whether a cell is padding, for all cells and leaves."""
        return np.arange(len(self.values))[:, None] >= np.array(self.sizes)

    @property
    def cells(self) -> np.ndarray:
        """The number of cells of a row of each leaf, as a column."""
        return np.array(self.sizes, float)[:, None]


class Star(eqx.Module):
    """The released numbers of a star (a hub and its leaves), and the prior."""

    values: Float[Array, " levels"]  # noisy counts of the hub's levels, where `seen`
    alpha: Float[Array, " levels"]  # Dirichlet parameters of the hub
    leaves: list[Leaves]
    n: Int32[Array, ""] | None  # number of records; None if private
    noise: LaplaceLaw  # noise of `values`, with one rate
    seen: tuple[bool, ...] = eqx.field(static=True)  # levels with a measured count
    step: int = eqx.field(static=True, default=1)  # change of a number by one record

    def hub_tails(self, lowest: Array, length: int) -> Float[Array, " levels"]:
        """Log of a bound of the weight of each hub count outside its window.

        The window has `length` counts from `lowest` on.
        """

        def by_peaks(count: Array) -> Array:
            total = self._own(count)
            for group in self.leaves:
                off = self._off(group, count)
                total += _by_peaks(group.noise, group.cells, off).sum(axis=0)
            return total

        def by_sums(count: Array) -> Array:
            total = self._own(count)
            for group in self.leaves:
                off = self._off(group, count)
                found = _by_sums(group.noise, group.cells, self.step, off)
                total += found.sum(axis=0)
            return total

        most = None
        if self.n is not None:
            most = jnp.broadcast_to(self.n, lowest.shape)
        ends = lowest, length, most
        return jnp.minimum(
            jnp.maximum(
                *_outside(by_peaks, lambda count: jnp.zeros_like(count), *ends)
            ),
            jnp.maximum(*_outside(by_sums, self._prior, *ends)),
        )

    def _off(self, group: Leaves, count: Array) -> Float[Array, "leaves levels"]:
        """By how much the sums of the cells of rows are off, given the hub's counts."""
        return group.values.sum(axis=0) - (count * self.step)[None]

    def _own(self, count: Array) -> Float[Array, " levels"]:
        own = self.noise.log_prob(self.values, count * self.step)
        return jnp.where(jnp.asarray(self.seen), own, 0)

    def _prior(self, total: Array) -> Float[Array, " levels"]:
        """Log of a bound of the prior of the leaves' counts, given each level's total.

        It decreases with the total, and is convex.
        """
        bound = jnp.zeros(len(self.values))
        for group in self.leaves:
            whole = group.alpha.sum(axis=0)
            suits = (whole >= 2) & (group.alpha.max(axis=0) <= 1)
            fall = jnp.broadcast_to(jnp.log1p(total), whole.shape)
            logs = gammaln(whole) - (whole - 1) * fall
            bound += jnp.where(suits, logs, 0).sum(axis=0)
        return bound

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

    def _table_sums(self) -> list[tuple[Array, LaplaceLaw, np.ndarray]]:
        """Sums of tables by group, their noise, and their numbers of cells."""
        groups = []
        for leaves in self.leaves:
            sums, levels = leaves.values.sum(axis=(0, 2)), leaves.values.shape[2]
            cells = leaves.cells[:, 0] * levels
            groups.append((sums, leaves.noise.of(0), cells))
        if all(self.seen):
            sums, levels = self.values.sum()[None], self.values.size
            groups.append((sums, self.noise, np.array([levels], float)))
        return groups

    def _records_tail(self, first: Array, length: int) -> Float[Array, ""]:
        """Log of the sum of bounds over all numbers of records outside the window.

        A log-concave bound falls at least as fast as a geometric series. The prior of
        all leaves is largest where all records have one level.
        """
        tables = self._table_sums()

        def by_peaks(count: Array) -> Array:
            total = jnp.zeros(())
            for sums, noise, cells in tables:
                total += _by_peaks(noise, cells, sums - count * self.step).sum()
            return total

        def by_sums(count: Array) -> Array:
            total = jnp.zeros(())
            for sums, noise, cells in tables:
                off = sums - count * self.step
                total += _by_sums(noise, cells, self.step, off).sum()
            return total

        def prior(count: Array) -> Array:
            return self._prior(count).max()

        def series(bound, edge: Array, step: int) -> Array:
            """Sum the bound over the counts from the edge on, outwards."""
            fall = bound(edge.astype(float)) - bound((edge + step).astype(float))
            return -jnp.log(-jnp.expm1(-jnp.maximum(fall, 0)))

        def total(bound, prior) -> Array:
            below, above = _outside(bound, prior, first, length, None)
            above += series(bound, first + length, 1)
            return jnp.logaddexp(below + jnp.log(first.astype(float)), above)

        none = jnp.zeros_like
        return jnp.minimum(total(by_peaks, none), total(by_sums, prior))


def _by_peaks(noise: LaplaceLaw, cells: np.ndarray, off: Array) -> Array:
    """Log of the first bound; `off` is by how much a sum of cells is off."""
    return noise.log_prob(off, jnp.zeros_like(off)) + noise.peak() * (cells - 1)


def _by_sums(noise: LaplaceLaw, cells: np.ndarray, step: int, off: Array) -> Array:
    """Log of the second bound without the prior's factor."""
    rate = jnp.asarray(noise.rate, float)

    def at(share: Array) -> Array:
        up, down = (1 - share) * rate * step, (1 + share) * rate * step
        peaks = noise.peak() + jnp.log(-1 / jnp.expm1(-up) - 1 / jnp.expm1(-down) - 1)
        return peaks * cells - share * rate * jnp.abs(off)

    return jax.vmap(at)(jnp.asarray(SHARES, float)).min(axis=0)


def _outside(bound, prior, lowest: Array, length: int, most: Array | None):
    """Bound `bound` + `prior` at all counts below a window, and at all above it.

    The results are infinite if `bound`, which is concave, does not fall outwards. Since
    `prior` is convex, it is below its chord to 0.
    """
    below, above = _edges(bound, lowest, length, most)
    edge = (lowest - 1).astype(float)
    slope = below - bound(edge - 1)
    ends = below + prior(edge), below - slope * edge + prior(jnp.zeros_like(edge))
    left = jnp.where(slope >= 0, jnp.maximum(*ends), jnp.inf)
    left = jnp.where(lowest > 0, left, -jnp.inf)
    above = _falling(bound, lowest + length, 1, above)
    return left, above + prior((lowest + length).astype(float))


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
