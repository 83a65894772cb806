"""The parts of a sensitivity of Fourier coefficients, each against brute force."""

import itertools
import math

import numpy as np
import pytest

from dpjax.statistics import fourier_sensitivity
from dpjax.statistics.fourier_sensitivity import (
    largest_change_of_order,
    largest_change_over_groups,
    states,
)
from dpjax.tables.fourier_basis import supports

SIGNS = (1, 1, -1, -1)


def contrasts(level, size):
    """Products of one variable: level 0 is in all contrasts, another in its own."""
    return np.ones(size - 1) if level == 0 else -np.eye(size - 1)[level - 1]


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_states_are_those_of_all_pairs_of_levels(size):
    found = set()
    for one, other in itertools.product(range(size), repeat=2):
        p, q = contrasts(one, size), contrasts(other, size)
        found.add((sum(p * p), sum(q * q), sum(p * q), sum(p * p * q * q)))
    assert found == {*map(tuple, states(size).tolist())}


def changes(sizes, subsets):
    """By states of all variables: the weighted change of coefficients, term by term."""
    tables = [states(size) for size in sizes]
    for chosen in itertools.product(*(range(len(table)) for table in tables)):
        total = 0.0
        for subset in subsets:
            weight = 0.5 if all(sizes[i] == 2 for i in subset) else 1.0
            terms = [
                math.prod(tables[i][chosen[i]][k] for i in subset) for k in range(4)
            ]
            total += weight * np.dot(SIGNS, terms)
        yield chosen, total


SIZES = [(2, 3), (2, 2, 3), (3, 2, 4), (2, 3, 2, 3), (5,), (2,)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_of_an_order_all_states_are_tried(sizes):
    for order in range(1, len(sizes) + 1):
        subsets = [
            subset
            for k in range(1, order + 1)
            for subset in itertools.combinations(range(len(sizes)), k)
        ]
        expected = max(total for _, total in changes(sizes, subsets))
        assert largest_change_of_order(list(sizes), order) == (expected, True)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_where_an_order_has_too_many_cases_the_bound_is_above(sizes, monkeypatch):
    exact = [largest_change_of_order(list(sizes), k + 1) for k in range(len(sizes))]
    monkeypatch.setattr(fourier_sensitivity, "_MOST_COMPOSITIONS", 0)
    for k, (change, _) in enumerate(exact):
        bound, tight = largest_change_of_order(list(sizes), k + 1)
        assert change <= bound
        assert not tight
        cells = [
            math.prod(size - 1 for size in some)
            for order in range(1, k + 2)
            for some in itertools.combinations(sizes, order)
        ]
        assert bound == 2 * sum(cells)


@pytest.mark.parametrize("which", range(5))
def test_each_state_may_be_the_worst(which, monkeypatch):
    """Whichever of a variable's states it is whose products change."""
    table = np.zeros((5, 4), int)
    table[which, 0] = 1
    monkeypatch.setattr(fourier_sensitivity, "states", lambda size: table)
    assert largest_change_of_order([3, 3], 2) == (3, True)
    assert largest_change_of_order([3, 4], 1) == (2, True)
    assert largest_change_over_groups([3, 3, 3], [(0, 1), (1, 2)]) == (5, True)


GROUPS = [
    [(0, 1), (1, 2), (2, 3)],
    [(0, 1), (2, 3)],
    [(0, 1, 2), (1, 2, 3), (0, 3)],
    [(0,), (1,), (2, 3)],
    [(0, 1), (1, 2), (2, 3), (0, 3)],
    [(0, 1), (0, 2), (0, 3)],
]


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_factors_are_the_changes_of_their_own_coefficients(groups):
    sizes = (2, 3, 2, 4)
    for group in groups:
        own = [s for s in supports(group) if s]
        for some in (own, own[1:], own[-1:]):
            order, table = fourier_sensitivity._factor(
                sizes, group, some, fourier_sensitivity.CHANGES
            )
            assert order == group
            places = [tuple(group.index(i) for i in s) for s in some]
            for chosen, total in changes([sizes[i] for i in group], places):
                assert table[chosen] == pytest.approx(total)


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_elimination_finds_the_maximum(groups, rng, monkeypatch):
    shape = (2, 3, 2, 4)
    for _ in range(5):
        factors = [(g, rng.normal(size=[shape[i] for i in g]) - 1) for g in groups]
        expected = max(
            sum(table[tuple(chosen[i] for i in g)] for g, table in factors)
            for chosen in itertools.product(*map(range, shape))
        )
        assert fourier_sensitivity._eliminate(factors) == pytest.approx(expected)
    monkeypatch.setattr(fourier_sensitivity, "_MOST_STATES", 1)
    assert fourier_sensitivity._eliminate(factors) is None


@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_families_change_what_all_their_coefficients_change(groups, monkeypatch):
    sizes = (2, 3, 2, 4)
    subsets = {s for group in groups for s in supports(group) if s}
    expected = max(total for _, total in changes(sizes, subsets))
    assert largest_change_over_groups(sizes, groups) == (expected, True)
    for limit in ("_MOST_STATES", "_MOST_TERMS"):
        with monkeypatch.context() as patch:
            patch.setattr(fourier_sensitivity, limit, 1)
            bound, tight = largest_change_over_groups(sizes, groups)
        assert expected <= bound
        assert not tight
