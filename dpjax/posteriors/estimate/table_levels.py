"""Numbers of records with one level of a variable, which several tables have."""

from dataclasses import dataclass
from functools import lru_cache, partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax.tables.gathers import Gather, add, agreeing_cells, take
from dpjax.tables.layout import TableLayout


@dataclass(frozen=True, eq=False)
class TableLevels:
    """Positions of the cells of tables, and of numbers of records with one level.

    There is one such number for each level of each variable of each table, unless no
    other table has the variable.
    """

    tables: Gather  # from the cells to the tables
    table: np.ndarray  # the table of each cell
    numbers: Gather  # from the cells to the numbers
    cells: Gather  # from the numbers to the cells: the transpose
    levels: Gather  # from the numbers to the levels of all variables
    level: np.ndarray  # the level of each number

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, layout: TableLayout) -> "TableLevels":
        """Find the positions on the host."""
        holders = np.bincount([i for group in layout.groups for i in group])
        firsts = np.cumsum((0, *layout.sizes))
        numbers: list[np.ndarray] = []
        level: list[int] = []
        for table, group in enumerate(layout.groups):
            for i in group:
                if holders[i] > 1:
                    numbers += agreeing_cells(layout, table, (i,))
                    level += range(firsts[i], firsts[i + 1])
        of_number = np.repeat(np.arange(len(numbers)), [len(x) for x in numbers])
        used, place = np.unique(np.asarray(level, int), return_inverse=True)
        spans = zip(layout.offsets[:-1], layout.offsets[1:], strict=True)
        cells = [np.arange(*span) for span in spans]
        cell = np.concatenate([np.zeros(0, int), *numbers]).astype(int)
        return cls(
            Gather.of(cells, layout.length),
            np.repeat(np.arange(len(cells)), [len(x) for x in cells]).astype(np.uint32),
            Gather.of(numbers, layout.length),
            Gather.by_label(cell, of_number, layout.length, len(numbers)),
            Gather.by_label(place, np.arange(place.size), used.size, place.size),
            place.astype(np.uint32),
        )

    def sums(self, cells: Array) -> Array:
        """For each cell, the sum of its table."""
        return take(self.tables(add, cells, 0), self.table)

    def maxima(self, cells: Array) -> Array:
        """For each cell, the largest cell of its table."""
        return take(self.tables(partial(jnp.max, axis=-1), cells, -np.inf), self.table)

    def elsewhere(self, values: Array, scale: Array) -> tuple[Array, Array]:
        """Average values of the numbers in the other tables, and scales of their noise.

        An average has weights inverse to the variances of the noise.
        """
        sums = self.numbers(add, values, 0)
        weights = 1 / self.numbers(add, scale**2, 0)
        total = take(self.levels(add, weights * sums, 0), self.level)
        weight = take(self.levels(add, weights, 0), self.level) - weights
        weight = jnp.maximum(weight, 1e-6 * weights)  # above rounding
        return (total - weights * sums) / weight, 1 / jnp.sqrt(weight)
