"""How long do large networks take at first, compilation included?

L1 is the time of one new process from records to predictions: release, save, load,
posterior, means and standard deviations, synthetic records, predictions and
log-likelihoods of 10,000 records. Q1 is the time of a query of 10,000 records, of which
30 % of the levels are unknown.
"""

import pathlib
import tempfile
from collections.abc import Iterator
from functools import partial

import jax
import numpy as np

from benchmarks.bench_start import seconds
from benchmarks.report import Row, shown
from benchmarks.timing import first_call
from dpjax import BayesNet, posterior, release
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.keys import release_key
from dpjax.statistics import NetworkCounts

ALARM = 37  # variables
VARIABLES = {56: "hailfinder", 76: "win95pts", 223: "andes", 441: "pigs", 724: "link"}
WIDE = 1041  # variables, of more levels, like munin
PROGRAM = """
import sys
import numpy as np
import jax
import dpjax as dp
from benchmarks.bench_networks import near_network

variables, most_levels = map(int, sys.argv[1:])
random = np.random.default_rng(0)
net = near_network(random, variables, most_levels)
records = random.integers(0, net.sizes, (10_000, variables)).astype(np.uint8)
made = dp.release(net, records, epsilon=1, adjacency="add-remove")
made.save("release.json")
posterior = dp.posterior(dp.load("release.json"))
target = net.names[variables // 2]
jax.block_until_ready(
    (
        posterior.mean(),
        posterior.sd(),
        posterior.sample_records(dp.study_key(0), 10_000),
        posterior.predict_proba(records, target),
        posterior.log_likelihood(records),
    )
)
"""


def near_network(
    rng: np.random.Generator, variables: int, most_levels: int
) -> BayesNet:
    """Each variable with up to 3 of the 12 before it as parents."""
    names = [f"v{i}" for i in range(variables)]
    levels = {name: list(range(rng.integers(2, most_levels + 1))) for name in names}
    parents = {}
    for i, name in enumerate(names):
        size = min(i, int(rng.integers(0, 4)))
        near = names[max(0, i - 12) : i]
        parents[name] = list(rng.choice(near, size, replace=False)) if size else []
    return BayesNet.from_parents(levels, parents)


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


def query_times(rng: np.random.Generator) -> Iterator[Row]:
    """A query with compilation, and another without."""
    net = near_network(rng, ALARM, 4)
    records = rng.integers(0, net.sizes, (10_000, ALARM)).astype(np.int32)
    given = np.where(rng.random(records.shape) < 0.3, -1, records)
    found = posterior(release(net, records, epsilon=1, adjacency="add-remove"))
    jax.block_until_ready(found.mean())
    query = partial(found.query, net.names[ALARM // 2], given)
    case = f"{ALARM} variables of up to 4 levels, as many as alarm"
    for unit, target in (("s, with compilation", 6), ("s", 2)):
        yield Row("Q1", case, first_call(query), unit, target, at_least=False)


def end_to_end(variables: int, most_levels: int, like: str) -> Row:
    """Seconds of one new process."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = "-c", PROGRAM, str(variables), str(most_levels)
        took = seconds(run, folder, folder / "none")
    case = f"{variables} variables of up to {most_levels} levels, as many as {like}"
    return Row("L1", case, took, "s", 60, at_least=False)


def rows(full: bool = False) -> Iterator[Row]:
    """Networks of growing size, and queries."""
    for variables, like in VARIABLES.items():
        yield end_to_end(variables, 3, like)
    yield end_to_end(WIDE, 8, "munin")
    rng = np.random.default_rng(0)
    yield from query_times(rng)
    for variables in (8, 100, 500, 2000) if full else (8, 100, 500):
        yield from compile_times(rng, variables)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
