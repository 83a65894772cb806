"""Counts of all cells of some tables."""

import abc
from functools import cached_property
from typing import Any

from jaxtyping import Array, Int32

from dpjax._checks import one_of
from dpjax._types import Records
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import TableStatistic
from dpjax.tables.counts import PackedRecords, count
from dpjax.tables.layout import TableLayout


class CellStatistic(TableStatistic):
    """A statistic that consists of all cells of the tables `measured`.

    Privacy:
        For t tables, the L1 sensitivity is t under add-remove, where one cell of each
        table changes by 1, and 2t under replace-one, where two cells of each table
        change by 1 if the records differ in all variables. The squared L2 sensitivity
        is the same number.
    """

    @cached_property
    @abc.abstractmethod
    def measured(self) -> TableLayout:
        """Layout of the tables whose cells are the components of the statistic."""

    @property
    def counted(self) -> TableLayout:
        """Layout of the tables that `of_counts` needs: `measured`."""
        return self.measured

    @property
    def length(self) -> int:
        """Number of cells of all measured tables."""
        return self.measured.length

    def measure(self, records: Records | PackedRecords) -> Int32[Array, " m"]:
        """Count the measured tables, as one flat vector.

        Args:
            records: level indices; or, for binary variables, the result of
                `dpjax.tables.counts.pack`.

        Privacy:
            The counts are exact, so they are not private.
        """
        return count(records, self.measured)

    def of_counts(self, counts: Any, n: Any) -> Any:
        """Return `counts`, since the statistic consists of the measured tables.

        Privacy:
            The counts are exact, so they are not private.
        """
        return counts

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of `measure`, exact without impossible records."""
        one = self.part_sensitivity(adjacency)
        tables = len(self.measured.groups)
        return Sensitivity(int(one.value) * tables, adjacency, tight=one.tight)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the squared L2 sensitivity: each changed count changes by 1."""
        return self.sensitivity(adjacency)

    def part_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of one measured table, equal for all."""
        one_of(ADJACENCIES, adjacency=adjacency)
        change = 2 if adjacency == REPLACE_ONE else 1
        net = self.network
        return Sensitivity(change, adjacency, tight=net is None or not net.impossible)
