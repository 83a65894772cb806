"""Abstract base classes of statistics."""

__all__ = ["STATISTICS", "Columns", "FamilyStatistic", "Statistic", "TableStatistic"]

import abc
from functools import cached_property
from typing import ClassVar

from jaxtyping import Array, Float, Int32, Real

from dpjax._registry import Registry
from dpjax._types import Cells, Described, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import Family
from dpjax.privacy import Adjacency, Sensitivity
from dpjax.statistics.record_moments import CellMoments, RecordMoments
from dpjax.tables.layout import TableLayout

Columns = tuple[Variable, ...] | tuple[Interval, ...]
"""The columns of records."""


class Statistic(abc.ABC):
    """A map from records to one flat vector of integers; static and hashable.

    A new statistic is a subclass with a `kind`, added to `STATISTICS`, so that
    `release`, files and `verify` accept it.
    """

    kind: ClassVar[str]
    """Name of the statistic in files."""

    @property
    @abc.abstractmethod
    def variables(self) -> Columns:
        """The columns of the records."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of measured integers."""

    @abc.abstractmethod
    def measure(self, records: Real[Array, "n d"]) -> Int32[Array, " m"]:
        """Compute the exact statistic."""

    @abc.abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of the statistic.

        Raises:
            ValueError: if the statistic is for the other adjacency.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """Return the `kind` and options as public, plain data for files."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "Statistic":
        """Make a statistic from its description.

        Args:
            described: the result of `describe`.
            variables: the columns of the records.
            net: the network of the file, if it has one.
            adjacency: adjacency of the release.
        """

    @property
    def network(self) -> BayesNet | None:
        """The network whose parameters the statistic is for, if any."""
        return None

    @cached_property
    def parts(self) -> dict[str, int]:
        """Lengths, by name, of the parts that can have their own budgets."""
        return {}

    def part_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """The largest L1 sensitivity of one part; `ValueError` without parts."""
        raise ValueError(
            "`split` must be left out for a statistic without parts, got one for "
            f"{self.kind}."
        )

    @property
    def least_length(self) -> int:
        """Lower bound of `length`, cheap to compute even for a malicious file."""
        return self.length

    @property
    def most_per_record(self) -> int:
        """Largest absolute contribution of one record to one component."""
        return 1


STATISTICS: Registry[Statistic] = Registry("statistic")
"""Kinds of statistics, by their names in files."""


class TableStatistic(Statistic):
    """A statistic that contingency tables can be computed from."""

    @property
    @abc.abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the records."""

    @property
    @abc.abstractmethod
    def layout(self) -> TableLayout:
        """Layout of the tables computed from the vector: the network's, if any."""

    @property
    @abc.abstractmethod
    def counted(self) -> TableLayout:
        """Layout of the tables whose exact counts determine the vector."""

    @cached_property
    def measured(self) -> TableLayout | None:
        """Layout of the tables whose cells are measured; None if no cells are."""
        return None

    @abc.abstractmethod
    def of_counts(self, counts: Int32[Array, " c"], n: int) -> Int32[Array, " m"]:
        """Compute the exact statistic of n records from their tables of `counted`.

        Privacy:
            None: the result is exact.
        """

    @abc.abstractmethod
    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute the counts of every table of `layout`.

        Args:
            vector: exact or noisy, with any leading axes.
            n: number of records, if it is public.
        """

    def record_moments(self) -> RecordMoments:
        """Moments of one record's statistic, given the marginal laws of `layout`.

        Raises:
            ValueError: if the moments do not follow from these laws.
        """
        if self.measured is None:
            raise ValueError(
                "`statistic` must have moments that follow from its tables, got "
                f"{self.kind}: use `gibbs_posterior`."
            )
        return CellMoments(self.layout, self.measured)


class FamilyStatistic(Statistic):
    """The sufficient statistics of an exponential family, as integers on a grid."""

    family: Family
    adjacency: Adjacency

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Number of steps from 0 to the largest value of a component."""

    @property
    @abc.abstractmethod
    def lowest(self) -> int:
        """Smallest integer to which a record's first component is rounded."""

    @abc.abstractmethod
    def decode(
        self, vector: Flat, n: Scalar | None = None
    ) -> tuple[Float[Array, "*batch s"], Float[Array, "*batch"]]:
        """Return the total of the family's statistics, in natural units, and n."""
