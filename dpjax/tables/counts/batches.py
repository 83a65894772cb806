"""Counts of many batches, and of records sharded over the devices of many machines.

Counts are 32-bit on a device, with 64-bit sums on the host. Devices exchange counts,
not records.
"""

__all__ = ["Total", "count_batches", "count_sharded", "gather", "sum_batches"]

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, ArrayLike, Int32, Int64, Integer

from dpjax._types import Records
from dpjax.runtime.processes import noticing_loss
from dpjax.tables.counts.tables import count
from dpjax.tables.layout import TableLayout

_ENTRIES = 1 << 22  # of a block: few calls, and little memory
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
        mesh: devices over which each block is sharded; None means the default device.
            If the mesh spans several processes, each process must call this function
            with its own batches; the result is then the total over all processes.

    Privacy:
        The counts are exact, so they are not private.

    Raises:
        ValueError: if a batch does not have one column of integers for each variable.
        RuntimeError: if another process fails; its subclass `PeerLost` if it died.
    """
    if mesh is None:
        return sum_batches(partial(count, layout=layout), batches, layout.length).values
    here = mesh.local_mesh

    def measure(block: np.ndarray) -> Any:
        return _count_whole(_sharded(block, here), layout, here)

    def total() -> np.ndarray:
        return sum_batches(measure, batches, layout.length, here.size).values

    if not mesh.is_multi_process:
        return total()
    return _total_of_processes(total, layout.length, mesh)


def sum_batches(
    measure: Callable[[np.ndarray], Any],
    batches: Iterable[Integer[ArrayLike, "_ d"]],
    length: int,
    multiple: int = 1,
) -> Total:
    """Sum `measure` over the records of many batches.

    Args:
        measure: maps a block of records to `length` integers that are sums over
            records; level 0 must be valid in every column, since it pads blocks.
        batches: matrices of level indices, with any numbers of rows.
        length: number of integers that `measure` returns.
        multiple: the number of records in a block is a multiple of this number.
    """
    values, records, running = np.zeros(length, np.int64), 0, None
    for block, filled in _blocks(batches, multiple):
        counted = measure(block)  # asynchronous: the host reads the next batch
        values += 0 if running is None else np.asarray(running)
        running = counted
        records += filled
        padding = len(block) - filled
        if padding:  # records of level 0, measured in a block of only such records
            alone = np.asarray(measure(np.zeros_like(block)), np.int64) // len(block)
            values -= padding * alone
    values += 0 if running is None else np.asarray(running)
    return Total(values, records)


def _blocks(
    batches: Iterable[ArrayLike], multiple: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield blocks of one size, padded with level 0, and their numbers of records."""
    block, filled = np.empty((0, 0)), 0
    for batch in batches:
        records = np.asarray(batch)
        same = records.shape[1:] == block.shape[1:] and records.dtype == block.dtype
        if not same:
            if filled:
                yield block, filled
            block, filled = _new_block(records, multiple), 0
        while len(records):
            part = records[: len(block) - filled]
            block[filled : filled + len(part)] = part
            filled, records = filled + len(part), records[len(part) :]
            if filled == len(block):
                yield block, filled  # the device may use its memory from now on
                block, filled = np.zeros_like(block), 0
    if filled:
        yield block, filled


def _new_block(records: np.ndarray, multiple: int) -> np.ndarray:
    width = max(1, math.prod(records.shape[1:]))
    rows = min(_MOST_ROWS, max(1, _ENTRIES // width))
    return np.zeros(
        (-(-rows // multiple) * multiple, *records.shape[1:]), records.dtype
    )


def _total_of_processes(
    total: Callable[[], np.ndarray], length: int, mesh: Mesh
) -> Int64[np.ndarray, " m"]:
    """Return the sum over processes; if one fails, all raise errors and none waits."""
    failure = None
    own = np.zeros(length + 1, np.int64)
    try:
        own[:-1] = total()
    except Exception as error:  # raised below, after the others are informed
        failure = error
        own[-1] = 1
    everywhere = gather(own, mesh)
    if failure is not None:
        raise failure
    failed = np.flatnonzero(everywhere[:, -1])
    if failed.size:
        raise RuntimeError(
            "`batches` must be valid in every process, but process "
            f"{failed[0]} failed: see its error."
        )
    return everywhere[:, :-1].sum(axis=0)


def count_sharded(
    records: Records, layout: TableLayout, mesh: Mesh
) -> Int32[Array, " m"]:
    """Count the records in every table of `layout`, sharded over all devices of a mesh.

    Args:
        records: level indices, as for `count`, with fewer than 2^31 rows in total,
            which pass through the host. If the mesh spans several processes, each
            process must call this function with its own records, possibly none; the
            dtype and number of columns must be equal in all processes.
        layout: groups of variables; the result holds one table for each group.
        mesh: a mesh of any shape; its size need not divide the number of records.

    Returns:
        The counts of all records, on every device, in one flat vector.

    Privacy:
        The counts are exact, so they are not private.

    Raises:
        ValueError: if the records do not have one column of integers for each variable.
        PeerLost: if another process of the mesh died before it counted.
    """
    part = np.asarray(records)
    here = mesh.local_mesh.size
    rows = int(-(-len(part) // here))
    most, whole = rows, len(part)
    if mesh.is_multi_process:
        sizes = gather(np.array([rows, len(part)]), mesh)
        most, whole = int(sizes[:, 0].max()), int(sizes[:, 1].sum())
    padded = np.zeros((most * here, *part.shape[1:]), part.dtype)
    padded[: len(part)] = part
    counts = _count_whole(_sharded(padded, mesh), layout, mesh)
    return _without_padding(counts, np.int32(most * mesh.size - whole), layout)


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
    """Make an array over all devices of the mesh from the parts of its processes."""
    sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names))
    rows = len(part) // mesh.local_mesh.size * mesh.size
    return jax.make_array_from_process_local_data(
        sharding, part, (rows, *part.shape[1:])
    )


def gather(values: Int64[np.ndarray, " m"], mesh: Mesh) -> Int64[np.ndarray, "p m"]:
    """Return, in each process of the mesh, a matrix with one row for each process.

    A row holds the `values` of a process. They are sent as 32-bit halves, so that JAX's
    64-bit types need not be enabled.

    Raises:
        PeerLost: if another process stopped.
    """
    words = np.zeros((mesh.local_mesh.size, 2 * len(values)), np.uint32)
    words[0] = np.asarray(values, np.int64).view(np.uint32)
    with noticing_loss():
        everywhere = np.asarray(_replicated(_sharded(words, mesh), mesh))
    owners = [device.process_index for device in mesh.devices.flat]
    firsts = [owners.index(process) for process in sorted({*owners})]
    return np.ascontiguousarray(everywhere[firsts]).view(np.int64)


@partial(jax.jit, static_argnames="mesh")
def _replicated(array: Array, mesh: Mesh) -> Array:
    return lax.with_sharding_constraint(array, NamedSharding(mesh, PartitionSpec()))


@partial(jax.jit, static_argnames="layout")
def _without_padding(counts: Array, padding: Array, layout: TableLayout) -> Array:
    """Subtract the padding records, of level 0, from the first cell of each table."""
    firsts = np.asarray(layout.offsets[:-1], np.int32)
    return counts.at[firsts].add(-jnp.asarray(padding))
