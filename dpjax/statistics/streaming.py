"""Exact counts of tables that need not fit in memory."""

__all__ = ["exact_counts"]

import itertools
from collections.abc import Callable, Collection, Iterable

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int64

from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.encoding import encode_batches
from dpjax.statistics.network_counts import NetworkCounts
from dpjax.tables.counts import count_batches


def exact_counts(
    net: BayesNet,
    source: Table,
    *,
    families: str = "maximal",
    ignore: str | Collection[str] = (),
    mesh: Mesh | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Int64[np.ndarray, " m"]:
    """Count a network's node tables over a source of any length, in bounded memory.

    Args:
        net: the network; its variables are the schema.
        source: any source of `Schema.encode_batches`: a Parquet, CSV or CSV.gz file, a
            folder or a list of files, an Arrow data set, table or reader, or an
            iterable of tables or of arrays of encoded records. It is read once.
        families: "maximal" or "all", as in `NetworkCounts`.
        ignore: columns outside the network to leave out; "*" for all.
        mesh: devices to count on; None: the default one. If it spans k processes, each
            calls this function with the same source, counts every k-th row group of
            Parquet files, CSV file of several, or batch of anything else, and returns
            the total.
        progress: wraps the iterable of batches, as `tqdm` does.

    Returns:
        `NetworkCounts(net, families).measure` of all records, in 64 bits, so that it is
        exact beyond 2^31 records.

    Privacy:
        None: these are the exact counts. To publish, give the source to `release`.

    Raises:
        ValueError: if the source cannot be read or does not fit the network. The
            message names the file, and the row group or row if it is known, and never
            shows a value.
        RuntimeError: in the other processes of a mesh, if one of them fails; if it
            died, `dpjax.runtime.PeerLost`.
    """
    layout = NetworkCounts(net, families).measured
    turns = None
    if mesh is not None and mesh.is_multi_process:
        processes = sorted({device.process_index for device in mesh.devices.flat})
        turns = itertools.cycle(p == jax.process_index() for p in processes)
    batches = encode_batches(source, net.variables, ignore=ignore, turns=turns)
    return count_batches(progress(batches), layout, mesh=mesh)
