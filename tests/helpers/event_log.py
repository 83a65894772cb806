"""An event log of two regimes, shared by tests of hidden Markov models."""

import jax.random as jr
import numpy as np

import dpjax as dp
from dpjax.data.levels import Variable
from dpjax.event_logs import event_network
from dpjax.statistics import NetworkCounts

LOG = (
    Variable("kind", ("a", "b", "c")),
    Variable("month", tuple(range(7, 19))),
    Variable("place", ("north", "south")),
    Variable("dead", (0, 1)),
)
NET = event_network(LOG, "place", "month")
STATISTIC = NetworkCounts(NET)


def encoded(rng, n):
    """Half of the months of `kind` a, the others of c."""
    month = rng.integers(0, 12, n)
    late = month >= 6
    kind = np.where(rng.random(n) < 0.85, 2 * late, 1)
    dead = rng.random(n) < np.where(late, 0.8, 0.1)
    return np.stack([kind, month, rng.integers(0, 2, n), dead], 1).astype(np.int32)


def columns(records):
    """A table of encoded records: a column a variable."""
    return dp.Schema(LOG).decode(records)


def released(rng, key, epsilon="50", n=2000):
    noise = dp.mechanisms.DiscreteLaplace.calibrate(
        epsilon, STATISTIC.sensitivity("replace-one")
    )
    key_noise = jr.fold_in(key, 1)  # the caller's chains have the key itself
    values = noise.sample(key_noise, STATISTIC.measure(encoded(rng, n)))
    return dp.Released(values, STATISTIC, noise, n)
