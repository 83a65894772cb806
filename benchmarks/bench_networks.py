"""How long do large networks take at first, compilation included?"""

from collections.abc import Iterator

import jax
import numpy as np

from benchmarks.report import Row, shown
from benchmarks.timing import first_call
from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.keys import release_key
from dpjax.statistics import NetworkCounts


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


def compile_times(rng: np.random.Generator, variables: int) -> Iterator[Row]:
    """First calls of counting and of noise, compilation included."""
    net = random_network(rng, variables, 4)
    statistic = NetworkCounts(net)
    records = rng.integers(0, net.sizes, (1000, variables)).astype(np.uint8)
    noise = DiscreteLaplace.calibrate(1, statistic.sensitivity("add-remove"))
    measure = jax.jit(statistic.measure)
    draw = jax.jit(lambda key, noise, exact: noise.sample(key, exact))
    counting = first_call(lambda: measure(records))
    exact = measure(records)
    drawing = first_call(lambda: draw(release_key(), noise, exact))
    case = f"{variables} families, {statistic.length} cells"
    target = 10 if variables == 500 else None
    for ratio, what in ((counting, "counts"), (drawing, "noise")):
        unit = f"s, first call of {what}"
        yield Row("", case, ratio, unit, target, at_least=False)


def rows(full: bool = False) -> Iterator[Row]:
    """Networks of growing size; target: 10 s at 500 families."""
    rng = np.random.default_rng(0)
    for variables in (8, 100, 500, 2000) if full else (8, 100, 500):
        yield from compile_times(rng, variables)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
