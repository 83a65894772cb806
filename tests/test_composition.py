"""Composition without chance: all little data sets, all neighbours, all outputs.

Losses are logarithms of rational ratios, computed as rationals. The mechanism is noise
on a score, (number of ones) - (number of zeros): a ratio of `base` for each unit that
the score moves, so 1 unit under add-remove and 2 under replace-one.
"""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpjax.privacy import (
    ADD_REMOVE,
    REPLACE_ONE,
    ApproximateDP,
    PureDP,
    advanced,
    basic,
    logarithm_above,
    parallel,
    rounded_up,
    subsampled,
)
from tests.helpers.neighbours import neighbouring_pairs, worst_ratio

MOST = 3  # records


def cost_of(ratio, adjacency):
    return PureDP(rounded_up(logarithm_above(Fraction(ratio))), adjacency)


def assert_tight(cost, ratio):
    """The cost is the logarithm of the exact worst ratio, rounded up."""
    exact = math.log(ratio)
    assert exact <= float(cost.epsilon) * (1 + 1e-15)
    assert float(cost.epsilon) <= exact * (1 + 1e-11)


@functools.cache
def noisy_score(base, bits):
    """Law of the score with clipped geometric noise; keeps `base` to the unit."""
    score, a = sum(2 * bit - 1 for bit in bits), Fraction(1, base)
    law = {}
    for y in range(-MOST, MOST + 1):
        edge = abs(y) == MOST
        law[y] = a ** abs(y - score) * (1 if edge else 1 - a) / (1 + a)
    assert sum(law.values()) == 1
    return law


def neighbours(kinds, adjacency):
    """All pairs of neighbouring tables (ordered) of at most MOST records."""
    sizes = range(MOST + 1)
    tables = [x for n in sizes for x in itertools.product(kinds, repeat=n)]
    return neighbouring_pairs(tables, kinds, adjacency)


def product(*laws):
    """Law of independent outputs."""
    joint = {}
    for parts in itertools.product(*(law.items() for law in laws)):
        joint[tuple(y for y, _ in parts)] = math.prod(p for _, p in parts)
    return joint


@pytest.mark.parametrize(("adjacency", "units"), [(ADD_REMOVE, 1), (REPLACE_ONE, 2)])
def test_basic_composition_is_attained(adjacency, units):
    def both(table):
        return product(noisy_score(2, table), noisy_score(5, table))

    costs = [cost_of(base**units, adjacency) for base in (2, 5)]
    worst = worst_ratio(both, neighbours((0, 1), adjacency))
    assert_tight(basic(*costs), worst)
    assert basic(*costs).adjacency == adjacency


def test_a_later_release_may_depend_on_an_earlier_one():
    def adaptive(table):
        law = {}
        for y, p in noisy_score(2, table).items():
            again = noisy_score(3 if y > 0 else 2, table)
            law.update({(y, z): p * q for z, q in again.items()})
        return law

    worst = worst_ratio(adaptive, neighbours((0, 1), ADD_REMOVE))
    assert_tight(basic(cost_of(2, ADD_REMOVE), cost_of(3, ADD_REMOVE)), worst)


def test_deltas_add_up():
    pure = PureDP(Fraction(1, 2), ADD_REMOVE)
    approximate = ApproximateDP(Fraction(1, 3), Fraction(1, 5), ADD_REMOVE)
    assert basic(pure, approximate, approximate) == ApproximateDP(
        Fraction(7, 6), Fraction(2, 5), ADD_REMOVE
    )
    with pytest.raises(ValueError, match="`delta` must be a Fraction"):
        basic(*[approximate] * 5)


def test_repeating_is_adding():
    cost = PureDP(Fraction(1, 3), REPLACE_ONE)
    assert cost.repeated(5) == basic(*[cost] * 5)
    with pytest.raises(ValueError, match="`times` must be an integer of at least 1"):
        cost.repeated(0)


def test_costs_under_different_adjacencies_are_not_added():
    with pytest.raises(ValueError, match="`costs` must be one or more, all for one"):
        basic(cost_of(2, ADD_REMOVE), cost_of(2, REPLACE_ONE))
    with pytest.raises(ValueError, match="`costs` must be one or more, all for one"):
        basic()


BY_VALUE = list(itertools.product((0, 1), (0, 1)))  # (part, bit)


def by_value(bases, table):
    parts = [tuple(sorted(bit for part, bit in table if part == p)) for p in (0, 1)]
    return product(*map(noisy_score, bases, parts))


def by_index(bases, table):
    return product(*map(noisy_score, bases, (table[0::2], table[1::2])))


