"""The contract of a statistic: what is measured, and by how much a record moves it."""

__all__ = ["STATISTICS", "FamilyStatistic", "Statistic", "TableStatistic"]

import abc
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from jaxtyping import Array, Float, Int32, Real

from dpjax._registry import Registry
from dpjax._types import Cells, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.variables import Variable
from dpjax.families import Family
from dpjax.privacy import Sensitivity
from dpjax.statistics.record_moments import CellMoments, RecordMoments
from dpjax.tables.layout import TableLayout


class Statistic(abc.ABC):
    """A map from records to one flat vector of integers; static and hashable.

    A statistic of one's own is a subclass with a `kind`, added to `STATISTICS`: then
    `release`, files and `verify` take it.
    """

    kind: ClassVar[str]
    """Its name in files."""

    @property
    @abc.abstractmethod
    def variables(self) -> tuple[Variable, ...] | tuple[Interval, ...]:
        """The columns of the records."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of integers that are measured."""

    @abc.abstractmethod
    def measure(self, records: Real[Array, "n d"]) -> Int32[Array, " m"]:
        """The exact statistic."""

    @abc.abstractmethod
    def sensitivity(self, adjacency: str) -> Sensitivity:
        """By how much, in L1, one record can move the statistic.

        Raises:
            ValueError: if the statistic is for the other adjacency.
        """

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """Its `kind` and options: public, plain data, from which it is built again."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls,
        described: Mapping[str, Any],
        variables: tuple[Variable, ...] | tuple[Interval, ...],
        net: BayesNet | None,
        adjacency: str,
    ) -> "Statistic":
        """The statistic that `describe` described.

        Args:
            described: what `describe` returned.
            variables: the columns of the records.
            net: the network of the file, if it has one.
            adjacency: of the release.
        """

    @property
    def network(self) -> BayesNet | None:
        """The network whose posterior a release of this is for, if it is one."""
        return None

    @property
    def least_length(self) -> int:
        """At most `length`, and found without much work, whatever a file says."""
        return self.length

    @property
    def most_per_record(self) -> int:
        """The most by which one record can move one number away from 0."""
        return 1


STATISTICS: Registry[Statistic] = Registry("statistic")
"""Kinds of statistics, by the name that files use."""


class TableStatistic(Statistic):
    """A statistic that contingency tables can be made from."""

    @property
    @abc.abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the records."""

    @property
    @abc.abstractmethod
    def layout(self) -> TableLayout:
        """The tables that can be made from the vector: those of the network, if any."""

    @property
    @abc.abstractmethod
    def counted(self) -> TableLayout:
        """The tables whose exact counts the vector is made from."""

    @cached_property
    def measured(self) -> TableLayout | None:
        """The tables whose cells the vector holds, a number a cell; None: others."""
        return None

    @abc.abstractmethod
    def of_counts(self, counts: Int32[Array, " c"], n: int) -> Int32[Array, " m"]:
        """The exact statistic of n records whose tables of `counted` these are.

        Privacy:
            None: this is exact.
        """

    @abc.abstractmethod
    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """The counts of every table of `layout`.

        Args:
            vector: exact or noisy, with any leading axes.
            n: the number of records, where it is public.
        """

    def record_moments(self) -> RecordMoments:
        """Moments of the numbers of one record, given the marginal laws of `layout`.

        Raises:
            ValueError: if they do not follow from these.
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
    adjacency: str

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Integers from 0 to the largest value of a component."""

    @property
    @abc.abstractmethod
    def lowest(self) -> int:
        """The least integer that a record's first component is rounded to."""

    @abc.abstractmethod
    def decode(
        self, vector: Flat, n: Scalar | None = None
    ) -> tuple[Float[Array, "*batch s"], Float[Array, "*batch"]]:
        """The total of the family's statistics, in natural units, and n."""
