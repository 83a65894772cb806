"""Layout of many contingency tables in one flat vector.

With one vector, the size of a compiled program does not depend on the number of tables.
"""

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real, Shaped, UInt32

from dpjax._types import Flat, Records

MOST_CELLS = 2**28
_MATRIX = 1024  # one more matrix costs as much as this many entries of padding

_compiled = partial(jax.jit, static_argnums=0, inline=True)  # one program, not many


@dataclass(frozen=True)
class TableLayout:
    """Contingency tables over groups of variables, concatenated in C order.

    The layout is hashable and static in compiled programs.

    Args:
        sizes: number of levels of each variable.
        groups: for each table, the indices of the variables on its axes, in order.

    Raises:
        ValueError: if all tables together have more than 2^28 cells.
    """

    sizes: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self):
        if self.length > MOST_CELLS:
            largest = max(map(self._cells, self.groups))
            raise ValueError(
                f"`network` must have at most {MOST_CELLS} cells in all tables, got at "
                f"least {self.length}, {largest} of them in one: use fewer parents."
            )

    def shape(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a table over the variables with the indices `group`."""
        return tuple(self.sizes[i] for i in group)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Index of each table's first cell in the flat vector, then the length."""
        return tuple(itertools.accumulate(map(self._cells, self.groups), initial=0))

    def _cells(self, group: tuple[int, ...]) -> int:
        """Number of cells of a table; multiplication stops if there are too many."""
        cells = 1
        for i in group:
            cells *= self.sizes[i]
            if cells > MOST_CELLS:
                break
        return cells

    @property
    def length(self) -> int:
        """Number of cells of all tables together."""
        return self.offsets[-1]

    def split(self, vector: Flat) -> list[Array]:
        """Split `vector` along its last axis into tables; keep its leading axes."""
        source, batch = vector, vector.shape[:-1]
        with contextlib.suppress(jax.errors.TracerArrayConversionError):
            source = np.asarray(vector)  # NumPy slices need no compilation
        tables: list[Any] = [
            source[..., start:stop].reshape(*batch, *self.shape(group))
            for group, start, stop in zip(
                self.groups, self.offsets[:-1], self.offsets[1:], strict=True
            )
        ]
        return jax.device_put(tables) if isinstance(source, np.ndarray) else tables

    def cells(
        self, records: Records, tables: Sequence[int] | None = None
    ) -> Int[Array | np.ndarray, "n f"]:
        """Index in the flat vector of each record's cell in each of the `tables`.

        The result is a NumPy array if the records are one.
        """
        members, strides, offsets = self.addresses
        chosen = slice(None) if tables is None else np.asarray(tables, np.int32)
        members, strides, cell = members[chosen], strides[chosen], offsets[chosen][None]
        numpy = np if isinstance(records, np.ndarray) else jnp
        columns = numpy.asarray(records)
        for axis in range(members.shape[1]):
            levels = columns[:, members[:, axis]].astype(np.int32)
            cell = cell + levels * strides[None, :, axis]
        return numpy.broadcast_to(cell, (columns.shape[0], members.shape[0]))

    @cached_property
    def strides(self) -> tuple[dict[int, int], ...]:
        """For each table, a dictionary from variable to stride in the flat vector."""
        strides = []
        for group in self.groups:
            shape = self.shape(group)
            steps = (math.prod(shape[axis + 1 :]) for axis in range(len(group)))
            strides.append(dict(zip(group, steps, strict=True)))
        return tuple(strides)

    def map_tables(
        self,
        vector: Array | np.ndarray,
        function: Callable[[Any, tuple[int, ...]], Any],
    ) -> Any:
        """Apply `function(tables, shape)` once for each shape that tables have.

        The axes of `tables` are those before the last of `vector`, the table, and those
        of `shape`. A compiled program grows only with the number of shapes.
        """
        parts, order = [], []
        for shape, tables in self._tables_by_shape.items():
            spans = [self.offsets[t : t + 2] for t in tables]
            cells = np.concatenate([np.arange(*span) for span in spans])
            alone = len(self._tables_by_shape) == 1
            part = vector if alone else vector[..., cells]
            batch = vector.shape[:-1]
            part = function(part.reshape(*batch, len(tables), *shape), shape)
            parts.append(part.reshape(*batch, -1))
            order.append(cells)
            if alone:
                return parts[0]
        numpy = np if isinstance(vector, np.ndarray) else jnp
        back = np.argsort(np.concatenate(order)).astype(np.int32)
        return numpy.concatenate(parts, axis=-1)[..., back]

    @cached_property
    def _tables_by_shape(self) -> dict[tuple[int, ...], list[int]]:
        tables = {}
        for table, group in enumerate(self.groups):
            tables.setdefault(self.shape(group), []).append(table)
        return tables

    @cached_property
    def rows(self) -> Int[np.ndarray, " m"]:
        """For each cell, the number of its row (a row is along a table's last axis)."""
        widths = [self.sizes[group[-1]] for group in self.groups]
        cells = np.diff(self.offsets)
        widths_by_row = np.repeat(widths, cells // widths)
        return np.repeat(np.arange(widths_by_row.size, dtype=np.int32), widths_by_row)

    def map_rows(
        self,
        vector: Shaped[Array, " m"],
        function: Callable[[Any, Any], Any],
        neutral: Any,
    ) -> Any:
        """Apply `function(rows, cells)` to all rows of two levels, then to wider ones.

        The matrices `rows` (entries of `vector`) and `cells` (their indices) stack the
        rows. Wider ones are padded with `neutral`, at indices after the last cell.
        """
        return self._map(self.matrices_of_rows, vector, function, neutral)

    def _map(
        self, matrices: list[np.ndarray], vector: Array, function: Any, neutral: Any
    ) -> Array:
        if len(matrices) == 1 and matrices[0].size == vector.size:  # nothing is padded
            rows = vector.reshape(matrices[0].shape)
            return function(rows, matrices[0]).reshape(-1)
        # With unique indices, neither this nor its derivative needs atomic additions.
        result = jnp.zeros(vector.shape, vector.dtype)
        for cells in matrices:
            rows = vector.at[cells].get(
                unique_indices=True, mode="fill", fill_value=neutral
            )
            part = function(rows, cells)
            result = result.at[cells].set(part, unique_indices=True, mode="drop")
        return result

    @_compiled
    def normalise(self, weights: Real[Array, " m"]) -> Real[Array, " m"]:
        """Divide every row (along a table's last axis) by its sum."""
        return weights / self.row_sums(weights)

    @_compiled
    def row_sums(self, vector: Real[Array, " m"]) -> Real[Array, " m"]:
        """For each cell, the sum of its row along its table's last axis."""
        return self._over_rows(jnp.sum, vector, 0)

    @_compiled
    def row_maxima(self, vector: Float[Array, " m"]) -> Float[Array, " m"]:
        """For each cell, the largest entry of its row along its table's last axis.

        It counts as a constant in derivatives. Their rule in JAX looks for the entries
        that equal the largest one, and finds none if a compiler computes the entries
        twice and rounds them differently.
        """
        return jax.lax.stop_gradient(self._over_rows(jnp.max, vector, -np.inf))

    def _over_rows(self, reduce: Any, vector: Array, neutral: float | int) -> Array:
        """For each cell, a reduction of its row, which ignores entries `neutral`."""
        return self._map(
            self._padded_rows, vector, lambda x, _: _over_last(reduce, x), neutral
        )

    @cached_property
    def matrices_of_rows(self) -> list[UInt32[np.ndarray, "rows k"]]:
        """Matrices with the cells of each row of two levels, and of each wider one."""
        widths = np.diff(self._firsts, append=self.length)
        pairs = [(2, 2)] if (widths == 2).any() else []
        return self._matrices([*pairs, *groups_of_lengths(widths[widths > 2])])

    @cached_property
    def _padded_rows(self) -> list[UInt32[np.ndarray, "rows k"]]:
        """Matrices with the cells of each row, of similar width in each."""
        widths = np.diff(self._firsts, append=self.length)
        return self._matrices(groups_of_lengths(widths))

    @cached_property
    def _firsts(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.rows, prepend=-1))

    def _matrices(self, groups: list[tuple[int, int]]) -> list[np.ndarray]:
        """Cells of rows whose widths are within each group's.

        They are padded with different positions after the last cell.
        """
        widths = np.diff(self._firsts, append=self.length)
        matrices = []
        for narrowest, widest in groups:
            chosen = (narrowest <= widths) & (widths <= widest)
            cells = self._firsts[chosen, None] + np.arange(widest)
            inside = np.arange(widest) < widths[chosen, None]
            after = self.length + np.arange(cells.size).reshape(cells.shape)
            matrices.append(np.where(inside, cells, after).astype(np.uint32))
        return matrices

    @cached_property
    def addresses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each table's variables and strides, in zero-padded matrices, and offset."""
        width = max((len(group) for group in self.groups), default=0)
        members = np.zeros((len(self.groups), width), np.int32)
        strides = np.zeros((len(self.groups), width), np.int32)
        for table, (group, steps) in enumerate(
            zip(self.groups, self.strides, strict=True)
        ):
            members[table, : len(group)] = group
            strides[table, : len(group)] = [steps[i] for i in group]
        return members, strides, np.asarray(self.offsets[:-1], np.int32)


def groups_of_lengths(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Return the least and the greatest length of each group of similar lengths.

    Lists of a group share a matrix, as wide as the longest one. There are few matrices
    with little padding.
    """
    values, number = np.unique(lengths, return_counts=True)
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    for end in range(1, values.size + 1):
        width = int(values[end - 1])
        best.append(
            min(
                (
                    cost + _MATRIX + width * int(number[start:end].sum()),
                    [*used, (int(values[start]), width)],
                )
                for start, (cost, used) in enumerate(best)
            )
        )
    return best[-1][1]


def _over_last(reduce: Any, rows: Array) -> Array:
    """Reduce the last axis, and repeat the result."""
    return jnp.broadcast_to(reduce(rows, axis=-1, keepdims=True), rows.shape)


def maximal_groups(groups: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the groups that no larger group contains; equal groups are kept once."""
    sets = [frozenset(group) for group in groups]
    holding = {}
    for i, members in enumerate(sets):
        for member in members:
            holding.setdefault(member, []).append(i)

    def is_kept(i: int) -> bool:
        candidates = min((holding[member] for member in sets[i]), key=len)
        return not any(
            sets[i] < sets[j] or (j < i and sets[i] == sets[j]) for j in candidates
        )

    return tuple(group for i, group in enumerate(groups) if is_kept(i))
