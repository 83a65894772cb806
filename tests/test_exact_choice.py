"""What exact draws ask of their bits, and which way every bound is rounded."""

import itertools
import random
import secrets
from fractions import Fraction

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from dpjax import BayesNet
from dpjax.families import Poisson
from dpjax.mechanisms import CellMass, FamilyPosteriorSampler, NetworkPosteriorSampler
from dpjax.noise import exact_choice, simplex_grid
from dpjax.noise.exact_choice import Bounds, choose, exponentials, log_of_sum, softmax
from dpjax.noise.simplex_grid import SimplexGrid

COIN = BayesNet.from_parents({"x": [0, 1]}, {"x": []})
COUNTS = jnp.array([3, 2], jnp.int32)
GRID = NetworkPosteriorSampler.posterior(
    COIN.layout, "2", "replace-one", omega="1/8", units=64
)
CELLS = CellMass.calibrate(COIN.layout, "2", "add-remove", omega="1/8", units=64)
FAMILY = FamilyPosteriorSampler.calibrate(
    Poisson(3), 3, 0, "1", "add-remove", points=99, truncation={"rate": (0.5, 2.5)}
)
DRAWS = {
    "rows": lambda: GRID.draw(COUNTS),
    "cells": lambda: CELLS.draw(COUNTS),
    "points": lambda: FAMILY.draw(jnp.array([3, 6], jnp.int32)),
}


