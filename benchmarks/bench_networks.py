"""How long do large networks take to compile?"""

import jax
import numpy as np

from benchmarks.timing import first_call
from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.random import release_key
from dpjax.statistics import FamilyCounts


def random_network(
    rng: np.random.Generator, variables: int, most_parents: int
) -> BayesNet:
    """Each variable with up to `most_parents` of the earlier ones, 2-4 levels."""
    names = [f"v{i}" for i in range(variables)]
    levels = {name: list(range(rng.integers(2, 5))) for name in names}
    parents = {}
    for i, name in enumerate(names):
        size = min(i, int(rng.integers(0, most_parents + 1)))
        parents[name] = [names[j] for j in rng.choice(i, size, replace=False)]
    return BayesNet.from_parents(levels, parents)


def compile_times(rng: np.random.Generator) -> None:
    """Counting and noise for networks of growing size; target: 10 s at 500."""
    print("first calls, compilation included")
    print(f"{'variables':>9} {'cells':>8} {'count s':>8} {'noise s':>8}")
    for variables in (8, 100, 500):
        net = random_network(rng, variables, 4)
        statistic = FamilyCounts(net)
        records = rng.integers(0, net.sizes, (1000, variables)).astype(np.uint8)
        noise = DiscreteLaplace.calibrate(1, statistic.sensitivity("add-remove"))
        exact = statistic.measure(records)
        measure, draw = (
            jax.jit(statistic.measure),
            jax.jit(lambda k, m, x: m.sample(k, x)),
        )
        counting = first_call(lambda f=measure, x=records: f(x))
        drawing = first_call(lambda f=draw, m=noise, x=exact: f(release_key(), m, x))
        print(f"{variables:>9} {statistic.length:>8} {counting:>8.2f} {drawing:>8.2f}")


if __name__ == "__main__":
    compile_times(np.random.default_rng(0))
