"""Bands of distribution functions have the stated simultaneous level."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpjax.study import ecdf_band
from dpjax.study.ecdf import _counts, _inside, _quantile
from tests.helpers.statistical import assert_binomial


def counts_up_to_points(ranks, parts):
    places = np.minimum((ranks * parts).astype(int), parts - 1)
    return np.array([(places <= i).sum() for i in range(parts - 1)])


@pytest.mark.parametrize(("n", "parts"), [(1, 2), (5, 4), (6, 3), (8, 2)])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_level_is_a_sum_over_all_outcomes(n, parts, level):
    """Every value is in each part with equal probability."""
    band = ecdf_band(n, level, parts)
    inside = 0
    for places in itertools.product(range(parts), repeat=n):
        ranks = (np.array(places) + 0.5) / parts
        inside += not band.outside(ranks).any()
        found = counts_up_to_points(ranks, parts) / n
        within = (band.lower <= found) & (found <= band.upper)
        np.testing.assert_array_equal(band.outside(ranks), ~within)
    assert band.level == pytest.approx(inside / parts**n, rel=1e-12)
    assert band.level >= level


@pytest.mark.parametrize("n", [7, 100, 2000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_next_narrower_band_has_too_small_a_level(n, level):
    band = ecdf_band(n, level)
    lower, upper = np.rint(band.lower * n), np.rint(band.upper * n)
    below = stats.binom.cdf(lower, n, band.points)
    above = stats.binom.sf(upper - 1, n, band.points)
    gamma = 2 * min(below.min(), above.min())  # where a first bound moves
    narrower = _counts(n, band.points, gamma * (1 + 1e-6))
    assert (narrower[0] > lower).any() | (narrower[1] < upper).any()
    assert _inside(n, *narrower) < level
    assert level <= band.level


@pytest.mark.parametrize("n", [20, 300])
def test_as_many_uniform_samples_are_inside_as_stated(n, rng):
    """False alarm: one run in 1e6; a level that is wrong by .02 is noticed."""
    band, trials = ecdf_band(n), 5000
    inside = sum(not band.outside(rng.random(n)).any() for _ in range(trials))
    assert_binomial(inside, trials, band.level)


def test_ranks_of_intervals_that_are_too_narrow_are_outside(rng):
    ranks = rng.beta(0.7, 0.7, 500)
    assert ecdf_band(500).outside(ranks).any()


def test_quantiles_are_those_of_binomial_distributions():
    p = np.array([0.01, 0.3, 0.5, 0.99])
    for n, q in itertools.product((1, 7, 300), (1e-6, 0.01, 0.4, 0.99, 1 - 1e-6)):
        np.testing.assert_array_equal(_quantile(q, n, p), stats.binom.ppf(q, n, p))


def test_wrong_arguments_are_refused():
    for wrong, match in (({"n": 0}, "`n`"), ({"parts": 1}, "`parts`")):
        with pytest.raises(ValueError, match=match):
            ecdf_band(**{"n": 5, **wrong})
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        ecdf_band(5, 95.0)
