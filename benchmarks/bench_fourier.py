"""Which release of a network's families is most accurate at equal ε?

Replace-one, n public. The error of the marginals is the mean over families of the L1
distance between clamped and true counts, over n; that of the model is the KL divergence
of the posterior-mean rows from the true ones, each row weighted by the probability of
its parents' configuration, summed. Every method sees the same data sets.
"""

import argparse
import itertools
import json
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.scipy.special import xlogy
from opt_einsum import contract

from dpjax._documents import read_text
from dpjax.data.bayes_net import BayesNet
from dpjax.noise import laplace
from dpjax.noise.keys import study_key
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.statistics.base import Statistic
from dpjax.tables.fourier_basis import raise_total
from dpjax.tables.projection import project

RECORDS = 1000
EPSILONS = (0.1, 1.0, 10.0)
FILES = ("asia", "sachs", "child", "alarm")
COLUMNS = ("network", "method", "change", "epsilon", "l1", "kl", "kl_difference")
_BLOCK = re.compile(r"probability\s*\(\s*([^\s|)]+)[^)]*\)\s*{([^}]*)}")
_ROW = re.compile(r"(?:table|\(([^()]*)\))\s*([^;()]+);")


@dataclass(frozen=True, eq=False)
class Method:
    """Noise of scale `change` / ε; total raised by `increment` / ε once rebuilt."""

    name: str
    statistic: Statistic
    change: int
    rebuild: Callable
    increment: float = 0.0


@dataclass(frozen=True, eq=False)
class Truth:
    """A network with its probability tables and the families' law, laid out alike."""

    net: BayesNet
    theta: np.ndarray
    joint: np.ndarray

    @classmethod
    def of(cls, net: BayesNet, tables: list[np.ndarray]) -> "Truth":
        """With the exact law of each family, by variable elimination."""
        terms = [*itertools.chain(*zip(tables, net.families, strict=True))]
        laws = [contract(*terms, f, optimize="greedy") for f in net.families]
        flat = (np.concatenate([x.ravel() for x in many]) for many in (tables, laws))
        return cls(net, *flat)


def methods(net: BayesNet) -> list[Method]:
    """All that apply: the paper's Algorithm 2 is for binary variables only."""
    every, maximal = NetworkCounts(net, "all"), NetworkCounts(net, "maximal")
    printed = FourierCoefficients.of_network(net, ADD_REMOVE)  # measures all of N
    tight = FourierCoefficients.of_network(net, REPLACE_ONE)
    number = len(printed.closure)

    def projected(vector):
        return maximal.tables(project(maximal.measured, vector, RECORDS))

    def change(statistic):
        return statistic.sensitivity(REPLACE_ONE).value

    algorithm_2 = [
        Method(name, printed, 2 * number, printed.tables, 4 * t * number**2)
        for name, t in (("Algorithm 2", 0), ("same, 90 % stealth", 2.3))
    ]
    return [
        Method("Algorithm 1", every, change(every), every.tables),
        Method("maximal + projection", maximal, change(maximal), projected),
        *(algorithm_2 if set(net.sizes) == {2} else []),
        Method("tight Fourier", tight, change(tight), partial(tight.tables, n=RECORDS)),
    ]


@partial(jax.jit, static_argnums=(0, 1))
def errors(method: Method, truth: Truth, keys, data, epsilons):
    """L1 and KL of each data set at each ε, one row an ε: one compiled call."""
    net = truth.net

    def of_one(key, records, epsilon):
        exact = method.statistic.measure(records)
        noise = laplace.sample(key, method.change / epsilon, exact.shape)
        increment = method.increment / epsilon
        counts = method.rebuild(exact.astype(float) + noise)
        counts = raise_total(net.layout, counts, increment)
        counts = jnp.clip(counts, 0, RECORDS + increment)
        distance = jnp.abs(counts - NetworkCounts(net, "all").measure(records)).sum()
        return distance / (len(net.families) * RECORDS), divergence(truth, counts)

    of_data = jax.vmap(of_one, (0, 0, None))
    return lax.map(lambda epsilon: of_data(keys, data, epsilon), epsilons)


def divergence(truth: Truth, counts):
    """KL of the posterior mean under prior 1 from the true tables."""
    mean = (1 + counts) / truth.net.layout.row_sums(1 + counts)
    return jnp.sum(xlogy(truth.joint, truth.theta / mean))


