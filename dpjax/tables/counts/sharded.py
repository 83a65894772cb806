"""Counting records that are sharded over the devices of one or several machines.

Devices exchange counts, not records.
"""

__all__ = ["count_sharded", "count_whole", "gather", "sharded"]

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int32, Int64, Integer

from dpjax._types import Records
from dpjax.runtime.processes import noticing_loss
from dpjax.tables.counts.tables import count
from dpjax.tables.layout import TableLayout


def count_sharded(
    records: Records, layout: TableLayout, mesh: Mesh
) -> Int32[Array, " m"]:
    """Count the records in every table of `layout`, sharded over all devices of a mesh.

    Args:
        records: level indices, as for `count`, with fewer than 2^31 rows in total; they
            pass through the host. If the mesh spans several processes, all must call
            this, each with its own part (empty or not) of one type and number of
            columns.
        layout: the tables.
        mesh: a mesh of any shape; its size need not divide the number of records.

    Returns:
        The counts of all records on every device, equal to those of one device.

    Privacy:
        None: the counts are exact.

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
    counts = count_whole(sharded(padded, mesh), layout, mesh)
    return _without_padding(counts, np.int32(most * mesh.size - whole), layout)


@partial(jax.jit, static_argnames=("layout", "mesh"))
def count_whole(
    records: Integer[Array, "n d"], layout: TableLayout, mesh: Mesh
) -> Int32[Array, " m"]:
    """Count records that are evenly sharded over the devices of the mesh."""
    axes = mesh.axis_names

    def count_part(part: Array) -> Array:
        return lax.psum(count(part, layout), axes)

    # `check_vma` would refuse the zeros, equal on all devices, from which counts start.
    return jax.shard_map(
        count_part,
        mesh=mesh,
        in_specs=PartitionSpec(axes),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(records)


def sharded(part: np.ndarray, mesh: Mesh) -> Array:
    """Make an array over all devices of the mesh from the parts of its processes."""
    sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names))
    rows = len(part) // mesh.local_mesh.size * mesh.size
    return jax.make_array_from_process_local_data(
        sharding, part, (rows, *part.shape[1:])
    )


def gather(values: Int64[np.ndarray, " m"], mesh: Mesh) -> Int64[np.ndarray, "p m"]:
    """Gather the integers of every process of the mesh in each of them.

    They are sent as 32-bit halves, so 64-bit types need not be enabled in JAX.

    Raises:
        PeerLost: if another process stopped.
    """
    words = np.zeros((mesh.local_mesh.size, 2 * len(values)), np.uint32)
    words[0] = np.asarray(values, np.int64).view(np.uint32)
    with noticing_loss():
        everywhere = np.asarray(_replicated(sharded(words, mesh), mesh))
    owners = [device.process_index for device in mesh.devices.flat]
    firsts = [owners.index(process) for process in sorted({*owners})]
    return np.ascontiguousarray(everywhere[firsts]).view(np.int64)


@partial(jax.jit, static_argnames="mesh")
def _replicated(array: Array, mesh: Mesh) -> Array:
    return lax.with_sharding_constraint(array, NamedSharding(mesh, PartitionSpec()))


@partial(jax.jit, static_argnames="layout")
def _without_padding(counts: Array, padding: Array, layout: TableLayout) -> Array:
    """Subtract padding, whose levels 0 count in the first cell of each table."""
    firsts = np.asarray(layout.offsets[:-1], np.int32)
    return counts.at[firsts].add(-jnp.asarray(padding))