@pytest.mark.parametrize("bases", [(2, 2), (4, 2), (2, 4)])
@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE])
def test_parts_by_value_cost_the_dearest_once_or_twice(bases, adjacency):
    worst = worst_ratio(
        functools.partial(by_value, bases), neighbours(BY_VALUE, adjacency)
    )
    costs = [cost_of(base, ADD_REMOVE) for base in bases]
    assert_tight(parallel(costs, "value", adjacency), worst)


def test_the_two_dearest_parts_are_not_enough_under_replace_one():
    dear, cheap = 4, 2
    worst = worst_ratio(
        functools.partial(by_value, (dear, cheap)), neighbours(BY_VALUE, REPLACE_ONE)
    )
    assert worst == dear * dear > dear * cheap


@pytest.mark.parametrize("bases", [(2, 2), (4, 2), (2, 4)])
def test_parts_by_index_cost_the_dearest_once_under_replace_one(bases):
    worst = worst_ratio(
        functools.partial(by_index, bases), neighbours((0, 1), REPLACE_ONE)
    )
    costs = [cost_of(base**2, REPLACE_ONE) for base in bases]
    assert_tight(parallel(costs, "index", REPLACE_ONE), worst)


def test_parts_by_index_promise_nothing_under_add_remove():
    bases = (2, 2)
    worst = worst_ratio(
        functools.partial(by_index, bases), neighbours((0, 1), ADD_REMOVE)
    )
    assert worst > 2**2  # already with three records; it grows with their number
    for given in (ADD_REMOVE, REPLACE_ONE):
        with pytest.raises(ValueError, match="`parts` must be 'value' under 'add-rem"):
            parallel([cost_of(2, given)] * 2, "index", ADD_REMOVE)


def test_parts_by_value_need_costs_under_add_remove():
    def sizes_shown(table):  # each part's release is replace-one private: its n public
        sizes = tuple(sum(part == p for part, _ in table) for p in (0, 1))
        return {(sizes, y): p for y, p in by_value((2, 2), table).items()}

    assert worst_ratio(sizes_shown, neighbours(BY_VALUE, REPLACE_ONE)) == math.inf
    with pytest.raises(ValueError, match="`costs` must be for 'add-remove'"):
        parallel([cost_of(4, REPLACE_ONE)] * 2, "value", REPLACE_ONE)
    with pytest.raises(ValueError, match="`costs` must be for 'replace-one'"):
        parallel([cost_of(2, ADD_REMOVE)] * 2, "index", REPLACE_ONE)


def test_parts_must_be_known():
    with pytest.raises(ValueError, match="`parts` must be 'index' or 'value'"):
        parallel([cost_of(2, ADD_REMOVE)], "hash", ADD_REMOVE)
    with pytest.raises(ValueError, match="`costs` must be one or more"):
        parallel([], "value", ADD_REMOVE)


def mixture(weighted):
    law = {}
    for weight, part in weighted:
        for y, p in part.items():
            law[y] = law.get(y, 0) + weight * p
    return law


def poisson(release, rate, table):
    return mixture(
        (
            rate ** sum(taken) * (1 - rate) ** (len(taken) - sum(taken)),
            release(tuple(x for x, t in zip(table, taken, strict=True) if t)),
        )
        for taken in itertools.product((0, 1), repeat=len(table))
    )


def fixed_size(release, size, table):
    samples = list(itertools.combinations(table, min(size, len(table))))
    return mixture((Fraction(1, len(samples)), release(s)) for s in samples)


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(2, 3), Fraction(1)])
def test_poisson_sampling_is_attained(rate):
    release = functools.partial(noisy_score, 2)
    worst = worst_ratio(
        functools.partial(poisson, release, rate), neighbours((0, 1), ADD_REMOVE)
    )
    assert worst == 1 + rate * (2 - 1)
    assert_tight(subsampled(cost_of(2, ADD_REMOVE), rate, "poisson"), worst)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_sampling_of_fixed_size_is_attained(size):
    release = functools.partial(noisy_score, 2)
    pairs = [(a, b) for a, b in neighbours((0, 1), REPLACE_ONE) if len(a) == MOST]
    worst = worst_ratio(functools.partial(fixed_size, release, size), pairs)
    assert worst == 1 + Fraction(size, MOST) * (4 - 1)
    cost = subsampled(cost_of(4, REPLACE_ONE), Fraction(size, MOST), "fixed-size")
    assert_tight(cost, worst)


def test_poisson_sampling_does_not_help_under_replace_one():
    def size_shown(table):
        return {(len(table), y): p for y, p in noisy_score(2, table).items()}

    assert worst_ratio(size_shown, neighbours((0, 1), REPLACE_ONE)) == 4
    sampled = functools.partial(poisson, size_shown, Fraction(1, 4))
    assert worst_ratio(sampled, neighbours((0, 1), REPLACE_ONE)) == 4
    with pytest.raises(ValueError, match="`cost` must be for 'add-remove' with poiss"):
        subsampled(cost_of(4, REPLACE_ONE), "1/4", "poisson")


