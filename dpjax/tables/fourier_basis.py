r"""Fourier coefficients of contingency tables for variables with any number of levels.

The basis functions of a variable with level x are $b_0(x) = 1$ and, for every level
a > 0, the contrast $b_a$ with $b_a(0) = 1$, $b_a(a) = -1$, and 0 at other levels. A
coefficient is a sum over records, $c_\gamma = \sum_x \prod_i b_{\gamma_i}(x_i)$; with
two levels it is a Walsh coefficient. The marginal table over a group of variables
depends only on the $c_\gamma$ with $\gamma_i = 0$ for all variables outside the group.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from dpjax._products import tensordot
from dpjax._types import Scalar
from dpjax.tables.layout import TableLayout
from dpjax.tables.walsh import walsh_hadamard

AnyArray = Any  # JAX, or NumPy for 64-bit integers on the host


def contrasts(size: int) -> Int[np.ndarray, "k k"]:
    """Return a matrix whose row a has the values of basis function a at all levels."""
    matrix = -np.eye(size, dtype=np.int64)
    matrix[0] = 1
    matrix[1:, 0] = 1
    return matrix


def inverse_numerators(size: int) -> Int[np.ndarray, "k k"]:
    """Return `size` times the inverse of `contrasts(size)`, an integer matrix."""
    matrix = np.ones((size, size), np.int64)
    matrix[1:, 1:] -= size * np.eye(size - 1, dtype=np.int64)
    return matrix


def to_coefficients(layout: TableLayout, tables: AnyArray) -> AnyArray:
    """Replace every table in the flat vector `tables` by its Fourier coefficients."""
    return layout.map_tables(tables, functools.partial(_along_axes, contrasts))


def from_coefficients(layout: TableLayout, coefficients: AnyArray) -> AnyArray:
    r"""Transform Fourier coefficients to tables, multiplied by their numbers of cells.

    The result is exact for integers that do not overflow.
    """
    along_axes = functools.partial(_along_axes, inverse_numerators)
    return layout.map_tables(coefficients, along_axes)


def _along_axes(matrix_of, tables: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Apply each variable's matrix along its axis of (*batch, *shape)."""
    if all(size == 2 for size in shape) and not isinstance(tables, np.ndarray):
        flat = tables.reshape(*tables.shape[: tables.ndim - len(shape)], -1)
        return walsh_hadamard(flat).reshape(tables.shape)
    numpy: Any = np if isinstance(tables, np.ndarray) else jnp
    product = np.tensordot if numpy is np else tensordot
    for axis, size in enumerate(shape, start=tables.ndim - len(shape)):
        matrix = numpy.asarray(matrix_of(size).astype(tables.dtype))
        turned = product(tables, matrix, axes=((axis,), (1,)))
        tables = numpy.moveaxis(turned, -1, axis)
    return tables


@dataclass(frozen=True)
class DownwardClosure:
    r"""Indices of the Fourier coefficients that determine the tables of some groups.

    An index $\gamma$ has one entry for each variable, which is 0 outside some group;
    `dpjax.tables.fourier_basis` defines the coefficients.

    Args:
        sizes: number of levels of each variable.
        groups: variables of each group; none is contained in another.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section "Laplace Mechanism in the
        Fourier Domain" (for binary variables and each node with its parents).
    """

    sizes: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @cached_property
    def layout(self) -> TableLayout:
        """Layout of the groups' tables, which is also that of their coefficients."""
        return TableLayout(self.sizes, self.groups)

    def __len__(self) -> int:
        """Number of coefficients, including the number of records (coefficient 0)."""
        return len(self.owners)

    @cached_property
    def slots(self) -> Int[np.ndarray, " c"]:
        """For each entry of `layout`, the number of the coefficient that it holds."""
        if len(self.groups) == 1:
            return np.arange(self.layout.length, dtype=np.int32)
        slots = np.empty(self.layout.length, np.int32)
        known: dict[tuple[int, ...], int] = {}
        total = 0
        for group, offset, strides in zip(
            self.groups, self.layout.offsets[:-1], self.layout.strides, strict=True
        ):
            for support in supports(group):
                entries = self._entries(support, strides)
                if support not in known:
                    known[support] = total
                    total += entries.size
                slots[offset + entries] = known[support] + np.arange(entries.size)
        return slots

    @cached_property
    def owners(self) -> Int[np.ndarray, " m"]:
        """For each coefficient, the first entry of `layout` that holds it."""
        if len(self.groups) == 1:
            return self.slots
        return np.unique(self.slots, return_index=True)[1].astype(np.int32)

    @cached_property
    def binary(self) -> np.ndarray:
        """For each coefficient, whether all its variables have two levels."""
        flags = [
            functools.reduce(
                np.logical_and.outer,
                [np.arange(self.sizes[i]) * (self.sizes[i] != 2) == 0 for i in group],
            ).ravel()
            for group in self.groups
        ]
        return np.concatenate(flags)[self.owners]

    def places(self, layout: TableLayout) -> Int[np.ndarray, " c"]:
        """For each entry of a layout of subsets of groups, its coefficient's number."""
        if layout == self.layout:
            return self.slots
        places, groups = [], [frozenset(group) for group in self.groups]
        for wanted in layout.groups:
            table = next(t for t, g in enumerate(groups) if g.issuperset(wanted))
            strides = self.layout.strides[table]
            steps = [strides[i] * np.arange(self.sizes[i]) for i in wanted]
            entries = functools.reduce(np.add.outer, steps).ravel()
            places.append(self.slots[self.layout.offsets[table] + entries])
        return np.concatenate(places)

    def _entries(self, support: tuple[int, ...], strides: dict[int, int]) -> np.ndarray:
        """Positions of a group's coefficients that involve exactly these variables."""
        steps = [strides[i] * np.arange(1, self.sizes[i]) for i in support]
        return functools.reduce(np.add.outer, steps, np.zeros((), np.int64)).ravel()


def supports(group: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all subsets of a group, smallest first; each lists its members in order."""
    ordered = sorted(group)
    for size in range(len(ordered) + 1):
        yield from itertools.combinations(ordered, size)


def denominators(layout: TableLayout) -> Int[np.ndarray, " c"]:
    r"""For each cell of `layout`, the number of cells of its table."""
    cells = np.diff(layout.offsets)
    return np.repeat([math.prod(layout.shape(group)) for group in layout.groups], cells)


def raise_total(layout: TableLayout, counts: Array, increment: Scalar) -> Array:
    """Add `increment` to each table's total, in equal shares for all its cells."""
    scale = jnp.asarray(denominators(layout), counts.dtype)
    share = jnp.asarray(increment, counts.dtype) / scale
    return counts + jnp.broadcast_to(share, counts.shape)
