"""Sums and other reductions over lists of entries of a vector, as gathers.

The number of operations in a compiled program does not grow with the number of lists.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped

from dpjax.tables.layout import TableLayout, groups_of_lengths


@dataclass(frozen=True, eq=False)
class Gather:
    """Lists of positions in a vector; the entries in each list are to be reduced.

    Lists of similar length share a matrix, padded with the position after the vector.
    """

    matrices: tuple[np.ndarray, ...]
    back: np.ndarray

    @classmethod
    def of(cls, lists: Sequence[np.ndarray], length: int) -> "Gather":
        """Arrange lists of positions in a vector of length `length` in matrices."""
        lengths = np.array([len(places) for places in lists], int)
        return cls._of(np.concatenate([np.zeros(0, int), *lists]), lengths, length)

    @classmethod
    def by_label(
        cls, labels: np.ndarray, places: np.ndarray, number: int, length: int
    ) -> "Gather":
        """For each label below `number`, list the `places` that have it."""
        order = np.argsort(labels, kind="stable")
        return cls._of(places[order], np.bincount(labels, minlength=number), length)

    @classmethod
    def _of(cls, places: np.ndarray, lengths: np.ndarray, length: int) -> "Gather":
        """Arrange lists that follow each other in `places`."""
        places, firsts = np.append(places, length), np.cumsum(lengths) - lengths
        matrices, order = [], []
        for shortest, widest in groups_of_lengths(lengths):
            chosen = np.flatnonzero((shortest <= lengths) & (lengths <= widest))
            steps = np.arange(widest)
            inside = steps < lengths[chosen, None]
            found = places[np.where(inside, firsts[chosen, None] + steps, -1)]
            matrices.append(found.astype(np.uint32))
            order.append(chosen)
        back = np.argsort(np.concatenate([np.zeros(0, int), *order]))
        return cls(tuple(matrices), back.astype(np.uint32))

    def __call__(
        self,
        reduce: Callable[[Array], Array],
        vector: Shaped[Array, "*batch m"],
        neutral: float | int,
    ) -> Shaped[Array, "*batch lists"]:
        """Apply `reduce`, which ignores `neutral`, to each list."""
        last = jnp.full((*vector.shape[:-1], 1), neutral, vector.dtype)
        padded = jnp.concatenate([vector, last], axis=-1)
        parts = [reduce(take(padded, matrix)) for matrix in self.matrices]
        if len(parts) < 2:
            return parts[0] if parts else vector[..., :0]
        return take(jnp.concatenate(parts, axis=-1), self.back)


def take(vector: Array, places: np.ndarray) -> Array:
    """Return entries along the last axis at unsigned positions, which are not checked.

    `places` may have any shape, which replaces the last axis.
    """
    return vector.at[..., places].get(mode="promise_in_bounds")


def add(matrix: Array) -> Array:
    """Return the sum of each row, whose dtype is kept."""
    return matrix.sum(axis=-1, dtype=matrix.dtype)


def log_add(matrix: Array) -> Array:
    """Return the log-sum-exp of each row, whose entries may be -inf."""
    largest = jax.lax.stop_gradient(matrix.max(axis=-1, keepdims=True))
    return jnp.log(jnp.exp(matrix - largest).sum(axis=-1)) + largest[..., 0]


def place_of_cells(
    tables: TableLayout, table: int, others: TableLayout, other: int
) -> np.ndarray:
    """For each cell of a table, the agreeing cell of a table over a subset."""
    shape = tables.shape(tables.groups[table])
    levels = dict(zip(tables.groups[table], np.indices(shape), strict=True))
    place = np.full(shape, others.offsets[other])
    for i, stride in others.strides[other].items():
        place = place + stride * levels[i]
    return place.ravel().astype(np.uint32)


def agreeing_cells(
    tables: TableLayout, table: int, group: tuple[int, ...]
) -> list[np.ndarray]:
    """For each cell of a table over `group`, the agreeing cells of a larger table."""
    smaller = TableLayout(tables.sizes, (group,))
    places = place_of_cells(tables, table, smaller, 0)
    order = np.argsort(places, kind="stable") + tables.offsets[table]
    return np.split(order.astype(np.uint32), smaller.length)


def cells_to_sum(tables: TableLayout, group: tuple[int, ...]) -> list[np.ndarray]:
    """For each cell of a table over `group`, those of the smallest table that give it.

    Raises:
        ValueError: if no table contains the group.
    """
    holding = [
        (math.prod(tables.shape(other)), table)
        for table, other in enumerate(tables.groups)
        if {*group} <= {*other}
    ]
    if not holding:
        raise ValueError("`tables` must contain all tables that are wanted.")
    return agreeing_cells(tables, min(holding)[1], group)


def marginals(tables: TableLayout, wanted: TableLayout) -> Gather:
    """For each cell of wanted tables, list the `cells_to_sum`."""
    lists = [cells for group in wanted.groups for cells in cells_to_sum(tables, group)]
    return Gather.of(lists, tables.length)
