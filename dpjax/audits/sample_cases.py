"""Audit cases that draw from posteriors, on public grids and in floats."""

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial

import jax.numpy as jnp
import numpy as np

from dpjax.audits.exact import Law
from dpjax.audits.subjects import EVENTS, IN_REALS, Subject, cases, drawn
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.families import (
    Family,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
)
from dpjax.mechanisms import (
    CellMass,
    FamilyPosteriorSampler,
    HiddenMarkovSampler,
    NetworkPosteriorSampler,
    PosteriorSample,
    RegressionSample,
)
from dpjax.noise.exact_choice import exponentials
from dpjax.privacy import (
    REPLACE_ONE,
    ZCDP,
    Adjacency,
    Guarantee,
    PureDP,
    budget_of,
)
from dpjax.statistics import NetworkCounts, Sufficient

_N = 20  # records
_EVENTS = 100  # in one cell of a log
_COIN = BayesNet.from_parents({"x": [0, 1]}, {"x": []})
_DIE = BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []})
_LINE = LinearRegression((-1.0,), (1.0,), (-1.0, 1.0))
_PLANE = MultivariateGaussian((-1.0, -1.0), (1.0, 1.0))
_PRECISION = 96  # bits of weights

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def _count_pairs(levels: int, adjacency: Adjacency) -> list[Pair]:
    """Return the counts of one variable for all pairs of neighbours of `_N` records."""
    size = _N - (adjacency == REPLACE_ONE)
    others = [
        counts
        for counts in itertools.product(range(size + 1), repeat=levels)
        if sum(counts) == size
    ]

    def more(counts: tuple[int, ...], level: int) -> tuple[int, ...]:
        return (*counts[:level], counts[level] + 1, *counts[level + 1 :])

    if adjacency == REPLACE_ONE:
        moves = list(itertools.combinations(range(levels), 2))
        return [(more(x, a), more(x, b)) for x in others for a, b in moves]
    return [(x, more(x, level)) for x in others for level in range(levels)]


def _of_counts(
    mechanism: NetworkPosteriorSampler | CellMass,
    law: Callable[[np.ndarray], Law],
    pairs: list[Pair],
) -> Subject:
    @cache
    def of(counts: tuple[int, ...]) -> Law:
        return law(np.array(counts))

    return Subject(mechanism.guarantee(), of, pairs)


def _grid(tempered: bool, budget: Guarantee) -> Subject:
    n = _N if budget.adjacency == REPLACE_ONE else None
    mechanism = NetworkPosteriorSampler.of(
        _COIN.layout, budget, n=n, omega="1/10", units=40, tempered_prior=tempered
    )
    pairs = _count_pairs(2, budget.adjacency)
    return _of_counts(mechanism, lambda x: mechanism.law(jnp.asarray(x)), pairs)


def _cells(budget: Guarantee) -> Subject:
    mechanism = CellMass.of(_DIE.layout, budget, omega="1/4", units=4)
    pairs = _count_pairs(3, budget.adjacency)
    return _of_counts(
        mechanism, lambda counts: [mechanism.law(jnp.asarray(counts)).tolist()], pairs
    )


def _family(family: Family, units: int, points: int, budget: Guarantee) -> Subject:
    """Neighbours have records at two corners of the bounds, and one record differs."""
    numbered, adjacency = enumerate(family.bounds), budget.adjacency
    variables = tuple(Interval(f"x{i}", *ends) for i, ends in numbered)
    statistic = Sufficient(family, variables, adjacency, units)
    mechanism = FamilyPosteriorSampler.of(
        family,
        statistic.steps,
        statistic.lowest,
        budget,
        n=_N if adjacency == REPLACE_ONE else None,
        points=points,
    )

    @cache
    def law(records: tuple[tuple[float, ...], ...]) -> Law:
        table = np.array(records, np.float32).reshape(-1, family.columns)
        totals = np.asarray(statistic.measure(table)).tolist()
        return _weights(*mechanism.scores(totals))

    pairs = [
        pair
        for ends in itertools.combinations(itertools.product(*family.bounds), 2)
        for pair in _at_ends(*ends, adjacency)
    ]
    return Subject(mechanism.guarantee(), law, pairs)


