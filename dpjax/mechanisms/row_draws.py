"""Floating-point draws of K-norm noise within the rows of tables."""

__all__ = ["RowGroup", "log_factorial", "power", "row_groups"]

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

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
    law: Float[np.ndarray, " k"] | None  # cumulative, of the number of positive cells
    largest: bool  # whether the norm is the larger one of both signs, or their sum

    @property
    def needs(self) -> list[tuple[int, ...]]:
        """Shapes of the uniform numbers that `draw` takes."""
        r, drawn = len(self.rows), self.width if self.law is None else self.nonzero
        signs = [] if self.law is None else [(r, 1, 1), (2, r)]
        return [(r, drawn), (r, drawn), *signs]

    def draw(
        self, uniforms: Sequence[Float[Array, "..."]]
    ) -> tuple[Float[Array, "r w"], Float[Array, " r"]]:
        """Draw points with independent directions in the rows, and their norms."""
        size, rank = exponential(uniforms[0]), _ranks(uniforms[1])
        if self.law is None:
            size = jnp.where(rank < self.nonzero, size, 0)
            points = jnp.where(rank < self.width // 2, size, -size)
            return points, size.sum(axis=-1)
        law = jnp.asarray(self.law, float)[None, None]
        positive = (uniforms[2] > law).sum(axis=-1, dtype=rank.dtype)
        above = jnp.where(rank < positive, size, 0)
        below = size - above
        sums = jnp.stack([above.sum(axis=-1), below.sum(axis=-1)])
        if self.largest:
            inside = jnp.stack([positive[:, 0], self.nonzero - positive[:, 0]])
            norms = power(uniforms[3], jnp.maximum(inside, 1).astype(float))
            norms = jnp.where(inside > 0, norms, 0)
            up, down = (norms / jnp.where(sums > 0, sums, 1))[..., None]
            points, radius = up * above - down * below, norms.max(axis=0)
        else:
            points, radius = above - below, sums.sum(axis=0)
        missing = self.width - self.nonzero
        return jnp.pad(points, ((0, 0), (0, missing))), radius

    def norms(self, cells: Float[Array, "*batch r w"]) -> Float[Array, "*batch r"]:
        """Return the norm of each row, known up to a constant if it has a margin."""
        if self.law is None:  # of the distances from a median
            order, half = jnp.sort(cells, axis=-1), self.width // 2
            return order[..., self.width - half :].sum(-1) - order[..., :half].sum(-1)
        above, below = jnp.maximum(cells, 0).sum(-1), jnp.maximum(-cells, 0).sum(-1)
        return jnp.maximum(above, below) if self.largest else above + below

    @property
    def log_points(self) -> Float[np.ndarray, " r"]:
        """Logarithm of the volume of each row's unit ball, times d! for dimension d."""
        if self.law is None:
            ways = self.width * math.comb(self.width - 1, (self.width - 1) // 2)
        else:
            k = self.nonzero
            ways = math.comb(2 * k, k) if self.largest else 1 << k
        return np.full(len(self.rows), math.log(ways))


def log_factorial(number: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """Return the logarithms of the factorials of whole numbers."""
    return np.array([math.lgamma(x + 1) for x in number])


def exponential(uniform: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return exponentially distributed numbers, from uniform ones in [0, 1)."""
    return -jnp.log1p(-uniform)


def power(
    uniform: Float[Array, "*shape"], dimension: Float[Array, "*shape"]
) -> Float[Array, "*shape"]:
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
        law = _law(inner, 1 if whole else 2) if counts else None
        together = np.concatenate(rows)
        groups.append(RowGroup(together, width, nonzero, law, counts and not whole))
    return groups


def _law(k: int, exponent: int) -> Float[np.ndarray, " k"]:
    """Cumulative law of the number of positive ones among k cells."""
    ways = [math.comb(k, j) ** exponent for j in range(k + 1)]
    return np.cumsum([float(Fraction(x, sum(ways))) for x in ways])


def _ranks(order: Float[Array, "r w"]) -> Int[Array, "r w"]:
    """Return the rank of each number in its row."""
    if order.shape[-1] > _COMPARED:
        return order.argsort(axis=-1).argsort(axis=-1)
    below = order[:, None, :] < order[:, :, None]
    return below.sum(axis=-1, dtype=int)
