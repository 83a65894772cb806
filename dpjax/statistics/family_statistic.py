"""The abstract base class of the sums of an exponential family."""

import abc
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._types import Flat, Scalar
from dpjax.data.sources import read_numbers
from dpjax.families import Family
from dpjax.privacy import REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import Statistic

Changes = tuple[tuple[tuple[int, ...], int], ...]
"""Disjoint sets of the places of a vector's numbers, with a bound for each set."""


class FamilyStatistic(Statistic):
    """Sums of an exponential family's statistics, rounded to multiples of a step."""

    family: Family
    adjacency: Adjacency

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Number of rounding steps from 0 to the largest value of a component."""

    @property
    @abc.abstractmethod
    def lowest(self) -> int:
        """Smallest value of the first component of one record's rounded statistic."""

    def features(self, rows: Any) -> Any:
        """Return a regression's features, found by name in a table, as an array.

        Numbers are not clipped, and a missing cell is NaN. What has no named columns is
        returned as it is.

        Raises:
            ValueError: if a column is absent, or has a cell that is no number.
        """
        if not (isinstance(rows, Mapping) or hasattr(rows, "columns")):
            return rows
        columns, present = [], rows
        if not isinstance(rows, Mapping):
            present = list(getattr(rows, "column_names", rows.columns))
        for name in [variable.name for variable in self.variables[:-1]]:
            numbers, others = read_numbers(rows, name) if name in present else ([], [1])
            if others:
                raise ValueError(
                    f"`features` must have numbers in a column {name!r:.80}, or be an "
                    "array whose columns are in the order of the variables."
                )
            columns.append(numbers)
        return np.column_stack(columns)

    @property
    def counts_levels(self) -> bool:
        """Whether each record adds 1 to one number and 0 to all others."""
        family = self.family
        exact = family.lattice == 1 and self.steps == 1 and family.complement is None
        return exact and family.ranges() == ((0.0, 1.0),) * self.length

    @property
    def changes(self) -> Changes:
        """Sets of places, and the most by which one record changes their L1 norm.

        By default all places are one set, which has the sensitivity. A subclass may
        know that one record changes each of several sets by less.
        """
        most = int(self.sensitivity(self.adjacency).value)
        return ((tuple(range(self.length)), most),)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return an upper bound of the squared L2 sensitivity, as `sensitivity` does.

        It is the sum of the squared bounds of `changes`: the L2 norm of the numbers of
        a set is at most their L1 norm. Or, if that is less, it is the L1 sensitivity
        times the largest change of one number, `steps` or twice that. Counts of levels
        change by 1, so that it is the L1 sensitivity, exactly.
        """
        one = self.sensitivity(adjacency)
        if self.counts_levels:
            return one
        most = self.steps * (2 if adjacency == REPLACE_ONE else 1)
        squares = sum(bound**2 for _, bound in self.changes)
        bound = min(most * int(one.value), squares)
        return Sensitivity(bound, adjacency, tight=False)

    @abc.abstractmethod
    def decode(
        self, vector: Flat, n: Scalar | None = None
    ) -> tuple[Float[Array, "*batch s"], Float[Array, "*batch"]]:
        """Return the sum over records of the family's statistics, and n.

        The number of records n must be given if it is public; else `vector` yields it.
        """

    def encode(self, scaled: Float[Array, "*batch s"], n: Scalar) -> Any:
        """Return the vector, which may be real, of a sum divided by `family.scales()`.

        It is the inverse of `decode`; if n is measured, n records are encoded too.
        """
        if self.length > scaled.shape[-1]:
            rest = jnp.asarray(n, float) - scaled[..., self.family.complement]
            scaled = jnp.concatenate([scaled, rest[..., None]], axis=-1)
        return scaled * self.steps
