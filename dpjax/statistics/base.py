"""What every statistic must be able to say about itself."""

__all__ = ["Statistic", "TableStatistic"]

import abc

from jaxtyping import Array, Int32, Real

from dpjax._types import Cells, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.variables import Variable
from dpjax.privacy import Sensitivity
from dpjax.tables.layout import TableLayout


class Statistic(abc.ABC):
    """A map from records to one flat vector of integers; static and hashable."""

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
        """By how much, in L1, one record can move the statistic."""

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """The statistic as public, plain data, for a file."""

    @property
    def most_per_record(self) -> int:
        """The most by which one record can move one number away from 0."""
        return 1


class TableStatistic(Statistic):
    """A statistic that contingency tables can be made from."""

    @property
    @abc.abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the records."""

    @property
    @abc.abstractmethod
    def network(self) -> BayesNet | None:
        """The network whose families are wanted, if it is one."""

    @property
    @abc.abstractmethod
    def layout(self) -> TableLayout:
        """The tables that can be made from the vector: those of the network, if any."""

    @property
    @abc.abstractmethod
    def counted(self) -> TableLayout:
        """The tables whose exact counts the vector is made from."""

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