def test_a_fixed_size_is_no_fixed_share_under_add_remove():
    release = functools.partial(noisy_score, 2)
    one, other = (0, 1), (0,)
    worst = worst_ratio(
        functools.partial(fixed_size, release, 1), [(one, other), (other, one)]
    )
    assert worst > 1 + Fraction(1, 2) * (2 - 1)
    with pytest.raises(ValueError, match="`cost` must be for 'replace-one' with fixed"):
        subsampled(cost_of(2, ADD_REMOVE), "1/2", "fixed-size")


@pytest.mark.parametrize("n", [2, 3])
def test_a_sample_that_shows_is_not_amplified(n):
    """E5: the output says which record's latent variable moved."""

    def scan(table):
        law = {}
        for i, bit in enumerate(table):
            noisy = noisy_score(2, (bit,))
            law |= {(i, y): p * Fraction(1, len(table)) for y, p in noisy.items()}
        return law

    pairs = [(a, b) for a, b in neighbours((0, 1), REPLACE_ONE) if len(a) == n]
    worst = worst_ratio(scan, pairs)
    amplified = subsampled(cost_of(4, REPLACE_ONE), Fraction(1, n), "fixed-size")
    assert worst == 4 > math.exp(amplified.epsilon)


def test_sampling_everybody_costs_what_it_did():
    for epsilon in (Fraction(1, 7), Fraction(0), Fraction(10**6)):
        cost = PureDP(epsilon, ADD_REMOVE)
        assert subsampled(cost, 1, "poisson") == cost


def test_large_and_small_losses_are_sampled_accurately():
    with mpmath.workdps(60):
        for epsilon, rate in [("800", "1e-3"), ("1e-12", "1e-6"), ("5000", "1/3")]:
            cost = PureDP(Fraction(epsilon), ADD_REMOVE)
            q, e = mpmath.mpf(Fraction(rate)), mpmath.mpf(Fraction(epsilon))
            exact = mpmath.log1p(q * mpmath.expm1(e))
            found = mpmath.mpf(subsampled(cost, rate, "poisson").epsilon)
            assert exact <= found <= exact * (1 + mpmath.mpf("1e-11"))


def test_sampling_that_is_none_is_refused():
    with pytest.raises(ValueError, match="`rate` must be at most 1"):
        subsampled(cost_of(2, ADD_REMOVE), "1.5", "poisson")
    with pytest.raises(ValueError, match="`sampling` must be 'poisson' or"):
        subsampled(cost_of(2, ADD_REMOVE), "0.5", "bernoulli")


def delta_of_responses(epsilon, times, total):
    """Exact δ at `total` of so many randomised responses of ε each."""
    ones = np.arange(times + 1)
    loss = epsilon * (2 * ones - times)
    chance = stats.binom.pmf(ones, times, 1 / (1 + math.exp(-epsilon)))
    return float(np.sum(chance * np.maximum(0, -np.expm1(total - loss))))


@pytest.mark.parametrize("delta", ["1e-2", "1e-5", "1e-9"])
@pytest.mark.parametrize("times", [50, 500])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1"])
def test_advanced_composition_holds_for_randomised_response(epsilon, times, delta):
    cost = PureDP(Fraction(epsilon), ADD_REMOVE)
    guarantee = advanced(cost, times, delta)
    total = float(guarantee.epsilon)
    assert delta_of_responses(float(epsilon), times, total) <= guarantee.delta + 1e-12
    assert guarantee.epsilon <= cost.repeated(times).epsilon


def test_advanced_composition_is_the_formula_rounded_up():
    epsilon, times, delta = Fraction(1, 10), 1000, Fraction(1, 10**5)
    found = advanced(PureDP(epsilon, REPLACE_ONE), times, delta)
    with mpmath.workdps(60):
        e, k, d = mpmath.mpf(epsilon), times, mpmath.mpf(delta)
        exact = mpmath.sqrt(2 * k * mpmath.log(1 / d)) * e + k * e * mpmath.expm1(e)
        assert exact < mpmath.mpf(found.epsilon) < exact * (1 + mpmath.mpf("1e-12"))
    assert (found.delta, found.adjacency) == (delta, REPLACE_ONE)


@pytest.mark.parametrize("epsilon", ["1/10", "2", "1000000"])
def test_where_basic_composition_is_better_it_is_given(epsilon):
    cost = PureDP(Fraction(epsilon), ADD_REMOVE)
    assert advanced(cost, 3, "1e-5") == ApproximateDP(
        3 * cost.epsilon, Fraction(0), ADD_REMOVE
    )


def test_a_delta_of_one_is_refused():
    with pytest.raises(ValueError, match="`delta` must be below 1"):
        advanced(cost_of(2, ADD_REMOVE), 3, 1)
