"""How accurate the mechanisms are on a network with known probabilities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import Laplace
from dpjax.posteriors import PlugInPosterior
from dpjax.statistics import NetworkCounts
from dpjax.tables.counts import count
from dpjax.tables.projection import project

# Lauritzen & Spiegelhalter (JRSS B 1988): probability of "yes", by the parents' levels
ASIA = {
    "asia": ([], 0.01),
    "smoke": ([], 0.5),
    "tub": (["asia"], [0.05, 0.01]),
    "lung": (["smoke"], [0.1, 0.01]),
    "bronc": (["smoke"], [0.6, 0.3]),
    "either": (["lung", "tub"], [[1.0, 1.0], [1.0, 0.0]]),
    "xray": (["either"], [0.98, 0.05]),
    "dysp": (["bronc", "either"], [[0.9, 0.8], [0.7, 0.1]]),
}
NET = dp.BayesNet.from_parents(
    {name: ["yes", "no"] for name in ASIA},
    {name: parents for name, (parents, _) in ASIA.items()},
)
YES = [np.asarray(ASIA[name][1]) for name in NET.names]
N, SETS = 1000, 3000


def sample(rng):
    records = np.zeros((SETS * N, len(YES)), np.uint8)
    for i in NET.order:
        chance = YES[i][tuple(records[:, j] for j in NET.parents[i])]
        records[:, i] = rng.random(SETS * N) >= chance
    return jnp.asarray(records.reshape(SETS, N, -1))


def divergence(counts):
    """KL of the posterior-mean tables from the true ones, parents weighted by truth."""
    means = PlugInPosterior.from_counts(NET, counts).mean()
    everything = np.stack(np.indices((2,) * 8), axis=-1).reshape(-1, 8)
    true, ours = 1.0, 1.0
    for i, name in enumerate(NET.names):
        columns = tuple(everything[:, j] for j in NET.families[i])
        table = np.stack([YES[i], 1 - YES[i]], axis=-1)
        true, ours = true * table[columns], ours * means[name][columns]
    seen = true > 0
    return jnp.sum(true[seen] * (jnp.log(true[seen]) - jnp.log(ours[seen])))


def mean_and_error(values):
    values = np.asarray(values, float)
    return values.mean(), values.std(ddof=1) / np.sqrt(values.size)


def noisy(statistic, key, records):
    mechanism = Laplace(1.0, statistic.sensitivity("replace-one"))
    return mechanism.sample(key, count(records, statistic.measured))


def as_printed(key, records):
    return divergence(jnp.clip(noisy(NetworkCounts(NET, "all"), key, records), 0, N))


def projected(key, records):
    statistic = NetworkCounts(NET)
    tables = project(statistic.measured, noisy(statistic, key, records), N)
    return divergence(statistic.tables(tables))


@pytest.mark.thorough
@pytest.mark.relaxed
def test_projected_maximal_families_beat_algorithm_1_on_asia(rng, key):
    """KL .116 against .070 at n = 1000 and ε = 1: a factor of 1.66.

    Measured with 4000 other data sets before this test was written. The design's .126
    against .063 are further off than chance allows.
    """
    records, keys = sample(rng), jax.random.split(key, SETS)
    printed = mean_and_error(jax.jit(jax.vmap(as_printed))(keys, records))
    ours = mean_and_error(jax.jit(jax.vmap(projected))(keys, records))
    for (mean, error), known, known_error, design in (
        (printed, 0.1155, 0.0010, 0.126),
        (ours, 0.0696, 0.0005, 0.063),
    ):
        assert abs(mean - known) < 5 * np.hypot(error, known_error)
        assert abs(mean - design) > 5 * error
    assert 1.5 < printed[0] / ours[0] < 1.8
