"""Run by test_mesh.py in processes of their own, as devices are fixed once for all."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import dpjax as dp
from dpjax import _platforms
from dpjax._platforms import CPU
from dpjax.data import probabilities
from dpjax.posteriors.exact import star_predictions
from dpjax.posteriors.exact.exact_posterior import sums_of
from dpjax.posteriors.exact.windows import Windows
from dpjax.tables.counts import batches, count, count_batches, count_sharded

NET = dp.BayesNet.naive_bayes({"t": [0, 1, 2], "x": [0, 1], "y": list("abcd")}, "t")
LAYOUT = NET.layout
RECORDS = np.random.default_rng(0).integers(0, NET.sizes, (1000, 3)).astype(np.uint8)


def stars():
    """Sums over the hidden counts of a release."""
    counted = dp.statistics.NetworkCounts(NET)
    change = counted.sensitivity("replace-one")
    noise = dp.mechanisms.DiscreteLaplace.calibrate("1", change)
    released = dp.Released(counted.measure(RECORDS), counted, noise, len(RECORDS))
    prior = jnp.ones(LAYOUT.length)
    return sums_of(released, prior, Windows(1001, 64, 48)).infer()


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


def predictions():
    """Those of one device, in several blocks, without any exchange of records."""
    records = jnp.asarray(RECORDS[:992])
    sharded = NamedSharding(Mesh(np.array(jax.devices()), "a"), PartitionSpec("a"))
    _platforms.CPU = CPU._replace(numbers=1 << 13)  # several blocks of many records
    theta = LAYOUT.normalise(jnp.arange(1.0, 1 + LAYOUT.length))
    for function, *static in (
        (probabilities.predict, NET, 0),
        (probabilities.log_likelihood, NET),
        (star_predictions.predict, 0),
        (star_predictions.log_likelihood,),
    ):
        is_star = function.__module__ == star_predictions.__name__
        given = stars() if is_star else theta
        compiled = function.lower(given, jax.device_put(records, sharded), *static)
        text = compiled.compile().as_text()
        assert " while(" in text or function is probabilities.log_likelihood
        for exchange in ("all-gather", "all-reduce", "all-to-all", "collective"):
            assert exchange not in text, (function, exchange)
        found = function(given, jax.device_put(records, sharded), *static)
        assert len(found.sharding.device_set) == 8
        wanted = function(given, records, *static)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)  # rounded by shape


if __name__ == "__main__":
    eight_devices()
    predictions()
    print("equal")
