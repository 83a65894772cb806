"""Small and random networks that several tests share."""

from functools import partial

import jax
import numpy as np

from dpjax import BayesNet

TINY = {
    "coin": BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []}),
    "two roots": BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": []}),
    "chain": BayesNet.from_parents(
        {"x": [0, 1], "y": ["a", "b", "c"]}, {"y": ["x"], "x": []}
    ),
    "naive Bayes": BayesNet.naive_bayes({"t": [0, 1], "a": [0, 1], "b": [0, 1]}, "t"),
    "collider": BayesNet.from_parents(
        {"a": [0, 1], "b": [0, 1], "c": [0, 1]}, {"c": ["a", "b"]}
    ),
}


def random_network(rng, variables=6, most_parents=3, most_levels=4):
    """A random graph in a random order of its variables."""
    levels = {
        f"v{i}": list(range(rng.integers(2, most_levels + 1))) for i in range(variables)
    }
    order = rng.permutation(variables)
    parents = {}
    for place, i in enumerate(order):
        size = min(place, int(rng.integers(0, most_parents + 1)))
        parents[f"v{i}"] = [f"v{j}" for j in rng.choice(order[:place], size, False)]
    return BayesNet.from_parents(levels, parents)


def random_records(rng, net, n):
    return rng.integers(0, np.array(net.sizes), (n, len(net.sizes))).astype(np.uint8)


@partial(jax.jit, static_argnames="statistic")
def measure(statistic, records):
    """The exact statistic, compiled as one program."""
    return statistic.measure(records)


@partial(jax.jit, static_argnames="statistic")
def tables(statistic, vector, n=None):
    """Its tables, compiled as one program."""
    return statistic.tables(vector, n)
