"""Privacy of sufficient statistics without chance: all changes, all outputs, exactly.

Numbers are noised on their own, so the largest loss is the sum of theirs. Statistics
are sums over records, so data sets differ as their records do: which is tested for all
data sets of at most two.
"""

import functools
import itertools
from fractions import Fraction

import jax
import numpy as np
import pytest

from dpjax.families import Categorical, Exponential, Gaussian, Poisson
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise import tables
from dpjax.privacy import Sensitivity
from tests.helpers.families import FAMILIES
from tests.helpers.neighbours import assert_spends_exactly, worst_ratio

from .test_sufficient import BOTH, one_by_one, sufficient

TINY = {
    "bernoulli": (sufficient(FAMILIES["bernoulli"], a) for a in BOTH),
    "poisson": (sufficient(Poisson(3), a) for a in BOTH),
    "categorical": (sufficient(Categorical(3), a) for a in BOTH),
    "exponential": (sufficient(Exponential(2.0, 1.0), a, 6) for a in BOTH),
    "gaussian": (sufficient(Gaussian(-1.0, 1.0), a, 4) for a in BOTH),
}
TINY = {(name, x.adjacency): x for name, both in TINY.items() for x in both}


def changes(statistic):
    """What neighbours differ by, beside what they have in common: pairs of vectors."""
    ((lower, upper),) = statistic.family.bounds
    grid = np.linspace(lower, upper, 9, dtype=np.float32)[:, None]
    rows = {tuple(row) for row in np.asarray(one_by_one(statistic)(grid)).tolist()}
    nothing = (0,) * statistic.length
    others = [nothing] if statistic.adjacency == "add-remove" else rows
    pairs = itertools.product(rows, others)
    return {(nothing, tuple(np.subtract(*pair).tolist())) for pair in pairs}


def largest_loss(statistic, epsilon, factor=Fraction(1)):
    """Exact factor between neighbours' probabilities of one output, at worst."""
    sensitivity = statistic.sensitivity(statistic.adjacency)
    wrong = Sensitivity(int(sensitivity.value * factor), statistic.adjacency)
    table = DiscreteLaplace.calibrate(epsilon, wrong).table

    @functools.cache
    def law(number):
        return {z: tables.probability(table, z - number) for z in range(-12, 13)}

    return worst_ratio([law] * statistic.length, changes(statistic))


@pytest.mark.parametrize(("name", "adjacency"), TINY)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_loss_is_epsilon_and_no_less(name, adjacency, epsilon):
    statistic = TINY[name, adjacency]
    worst = largest_loss(statistic, epsilon)
    if statistic.sensitivity(adjacency).tight:
        assert_spends_exactly(epsilon, worst)
    else:
        assert worst <= tables.exp_lower_bound(Fraction(epsilon))


@pytest.mark.parametrize(("name", "adjacency"), TINY)
def test_half_of_the_sensitivity_is_noticed(name, adjacency):
    statistic = TINY[name, adjacency]
    if statistic.sensitivity(adjacency).value == 1:
        statistic = sufficient(statistic.family, adjacency, 2)
    with pytest.raises(AssertionError, match="more than ε"):
        assert_spends_exactly("1", largest_loss(statistic, "1", Fraction(1, 2)))


@pytest.mark.slow
def test_neighbouring_data_sets_differ_as_their_records_do():
    """All data sets of at most two records, one number at a time."""
    for statistic in TINY.values():
        ((lower, upper),) = statistic.family.bounds
        grid = np.linspace(lower, upper, 9, dtype=np.float32)[:, None]
        measure = jax.jit(statistic.measure)
        single = np.asarray(one_by_one(statistic)(grid))
        pairs = list(itertools.combinations_with_replacement(range(9), 2))
        two = np.asarray(jax.vmap(measure)(grid[np.array(pairs)]))
        expected = [single[i] + single[j] for i, j in pairs]
        np.testing.assert_array_equal(two, expected)
        nothing = np.asarray(measure(grid[:0]))
        np.testing.assert_array_equal(nothing, 0 * nothing)