def draw(truth: Truth, sets: int, seed: int, records: int = RECORDS) -> jax.Array:
    """Data sets by ancestry: (sets, records, variables)."""
    net, generator = truth.net, np.random.default_rng(seed)
    tables = [np.asarray(table) for table in net.layout.split(truth.theta)]
    data = np.zeros((sets, records, len(tables)), np.int32)
    for i in net.order:
        laws = tables[i][tuple(data[..., j] for j in net.parents[i])]
        above = generator.random((sets, records, 1)) >= np.cumsum(laws, axis=-1)
        data[..., i] = np.minimum(above.sum(axis=-1), net.sizes[i] - 1)
    return jnp.asarray(data)


def generated() -> Truth:
    """Naive Bayes with 16 attributes, its probabilities drawn from the uniform law."""
    levels = {name: [0, 1] for name in ("class", *(f"x{i}" for i in range(1, 17)))}
    net, generator = BayesNet.naive_bayes(levels, "class"), np.random.default_rng(16)
    second = [generator.random(net.layout.shape(f)[:-1]) for f in net.families]
    return Truth.of(net, [np.stack([1 - p, p], axis=-1) for p in second])


def read(path: pathlib.Path) -> Truth:
    """A network and its probability tables, from BIF with a row a configuration."""
    net, tables = BayesNet.from_bif(path), {}
    for name, rows in _BLOCK.findall(read_text(path, "network")):
        i = net.index(name)
        table = np.full(net.layout.shape(net.families[i]), np.nan)
        for states, numbers in _ROW.findall(rows):
            given = [state.strip() for state in states.split(",")] if states else []
            pairs = zip(net.parents[i], given, strict=True)
            place = tuple(net.variables[j].match(state) for j, state in pairs)
            table[place] = [float(number) for number in numbers.split(",")]
        tables[i] = table / table.sum(axis=-1, keepdims=True)
    truth = Truth.of(net, [tables[i] for i in range(len(net.names))])
    if np.isnan(truth.theta).any():
        raise ValueError(f"{path} must give a row for every configuration of parents.")
    return truth


def study(name: str, truth: Truth, sets: int) -> list[dict]:
    """Print and return means, their standard errors and paired differences."""
    net, every = truth.net, NetworkCounts(truth.net, "all")
    data, keys = draw(truth, sets, seed=1), jr.split(study_key(0), sets)
    best = jax.vmap(lambda records: divergence(truth, every.measure(records)))(data)
    print(f"\n{name}: {len(net.names)} variables, KL without noise {best.mean():.4f}")
    print(f"{'method':<21}{'Δ':>5}{'ε':>6}{'L1':>19}{'KL':>19}{'KL - Algorithm 1':>19}")
    rows, reference = [], None
    for method in methods(net):
        l1, kl = errors(method, truth, keys, data, jnp.asarray(EPSILONS))
        reference = kl if reference is None else reference
        columns = np.stack([l1, kl, kl - reference], axis=1)
        spread = columns.std(axis=-1, ddof=1) / np.sqrt(sets)
        found = np.stack([columns.mean(axis=-1), spread], axis=-1).tolist()
        for epsilon, numbers in zip(EPSILONS, found, strict=True):
            values = (name, method.name, method.change, epsilon, *numbers)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
            shown = (f"{mean:.4f} ± {error:.4f}".rjust(19) for mean, error in numbers)
            print(f"{method.name:<21}{method.change:>5}{epsilon:>6}", *shown, sep="")
    return rows


def main() -> None:
    """Study every network that can be had; write what was found if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=pathlib.Path, help="folder of NAME.bif.gz")
    parser.add_argument("--sets", type=int, default=128, help="number of data sets")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file to write")
    arguments = parser.parse_args()
    print(f"n = {RECORDS}, {arguments.sets} data sets, mean ± its error; Δ = ε · scale")
    rows = study("naive Bayes (16)", generated(), arguments.sets)
    for name in FILES if arguments.networks else ():
        rows += study(name, read(arguments.networks / f"{name}.bif.gz"), arguments.sets)
    if not arguments.networks:
        print(f"\nNot run without --networks: {', '.join(FILES)}.")
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
