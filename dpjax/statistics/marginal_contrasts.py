"""Counts of marginal tables without a network, for K-norm noise."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, cast

from dpjax._checks import one_of, whole
from dpjax._types import Described
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.data.encoding import of_one_kind
from dpjax.data.intervals import Interval
from dpjax.data.schema import Schema
from dpjax.privacy import ADJACENCIES, Adjacency
from dpjax.statistics.base import STATISTICS, Columns
from dpjax.statistics.block_statistic import BlockStatistic, parsed_blocks
from dpjax.statistics.blocks import Block, blocks_of, check_blocks
from dpjax.tables.layout import TableLayout

_MOST_TABLES = 1 << 10  # the choice of blocks takes time in proportion to the square

Variables = Schema | Sequence[Categorical] | Sequence[Interval]
"""A schema, or its variables."""


@STATISTICS.add
@dataclass(frozen=True)
class MarginalContrasts(BlockStatistic):
    """The counts of marginal tables, without the margins of other tables.

    No network is needed, and none is inferred. Noisy tables agree in the margins that
    blocks take from each other; `dpjax.releases.consistent` makes all of them agree.

    Args:
        over: the variables of the records' columns, without impossible combinations.
        adjacency: "replace-one" or "add-remove".
        blocks: the blocks, one for each table.

    Privacy:
        As for `BlockStatistic`.

    Raises:
        ValueError: if the adjacency is unknown, or a block has a margin that no earlier
            block determines, or adds no table.
    """

    kind: ClassVar[str] = "marginal-contrasts"

    over: tuple[Categorical, ...]
    adjacency: Adjacency
    blocks: tuple[Block, ...]

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        if not 1 <= len(self.blocks) <= _MOST_TABLES:
            raise ValueError(
                f"`blocks` must be from 1 to {_MOST_TABLES}, got {len(self.blocks)}."
            )
        check_blocks(self.blocks, ())

    @classmethod
    def of_order(
        cls, schema: Variables, order: int, adjacency: Adjacency
    ) -> "MarginalContrasts":
        """Make the statistic of all tables of `order` variables.

        Raises:
            ValueError: if `order` is not from 1 to the number of variables, there are
                more than 1,024 tables, or `schema` has numeric variables or impossible
                combinations.
        """
        whole(1, order=order)
        over = variables_with_levels(schema)
        number = len(over)
        few = order <= number and math.comb(number, order) <= _MOST_TABLES
        if not few:
            raise ValueError(
                f"`order` must be at most the number of variables, {number}, with at "
                f"most {_MOST_TABLES} tables, got {order}: use a smaller order."
            )
        groups = [*itertools.combinations(range(number), order)]
        return cls(over, adjacency, _blocks(over, groups))

    @classmethod
    def of_tables(
        cls,
        schema: Variables,
        tables: Sequence[Sequence[str]],
        adjacency: Adjacency,
    ) -> "MarginalContrasts":
        """Make the statistic of given tables, each given by the names of its variables.

        Tables that are margins of others are left out, since the others give them.

        Raises:
            ValueError: if a table has no variable, an unknown one or one twice, or
                there are more than 1,024 tables; or as for `of_order`.
        """
        over = variables_with_levels(schema)
        groups = groups_of(over, tables)
        return cls(over, adjacency, _blocks(over, groups))

    @property
    def variables(self) -> tuple[Categorical, ...]:
        """The variables of the records' columns, in order."""
        return self.over

    @property
    def layout(self) -> TableLayout:
        """Layout of all tables, whose variables are in the order of the columns."""
        return self._layout

    @cached_property
    def _layout(self) -> TableLayout:
        groups = sorted(tuple(sorted(block.group)) for block in self.blocks)
        return TableLayout(self.sizes, tuple(groups))

    @property
    def names_of_tables(self) -> dict[str, frozenset[int]]:
        """The variables of each table, by their names with \"*\" between them."""
        return {
            "*".join(self.over[i].name for i in group): frozenset(group)
            for group in self.layout.groups
        }

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "MarginalContrasts":
        """Make the statistic of a release file from the result of `describe`."""
        over = cast(tuple[Categorical, ...], variables)
        return cls(over, adjacency, parsed_blocks(described, variables))


def variables_with_levels(schema: Variables) -> tuple[Categorical, ...]:
    """Return the variables of a schema, if all of them have levels.

    Raises:
        ValueError: if a variable is numeric, or combinations of levels are impossible.
    """
    schema = schema if isinstance(schema, Schema) else Schema(schema)
    levels, numbers = of_one_kind([*schema.values()])
    if numbers:
        raise ValueError(
            "`schema` must have variables with levels for marginals, got the numeric "
            f"variable {numbers[0].name!r:.80}: declare bins for it."
        )
    if schema.impossible:
        raise ValueError(
            "`schema` must have no impossible combinations for marginals: remove them."
        )
    return tuple(levels)


def groups_of(
    over: Sequence[Categorical], tables: Sequence[Sequence[str]]
) -> list[tuple[int, ...]]:
    """Return the sorted indices of the variables of each table, each table once.

    Raises:
        ValueError: if a table has no variable, an unknown one or one twice, or there
            are more than 1,024 tables.
    """
    place = {variable.name: i for i, variable in enumerate(over)}
    groups = set()
    listed = [tables] if isinstance(tables, str) else tables
    text = [table for table in listed if isinstance(table, str)]
    if text:
        raise ValueError(
            "`tables` must be lists of names, got text: give a list of the variables "
            f"of each table, as in [[{text[0]!r:.80}]]."
        )
    for table in tables:
        names = [*table]
        if not names or len({*names}) < len(names) or not {*names} <= {*place}:
            raise ValueError(
                "`tables` must name different variables of the schema in each table, "
                f"got {names!s:.200}."
            )
        groups.add(tuple(sorted(place[name] for name in names)))
    if not 1 <= len(groups) <= _MOST_TABLES:
        raise ValueError(
            f"`tables` must be from 1 to {_MOST_TABLES}, got {len(groups)}."
        )
    return sorted(groups)


def _blocks(
    over: Sequence[Categorical], groups: Sequence[tuple[int, ...]]
) -> tuple[Block, ...]:
    return blocks_of([variable.size for variable in over], groups)
