"""What one record adds to each measured number, on average, in terms of a network."""

__all__ = ["Moments"]

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.statistics.base import TableStatistic
from dpjax.tables.fourier_basis import contrasts, to_coefficients
from dpjax.tables.layout import TableLayout


@dataclass(frozen=True)
class Moments:
    """Mean and variance of the numbers of one record; static.

    Args:
        statistic: of a network.

    Raises:
        ValueError: if it is neither family counts nor Fourier coefficients of one.
    """

    statistic: TableStatistic

    def __post_init__(self):
        statistic = self.statistic
        if (
            not isinstance(statistic, NetworkCounts | FourierCoefficients)
            or statistic.network is None
        ):
            raise ValueError(
                "`released` must be of family counts or Fourier coefficients of a "
                f"network, got {statistic.describe()['kind']}: release one of them."
            )

    @property
    def tables(self) -> TableLayout:
        """The tables that are measured, in cells or in coefficients."""
        if isinstance(self.statistic, NetworkCounts):
            return self.statistic.measured
        assert isinstance(self.statistic, FourierCoefficients)
        return self.statistic.closure.layout

    @cached_property
    def places(self) -> np.ndarray:
        """Where the cells of the measured tables are in the families' layout."""
        layout = self.statistic.layout
        starts = dict(zip(layout.groups, layout.offsets[:-1], strict=True))
        lengths = np.diff(self.tables.offsets)
        return np.concatenate(
            [
                starts[group] + np.arange(length)
                for group, length in zip(self.tables.groups, lengths, strict=True)
            ]
        ).astype(np.int32)

    @cached_property
    def counts(self) -> Bool[np.ndarray, " m"]:
        """Which numbers are counts of records."""
        if isinstance(self.statistic, NetworkCounts):
            return np.ones(self.statistic.length, bool)
        return self._halved

    def mean(self, families: Float[Array, " c"]) -> Float[Array, " m"]:
        """The expected numbers of a record, from the law of every family: linear."""
        tables = families[self.places]
        if isinstance(self.statistic, NetworkCounts):
            return tables
        coefficients = self._measured(to_coefficients(self.tables, tables))
        total = jnp.sum(tables[: self.tables.offsets[1]])  # 1, but linear in the tables
        halves = (total - coefficients) / 2
        return jnp.where(self._halved, halves, coefficients)

    def second(self, families: Float[Array, " c"]) -> Float[Array, " m"]:
        """The expected squares."""
        if isinstance(self.statistic, NetworkCounts):
            return families[self.places]
        squares = self.tables.map_tables(families[self.places], _squares)
        return jnp.where(self._halved, self.mean(families), self._measured(squares))

    @cached_property
    def _halved(self) -> np.ndarray:
        statistic = self.statistic
        assert isinstance(statistic, FourierCoefficients)
        binary = statistic.closure.binary
        if statistic.adjacency == REPLACE_ONE:
            return binary[1:]
        return np.arange(binary.size) < 0

    def _measured(self, entries: Array) -> Array:
        assert isinstance(self.statistic, FourierCoefficients)
        owners = self.statistic.closure.owners
        return entries[owners[owners.size - self.statistic.length :]]


def _squares(tables: Any, shape: tuple[int, ...]) -> Any:
    """Which cells a coefficient sees: the squares of the contrasts, along each axis."""
    for axis, size in enumerate(shape, start=tables.ndim - len(shape)):
        matrix = jnp.asarray(contrasts(size) ** 2, tables.dtype)
        turned = jnp.tensordot(tables, matrix, axes=((axis,), (1,)))
        tables = jnp.moveaxis(turned, -1, axis)
    return tables
