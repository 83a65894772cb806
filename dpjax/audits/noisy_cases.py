"""Audit cases that add noise to counts, Fourier coefficients and sums."""

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import jax
import numpy as np
from jaxtyping import Real

from dpjax.audits.exact import Law, neighbouring
from dpjax.audits.subjects import Case, Subject, cases, drawn, rows_of_noise
from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.mixed_net import MixedNet
from dpjax.families import Family, Gaussian, Poisson
from dpjax.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    FamilyKNorm,
    KNorm,
    Laplace,
    MechanismWithLaw,
    SplitLaplace,
)
from dpjax.noise.gaussian_tables import LONGEST
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE, ZCDP, Adjacency, PureDP
from dpjax.statistics import (
    Contrasts,
    FourierCoefficients,
    MixedTotals,
    NetworkCounts,
    Statistic,
    Sufficient,
)

Pair = tuple[np.ndarray, np.ndarray]
Row = Callable[[int], Sequence[Fraction]]

_TWO = [0, 1]
NAIVE_BAYES = BayesNet.naive_bayes({"t": _TWO, "a": _TWO, "b": _TWO}, "t")
_MIXED = BayesNet.from_parents({"x": _TWO, "y": [0, 1, 2]}, {"y": ["x"], "x": []})


def worst(statistic: Statistic, pairs: Sequence[Pair]) -> Pair:
    """Return the statistics of the pair of neighbours whose statistics differ most."""
    measure = jax.jit(statistic.measure)
    measured = [
        (np.asarray(measure(one)), np.asarray(measure(other))) for one, other in pairs
    ]
    return max(measured, key=lambda pair: np.abs(pair[0] - pair[1]).sum())


def _of_records(statistic: Statistic, law_of: Callable[..., Law]) -> Callable[..., Law]:
    """Return the law of a release of records, given that of exact numbers."""
    measure, known = jax.jit(statistic.measure), cache(law_of)
    return lambda records: known(tuple(np.asarray(measure(records)).tolist()))


def _subject(
    statistic: Statistic,
    mechanism: MechanismWithLaw,
    rows: Sequence[Row],
    pairs: Sequence[Pair],
    draws: bool = True,
) -> Subject:
    """Make the subject for a mechanism, given the law of each noisy number."""

    def law_of(exact: tuple[int, ...]) -> Law:
        return [row(value) for row, value in zip(rows, exact, strict=True)]

    law = _of_records(statistic, law_of)
    if not draws:
        return Subject(mechanism.guarantee(), law, pairs)
    pair, log_prob = worst(statistic, pairs), mechanism.log_prob
    return replace(drawn(mechanism, pair, log_prob=log_prob), law=law, pairs=pairs)


def _evenly(
    statistic: Statistic,
    epsilon: Fraction,
    adjacency: Adjacency,
    pairs: Sequence[Pair],
    draws: bool = True,
) -> Subject:
    """Make the subject for the same noise on all numbers; `draws` audits draws too."""
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    row = rows_of_noise(mechanism)
    return _subject(statistic, mechanism, [row] * statistic.length, pairs, draws)


