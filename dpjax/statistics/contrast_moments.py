"""Moments of one record's counts without known margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dpjax.statistics.record_moments import RecordMoments
from dpjax.tables.gathers import Gather, add, marginals, take


class Numbers(NamedTuple):
    """Which cells each number of a statistic counts, and the row of each cell."""

    plus: np.ndarray  # for each number, the cell that it counts
    minus: np.ndarray  # the cell that it subtracts, or the number of cells for none
    rows: np.ndarray  # the row of each cell
    of_cell: np.ndarray  # the number that counts a cell, or the number of numbers
    widths: np.ndarray  # the number of cells of each row

    @classmethod
    def of(
        cls, shapes: Sequence[tuple[int, int, int]], is_counts: Sequence[bool]
    ) -> "Numbers":
        """Arrange the numbers of blocks, given rows, cells and numbers of a row."""
        plus, minus, rows, widths = [], [], [], []
        start, length = 0, sum(many * cells for many, cells, _ in shapes)
        for (many, cells, inner), counts in zip(shapes, is_counts, strict=True):
            table = start + np.arange(many * cells).reshape(many, cells)
            plus.append(table[:, :inner].ravel())
            last = np.repeat(table[:, -1], inner)
            minus.append(np.full_like(last, length) if counts else last)
            rows.append(len(widths) + np.repeat(np.arange(many), cells))
            widths += [cells] * many
            start += many * cells
        joined = np.concatenate(plus)
        of_cell = np.full(length, joined.size)
        of_cell[joined] = np.arange(joined.size)
        others = np.concatenate(minus), np.concatenate(rows), of_cell, np.array(widths)
        return cls(*(x.astype(np.uint32) for x in (joined, *others)))


@dataclass(frozen=True)
class ContrastMoments(RecordMoments):
    """Moments of the contrasts of one record (see `Contrasts`).

    Args:
        statistic: the contrasts.
    """

    statistic: Any

    @property
    def counts(self) -> Bool[np.ndarray, " m"]:
        """For each component, whether it is a number of records."""
        return self.statistic.numbers.minus == self.statistic.counted.length

    @cached_property
    def _to_blocks(self) -> Gather:
        return marginals(self.statistic.layout, self.statistic.counted)

    def cells(self, expected: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return the probabilities of all cells of the blocks."""
        return self._to_blocks(add, expected, 0)

    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return each number's expectation."""
        plus, minus = self._both(marginals)
        return plus - minus

    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return each number's expected square: it is -1, 0 or 1 for one record."""
        plus, minus = self._both(marginals)
        return plus + minus

    def _both(self, marginals: Array) -> tuple[Array, Array]:
        cells = self.cells(marginals)
        padded = jnp.concatenate([cells, jnp.zeros(1, cells.dtype)])
        numbers = self.statistic.numbers
        return take(padded, numbers.plus), take(padded, numbers.minus)


@dataclass(frozen=True)
class CellsBeyondMargins(RecordMoments):
    """Moments of one record's `Contrasts.beyond_margins`: cells without row means.

    Args:
        statistic: the contrasts.
    """

    statistic: Any

    @property
    def counts(self) -> Bool[np.ndarray, " k"]:
        """For each cell, whether it is a number of records."""
        return ~self.statistic.is_difference

    @cached_property
    def _cells(self) -> ContrastMoments:
        return ContrastMoments(self.statistic)

    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return each cell's expectation."""
        cells = self._cells.cells(marginals)
        return cells - self.statistic.row_means(cells)

    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " k"]:
        """Return each cell's expected square."""
        cells = self._cells.cells(marginals)
        mean = self.statistic.row_means(cells)
        # (1 - 1/r)² for the cell's records, and 1/r² for others in its row of r cells
        width = jnp.asarray(self.statistic.row_widths, cells.dtype)
        apart = cells * (1 - 2 / width) + mean / width
        return jnp.where(self.counts, cells, apart)
