"""Counting on many devices, of one machine or of several: records are sharded.

Each device counts records of its own; the counts, not the records, travel.
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
    """Count every table of `layout`, with records sharded over all devices of a mesh.

    Args:
        records: level indices, as `count` takes them, fewer than 2^31 rows in all; they
            pass through the host. If the mesh spans several processes, each gives a
            part of its own (perhaps an empty one, of the same type and number of
            columns), and all must call this.
        layout: the tables.
        mesh: of any shape; its devices need not divide the records.

    Returns:
        The counts of all records, bit-equal to those of one device, on every device.

    Privacy:
        None: these are the exact counts.

    Raises:
        ValueError: if the records have not one column of integers a variable.
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
    """Counts of records that the devices of the mesh share evenly."""
    axes = mesh.axis_names

    def count_part(part: Array) -> Array:
        return lax.psum(count(part, layout), axes)

    # Counting starts from zeros, which are the same on all devices until it does: what
    # `check_vma` would refuse.
    return jax.shard_map(
        count_part,
        mesh=mesh,
        in_specs=PartitionSpec(axes),
        out_specs=PartitionSpec(),
        check_vma=False,
    )(records)


def sharded(part: np.ndarray, mesh: Mesh) -> Array:
    """An array over all devices of the mesh, from the parts of its processes."""
    sharding = NamedSharding(mesh, PartitionSpec(mesh.axis_names))
    rows = len(part) // mesh.local_mesh.size * mesh.size
    return jax.make_array_from_process_local_data(
        sharding, part, (rows, *part.shape[1:])
    )


def gather(values: Int64[np.ndarray, " m"], mesh: Mesh) -> Int64[np.ndarray, "p m"]:
    """The integers of every process of the mesh, in each of them.

    They travel as halves of 32 bits, whether JAX has 64 enabled or not.

    Raises:
        PeerLost: if another process is gone.
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
    """Padding was of level 0 everywhere, hence in the first cell of each table."""
    firsts = np.asarray(layout.offsets[:-1], np.int32)
    return counts.at[firsts].add(-jnp.asarray(padding))
