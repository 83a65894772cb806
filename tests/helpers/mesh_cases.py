"""Run by test_mesh.py in processes of their own, as devices are fixed once for all."""

import jax
import numpy as np
from jax.sharding import Mesh

import dpjax as dp
from dpjax.tables.counts import batches, count, count_batches, count_sharded

NET = dp.BayesNet.naive_bayes({"t": [0, 1, 2], "x": [0, 1], "y": list("abcd")}, "t")
LAYOUT = NET.layout
RECORDS = np.random.default_rng(0).integers(0, NET.sizes, (1000, 3)).astype(np.uint8)


def counts(records):
    """By NumPy, a table after the other."""
    cells = np.asarray(LAYOUT.cells(RECORDS))[: len(records)]
    return np.bincount(cells.ravel(), minlength=LAYOUT.length)


def eight_devices():
    """Bit-equal to one device, for meshes of any shape and any number of records."""
    jax.config.update("jax_num_cpu_devices", 8)
    devices = np.array(jax.devices())
    assert devices.size == 8
    batches._MOST_ROWS = 60  # not a multiple of 8
    line, square = Mesh(devices, "a"), Mesh(devices.reshape(2, 4), ("a", "b"))
    for n in (0, 1, 7, 8, 1000):
        records = RECORDS[:n]
        sharded = count_sharded(records, LAYOUT, square)
        assert len(sharded.sharding.device_set) == 8
        np.testing.assert_array_equal(sharded, counts(records))
        parts = np.array_split(records, 3)
        counted = count_batches(parts, LAYOUT, mesh=line)
        np.testing.assert_array_equal(counted, counts(records))
    np.testing.assert_array_equal(count(RECORDS, LAYOUT), counts(RECORDS))


if __name__ == "__main__":
    eight_devices()
    print("equal")
