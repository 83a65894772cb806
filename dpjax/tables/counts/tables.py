"""Exact counting of records into contingency tables on a device, in 32-bit integers."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Int32

from dpjax._platforms import ACCELERATOR, TPU, Sizes, by_platform
from dpjax._types import Records
from dpjax.tables.counts.packed import (
    PackedRecords,
    check_packed,
    chunks_of,
    padded,
    unpacked,
)
from dpjax.tables.counts.plan import planned
from dpjax.tables.counts.planes import (
    chunks_of_records,
    over_chunks,
    popcounts,
    tables_of,
)
from dpjax.tables.layout import TableLayout

_LEAST_FOR_PLANES = 1 << 11  # records; with fewer, words would be mostly padding


def check_records(records: ArrayLike, sizes: Sequence[int | None]) -> None:
    """Raise `ValueError` unless `records` are level indices below `sizes`.

    `sizes` gives the number of levels of each column, or None if the column is not
    read. The message never shows an index. If the records are traced by JAX, only their
    shape and dtype are checked.
    """
    _check_form(records, sizes)
    if np.shape(records)[0] == 0:
        return
    # Python integers compare correctly for any integer type of the records.
    on_host = isinstance(records, np.ndarray)
    extremes = _extremes(records) if on_host else _compiled_extremes(records)
    try:
        least, most = (np.asarray(x).tolist() for x in extremes)
    except jax.errors.TracerArrayConversionError:
        return
    ends = zip(least, most, sizes, strict=True)
    if not all(size is None or (0 <= low and high < size) for low, high, size in ends):
        raise ValueError(
            "`records` must hold indices of levels, each at least 0 and below the "
            "variable's number of levels: encode them with the schema."
        )


def _extremes(records: ArrayLike) -> tuple[Any, Any]:
    numpy = np if isinstance(records, np.ndarray) else jnp
    return numpy.min(records, axis=0), numpy.max(records, axis=0)


_compiled_extremes = jax.jit(_extremes)


def _check_form(records: ArrayLike, sizes: Sequence[int | None]) -> None:
    shape, dtype = np.shape(records), getattr(records, "dtype", None)
    if len(shape) != 2 or shape[1] != len(sizes):
        raise ValueError(
            f"`records` must have shape (n, {len(sizes)}), with a column for each "
            f"variable, got {shape}: encode them with `schema.select(net.names)`."
        )
    masked = isinstance(records, np.ma.MaskedArray | np.matrix)
    if masked or not getattr(dtype, "isnative", True):
        raise ValueError(
            "`records` must be a plain array in the machine's byte order and without a "
            f"mask, got {type(records).__name__} of {dtype}: encode them with the "
            "schema."
        )
    if dtype is None or dtype.kind not in "iu":
        raise ValueError(f"`records` must be integers, level indices, got {dtype}.")


def count(records: Records | PackedRecords, layout: TableLayout) -> Int32[Array, " m"]:
    """Count the records in every table of `layout`.

    Small tables are counted by bit operations on many records at once, larger tables by
    adding records to cells one by one. Both give exact counts.

    Args:
        records: level indices, fewer than 2^31 rows; indices of column i are at least 0
            and below layout.sizes[i]. Or packed records, if all variables are binary.
        layout: groups of variables, static under `jit`.

    Returns:
        One table for each group, in one flat vector; each table sums to n.

    Privacy:
        The counts are exact, so they are not private. A record of any integers changes
        at most one cell of each table, so no input exceeds the sensitivity.

    Raises:
        ValueError: if the records do not have one column of integers for each variable,
            or are packed and a variable is not binary.
    """
    if isinstance(records, PackedRecords):
        check_packed(records, layout.sizes)
        return _count(records, layout)
    _check_form(records, layout.sizes)
    return _count(jnp.asarray(records), layout)


@partial(jax.jit, static_argnames="layout")
def _count(records: Array | PackedRecords, layout: TableLayout) -> Array:
    packed = isinstance(records, PackedRecords)
    words = records.planes.shape[1] if packed else len(records) // 32
    on_tpu = TPU if words > TPU.words else ACCELERATOR  # tracing takes time
    return by_platform(partial(count_in, layout=layout), records, on_tpu=on_tpu)


def count_in(
    sizes: Sizes, records: Array | PackedRecords, layout: TableLayout
) -> Array:
    """Count as `count` does, in blocks of the given sizes."""
    if isinstance(records, PackedRecords):
        return _count_packed(sizes, records, layout)
    n = records.shape[0]
    if n < _LEAST_FOR_PLANES:
        every = tuple(range(len(layout.groups)))
        counts = jnp.zeros(layout.length, jnp.int32)
        return _add_one_by_one(sizes, counts, records, layout, every)
    plan = planned(layout)
    counts = jnp.zeros(layout.length, jnp.int32)
    if plan.widths:
        chunks = chunks_of_records(sizes, records, plan.bits)
        of_subsets = popcounts(sizes, *chunks, plan.levels)
        counts = tables_of(plan, n, of_subsets, layout.length)
    return _add_one_by_one(sizes, counts, records, layout, plan.others)


def _count_packed(sizes: Sizes, records: PackedRecords, layout: TableLayout) -> Array:
    plan = planned(layout)
    of_subsets = popcounts(sizes, *chunks_of(sizes, records), plan.levels)
    counts = tables_of(plan, records.n, of_subsets, layout.length)
    if not plan.others:
        return counts
    columns = max(len(plan.others), len(layout.sizes))
    planes, chunk = padded(max(1, sizes.cells // (32 * columns)), records)

    def add(counts, start, _):
        part = unpacked(lax.dynamic_slice_in_dim(planes, start, chunk, axis=1))
        missing = 32 * start + jnp.arange(32 * chunk, dtype=jnp.int32) >= records.n
        return _added(counts, part, missing, layout, plan.others)

    return over_chunks(add, counts, planes.shape[1], chunk)


def _add_one_by_one(
    sizes: Sizes,
    counts: Array,
    records: Array,
    layout: TableLayout,
    tables: tuple[int, ...],
) -> Array:
    """Add every record to its cell in each of the given tables."""
    n = records.shape[0]
    if not tables or not n:
        return counts
    chunk = max(1, min(n, sizes.cells // len(tables)))

    def add(counts, start, skip):
        part = lax.dynamic_slice_in_dim(records, start, chunk)
        counted = jnp.arange(chunk, dtype=jnp.int32) < skip if n % chunk else None
        return _added(counts, part, counted, layout, tables)

    return over_chunks(add, counts, n, chunk)


def _added(
    counts: Array,
    records: Array,
    missing: Array | None,
    layout: TableLayout,
    tables: tuple[int, ...],
) -> Array:
    """Add records to their cells, except those that are missing.

    An invalid index is reduced to the bits that the bit planes use. If the result is
    not a level, the record has no cell. Every record thus counts as with bit planes.
    """
    bits = [(1 << (size - 1).bit_length()) - 1 for size in layout.sizes]
    levels = records.astype(jnp.int32) & np.array([bits], np.int32)
    cells = layout.cells(levels, tables)
    dropped = _without_cell(levels, layout, tables)
    if missing is not None:
        dropped = dropped | missing[:, None]
    if dropped is not False:
        cells = jnp.where(dropped, layout.length, cells)
    return counts.at[cells.reshape(-1)].add(1, mode="drop")


def _without_cell(
    levels: Array, layout: TableLayout, tables: tuple[int, ...]
) -> Bool[Array, "n f"] | bool:
    """Return which records have no cell in a table; False if all bit patterns do."""
    sizes = np.array(layout.sizes, np.int32)
    if not np.any(sizes & (sizes - 1)):
        return False
    members, strides, _ = (x[list(tables)] for x in layout.addresses)
    allowed = np.where(strides > 0, sizes[members], np.iinfo(np.int32).max)
    dropped = False
    for axis in range(members.shape[1]):
        dropped = dropped | (levels[:, members[:, axis]] >= allowed[None, :, axis])
    return dropped
