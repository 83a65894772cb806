"""Moments of the vector that one random record adds to a statistic of tables."""

import abc
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dpjax._products import tensordot
from dpjax.tables.fourier_basis import DownwardClosure, contrasts, to_coefficients
from dpjax.tables.layout import TableLayout


class RecordMoments(abc.ABC):
    """First and second moments of what one random record adds to a statistic.

    Both are linear functions of `marginals`: the record's probabilities of all cells of
    the tables of the statistic's `layout`, in one vector. Static and hashable.
    """

    @property
    @abc.abstractmethod
    def counts(self) -> Bool[np.ndarray, " m"]:
        """For each component of the statistic, whether it is a number of records."""

    @abc.abstractmethod
    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the expectation of each component of one record's statistic."""

    @abc.abstractmethod
    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the expected square of each component of one record's statistic."""


@dataclass(frozen=True)
class CellMoments(RecordMoments):
    """Moments of one record's cell counts in the `measured` tables, part of `layout`.

    For the arguments of the methods, see `RecordMoments`.
    """

    layout: TableLayout
    measured: TableLayout

    @property
    def counts(self) -> Bool[np.ndarray, " m"]:
        """True for each component, since all components are counts of records."""
        return np.ones(self.measured.length, bool)

    @cached_property
    def _places(self) -> np.ndarray:
        starts = dict(zip(self.layout.groups, self.layout.offsets[:-1], strict=True))
        lengths = np.diff(self.measured.offsets)
        groups = zip(self.measured.groups, lengths, strict=True)
        places = [starts[group] + np.arange(length) for group, length in groups]
        return np.concatenate(places).astype(np.int32)

    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the probability of each measured cell."""
        # The gradient of distinct entries needs no sum.
        distinct = len(set(self.measured.groups)) == len(self.measured.groups)
        return marginals.at[self._places].get(unique_indices=distinct)

    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return the expected squares: the means, since every component is 0 or 1."""
        return self.mean(marginals)


@dataclass(frozen=True)
class FourierMoments(RecordMoments):
    """Moments of the Fourier coefficients of one record (see `FourierCoefficients`).

    Args:
        layout: layout of the tables whose marginal distributions are given.
        closure: the set of the coefficients' indices; `layout` has all its tables.
        public_n: whether the number of records is public. If so, it is not measured,
            and numbers of records of odd parity replace the coefficients of binary
            variables.
    """

    layout: TableLayout
    closure: DownwardClosure
    public_n: bool

    @property
    def counts(self) -> Bool[np.ndarray, " m"]:
        """For each component, whether it counts records (with odd parity)."""
        binary = self.closure.binary
        return binary[1:] if self.public_n else np.arange(binary.size) < 0

    @cached_property
    def _cells(self) -> CellMoments:
        return CellMoments(self.layout, self.closure.layout)

    def mean(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return each coefficient's expectation, or the probability of odd parity."""
        tables = self._cells.mean(marginals)
        coefficients = self._measured(to_coefficients(self._cells.measured, tables))
        # 1, but linear in the tables
        total = jnp.sum(tables[: self._cells.measured.offsets[1]])
        return jnp.where(self.counts, (total - coefficients) / 2, coefficients)

    def second(self, marginals: Float[Array, " c"]) -> Float[Array, " m"]:
        """Return each coefficient's expected square, or probability of odd parity."""
        tables = self._cells.mean(marginals)
        squares = self._cells.measured.map_tables(tables, _squares)
        return jnp.where(self.counts, self.mean(marginals), self._measured(squares))

    def _measured(self, entries: Array) -> Array:
        measured = self.closure.owners[1 if self.public_n else 0 :]
        return entries.at[measured].get(unique_indices=True)


def _squares(tables: Any, shape: tuple[int, ...]) -> Any:
    """Replace each contrast by its square, along each axis."""
    for axis, size in enumerate(shape, start=tables.ndim - len(shape)):
        matrix = jnp.asarray(contrasts(size) ** 2, tables.dtype)
        turned = tensordot(tables, matrix, axes=((axis,), (1,)))
        tables = jnp.moveaxis(turned, -1, axis)
    return tables