def _weights(scores: list[int], unit: Fraction) -> Law:
    """Return integer weights, none of which is 0."""
    bits = math.ceil((max(scores) - min(scores)) * unit * 3 / 2)
    return [exponentials(scores, unit, _PRECISION + bits).lower.tolist()]


def _at_ends(
    least: tuple, most: tuple, adjacency: Adjacency, records: int = _N
) -> Iterator[tuple]:
    for ones in range(records):
        others = (least,) * (records - 1 - ones) + (most,) * ones
        if adjacency == REPLACE_ONE:
            yield (*others, least), (*others, most)
        else:
            yield others, (*others, least)
            yield others, (*others, most)


def _hidden_markov(budget: Guarantee) -> Subject:
    """Neighbours have equal events in one cell, and one other event there."""
    statistic = NetworkCounts(EVENTS)
    sampler = HiddenMarkovSampler.of(statistic, budget, states=2, points=8)

    @cache
    def law(events: tuple[tuple[int, int, int], ...]) -> Law:
        records = jnp.asarray(np.array(events, np.uint8).reshape(-1, 3))
        return _weights(*sampler.scores(np.asarray(statistic.measure(records))))

    pairs = [
        pair
        for one, other in itertools.permutations(((0, 0, 0), (0, 0, 1)))
        for pair in _at_ends(one, other, budget.adjacency, _EVENTS)
    ]
    return Subject(sampler.guarantee(), law, pairs)


def _float_sample(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    at_one = PosteriorSample(_COIN.layout, 1.0, 0.2, adjacency)
    temperature = float(at_one.guarantee().bound / epsilon)
    mechanism = PosteriorSample(_COIN.layout, temperature, 0.2, adjacency)
    before = np.array([4, 0], np.int32)
    moved = [-1, 1] if adjacency == REPLACE_ONE else [0, 1]
    pair = before, before + np.array(moved, np.int32)
    return drawn(mechanism, pair, scores=IN_REALS)


def _regression(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    names = ("x", "y")
    variables = tuple(Interval(name, -1.0, 1.0) for name in names)
    statistic = Sufficient.of(
        "linear-regression", variables, adjacency, intercept=False
    )
    public = 1 if adjacency == REPLACE_ONE else None
    mechanism = RegressionSample.calibrate(
        statistic, epsilon, 1.0, radius=2.0, n=public
    )
    one, other = np.array([[[1, 1]], [[1, -1]]], np.float32)
    pair = statistic.measure(one[: public or 0]), statistic.measure(other)
    return drawn(mechanism, pair, scores=IN_REALS)


def _paid(
    make: Callable[[Guarantee], Subject],
    kind: type[Guarantee],
    epsilon: Fraction,
    adjacency: Adjacency,
) -> Subject:
    """Make a case whose mechanism spends what ε implies in a kind of guarantee."""
    return make(kind.of(budget_of(epsilon, adjacency)))


_ON_GRIDS: dict[str, Callable[[Guarantee], Subject]] = {
    "posterior-grid": partial(_grid, False),
    "map-grid": partial(_grid, True),
    "map-cells": _cells,
    "poisson-grid": partial(_family, Poisson(3), 3, 200),
    "gaussian-grid": partial(_family, GaussianMean(-1.0, 1.0, 1.0), 16, 200),
    "regression-grid": partial(_family, _LINE, 16, 7),
    "multivariate-grid": partial(_family, _PLANE, 16, 3),
    "hmm-candidates": _hidden_markov,
}
_OF_RHO = {
    "posterior-rho": "posterior-grid",
    "map-cells-rho": "map-cells",
    "poisson-rho": "poisson-grid",
    "hmm-rho": "hmm-candidates",
}

SAMPLE_CASES = (
    *cases("exact", {x: partial(_paid, make, PureDP) for x, make in _ON_GRIDS.items()}),
    *cases(
        "exact",
        {x: partial(_paid, _ON_GRIDS[name], ZCDP) for x, name in _OF_RHO.items()},
    ),
    *cases(
        "real", {"posterior-sample": _float_sample, "regression-sample": _regression}
    ),
)
"""Audit cases for samples from posteriors and for exponential mechanisms."""
