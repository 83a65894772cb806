"""Counting records into contingency tables on the device, exactly, in 32-bit integers.

A cacheful of records at a time.
"""

__all__ = ["check_records", "count"]

import operator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Int32

from dpjax._types import Records
from dpjax.layout import TableLayout

_CELLS_AT_ONCE = 1 << 18  # 1 MiB of addresses: stays in cache, and off the page tables


def check_records(records: ArrayLike, sizes: tuple[int, ...]) -> None:
    """Raise `ValueError` unless `records` are level indices of variables of `sizes`.

    The message never shows an index. Of records that JAX is tracing, only the form is
    checked.
    """
    _check_form(records, sizes)
    if np.shape(records)[0] == 0:
        return
    # Compared as Python integers: records may be of any width, and of any sign.
    on_host = isinstance(records, np.ndarray)
    extremes = _extremes(records) if on_host else _compiled_extremes(records)
    try:
        least, most = (np.asarray(x).tolist() for x in extremes)
    except jax.errors.TracerArrayConversionError:
        return
    valid = all(x >= 0 for x in least) and all(map(operator.lt, most, sizes))
    if not valid:
        raise ValueError(
            "`records` must hold indices of levels, each at least 0 and below the "
            "variable's number of levels: encode them with the schema."
        )


def _extremes(records: ArrayLike) -> tuple[Any, Any]:
    """The smallest and the largest index of every column."""
    numpy = np if isinstance(records, np.ndarray) else jnp
    return numpy.min(records, axis=0), numpy.max(records, axis=0)


_compiled_extremes = jax.jit(_extremes)


def _check_form(records: ArrayLike, sizes: tuple[int, ...]) -> None:
    shape, dtype = np.shape(records), getattr(records, "dtype", None)
    if len(shape) != 2 or shape[1] != len(sizes):
        raise ValueError(
            f"`records` must have shape (n, {len(sizes)}), a column for each variable "
            f"of the network, got {shape}: encode them with `schema.select(net.names)`."
        )
    if dtype is None or dtype.kind not in "iu":
        raise ValueError(f"`records` must be integers, level indices, got {dtype}.")


def count(records: Records, layout: TableLayout) -> Int32[Array, " m"]:
    """Count every table of `layout` in one pass over the records.

    Args:
        records: level indices, fewer than 2^31 rows; those of column i are in
            [0, layout.sizes[i]).
        layout: static under `jit`.

    Returns:
        All tables in one flat vector; each sums to n.

    Privacy:
        None: these are the exact counts. A record touches at most one cell of each
        table, whatever integers it holds, so that no input moves the vector by more
        than its sensitivity.

    Raises:
        ValueError: if the records have not one column of integers a variable.
    """
    _check_form(records, layout.sizes)
    return _count(jnp.asarray(records), layout)


@partial(jax.jit, static_argnames="layout")
def _count(records: Array, layout: TableLayout) -> Array:
    n = records.shape[0]
    chunk = max(1, min(n, _CELLS_AT_ONCE // max(1, len(layout.groups))))
    rest = n % chunk

    def add(counts, part):
        return counts.at[layout.cells(part).reshape(-1)].add(1, mode="drop")

    def add_chunk(i, counts):
        return add(counts, lax.dynamic_slice_in_dim(records, i * chunk, chunk))

    counts = jnp.zeros(layout.length, jnp.int32)
    if n >= chunk:
        counts = lax.fori_loop(0, n // chunk, add_chunk, counts)
    return add(counts, records[n - rest :]) if rest else counts
