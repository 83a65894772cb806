"""Counts of many batches, and of records sharded over the devices of a machine.

Counts are 32-bit on a device, with 64-bit sums on the host. Devices exchange counts,
not records.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, ArrayLike, Int32, Int64, Integer, Real

from dpjax._types import Records
from dpjax.tables.counts.tables import count
from dpjax.tables.layout import TableLayout

_ENTRIES = 1 << 21  # of a block: few calls, little memory and little padding
_MOST_ROWS = 1 << 18


class Total(NamedTuple):
    """Sums over all records (`values`, 64-bit) and the number of `records`."""

    values: Int64[np.ndarray, " m"]
    records: int


def count_batches(
    batches: Iterable[Integer[ArrayLike, "_ d"]],
    layout: TableLayout,
    *,
    mesh: Mesh | None = None,
) -> Int64[np.ndarray, " m"]:
    """Count the records of many batches; counts are exact, also beyond 2^31 records.

    Batches are joined into blocks of equal size, so that one compiled program counts
    all blocks. The next batch is read while a block is counted.

    Args:
        batches: matrices of level indices, as for `count`, with any numbers of rows.
        layout: groups of variables; the result holds one table for each group.
        mesh: devices of this process over which each block is sharded; None means the
            default device.

    Privacy:
        The counts are exact, so they are not private.

    Raises:
        ValueError: if a batch does not have one column of integers for each variable,
            or the mesh has devices of other processes.
    """
    if mesh is None:
        return sum_batches(partial(count, layout=layout), batches, layout.length).values
    check_mesh(mesh)

    def measure(block: np.ndarray) -> Any:
        return _count_whole(_sharded(block, mesh), layout, mesh)

    return sum_batches(measure, batches, layout.length, mesh.size).values


def check_mesh(mesh: Mesh) -> None:
    """Raise `ValueError` unless `mesh` is one of devices of this process."""
    if not isinstance(mesh, Mesh):
        raise ValueError(
            "`mesh` must be a mesh of devices, such as `dpjax.runtime.device_mesh()`, "
            f"got {type(mesh).__name__}."
        )
    if mesh.is_multi_process:
        raise ValueError(
            "`mesh` must be of devices of one process: group the table by its columns "
            "on each machine, and give the sums with `multiplicity`."
        )


def sum_batches(
    measure: Callable[[np.ndarray], Any],
    batches: Iterable[Real[ArrayLike, "_ d"]],
    length: int,
    multiple: int = 1,
    most: int = _MOST_ROWS,
) -> Total:
    """Sum `measure` over the records of many batches.

    Args:
        measure: maps a block of records to `length` integers that are sums over
            records; 0 must be valid in every column, since it pads blocks.
        batches: matrices of level indices or numbers, with any numbers of rows.
        length: number of integers that `measure` returns.
        multiple: the number of records in a block is a multiple of this number.
        most: the largest number of records in a block, if `multiple` is 1.
    """
    values, records, running = np.zeros(length, np.int64), 0, None
    for block, filled in _blocks(batches, multiple, most):
        counted = measure(block)  # asynchronous: the host reads the next batch
        values += 0 if running is None else np.asarray(running)
        running = counted
        records += filled
        padding = len(block) - filled
        if padding:  # records of zeros, measured in a block of only such records
            alone = np.asarray(measure(np.zeros_like(block)), np.int64) // len(block)
            values -= padding * alone
    values += 0 if running is None else np.asarray(running)
    return Total(values, records)


def _blocks(
    batches: Iterable[ArrayLike], multiple: int, most: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield blocks of one size, padded with zeros, and their numbers of records.

    There is a block even if there are no records, so that the programs that are
    compiled do not depend on it.
    """
    block, filled, is_first = np.empty((0, 0)), 0, True
    for batch in batches:
        records = np.asarray(batch)
        same = records.shape[1:] == block.shape[1:] and records.dtype == block.dtype
        if not same:
            if filled:
                yield block, filled
                is_first = False
            block, filled = _new_block(records, multiple, most), 0
        while len(records):
            part = records[: len(block) - filled]
            block[filled : filled + len(part)] = part
            filled, records = filled + len(part), records[len(part) :]
            if filled == len(block):
                yield block, filled  # the device may use its memory from now on
                block, filled, is_first = np.zeros_like(block), 0, False
    if filled or (is_first and len(block)):
        yield block, filled


def _new_block(records: np.ndarray, multiple: int, most: int) -> np.ndarray:
    width = max(1, math.prod(records.shape[1:]))
    rows = min(most, max(1, _ENTRIES // width))
    return np.zeros(
        (-(-rows // multiple) * multiple, *records.shape[1:]), records.dtype
    )


def count_sharded(
    records: Records, layout: TableLayout, mesh: Mesh
) -> Int32[Array, " m"]:
    """Count the records in every table of `layout`, sharded over all devices of a mesh.

    Args:
        records: level indices, as for `count`, with fewer than 2^31 rows, which pass
            through the host.
        layout: groups of variables; the result holds one table for each group.
        mesh: devices of this process, in a mesh of any shape and size.

    Returns:
        The counts of all records, on every device, in one flat vector.

    Privacy:
        The counts are exact, so they are not private.

    Raises:
        ValueError: if the records do not have one column of integers for each variable,
            or the mesh has devices of other processes.
    """
    check_mesh(mesh)
    part = np.asarray(records)
    padding = -len(part) % mesh.size
    padded = np.zeros((len(part) + padding, *part.shape[1:]), part.dtype)
    padded[: len(part)] = part
    counts = _count_whole(_sharded(padded, mesh), layout, mesh)
    return _without_padding(counts, np.int32(padding), layout)


@partial(jax.jit, static_argnames=("layout", "mesh"))
def _count_whole(
    records: Integer[Array, "n d"], layout: TableLayout, mesh: Mesh
) -> Int32[Array, " m"]:
    """Count records that are evenly sharded over the devices of the mesh."""
    axes = mesh.axis_names

    def count_part(part: Array) -> Array:
        return lax.psum(count(part, layout), axes)

    # `check_vma` would refuse the initial zeros of counts, equal on all devices.
    return jax.shard_map(
        count_part,
        mesh=mesh,
        in_specs=PartitionSpec(axes),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(records)


def _sharded(part: np.ndarray, mesh: Mesh) -> Array:
    """Spread the rows over all devices of the mesh."""
    return jax.device_put(part, NamedSharding(mesh, PartitionSpec(mesh.axis_names)))


@partial(jax.jit, static_argnames="layout")
def _without_padding(counts: Array, padding: Array, layout: TableLayout) -> Array:
    """Subtract the padding records, of level 0, from the first cell of each table."""
    firsts = np.asarray(layout.offsets[:-1], np.int32)
    return counts.at[firsts].add(-jnp.asarray(padding))
