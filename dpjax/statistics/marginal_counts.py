"""Counts of marginal tables without a network."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from dpjax._types import Cells, Described, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.privacy import Adjacency
from dpjax.statistics.base import STATISTICS, Columns
from dpjax.statistics.cell_statistic import CellStatistic
from dpjax.statistics.marginal_contrasts import (
    Variables,
    groups_of,
    variables_with_levels,
)
from dpjax.tables.layout import TableLayout, maximal_groups


@STATISTICS.add
@dataclass(frozen=True)
class MarginalCounts(CellStatistic):
    """The counts of all cells of marginal tables, for noise that is equal in all cells.

    No network is needed, and none is inferred. Noisy tables need not agree in their
    margins; `dpjax.releases.consistent` makes them agree.

    Args:
        over: the variables of the records' columns, without impossible combinations.
        groups: the indices of the variables of each table, in increasing order. Groups
            are sorted, and none contains another one.

    Privacy:
        As for `CellStatistic`.

    Raises:
        ValueError: if there is no group, or groups are not as described.
    """

    kind: ClassVar[str] = "marginal-counts"
    format_version: ClassVar[int] = 3

    over: tuple[Categorical, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self):
        known = [(*sorted({*group}),) for group in self.groups]
        places = range(len(self.over))
        inside = known and all(group and {*group} <= {*places} for group in known)
        if not inside or self.groups != (*sorted(maximal_groups(known)),):
            raise ValueError(
                "`groups` must be the sorted variables of tables, none of which is a "
                "margin of another one."
            )

    @classmethod
    def of_tables(
        cls, schema: Variables, tables: Sequence[Sequence[str]]
    ) -> "MarginalCounts":
        """Make the statistic of given tables, each given by the names of its variables.

        Tables that are margins of others are left out, since the others give them.

        Raises:
            ValueError: if a table has no variable, an unknown one or one twice, or
                there are more than 1,024 tables; or if `schema` has numeric variables
                or impossible combinations.
        """
        over = variables_with_levels(schema)
        return cls(over, (*sorted(maximal_groups(groups_of(over, tables))),))

    @property
    def variables(self) -> tuple[Categorical, ...]:
        """The variables of the records' columns, in order."""
        return self.over

    @property
    def layout(self) -> TableLayout:
        """Layout of all tables."""
        return self.measured

    @cached_property
    def measured(self) -> TableLayout:
        """Layout of all tables, whose cells are the components of the statistic."""
        return TableLayout(tuple(x.size for x in self.over), self.groups)

    @property
    def least_length(self) -> int:
        """Number of cells of all tables, without listing them."""
        sizes = [variable.size for variable in self.over]
        return sum(math.prod(sizes[i] for i in group) for group in self.groups)

    @cached_property
    def parts(self) -> dict[str, int]:
        """Number of cells of each table, by its variables with \"*\" between them."""
        names = ["*".join(self.over[i].name for i in group) for group in self.groups]
        cells = np.diff(self.measured.offsets).tolist()
        return dict(zip(names, cells, strict=True))

    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Return the vector, which consists of the cells of all tables."""
        return vector

    def describe(self) -> dict[str, object]:
        """Return `kind`, and the names of the variables of each table."""
        names = [[self.over[i].name for i in group] for group in self.groups]
        return {"kind": self.kind, "tables": names}

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "MarginalCounts":
        """Make the statistic of a release file from the result of `describe`."""
        over = cast(tuple[Categorical, ...], variables)
        place = {variable.name: i for i, variable in enumerate(over)}
        groups = (tuple(place[x] for x in table) for table in described["tables"])
        return cls(over, tuple(groups))
