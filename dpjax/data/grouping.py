"""Tables whose rows are grouped by some of their columns and counted."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from dpjax.data import sources
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.data.encoding import check_columns, encode_batches, known_names
from dpjax.data.multiplicities import MOST, Multiplicities
from dpjax.data.sources.queries import Query, as_query
from dpjax.tables.layout import TableLayout, maximal_groups

Counts = Int64[np.ndarray, " m"]


@dataclass(frozen=True, repr=False)
class Grouped:
    """The counts of one table's rows, grouped by one or more sets of its columns.

    `dpjax.release` accepts it in place of the table. `dpjax.tables.sql` prints the
    queries that make such tables in a database.

    Args:
        tables: for each group of columns, a table in memory or the path of a file with
            these columns and the numbers of rows. Each group of variables that a
            statistic counts must be among the columns of one of them.
        multiplicity: name of the column that has the numbers of rows, integers ≥ 0.

    Privacy:
        Not private. The sensitivity of a statistic is that for the ungrouped table, if
        all of `tables` are computed from the same state of this table. Different totals
        are refused, but a change of the table that keeps its total is not detected.
        Therefore group the table for all of `tables` in one transaction.
    """

    tables: Sequence[sources.Table]
    multiplicity: str = "n"

    def __post_init__(self):
        if not isinstance(self.tables, list | tuple) or not self.tables:
            raise ValueError("`tables` must be a list of at least one table.")


def group(
    table: sources.Table,
    net: BayesNet,
    *,
    binary: bool = False,
    ignore: str | Collection[str] = (),
) -> Grouped:
    """Group a lazy table in its engine, for `dpjax.release` and `exact_counts`.

    `release` also groups lazy tables; this function is for engines for which dpjax does
    not know how they compare text.

    Args:
        table: a lazy frame or table of DuckDB, Polars, Ibis, PySpark or Dask.
        net: network with the variables.
        binary: True declares that the engine compares text byte by byte, so that, for
            example, "a", "A" and "a " differ.
        ignore: as in `Schema.encode`.

    Privacy:
        Not private: the counts are exact.

    Raises:
        ValueError: if the table is not lazy, cannot be grouped exactly, lacks a column,
            or the engine fails. The message shows no value.
    """
    groups = maximal_groups(net.families)
    layout = TableLayout(net.sizes, groups)
    made = grouped_by_engine(table, net.variables, layout, ignore, binary=binary)
    if made is None:
        raise ValueError(
            "`table` must be a lazy table with columns of text, integers, booleans or "
            f"dates, got {type(table).__name__}: give it to `release` as it is."
        )
    return made


def grouped_by_engine(
    table: "sources.Table | Grouped",
    variables: Sequence[Categorical],
    layout: TableLayout,
    ignore: str | Collection[str],
    *,
    binary: bool = False,
) -> Grouped | None:
    """Group a lazy table for the tables of `layout`.

    A `Grouped` is returned unchanged. The result is None if `release` must read the
    table itself, because it is not lazy or its engine cannot group it exactly.
    """
    if isinstance(table, Grouped):
        return table
    query = as_query(table)
    if query is None:
        return None
    names = [variable.name for variable in variables]
    check_columns(query, names, known_names({*names}, ignore))
    if not query.can_group(names):
        return None
    count = next(x for x in map("n{}".format, itertools.count()) if x not in names)
    wanted = maximal_groups(layout.groups)
    return Grouped([_of_one(query, names, x, count, binary) for x in wanted], count)


def _of_one(
    query: Query, names: list[str], group: tuple[int, ...], count: str, binary: bool
) -> sources.Table:
    return query.groups([names[i] for i in group], count, binary)


def weighted_counts(
    grouped: Grouped,
    variables: Sequence[Categorical],
    layout: TableLayout,
    *,
    ignore: str | Collection[str] = (),
    argument: str = "multiplicity",
    most: int = MOST,
) -> tuple[Counts, int]:
    """Count the records of grouped tables, in 64-bit integers.

    Args:
        grouped: the tables, each of which must have a column of at least one variable.
        variables: the variables of the statistic.
        layout: the tables to count, as groups of indices into `variables`.
        ignore: as in `Schema.encode`.
        argument, most: as for `Multiplicities`.

    Returns:
        The counts in the order of `layout`, and the number of records.

    Privacy:
        Not private: the counts are exact.

    Raises:
        ValueError: if the variables of a group of `layout` are not all in one of the
            tables, if the totals of the tables differ, or if a table cannot be read.
            The message shows no value of a record.
    """
    counts, waiting, totals = np.zeros(layout.length, np.int64), {*layout.groups}, set()
    for table in grouped.tables:
        known = None if len(grouped.tables) == 1 else _names_of(table)
        chosen = [
            i for i, v in enumerate(variables) if known is None or v.name in known
        ]
        column = Multiplicities(
            grouped.multiplicity, variables, argument=argument, most=most
        )
        groups = [x for x in layout.groups if x in waiting and {*x} <= {*chosen}]
        waiting -= {*groups}
        own = [variables[i] for i in chosen]
        if not own:
            raise ValueError("`tables` must have a column of a variable in each table.")
        for rows in encode_batches(table, own, ignore=ignore, beside=column):
            multiples = column.of_the(rows)
            for x in groups:
                places = [chosen.index(i) for i in x]
                _add(counts, layout, x, rows[:, places], multiples)
        totals.add(column.total)
    if waiting:
        missing = [variables[i].name for i in min(waiting)]
        raise ValueError(
            "`tables` must have a table with the columns "
            f"{', '.join(missing)!s:.200}: see `dpjax.tables.sql`."
        )
    if len(totals) > 1:
        raise ValueError(
            "`tables` must be of one table, their numbers of records differ: group all "
            "of them again in one transaction."
        )
    return counts, totals.pop()


def _names_of(table: sources.Table) -> list[str]:
    if sources.is_array(table) or isinstance(table, Iterator):
        raise ValueError(
            "`tables` must be tables in memory with names of columns, or paths of "
            f"files, got {type(table).__name__}."
        )
    return next(iter(sources.parts(table))).names()


def _add(
    counts: Counts,
    layout: TableLayout,
    group: tuple[int, ...],
    levels: np.ndarray,
    multiples: np.ndarray,
) -> None:
    cells = np.ravel_multi_index(tuple(levels.T.astype(np.intp)), layout.shape(group))
    start = layout.offsets[layout.groups.index(group)]
    np.add.at(counts, start + cells, multiples)
