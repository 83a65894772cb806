"""Abstract base classes of statistics."""

import abc
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Bool, Int32, Real

from dpjax._registry import Registry
from dpjax._types import Cells, Described, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.data.impossible import excluded_cells, refuse_counts
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable
from dpjax.privacy import Adjacency, Sensitivity
from dpjax.statistics.record_moments import CellMoments, RecordMoments
from dpjax.tables.layout import TableLayout

Columns = tuple[Categorical, ...] | tuple[Interval, ...] | tuple[AnyVariable, ...]
"""Variables of the columns of records: categorical, numeric, or some of both."""


class Statistic(abc.ABC):
    """A sum over records of one flat vector of integers; static and hashable.

    To define a statistic, write a subclass with a `kind` and add it to `STATISTICS`;
    `dpjax.release`, release files and `dpjax verify` then accept it, in other processes
    if the package that defines it names it in the entry points `dpjax.statistics`. Make
    the subclass a frozen dataclass, so that two statistics with equal fields are equal.
    `release` tries out a statistic of another package before it reads a table: see
    `check_statistic`.
    """

    kind: ClassVar[str]
    """Name of the statistic in files."""

    format_version: ClassVar[int] = 1
    """First version of the format of release files that knows the statistic."""

    @property
    @abc.abstractmethod
    def variables(self) -> Columns:
        """The variables of the records' columns, in order."""

    @property
    @abc.abstractmethod
    def length(self) -> int:
        """Number of integers in the vector that `measure` returns."""

    @abc.abstractmethod
    def measure(self, records: Real[Array, "n d"]) -> Int32[Array, " m"]:
        """Compute the exact statistic of encoded records, which is not private.

        A table is measured piece by piece, and the results are added: the statistic is
        the sum over the records of what it is for each. `jit` compiles the method,
        which may use jax.numpy alone.

        Args:
            records: a row for each record, with the index of the level in the column of
                a categorical variable. For a statistic of another package, indices have
                32 bits, and numbers are within their bounds: `Interval.missing` is in
                place of NaN.

        Returns:
            `length` integers. A record adds at most `most_per_record` to each.
        """

    @abc.abstractmethod
    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of the statistic under `adjacency`.

        Raises:
            ValueError: if the statistic was made for another adjacency.
        """

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the squared L2 sensitivity, or an upper bound, as `sensitivity` does.

        The default is the square of the L1 sensitivity.
        """
        one = int(self.sensitivity(adjacency).value)
        return Sensitivity(one**2, adjacency, tight=False)

    @abc.abstractmethod
    def describe(self) -> dict[str, object]:
        """Return the `kind` and options as a JSON object for release files."""

    @classmethod
    @abc.abstractmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "Statistic":
        """Make the statistic that a release file describes.

        Args:
            described: the result of `describe`.
            variables: the variables of the records' columns.
            net: the network in the file, or None.
            adjacency: the adjacency in the file.
        """

    @property
    def network(self) -> BayesNet | None:
        """The network whose parameters are inferred from the statistic, or None."""
        return None

    @cached_property
    def parts(self) -> dict[str, int]:
        """Lengths, by name, of the vector's parts, which can have separate budgets."""
        return {}

    def part_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the largest L1 sensitivity of one of `parts`; raise if it is empty."""
        raise ValueError(
            "`split` must be left out for a statistic without parts, got one for "
            f"{self.kind}."
        )

    @cached_property
    def zeros(self) -> Bool[np.ndarray, " m"] | None:
        """Which numbers are 0 whatever the records, or None if none are declared so.

        They are 0 because the variables have impossible combinations of levels, which
        `release` refuses in records; it releases them without noise.
        """
        return None

    def refuse_impossible(self, exact: np.ndarray) -> None:
        """Raise `ValueError` if an exact statistic is not 0 at one of `zeros`.

        Privacy:
            Not private: whether there is an error depends on the records, so only the
            curator may see it. Its message shows no value.
        """
        del exact

    @property
    def least_length(self) -> int:
        """Lower bound of `length`, quickly computed even for a malicious file."""
        return self.length

    @property
    def most_per_record(self) -> int:
        """Largest absolute value that one record adds to one component.

        It limits how many records are added in 32 bits.
        """
        return 1


STATISTICS: Registry[Statistic] = Registry(Statistic, "statistic")
"""Classes of statistics by `kind`, their name in release files."""


class TableStatistic(Statistic):
    """A statistic from which contingency tables can be computed."""

    @property
    @abc.abstractmethod
    def variables(self) -> tuple[Categorical, ...]:
        """The variables of the records' columns, in order."""

    @property
    @abc.abstractmethod
    def layout(self) -> TableLayout:
        """Layout of the tables that `tables` computes: those of the network, if any."""

    @property
    @abc.abstractmethod
    def counted(self) -> TableLayout:
        """Layout of the tables whose exact counts determine the statistic."""

    @cached_property
    def measured(self) -> TableLayout | None:
        """Layout of the tables whose cells form the statistic, or None if none do."""
        return None

    @cached_property
    def zeros(self) -> Bool[np.ndarray, " m"] | None:
        """Which cells of `measured` are of impossible combinations of the network."""
        net, layout = self.network, self.measured
        if net is None or layout is None or not net.impossible:
            return None
        return excluded_cells(net.impossible, layout)

    def refuse_impossible(self, exact: np.ndarray) -> None:
        """Raise `ValueError` if counts have records of an impossible combination."""
        net, layout = self.network, self.measured
        if net is not None and layout is not None:
            refuse_counts(exact, net.impossible, layout, net.names)

    @abc.abstractmethod
    def of_counts(self, counts: Any, n: Any) -> Any:
        """Compute the statistic of n records from their counts, laid out by `counted`.

        Counts are 32-bit integers of JAX or 64-bit integers of NumPy; so is the result.

        Privacy:
            The result is exact, so it is not private.
        """

    @abc.abstractmethod
    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute the counts of all tables of `layout`, in one flat vector.

        Args:
            vector: exact or noisy statistic, with any leading axes.
            n: number of records if it is public, as under replace-one, else None.
        """

    def record_moments(self) -> RecordMoments:
        """Return functions from a record's distribution to its statistic's moments.

        The distribution is given by its marginals for the tables of `layout`.

        Raises:
            ValueError: if these marginals do not determine the moments.
        """
        if self.measured is None:
            raise ValueError(
                "`statistic` must have moments that follow from its tables, got "
                f"{self.kind}: use `gibbs_posterior`."
            )
        return CellMoments(self.layout, self.measured)


class NodeTableStatistic(TableStatistic):
    """A statistic that determines the table of each variable with its parents."""

    net: BayesNet

    @property
    def network(self) -> BayesNet:
        """The network whose tables are counted."""
        return self.net

    @property
    def variables(self) -> tuple[Categorical, ...]:
        """The variables of the network."""
        return self.net.variables

    @property
    def layout(self) -> TableLayout:
        """Layout of the tables of each variable with its parents."""
        return self.net.layout