def stream(number, size):
    """A source of bits: those of a number of so many, with a list of what was asked."""
    asked = []

    def bits(k):
        asked.append(k)
        left = size - sum(asked)
        assert left >= 0
        return (number >> left) & ((1 << k) - 1)

    return bits, asked


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_is_a_function_of_the_systems_bits_alone(name, monkeypatch):
    monkeypatch.setattr(random, "getrandbits", None)
    drawn = []
    for number in (0, 1, 2**63, 2**64 - 1, 0):
        bits, asked = stream(number << 448 | 2**448 // 3, 512)
        monkeypatch.setattr(secrets, "randbits", bits)
        drawn.append(np.asarray(DRAWS[name]()).ravel().tolist())
        assert asked[:1] == [64]
    assert drawn[0] == drawn[1] == drawn[4]
    assert len({*map(tuple, drawn)}) == 3


def thirds(precision):
    """Weights 1 and 2, known to a unit."""
    exact = [Fraction(1 << precision, 3), Fraction(2 << precision, 3)]
    lower = np.array([int(x) for x in exact], object)
    return Bounds(lower, lower + 1)


@pytest.mark.parametrize("index", [0, 1])
def test_after_doubt_bits_are_added_to_those_there_are(index):
    """1/3 lies within the first 64 bits: those that follow say on which side."""
    number = (2**64 // 3 << 96) + index * (2**96 - 1)
    bits, asked = stream(number, 160)
    assert choose(thirds, bits) == index == (Fraction(number, 2**160) > Fraction(1, 3))
    assert asked == [64, 96]


def test_without_doubt_64_bits_are_enough():
    for number in (0, 2**64 // 3 - 2, 2**64 // 3 + 2, 2**64 - 1):
        bits, asked = stream(number, 64)
        assert choose(thirds, bits) == (number > 2**64 // 3)
        assert asked == [64]


BOUNDS = [
    ([1, 2, 1], [2, 3, 3]),
    ([3, 0, 5], [4, 2, 7]),
    ([0, 0, 1], [1, 1, 1]),
    ([7, 8], [7, 8]),
    ([0, 0], [1, 1]),
]


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_an_index_is_given_if_all_weights_within_their_bounds_agree(lower, upper):
    """By enumeration: edges are extreme where weights are."""
    bounds = Bounds(np.array(lower, object), np.array(upper, object))
    corners = [w for w in itertools.product(*zip(lower, upper, strict=True)) if any(w)]
    known = set()
    for drawn, number in [(k, i) for k in (3, 6) for i in range(1 << k)]:
        ends = Fraction(number, 1 << drawn), Fraction(number + 1, 1 << drawn)
        agreed = {*range(len(lower))} if any(lower) else set()
        for weights in corners:
            edges = [Fraction(x, sum(weights)) for x in itertools.accumulate(weights)]
            cells = zip([Fraction(0), *edges], edges, strict=False)
            agreed &= {
                i for i, (a, b) in enumerate(cells) if a <= ends[0] < ends[1] <= b
            }
        index = exact_choice._index_without_doubt(bounds, number, drawn)
        assert index == (min(agreed) if agreed else None)
        known.add(index)
    assert (len(known) > 1) == any(lower)


def exact_weight(x, precision):
    """2^precision times exp(x), to 100 digits, as a fraction."""
    with mpmath.workdps(100):
        value = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) * 2**precision
        return Fraction(int(value * 10**60), 10**60)


def test_weights_are_within_their_bounds_even_beside_whole_numbers():
    """Logarithms of a number of units: what is computed is mostly not what is true."""
    precision = 96
    for k in range(1, 60):
        with mpmath.workdps(60):
            below = mpmath.mpf(2) ** precision * k / 61
            below = mpmath.floor(below) + (-1) ** k * mpmath.mpf(10) ** -11
            log = precision * mpmath.log(2) - mpmath.log(below)
            unit = Fraction(int(log * 10**50), 10**50)
        bounds = exponentials([-1, 0], unit, precision)
        true = exact_weight(-unit, precision)
        assert bounds.lower[0] <= true <= bounds.upper[0]
        assert bounds.lower[1] <= 1 << precision <= bounds.upper[1]


@pytest.mark.parametrize("precision", [96, 192])
@pytest.mark.parametrize("unit", [Fraction(1, 1 << 40), Fraction(7, 3), Fraction(99)])
def test_weights_of_any_size_are_within_their_bounds(unit, precision):
    scores = [10**6, *(10**6 - int(x / unit) for x in (0.3, 9, 40, 66, 67, 133, 900))]
    bounds = exponentials(scores, unit, precision)
    for score, lower, upper in zip(scores, *bounds, strict=True):
        true = exact_weight(unit * (score - 10**6), precision)
        assert lower <= true + Fraction(1, 10**20)
        assert true <= upper <= lower + 3


def test_factors_multiply_both_bounds(monkeypatch):
    """Weights 2 · [5, 7] and 3 · [5, 7]: the first is .32 to .48 of all."""
    fifth = Bounds(np.array([5, 5], object), np.array([7, 7], object))
    monkeypatch.setattr(exact_choice, "exponentials", lambda *_: fifth)
    for share, index in ((0.3, 0), (0.5, 1)):
        bits, _ = stream(int(share * 2**64), 64)
        assert softmax([0, 0], Fraction(1), bits, base=[2, 3]) == [index]
    for share in (0.35, 0.46):
        bits, asked = stream(int(share * 2**64), 64)
        with pytest.raises(AssertionError):  # more are asked for than there are
            softmax([0, 0], Fraction(1), bits, base=[2, 3])
        assert asked == [64, 96]


def test_every_draw_has_bits_of_its_own():
    bits, asked = stream(((1 << 64) - 1) << 64, 192)
    assert softmax([0, 0], Fraction(1), bits, draws=3) == [0, 1, 0]
    assert asked == [64] * 3


@pytest.mark.parametrize("unit", [Fraction(1, 1 << 50), Fraction(3, 7)])
def test_logarithms_of_sums_are_within_their_bounds(unit):
    scores = [-5, 0, 40, 41, 42]
    lower, upper = log_of_sum(scores, unit)
    with mpmath.workdps(60):
        step = mpmath.mpf(unit.numerator) / unit.denominator
        true = mpmath.log(sum(mpmath.exp(step * score) for score in scores))
        true = Fraction(int(true * 10**50), 10**50)
    assert lower < true < upper < lower + Fraction(1, 10**25)


def test_logarithms_are_closer_than_their_slack():
    with mpmath.workdps(80):
        for integer in (3, 2**96 // 3, 10**40 + 1):
            true = Fraction(int(mpmath.log(integer) * 10**70), 10**70)
            assert abs(exact_choice._log(integer) - true) < exact_choice._SLACK / 10**20


def test_sums_of_bounds_are_rounded_outwards():
    """Exactly: every coefficient of a product lies between what is said of it."""
    lower = np.array([5, 1, 0, 3], object)
    a, b = Bounds(lower, lower + 2), Bounds(lower[::-1], lower[::-1] + 2)
    for precision in (0, 1, 3, 6):
        found = simplex_grid._convolve(a, b, precision)
        for k in range(4):
            for side, x, y in zip((0, 1), a, b, strict=True):
                exact = Fraction(sum(x[i] * y[k - i] for i in range(k + 1)))
                exact /= 1 << precision
                if side == 0:
                    assert exact - 1 < found.lower[k] <= exact
                else:
                    assert exact < found.upper[k] <= exact + 1


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("largest", [1, 15, 255, 2**96])
def test_products_of_polynomials_do_not_run_over(size, largest):
    a = np.array([largest] * size, object)
    product = simplex_grid._polynomial_product(a, a)
    assert product.tolist() == [largest**2 * (k + 1) for k in range(size)]


@pytest.mark.parametrize(
    ("levels", "units", "least"), [(2, 9, 2), (3, 11, 2), (5, 9, 1)]
)
def test_the_range_of_a_grid_is_that_of_its_rows(levels, units, least):
    grid = SimplexGrid(levels, units, least)
    entries = range(least, units + 1)
    rows = [
        row for row in itertools.product(entries, repeat=levels) if sum(row) == units
    ]
    assert grid.most == max(map(max, rows))
    table = simplex_grid.log_table(units)
    ends = [table[g] for row in rows for g in row]
    assert grid.log_range == Fraction(max(ends) - min(ends), 1 << 40)


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_the_bounds_of_every_entry_hold_its_conditional_law(levels):
    """Brute force over the rows that begin in each way."""
    grid = SimplexGrid(levels, 10, 1)
    exponents = [Fraction(7, 3), Fraction(1, 2), Fraction(0), Fraction(-1, 2)][:levels]
    law, weights = simplex_grid._Law(grid, tuple(exponents)), grid.weights(exponents)
    rows = list(grid._rows())
    for row in rows:
        for level in range(levels - 1):
            left = grid.units - sum(row[:level])
            spare = left - (levels - level) * grid.least
            bounds = law._conditional(level, spare, 96)
            found = np.array([float(x) for x in bounds.lower])
            true = np.zeros(spare + 1)
            for other, weight in zip(rows, weights, strict=True):
                if other[:level] == row[:level]:
                    true[other[level] - grid.least] += float(weight)
            np.testing.assert_allclose(found / found.sum(), true / true.sum(), 1e-12)
            assert all(a <= b for a, b in zip(*bounds, strict=True))


@pytest.mark.parametrize("levels", [2, 3])
def test_a_row_is_drawn_entry_by_entry_and_sums_to_one(levels):
    grid = SimplexGrid(levels, 12, 2)
    exponents = (Fraction(1, 2),) * levels
    for number in range(0, 2 ** (64 * (levels - 1)), 2 ** (64 * (levels - 1)) // 37):
        bits, asked = stream(number, 64 * (levels - 1))
        [row] = grid.draw(exponents, bits)
        assert len(row) == levels
        assert sum(row) == 12
        assert min(row) >= 2
        assert len(asked) == levels - 1
