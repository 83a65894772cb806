"""Exact statistics of tables, in 64-bit integers."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, ArrayLike, Int64

from dpjax._types import Records
from dpjax.data.encoding import encode_batches
from dpjax.data.grouping import Grouped, grouped_by_engine, weighted_counts
from dpjax.data.multiplicities import MOST, Multiplicities
from dpjax.data.records import as_records
from dpjax.data.sources import Table, is_in_memory
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.statistics import Statistic, TableStatistic
from dpjax.statistics.trial import family_of, is_foreign, within_bounds
from dpjax.tables.counts import count_batches, sum_batches
from dpjax.tables.counts.batches import Total

Exact = tuple[Int64[np.ndarray, " m"], int]

_PIECE = 1 << 14  # records


@dataclass(frozen=True)
class Rows:
    """Options for reading the rows of a table.

    Args:
        ignore: columns to leave out, as in `Schema.encode`.
        multiplicity: name of the column that has the number of records of each row.
        weights: name of the column that has the weight of each row; it is used instead
            of `multiplicity`.
        most: the largest weight.
        mesh: devices on which the rows are counted.
    """

    ignore: str | Collection[str] = ()
    multiplicity: str | None = None
    weights: str | None = None
    most: int = MOST
    mesh: Mesh | None = None


def measured(
    statistic: Statistic,
    table: Records | Table | Grouped,
    rows: Rows = Rows(),
    *,
    largest: int = LARGEST,
) -> Exact:
    """Compute the exact statistic of a table and the number of its records.

    Counts are computed in bounded memory for files and batches, and in the engine for a
    lazy table.

    Args:
        statistic: the statistic; only counts can be computed on a mesh.
        table: as for `release`.
        rows: how the rows are read.
        largest: largest magnitude of the integers.

    Privacy:
        Not private: the statistic is exact.

    Raises:
        ValueError: if the records do not fit the statistic, have an impossible
            combination, are too many for exact integers, or are traced.
    """
    most = largest // statistic.most_per_record
    exact, n = _exact(statistic, table, rows, most)
    _refuse_more(n, most)
    statistic.refuse_impossible(exact)
    return exact, n


def _refuse_more(n: int, most: int) -> None:
    if n > most:
        raise ValueError(
            f"`table` must have at most {most} records for exact integers; a statistic "
            "with fewer units allows for more."
        )


def _few(batches: Iterable[np.ndarray], most: int) -> Iterator[np.ndarray]:
    size = 0
    for batch in batches:
        size += len(batch)
        _refuse_more(size, most)
        yield batch


def _exact(statistic: Statistic, table: Table, rows: Rows, most: int) -> Exact:
    column = rows.multiplicity or rows.weights
    if isinstance(statistic, TableStatistic):
        return _of_tables(statistic, table, rows, most)
    if isinstance(table, Grouped) or rows.mesh is not None:
        raise ValueError(
            "`table` must be of records on one device, not grouped or with a `mesh`, "
            f"for the statistic {statistic.kind}: only counts can be grouped."
        )
    if column is None:
        if not is_in_memory(table):
            batches = encode_batches(table, statistic.variables, ignore=rows.ignore)
            return _in_pieces(statistic, batches)
        records = as_records(table, statistic.variables, ignore=rows.ignore)
        _refuse_traced(records)
        return _in_pieces(statistic, [records])
    return _of_multiples(statistic, table, rows, column)


def _of_tables(statistic: TableStatistic, table: Table, rows: Rows, most: int) -> Exact:
    variables, layout = statistic.variables, statistic.counted
    column = rows.multiplicity or rows.weights
    if column is not None and isinstance(table, Grouped):
        raise ValueError(
            "`table` must not be grouped if `multiplicity` or `weights` is given: a "
            "`Grouped` names its own column."
        )
    if column is not None:
        table = Grouped([table], column)
    grouped = grouped_by_engine(table, variables, layout, rows.ignore)
    if grouped is not None:
        argument = "weights" if rows.weights else "multiplicity"
        counts, n = weighted_counts(
            grouped, variables, layout,
            ignore=rows.ignore, argument=argument, most=rows.most,
        )  # fmt: skip
        return np.asarray(statistic.of_counts(counts, n), np.int64), n
    if is_in_memory(table) and rows.mesh is None:
        records = as_records(table, variables, ignore=rows.ignore)
        _refuse_traced(records)
        if len(records) <= LARGEST:
            exact = _measure(records, statistic)
            return np.asarray(exact, np.int64), len(records)
        table = records
    batches = encode_batches(table, variables, ignore=rows.ignore)
    counts = count_batches(_few(batches, most), layout, mesh=rows.mesh)
    n = int(counts[: layout.offsets[1]].sum())
    return np.asarray(statistic.of_counts(counts, n), np.int64), n


def _of_multiples(statistic: Statistic, table: Table, rows: Rows, column: str) -> Exact:
    """Sum the statistic over rows with multiplicities.

    For each binary digit i, the rows whose multiplicity has a one at digit i are
    measured, and 2^i times the result is added to the sum.
    """
    argument = "weights" if rows.weights else "multiplicity"
    own = Multiplicities(column, statistic.variables, argument=argument, most=rows.most)
    records, multiples = [], []
    for batch in encode_batches(
        table, statistic.variables, ignore=rows.ignore, beside=own
    ):
        records.append(batch)
        multiples.append(own.of_the(batch))
    records, multiples = np.concatenate(records), np.concatenate(multiples)
    total = np.zeros(statistic.length, np.int64)
    for bit in range(int(multiples.max(initial=0)).bit_length()):
        chosen = records[(multiples >> bit) & 1 == 1]
        total += _in_pieces(statistic, [chosen]).values << bit
    return total, own.total


def _in_pieces(statistic: Statistic, batches: Iterable[ArrayLike]) -> Total:
    """Sum the statistic over pieces of the records, whose sums fit 32-bit integers.

    All pieces have one size, which does not depend on the records.
    """
    most = min(LARGEST // statistic.most_per_record, _PIECE)
    measure = partial(_measure, statistic=statistic)
    return sum_batches(measure, batches, statistic.length, most=most)


def _refuse_traced(records: Array) -> None:
    """Raise `ValueError` in compiled or mapped code, which would reuse one draw."""
    if isinstance(records, jax.core.Tracer):
        raise ValueError(
            "`release` must be called outside of `jit` and `vmap`: studies draw with "
            "`mechanism.sample(key, exact)` there."
        )


@partial(jax.jit, static_argnames="statistic")
def _measure(records: ArrayLike, statistic: Statistic) -> Array:
    rows = jnp.asarray(records)
    if is_foreign(statistic, family_of(statistic)):
        rows = within_bounds(rows, statistic.variables)
    return statistic.measure(rows)
