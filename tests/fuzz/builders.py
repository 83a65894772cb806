"""Builders of hostile files: valid ones of any size, and seeds that are altered."""

import contextlib
import dataclasses
import itertools
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

import dpjax as dp
from dpjax.mechanisms import (
    CellMass,
    DiscreteLaplace,
    FamilyPosteriorSampler,
    NetworkPosteriorSampler,
    SplitLaplace,
)
from dpjax.privacy import PureDP
from dpjax.releases import Released, file_format
from dpjax.statistics import FourierCoefficients, NetworkCounts, Sufficient
from tests.helpers import release_files

from .corpus import seeds

PRIME = (1 << 61) - 1  # numbers that it divides have one hash, all of them
ONE, ANY = "replace-one", "add-remove"


def rehashed(content: Mapping[str, Any]) -> bytes:
    """The release file of someone who knows how the hash is made."""
    document = {
        "format": "dpjax-release",
        "version": file_format.VERSION,
        "content": content,
    }
    with contextlib.suppress(RecursionError):  # a reader refuses its depth first
        document = release_files.rehashed(document)
    return json.dumps(document).encode()


def names(number: int) -> list[str]:
    return [f"v{i}" for i in range(number)]


def binary(number: int) -> dict[str, list]:
    return {name: [0, 1] for name in names(number)}


def declared_binary(number: int) -> dict[str, dict]:
    return {name: {"levels": levels} for name, levels in binary(number).items()}


def network(parents: Mapping[int, Sequence[int]], number: int) -> dp.BayesNet:
    """Of binary variables; those that `parents` leaves out have none."""
    groups = tuple(tuple(parents.get(i, ())) for i in range(number))
    variables = tuple(dp.Schema(binary(number)).values())
    return dp.BayesNet(variables, groups)


def star(s: int) -> dp.BayesNet:
    return network({i: [0] for i in range(1, s)}, s)


def chain(s: int) -> dp.BayesNet:
    return network({i: [i - 1] for i in range(1, s)}, s)


def two_parents(s: int) -> dp.BayesNet:
    return network({i: [0, 1] for i in range(2, s)}, s)


def pairs(s: int) -> dp.BayesNet:
    """A child of every two of some roots: each root is in many families."""
    roots = math.isqrt(2 * s)
    every = itertools.combinations(range(roots), 2)
    return network({roots + i: pair for i, pair in enumerate(every)}, s + roots)


def windows(s: int) -> dp.BayesNet:
    """Each variable after the five before it."""
    return network({i: range(max(i - 5, 0), i) for i in range(s)}, s)


def tangled(s: int, parents: int = 3) -> dp.BayesNet:
    """Parents at random: no order of elimination is a good one."""
    rng = random.Random(s)
    return network({i: rng.sample(range(i), min(i, parents)) for i in range(s)}, s)


def lattice(s: int, width: int = 12) -> dp.BayesNet:
    """A grid of so many columns: every elimination has a large scope."""
    above = {i: [i - width] if i >= width else [] for i in range(s)}
    return network({i: above[i] + ([i - 1] if i % width else []) for i in above}, s)


def with_zeros(net: dp.BayesNet) -> dp.BayesNet:
    """With a combination of each variable and each of its parents."""
    pairs = ((i, p) for i, group in enumerate(net.parents) for p in group)
    zeros = tuple(((p, (0,)), (i, (0,))) for i, p in pairs)
    return dp.BayesNet(net.variables, net.parents, zeros)


def released(statistic, mechanism, values=None, n=5, rows=1) -> bytes:
    n = n if mechanism.adjacency == ONE else None
    if values is None:
        values = np.zeros(statistic.length, np.int32)
    values = jnp.asarray(values, jnp.int32)
    made = Released(values, statistic, mechanism, n, contributions=rows)
    return made.to_text().encode()


def noisy(statistic, adjacency=ONE) -> bytes:
    noise = DiscreteLaplace.calibrate("1", statistic.sensitivity(adjacency))
    return released(statistic, noise)


def counts(net: dp.BayesNet) -> bytes:
    """A valid release, of a budget in proportion: noise has a least scale."""
    return noisy(NetworkCounts(net, "all"))


def maximal(net: dp.BayesNet) -> bytes:
    return noisy(NetworkCounts(net))


def fourier(net: dp.BayesNet) -> bytes:
    return noisy(FourierCoefficients.of_network(net, ONE))


def of_order(sizes: Sequence[int], order: int) -> bytes:
    levels = {f"v{i}": list(range(size)) for i, size in enumerate(sizes)}
    variables = tuple(dp.Schema(levels).values())
    return noisy(FourierCoefficients(variables, ONE, order=order))


def late(data: bytes) -> bytes:
    """The same, but for the last thing that is looked at."""
    content = json.loads(data)["content"]
    return rehashed({**content, "library": "x" * 41})


def altered(seed: str, changes: Callable[[int], Mapping[str, Any]]):
    """A seed with entries, named by paths, that grow."""

    def make(s: int) -> bytes:
        content = json.loads(seeds("release")[f"{seed}.json"])["content"]
        for path, value in changes(s).items():
            *place, last = path.split(".")
            entry = content
            for key in place:
                entry = entry[key]
            entry[last] = value
        return rehashed(content)

    return make


def split(budgets: Callable[[int], Sequence[Fraction]]) -> Callable[[int], bytes]:
    def make(s: int) -> bytes:
        statistic = NetworkCounts(star(s + 1))
        shares = dict(zip(statistic.parts, budgets(s), strict=True))
        one = statistic.part_sensitivity(ONE)
        noise = SplitLaplace.calibrate(shares, statistic.parts, one)
        return released(statistic, noise)

    return make


