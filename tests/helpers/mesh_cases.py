"""Run by test_mesh.py in processes of their own, as devices are fixed once for all."""

import sys

import jax
import numpy as np
import pytest
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


def one_of_two_processes(address, number, folder):
    """Each has two devices, and a part of its own, of another size."""
    jax.config.update("jax_num_cpu_devices", 2)
    jax.distributed.initialize(address, 2, number)
    mesh = Mesh(np.array(jax.devices()), "a")
    assert mesh.is_multi_process
    batches._MOST_ROWS = 60
    for n, cut in ((1000, 337), (7, 7), (0, 0)):
        exact = counts(RECORDS[:n])
        own = RECORDS[:n][:cut] if number == 0 else RECORDS[:n][cut:]
        np.testing.assert_array_equal(count_sharded(own, LAYOUT, mesh), exact)
        counted = count_batches(np.array_split(own, 3), LAYOUT, mesh=mesh)
        np.testing.assert_array_equal(counted, exact)
    large = count_batches([own], LAYOUT, mesh=mesh) + 2**40  # words above the 32nd bit
    both = batches._total_of_processes(lambda: large, LAYOUT.length, mesh)
    np.testing.assert_array_equal(both, np.full(LAYOUT.length, 2**41))
    exact = counts(RECORDS)
    for source in (folder, (x for x in np.array_split(RECORDS, 7))):
        counted = dp.statistics.exact_counts(NET, source, families="all", mesh=mesh)
        np.testing.assert_array_equal(counted, exact)
    _failure_in_one(number, mesh)


def _failure_in_one(number, mesh):
    """The other one is told, rather than left to wait."""
    bad = [RECORDS, np.full((1, 3), 9, np.uint8)]  # the second is that of process 1
    told = (RuntimeError, "process 1 failed")
    refused = (ValueError, "must hold indices of levels")
    error, message = (told, refused)[number]
    with pytest.raises(error, match=message):
        dp.statistics.exact_counts(NET, bad, mesh=mesh)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        eight_devices()
    else:
        one_of_two_processes(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    print("equal")