def _counts(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    pairs = list(neighbouring(NAIVE_BAYES.sizes, 1, adjacency))
    return _evenly(NetworkCounts(NAIVE_BAYES), epsilon, adjacency, pairs)


def _gaussian(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """Gaussian noise on counts, with the ρ that ε implies or the largest there is."""
    statistic = NetworkCounts(NAIVE_BAYES)
    squared = int(statistic.squared_sensitivity(adjacency).value)
    rho = min(ZCDP.of(PureDP(epsilon, adjacency)).rho, LONGEST * squared)
    mechanism = DiscreteGaussian.of(statistic, ZCDP(rho, adjacency))
    rows = [rows_of_noise(mechanism)] * statistic.length
    pairs = list(neighbouring(NAIVE_BAYES.sizes, 1, adjacency))
    return _subject(statistic, mechanism, rows, pairs)


def _fourier(net: BayesNet, epsilon: Fraction, adjacency: Adjacency) -> Subject:
    statistic = FourierCoefficients.of_network(net, adjacency)
    pairs = list(neighbouring(net.sizes, 1, adjacency))
    draws = (net is _MIXED) == (adjacency == ADD_REMOVE)
    return _evenly(statistic, epsilon, adjacency, pairs, draws)


def _split(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    statistic = NetworkCounts(NAIVE_BAYES)
    cells = statistic.parts
    shares = dict(zip(cells, (epsilon / 4, epsilon * 3 / 4), strict=True))
    one_table = statistic.part_sensitivity(adjacency)
    mechanism = SplitLaplace.calibrate(shares, cells, one_table)
    parts = zip(mechanism.parts.values(), cells.values(), strict=True)
    rows = [row for part, size in parts for row in [rows_of_noise(part)] * size]
    pairs = list(neighbouring(NAIVE_BAYES.sizes, 1, adjacency))
    return _subject(statistic, mechanism, rows, pairs, adjacency == REPLACE_ONE)


def _k_norm(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    statistic = Contrasts.of_network(NAIVE_BAYES, adjacency)
    mechanism = KNorm.of(statistic, PureDP(epsilon, adjacency))
    return _jointly(mechanism, list(neighbouring(NAIVE_BAYES.sizes, 1, adjacency)), 1)


def _k_norm_sums(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    variables = (Interval("x", -1.0, 1.0),)
    statistic = Sufficient.of("gaussian", variables, adjacency, 2)
    mechanism = FamilyKNorm.of(statistic, PureDP(epsilon, adjacency))
    return _jointly(mechanism, _records((-1.0, 1.0), adjacency), 5)


def _jointly(
    mechanism: KNorm | FamilyKNorm, pairs: Sequence[Pair], reach: int
) -> Subject:
    """All outputs near 0, as vectors: the noise of the numbers is dependent."""
    statistic = mechanism.statistic
    near = range(-reach, reach + 1)
    outputs = list(itertools.product(near, repeat=statistic.length))
    known = cache(mechanism.probability)

    def law_of(exact: tuple[int, ...]) -> Law:
        shifted = (tuple(map(operator.sub, output, exact)) for output in outputs)
        row = [known(noise) for noise in shifted]
        return [[*row, 1 - sum(row)]]

    return Subject(mechanism.guarantee(), _of_records(statistic, law_of), pairs)


def _sums(
    family: Family, units: int, epsilon: Fraction, adjacency: Adjacency
) -> Subject:
    (bounds,) = family.bounds
    statistic = Sufficient(family, (Interval("x", *bounds),), adjacency, units)
    pairs = _records(bounds, adjacency)
    draws = family.dimension > 1 and adjacency == REPLACE_ONE
    return _evenly(statistic, epsilon, adjacency, pairs, draws)


def _leaf(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """Counts of a variable, and totals of a numeric leaf given its level."""
    variables = {"y": _TWO, "x": {"lower": -1, "upper": 1}}
    statistic = MixedTotals(MixedNet.naive_bayes(variables, "y"), adjacency, units=2)
    values = (-1.0, -0.5, 0.0, 0.6, 1.0, np.nan)
    rows = itertools.product((0.0, 1.0), values)
    records = [np.array([row], np.float32) for row in rows]
    return _evenly(statistic, epsilon, adjacency, _alone(records, adjacency))


def _records(bounds: tuple[float, float], adjacency: Adjacency) -> list[Pair]:
    """Return neighbours of one record with a value on a grid, at a bound, or NaN."""
    grid: Real[np.ndarray, "g 1 1"] = np.linspace(*bounds, 9, dtype=np.float32)
    records = [*grid.reshape(-1, 1, 1), np.full((1, 1), np.nan, np.float32)]
    return _alone(records, adjacency)


def _alone(records: list[np.ndarray], adjacency: Adjacency) -> list[Pair]:
    """Return the pairs of neighbours that have at most one record, of these."""
    if adjacency == REPLACE_ONE:
        return list(itertools.combinations(records, 2))
    return [(record[:0], record) for record in records]


def _simulated(epsilon: Fraction, adjacency: Adjacency) -> Subject:
    """A noisy count of 0 or 1; floats near 0 and near 1 differ in their low bits."""
    pairs = list(neighbouring((2,), 1, adjacency))
    statistic = NetworkCounts(BayesNet.from_parents({"x": _TWO}, {"x": []}))
    mechanism = Laplace(float(epsilon), statistic.sensitivity(adjacency))
    return drawn(mechanism, worst(statistic, pairs), log_prob=mechanism.log_prob)


NOISY_CASES = cases(
    "exact",
    {
        "counts": _counts,
        "split-counts": _split,
        "gaussian": _gaussian,
        "k-norm": _k_norm,
        "fourier": partial(_fourier, NAIVE_BAYES),
        "fourier-mixed": partial(_fourier, _MIXED),
        "sums-poisson": partial(_sums, Poisson(3), 3),
        "sums-gaussian": partial(_sums, Gaussian(-1.0, 1.0), 4),
        "k-norm-sums": _k_norm_sums,
        "mixed-totals": _leaf,
    },
)
"""Audit cases for discrete noise, whose releases can be published."""

SIMULATED = Case("simulated-laplace", REPLACE_ONE, "simulation", _simulated)
"""An audit case of noise in floats, whose violation an audit must find."""