def coprime(s: int) -> bytes:
    """Budgets whose sum is a fraction as long as all of them together."""
    content = json.loads(split(lambda s: [Fraction(1, 4)] * s)(s))["content"]
    rng = random.Random(s)
    for part in content["mechanism"]["parts"]:
        part["epsilon"] = f"{rng.getrandbits(80)}/{rng.getrandbits(90) | 1 << 89}"
    return rehashed(content)


def samples(net: dp.BayesNet, number: int = 1, **options) -> bytes:
    statistic = NetworkCounts(net, "all")
    options = {"omega": "0.1", "units": 50, "samples": number, **options}
    mechanism = NetworkPosteriorSampler.posterior(statistic.layout, "1", ANY, **options)
    row = [options["units"] // 2] * 2
    values = np.tile(row, (number, statistic.length // 2))
    return released(statistic, mechanism, values)


def many_levels(s: int) -> bytes:
    """The MAP of variables of 2, 3, 4, … levels."""
    sizes = range(2, 2 + math.isqrt(2 * s))
    schema = dp.Schema({f"v{size}": list(range(size)) for size in sizes})
    net = dp.BayesNet.from_parents(schema, {name: [] for name in schema})
    statistic = NetworkCounts(net, "all")
    mechanism = NetworkPosteriorSampler.map(statistic.layout, "1", ANY, units=4096)
    least = [grid.least for grid, _ in mechanism.grids]
    rows = [
        [4096 - (size - 1) * low] + [low] * (size - 1)
        for size, low in zip(sizes, least, strict=True)
    ]
    return released(statistic, mechanism, np.concatenate(rows)[None])


def numbers(s: int) -> dict[str, dict]:
    return {name: {"lower": 0, "upper": 1} for name in names(s)}


def moments(family: str):
    def make(s: int) -> bytes:
        variables = tuple(dp.Schema(numbers(math.isqrt(s))).values())
        return noisy(Sufficient.of(family, variables, ONE))

    return make


def categorical(s: int) -> bytes:
    variables = tuple(dp.Schema({"x": list(range(s))}).values())
    return noisy(Sufficient.of("categorical", variables, ANY), ANY)


def declared(levels: Callable[[int], Sequence]) -> Callable[[int], bytes]:
    def make(s: int) -> bytes:
        return json.dumps({"variables": {"x": {"levels": levels(s)}}}).encode()

    return make


def with_levels(levels: Callable[[int], Sequence]) -> Callable[[int], bytes]:
    """A release of one table, of so many levels."""
    return lambda s: counts(dp.BayesNet.from_parents({"x": levels(s)}, {"x": []}))


def with_name(s: int) -> bytes:
    """A release whose one variable has a long name."""
    return counts(dp.BayesNet.from_parents({"x" * s: [0, 1]}, {"x" * s: []}))


def structure(net: Callable[[int], dp.BayesNet]) -> Callable[[int], bytes]:
    return lambda s: json.dumps({"parents": net(s).parent_names()}).encode()


def cycle(s: int) -> dict[str, list[str]]:
    return {f"v{i}": [f"v{(i + 1) % s}"] for i in range(s)}


def bif(parents: Mapping[str, Sequence[str]], states: int = 2) -> bytes:
    listed = ", ".join(f"s{i}" for i in range(states))
    blocks = [
        f"variable {x} {{ type discrete [ {states} ] {{ {listed} }}; }}"
        for x in parents
    ]
    blocks += [
        f"probability ( {x} | {', '.join(given)} ) {{ table 1; }}"
        if given
        else f"probability ( {x} ) {{ table 1; }}"
        for x, given in parents.items()
    ]
    return "\n".join(blocks).encode()


def nested(s: int) -> list:
    """Lists of lists, wide and as deep as may be."""
    deep = []
    for _ in range(400):
        deep = [deep]
    return [deep] * (s // 800)


def levels_of(kind: Callable[[int], Any]) -> Callable[[int], list]:
    return lambda s: [kind(i) for i in range(s)]


def full(s: int) -> dp.BayesNet:
    """One table of about so many cells."""
    number = max(s.bit_length() - 1, 2)
    return network({number - 1: range(number - 1)}, number)


def cells(units: int, levels: int, prior: str = "1") -> bytes:
    net = dp.BayesNet.from_parents({"x": list(range(levels))}, {"x": []})
    statistic = NetworkCounts(net, "all")
    options = {"omega": f"1/{units}", "units": units, "prior": prior}
    mechanism = CellMass.calibrate(statistic.layout, "1", ONE, **options)
    row = [units - levels + 1] + [1] * (levels - 1)
    return released(statistic, mechanism, np.array(row))


def fine(n: int, temperature: str = "100") -> bytes:
    """Samples of rows with as many units as there may be."""
    statistic = NetworkCounts(star(2), "all")
    mechanism = NetworkPosteriorSampler.posterior(
        statistic.layout, "1e25", ONE, n=n, omega="1/4096", units=4096,
        temperature=temperature, prior="1.7",
    )  # fmt: skip
    mechanism = dataclasses.replace(mechanism, cost=PureDP(Fraction(10**25), ONE))
    return released(statistic, mechanism, np.array([[2048] * 6]), n=n)


def rates(points: int, temperature: str = "10") -> bytes:
    variables = tuple(dp.Schema({"x": {"lower": 0, "upper": 120}}).values())
    statistic = Sufficient.of("poisson", variables, ONE)
    mechanism = FamilyPosteriorSampler.calibrate(
        statistic.family, statistic.steps, statistic.lowest, "1e25", ONE, n=100,
        truncation={"rate": (1.0, 99.0)}, temperature=temperature, points=points,
    )  # fmt: skip
    mechanism = dataclasses.replace(mechanism, cost=PureDP(Fraction(10**25), ONE))
    return released(statistic, mechanism, np.array([[0]]), n=100)
