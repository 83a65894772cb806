"""Bounds of what the windows of a star omit, by enumeration, and padded leaves."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import gammaln

import dpjax as dp
from dpjax.noise import LaplaceLaw
from dpjax.posteriors import exact_posterior
from dpjax.posteriors.exact import components, stars
from dpjax.posteriors.exact.stars import Leaves, Star

MOST = 40  # records of a level
CELLS = 3
HUB_TAILS = jax.jit(Star.hub_tails, static_argnames="length")
RECORDS_TAIL = jax.jit(Star._records_tail, static_argnames="length")


def log_density(values, alpha, rate, discrete, total):
    """Of a row of noisy cells with a total of records, by enumeration."""
    peak = math.log(math.tanh(rate / 2)) if discrete else math.log(rate / 2)
    first, second = np.indices((total + 1,) * (CELLS - 1)).reshape(CELLS - 1, -1)
    c = np.stack([first, second, total - first - second])[:, first + second <= total].T
    prior = gammaln(c + alpha) - gammaln(alpha) - gammaln(c + 1)
    whole = gammaln(alpha.sum()) + gammaln(total + 1) - gammaln(total + alpha.sum())
    noise = CELLS * peak - rate * np.abs(values - c).sum(axis=1)
    return np.logaddexp.reduce(prior.sum(axis=1) + whole + noise)


def star(values, alpha, rate, discrete, n=None):
    """Two levels of a hub that is not measured, with equal rows of one leaf."""
    law = LaplaceLaw(jnp.full((1, 1), rate), discrete)
    pair = [np.stack([x, x], axis=1)[:, None] for x in (values, alpha)]
    leaf = Leaves(*(jnp.asarray(x, float) for x in pair), law, (CELLS,))
    hub = jnp.zeros(2), jnp.ones(2)
    return Star(*hub, [leaf], n, LaplaceLaw(jnp.asarray(rate), discrete), (False,) * 2)


@pytest.mark.slow
@pytest.mark.parametrize("discrete", [True, False])
@pytest.mark.parametrize("alpha", [[1, 1, 1], [0.7, 0.9, 0.5], [3, 1, 0.5]])
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_no_count_outside_of_a_window_weighs_more_than_its_bound(alpha, rate, discrete):
    alpha = np.array(alpha, float)
    for values in ([9, 8, 3], [1, -2, 0], [20, 1, -9]):
        values = np.array(values) + (0 if discrete else 0.4)
        given = values, alpha, rate, discrete
        logs = np.array([log_density(*given, m) for m in range(MOST + 1)])
        for lowest, length in [(15, 10), (18, 5), (3, 30), (0, 25)]:
            outside = np.r_[logs[:lowest], logs[lowest + length :]].max()
            at = jnp.full(2, lowest, jnp.int32)
            (bound, _) = HUB_TAILS(star(*given), at, length)
            assert bound >= outside - 1e-4


def test_counts_far_above_the_noise_have_a_narrow_bound():
    """The prior of counts lowers both the density and its bound, by 13 nats here."""
    values, alpha, rate = np.array([900, 500, 600]), np.ones(3), 2.0
    mode = -math.log(2002 * 2001 / 2) + 2 * math.log(math.tanh(rate / 2))
    at = jnp.full(2, 2000 - 12, jnp.int32)
    (bound, _) = HUB_TAILS(star(values, alpha, rate, True), at, 25)
    assert mode - 22 < bound < mode - 15


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.5, 3.0])
@pytest.mark.parametrize("values", [[[9, 8, 3], [1, 0, 2]], [[20, 0, 0], [0, 0, 0]]])
def test_no_numbers_of_records_outside_of_a_window_weigh_more_than_their_bound(
    values, rate
):
    """Together, of a hub with a uniform prior, and three leaves of equal numbers."""
    alpha, values = np.ones(3), np.array(values, float)
    first, second = (
        [3 * log_density(x, alpha, rate, True, m) for m in range(MOST + 1)]
        for x in values
    )
    logs = np.array(
        [
            np.logaddexp.reduce([first[m] + second[n - m] for m in range(n + 1)])
            - math.log(n + 1)
            for n in range(MOST + 1)
        ]
    )
    law = LaplaceLaw(jnp.full((3, 1), rate), True)
    tables = jnp.asarray(values.T[:, None].repeat(3, axis=1), float)
    leaves = Leaves(tables, jnp.ones_like(tables), law, (CELLS,) * 3)
    one = LaplaceLaw(jnp.asarray(rate), True)
    given = Star(jnp.zeros(2), jnp.ones(2), [leaves], None, one, (False,) * 2)
    for lowest, length in [(24, 5), (21, 12), (0, 32)]:
        outside = np.r_[logs[:lowest], logs[lowest + length :]]
        bound = RECORDS_TAIL(given, jnp.int32(lowest), length)
        assert np.logaddexp.reduce(outside) <= bound + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.01, 0.3, 3.0])
@pytest.mark.parametrize(("lowest", "length"), [(0, 70), (30, 40), (49, 4), (2, 60)])
def test_a_concave_and_a_convex_function_are_bounded_outside(slope, lowest, length):
    def concave(m):
        return -slope * jnp.abs(m - 50) - (m - 50) ** 2 / 1e3

    def convex(m):
        return 5 - 4 * jnp.log1p(m)

    ends = stars._outside(concave, convex, jnp.int32(lowest), length, None)
    counts = jnp.arange(1000.0)
    sums = np.asarray(concave(counts) + convex(counts))
    for bound, part in zip(ends, (sums[:lowest], sums[lowest + length :]), strict=True):
        assert bound >= max(part, default=-np.inf) - 1e-4
        assert not np.isposinf(bound)


@pytest.mark.slow
@pytest.mark.parametrize("n", [None, pytest.param(60, marks=pytest.mark.thorough)])
def test_leaves_that_are_padded_have_the_same_posterior(n, monkeypatch):
    """As leaves that are computed apart, one for each number of levels."""
    sizes = {"a": 2, "b": 4, "c": 3}
    adjacency = "add-remove" if n is None else "replace-one"
    found = []
    for most in (8, 1):
        monkeypatch.setattr(components, "_MOST_PADDING", most)
        target = f"y{most}"  # programs of the other network are kept by its names
        levels = {target: [0, 1], **{x: list(range(k)) for x, k in sizes.items()}}
        net = dp.BayesNet.naive_bayes(levels, target)
        counted = dp.statistics.NetworkCounts(net)
        noise = dp.mechanisms.DiscreteLaplace.calibrate(
            "3", counted.sensitivity(adjacency)
        )
        values = np.random.default_rng(0).integers(-2, 20, counted.length)
        released = dp.Released(jnp.asarray(values, jnp.int32), counted, noise, n)
        (star,) = components.stars(counted.network)
        assert len(star.leaves) == (1 if most == 8 else 3)
        made = exact_posterior(released)
        quantiles = np.concatenate([x.ravel() for x in made.quantile(0.3).values()])
        found.append((made.first, made.second, made.log_evidence, quantiles))
    for padded, apart in zip(*found, strict=True):
        np.testing.assert_allclose(padded, apart, rtol=1e-4, atol=1e-6)
