"""Counts of tables without the margins that other tables determine."""

import abc
import itertools
import math
from functools import cached_property, partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32

from dpjax._checks import one_of
from dpjax._types import Cells, Described, Flat, Records, Scalar
from dpjax.privacy import REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import Columns, TableStatistic
from dpjax.statistics.blocks import Block
from dpjax.statistics.contrast_moments import ContrastMoments, Numbers
from dpjax.tables.counts import PackedRecords, count
from dpjax.tables.gathers import Gather, add, agreeing_cells, marginals, take
from dpjax.tables.layout import TableLayout


class BlockStatistic(TableStatistic):
    """The counts of blocks of tables, without the margins of other tables.

    A block (see `Block`) with a known margin has, for each row but for its last cell,
    the count of each cell minus the count of the last cell. A block without a known
    margin has the counts of its cells: under replace-one, where the number of records
    is public, without the last cell. Under add-remove this is so for the first block,
    which determines the number of records; it is the known margin of later ones.

    Privacy:
        `sensitivity` is an upper bound of the L1 sensitivity. The mechanism `KNorm`
        uses that one record changes each block by a norm of at most 1.
    """

    format_version: ClassVar[int] = 2

    adjacency: Adjacency
    blocks: tuple[Block, ...]

    @property
    @abc.abstractmethod
    def names_of_tables(self) -> dict[str, frozenset[int]]:
        """The variables of each measured table, by the name of the table."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of levels of the variables."""
        return tuple(variable.size for variable in self.variables)

    @property
    def counted(self) -> TableLayout:
        """Layout of the tables of the blocks."""
        return self._counted

    @cached_property
    def _counted(self) -> TableLayout:
        return TableLayout(self.sizes, tuple(block.group for block in self.blocks))

    @property
    def length(self) -> int:
        """Number of integers of all blocks."""
        return sum(rows * inner for rows, _, inner in self.shapes)

    @cached_property
    def shapes(self) -> tuple[tuple[int, int, int], ...]:
        """For each block, its rows, and the cells and the numbers of a row."""
        found = []
        for place, block in enumerate(self.blocks):
            rows = math.prod(self.sizes[i] for i in block.given)
            cells = math.prod(self.sizes[i] for i in block.rest)
            found.append((rows, cells, cells - (not self.is_whole(place))))
        return tuple(found)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of each block's first number, then the length."""
        numbers = (rows * inner for rows, _, inner in self.shapes)
        return tuple(itertools.accumulate(numbers, initial=0))

    def is_whole(self, place: int) -> bool:
        """Whether all cells of a block are numbers of the statistic."""
        return self.adjacency != REPLACE_ONE and place == 0

    def is_counts(self, place: int) -> bool:
        """Whether the numbers of a block are counts, and not differences."""
        public = self.adjacency == REPLACE_ONE and not self.blocks[place].given
        return public or self.is_whole(place)

    @cached_property
    def numbers(self) -> Numbers:
        """The cells of each number, and the row and the number of each cell."""
        return Numbers.of(self.shapes, [*map(self.is_counts, range(len(self.blocks)))])

    def measure(self, records: Records | PackedRecords) -> Int32[Array, " m"]:
        """Compute the exact statistic of the records, which is not private.

        Args:
            records: level indices; or, for binary variables, the result of
                `dpjax.tables.counts.pack`.
        """
        return self.of_counts(count(records, self.counted), None)

    def of_counts(self, counts: Any, n: Any) -> Any:
        """Compute the statistic from counts, which are laid out by `counted`.

        Privacy:
            The result is exact, so it is not private.
        """
        plus, minus = self.numbers.plus, self.numbers.minus
        if isinstance(counts, np.ndarray):
            padded = np.append(counts, np.zeros(1, counts.dtype))
            return padded[plus] - padded[minus]
        padded = jnp.append(counts, jnp.zeros(1, counts.dtype))
        return take(padded, plus) - take(padded, minus)

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return an upper bound of the L1 sensitivity of `measure`.

        Raises:
            ValueError: if the statistic was made for another adjacency.
        """
        one_of((self.adjacency,), adjacency=adjacency)
        moves = 2 if adjacency == REPLACE_ONE else 1
        change = 0
        for place, (_, _, inner) in enumerate(self.shapes):
            change += moves * (1 if self.is_counts(place) else inner)
        return Sensitivity(change, adjacency, tight=False)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return an upper bound of the squared L2 sensitivity.

        It is the L1 sensitivity times the largest change of one number: a record adds
        -1, 0 or 1 to it.
        """
        most = 2 if adjacency == REPLACE_ONE else 1
        one = int(self.sensitivity(adjacency).value)
        return Sensitivity(most * one, adjacency, tight=False)

    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute all tables of `layout`, in one flat vector.

        They agree in the margins that the blocks take from each other, and are not
        whole numbers.
        """
        return self._to_tables(add, self.cells(vector, n), 0)

    def cells(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute the tables of all blocks, in the order of `counted`."""
        cells = self.beyond_margins(vector, n)
        none = jnp.zeros((*cells.shape[:-1], 1), cells.dtype)
        for totals, place in self._levels:
            margins = jnp.concatenate([totals(add, cells, 0), none], -1)
            cells = cells + take(margins, place) / self._widths(cells)
        return cells

    @partial(jax.jit, static_argnums=0, inline=True)
    def beyond_margins(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute the cells of all blocks without the means of rows with known margin.

        They depend on the block's own numbers alone.
        """
        if n is None and self.adjacency == REPLACE_ONE:
            raise ValueError("`n` must be given under replace-one, where it is public.")
        vector = jnp.asarray(vector, float)
        none = jnp.zeros((*vector.shape[:-1], 1), vector.dtype)
        cells = take(jnp.concatenate([vector, none], -1), self.numbers.of_cell)
        if n is not None:
            sums = take(self._row_sums(add, cells, 0), self.numbers.rows)
            n = jnp.asarray(n, cells.dtype)[..., None]
            rest = jnp.broadcast_to(n, cells.shape) - sums
            cells = jnp.where(self._over(self.is_rest, cells), rest, cells)
        return cells - self.row_means(cells)

    def row_means(self, cells: Cells) -> Cells:
        """Return each cell's mean over its row, or 0 where cells are counts."""
        sums = take(self._row_sums(add, cells, 0), self.numbers.rows)
        means = sums / self._widths(cells)
        return jnp.where(self._over(self.is_difference, cells), means, 0)

    def _widths(self, cells: Cells) -> Array:
        return self._over(self.row_widths, cells).astype(cells.dtype)

    @staticmethod
    def _over(entries: np.ndarray, cells: Cells) -> Array:
        return jnp.broadcast_to(jnp.asarray(entries), cells.shape)

    @cached_property
    def row_widths(self) -> np.ndarray:
        """The number of cells of each cell's row."""
        return self.numbers.widths[self.numbers.rows].astype(np.float32)

    @cached_property
    def _row_sums(self) -> Gather:
        rows = self.numbers.rows
        cells = np.arange(rows.size)
        return Gather.by_label(rows, cells, self.numbers.widths.size, rows.size)

    @cached_property
    def is_difference(self) -> np.ndarray:
        """Whether a cell is of a row with a known margin."""
        counts = [self.is_counts(place) for place in range(len(self.blocks))]
        return ~np.repeat(counts, np.diff(self.counted.offsets))

    @cached_property
    def is_rest(self) -> np.ndarray:
        """Whether a cell is the number of records minus the others of its table."""
        return (self.numbers.of_cell == self.length) & ~self.is_difference

    @cached_property
    def _levels(self) -> list[tuple[Gather, np.ndarray]]:
        """How margins are summed, and added to the rows, for blocks in turn."""
        layout, depth, work = self.counted, [], {}
        for place, block in enumerate(self.blocks):
            if self.is_counts(place):
                depth.append(0)
                continue
            holding = [
                (depth[i], math.prod(layout.shape(self.blocks[i].group)), i)
                for i in range(place)
                if {*block.given} <= {*self.blocks[i].group}
            ]
            level, _, parent = min(holding)
            depth.append(level + 1)
            work.setdefault(level + 1, []).append((place, parent))
        return [self._level(work[level]) for level in sorted(work)]

    def _level(self, pairs: list[tuple[int, int]]) -> tuple[Gather, np.ndarray]:
        layout, lists, number = self.counted, [], 0
        place = np.full(layout.length, -1)
        for block, parent in pairs:
            lists += agreeing_cells(layout, parent, self.blocks[block].given)
            rows, cells, _ = self.shapes[block]
            start, stop = layout.offsets[block : block + 2]
            place[start:stop] = number + np.repeat(np.arange(rows), cells)
            number += rows
        place[place < 0] = number
        return Gather.of(lists, layout.length), place.astype(np.uint32)

    @cached_property
    def _to_tables(self) -> Gather:
        return marginals(self.counted, self.layout)

    def record_moments(self) -> ContrastMoments:
        """Return the moments of one record: see `TableStatistic.record_moments`."""
        return ContrastMoments(self)

    def describe(self) -> dict[str, object]:
        """Return the kind and the blocks, by names of variables, for release files."""
        names = [variable.name for variable in self.variables]
        blocks = [
            {"given": [names[i] for i in x.given], "table": [names[i] for i in x.rest]}
            for x in self.blocks
        ]
        return {"kind": self.kind, "blocks": blocks}


def parsed_blocks(described: Described, variables: Columns) -> tuple[Block, ...]:
    """Make the blocks of a statistic that a release file describes."""
    place = {variable.name: i for i, variable in enumerate(variables)}
    return tuple(
        Block(
            tuple(place[name] for name in x["given"]),
            tuple(place[name] for name in x["table"]),
        )
        for x in described["blocks"]
    )
