"""Floating-point draws of K-norm noise within the rows of tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from dpjax.statistics.block_statistic import BlockStatistic

_COMPARED = 64  # cells of a row: more are sorted


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows of equal width whose directions have one law.

    A row of a table with a known margin has one cell that is 0 at random, a lower half
    of the others that is negative, and an upper half that is positive. A row of counts
    has a random number of positive cells, and its last cell is 0 if it has no number.
    """

    rows: Int[np.ndarray, " r"]  # their numbers among all rows
    width: int
    nonzero: int  # cells that are not 0
    counts: bool  # or cells with a margin
    law: Float[np.ndarray, " k"] | None  # if the larger sum of both signs is the norm

    @property
    def needs(self) -> list[tuple[int, ...]]:
        """Shapes of the uniform numbers that `draw` takes for one draw."""
        r = len(self.rows)
        if not self.counts:
            drawn = 1 if self.width == 2 else self.width  # one of two cells is 0
            return [(r, drawn), (r, drawn)]
        signs = [] if self.law is None else [(r, 1), (2, r)]
        return [(r, self.nonzero), (r, self.nonzero), *signs]

    def draw(
        self, uniforms: Sequence[Float[Array, "..."]]
    ) -> tuple[Float[Array, "r w n"], Float[Array, "r n"], Float[Array, "r n"]]:
        """Draw n points with independent directions, their norms, and their sizes.

        A size has the Gamma distribution of a radius, and no direction depends on it.
        """
        size, order = exponential(uniforms[0]), uniforms[1]
        if not self.counts:
            if self.width == 2:
                other = (order < 0.5).astype(order.dtype)  # above or below the first
                order = jnp.concatenate([order, other], axis=1)
            size = jnp.where(_lowest(order, self.nonzero), size, 0)
            points = jnp.where(_lowest(order, self.width // 2), size, -size)
            return points, size.sum(axis=1), size.sum(axis=1)
        whole = size.sum(axis=1)
        if self.law is not None:
            points, radius = self._of_both_signs(size, order, *uniforms[2:])
        else:
            points, radius = jnp.where(order < 0.5, size, -size), whole
        missing = (0, 0), (0, self.width - self.nonzero), (0, 0)
        return jnp.pad(points, missing), radius, whole

    def _of_both_signs(
        self, size: Array, order: Array, of_number: Array, of_norms: Array
    ) -> tuple[Float[Array, "r k n"], Float[Array, "r n"]]:
        law = jnp.asarray(self.law, float)[None, :, None]
        positive = (of_number > law).sum(axis=1, keepdims=True, dtype=int)
        above = jnp.where(_lowest(order, positive), size, 0)
        below = size - above
        sums = jnp.stack([above.sum(axis=1), below.sum(axis=1)])
        inside = jnp.stack([positive[:, 0], self.nonzero - positive[:, 0]])
        norms = power(of_norms, jnp.maximum(inside, 1).astype(float))
        norms = jnp.where(inside > 0, norms, 0)
        up, down = (norms / jnp.where(sums > 0, sums, 1))[:, :, None]
        return up * above - down * below, norms.max(axis=0)

    def norms(self, cells: Float[Array, "*batch r w"]) -> Float[Array, "*batch r"]:
        """Return the norm of each row, known up to a constant if it has a margin."""
        if not self.counts:  # of the distances from a median
            order, half = jnp.sort(cells, axis=-1), self.width // 2
            return order[..., self.width - half :].sum(-1) - order[..., :half].sum(-1)
        above, below = jnp.maximum(cells, 0).sum(-1), jnp.maximum(-cells, 0).sum(-1)
        return above + below if self.law is None else jnp.maximum(above, below)

    @property
    def log_points(self) -> Float[np.ndarray, " r"]:
        """Logarithm of the volume of each row's unit ball, times d! for dimension d."""
        if not self.counts:
            ways = self.width * math.comb(self.width - 1, (self.width - 1) // 2)
        else:
            k = self.nonzero
            ways = 1 << k if self.law is None else math.comb(2 * k, k)
        return np.full(len(self.rows), math.log(ways))


def log_factorial(number: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Return the logarithms of the factorials of whole numbers."""
    return np.array([math.lgamma(x + 1) for x in number])


def exponential(uniform: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return exponentially distributed numbers, from uniform ones in [0, 1)."""
    return -jnp.log1p(-uniform)


def power(
    uniform: Float[Array, "*#shape"], dimension: Float[Array, "*#shape"]
) -> Float[Array, "*#shape"]:
    r"""Return norms of uniform points of unit balls of these dimensions, $U^{1/D}$."""
    return jnp.exp(-exponential(uniform) / dimension)


def row_groups(statistic: BlockStatistic) -> list[RowGroup]:
    """Return all rows of a statistic's tables, in groups; few, for any network."""
    found: dict[tuple, list[np.ndarray]] = {}
    start = 0
    for place, (rows, width, inner) in enumerate(statistic.shapes):
        counts, whole = statistic.is_counts(place), statistic.is_whole(place)
        numbers = start + np.arange(rows)
        found.setdefault((counts, whole, width, inner), []).append(numbers)
        start += rows
    groups = []
    for (counts, whole, width, inner), rows in found.items():
        nonzero = inner if counts else width - 1
        law = _law(inner) if counts and not whole else None
        groups.append(RowGroup(np.concatenate(rows), width, nonzero, counts, law))
    return groups


def _law(k: int) -> Float[np.ndarray, " k"]:
    """Cumulative law of the number of positive ones among k counts."""
    ways = [math.comb(k, j) ** 2 for j in range(k + 1)]
    return np.cumsum([float(Fraction(x, sum(ways))) for x in ways])


def _lowest(
    order: Float[Array, "r w n"], number: int | Int[Array, "r 1 n"]
) -> Bool[Array, "r w n"]:
    """Return which cells of each row have the `number` lowest of uniform numbers."""
    width = order.shape[1]
    if width <= _COMPARED:
        below = order[:, None] < order[:, :, None]
        return below.sum(axis=2, dtype=int) < number
    bits = 31 - math.ceil(math.log2(width))
    high = (order * 2.0**bits).astype(jnp.int32) << (31 - bits)
    keys = high | jnp.arange(width, dtype=jnp.int32)[None, :, None]  # all differ
    rows, _, draws = order.shape
    number = jnp.broadcast_to(jnp.asarray(number, int), (rows, 1, draws))
    place = jnp.moveaxis(jnp.maximum(number - 1, 0), 1, -1)
    ordered = jnp.sort(jnp.moveaxis(keys, 1, -1), axis=-1)
    highest = jnp.moveaxis(jnp.take_along_axis(ordered, place, axis=-1), -1, 1)
    return (keys <= highest) & (number > 0)
