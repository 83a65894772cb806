"""Posterior samples in real arithmetic: multivariate Gaussian and linear regression."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.mechanisms import GaussianSample, RegressionSample
from dpjax.statistics import Sufficient

PAIR = (Interval("x", -1, 1), Interval("y", -1, 1))


def regression(adjacency="replace-one", **options):
    return Sufficient.of("linear-regression", PAIR, adjacency, **options)


@pytest.mark.parametrize(("b", "cost"), [(1, 121), (100, 4)])
def test_regression_costs_what_the_paper_would_pay(b, cost):
    """R_x = R_y = τ = T = 1 and B = 10/√b."""
    for adjacency, n, share in (("replace-one", 5, 1), ("add-remove", None, 0.5)):
        law = RegressionSample(
            regression(adjacency, intercept=False), 1.0, 10 / b**0.5, b, n=n
        )
        assert float(law.guarantee().epsilon) == pytest.approx(cost * share, rel=1e-6)


def test_the_cost_bounds_the_loss_of_any_two_records():
    """Their log-likelihood ratio over a grid of weights: its range is the loss."""
    radius, tau = 3.0, 1.0
    w = np.linspace(-radius, radius, 301)
    ends = np.linspace(-1, 1, 9)
    x, y = (a.ravel() for a in np.meshgrid(ends, ends))
    logs = -tau / 2 * (y[:, None] - x[:, None] * w) ** 2
    change = logs[:, None] - logs[None, :]
    worst = np.ptp(change, axis=-1).max()
    law = RegressionSample(regression(intercept=False), 1.0, radius, 1.0, n=5)
    cost = float(law.guarantee().epsilon)
    assert 0.4 * cost < worst <= cost
    alone = np.ptp(logs, axis=-1).max()
    law = RegressionSample(regression("add-remove", intercept=False), 1.0, radius, 1.0)
    assert alone == pytest.approx(float(law.guarantee().epsilon), rel=1e-3)


@functools.partial(jax.jit, static_argnames="draws")
def many(key, law, exact, draws):
    return jax.vmap(law.sample, in_axes=(0, None))(jr.split(key, draws), exact)


@pytest.mark.relaxed
@pytest.mark.thorough
def test_regression_samples_follow_the_tempered_posterior(key, rng):
    x = rng.uniform(-1, 1, 400)
    y = np.clip(0.5 * x + rng.normal(0, 0.3, 400), -1, 1)
    statistic = regression(intercept=False, units=4096)
    exact = statistic.measure(jnp.asarray(np.stack([x, y], axis=1), float))
    law = RegressionSample(statistic, 4.0, 5.0, 2.0, 10.0, n=400)
    drawn = np.asarray(many(key, law, exact, 4000))
    assert drawn.shape == (4000, 1)
    precision = 2 + 10 / 4 * (x**2).sum()
    mean = 10 / 4 * (x * y).sum() / precision
    assert drawn.mean() == pytest.approx(
        mean, abs=6 * (precision * 4000) ** -0.5 + 0.001
    )
    assert drawn.std() == pytest.approx(precision**-0.5, rel=0.08)
    assert np.abs(drawn).max() <= 5
    small = RegressionSample(statistic, 4.0, 0.3, 2.0, 10.0, n=400)
    assert np.abs(np.asarray(many(key, small, exact, 200))).max() <= 0.3001
    predicted = law.predict(jnp.asarray(drawn[0]), np.array([[0.5]]))
    assert float(predicted[0]) == pytest.approx(0.5 * drawn[0, 0], rel=1e-5)


def test_temperature_follows_from_epsilon():
    law = RegressionSample.calibrate(regression(intercept=False), "1/2", 100.0, n=10)
    assert float(law.temperature) == pytest.approx(8, rel=1e-6)
    assert law.guarantee().epsilon <= dp.privacy.exact_epsilon("1/2")
    cold = RegressionSample.calibrate(regression(intercept=False), "50", 100.0, n=10)
    assert float(cold.temperature) == 1


@pytest.mark.thorough
def test_gaussian_samples_are_within_their_limits(key, rng):
    records = np.clip(rng.normal(0.2, 0.3, (500, 2)), -1, 1)
    statistic = Sufficient.of("multivariate-gaussian", PAIR, "add-remove")
    exact = statistic.measure(jnp.asarray(records, float))
    law = GaussianSample(statistic, 5.0, 0.06, 0.3)
    drawn = np.asarray(many(key, law, exact, 300))
    assert drawn.shape == (300, 3, 2)
    values = np.linalg.eigvalsh(drawn[:, 1:])
    assert values.min() >= 0.0599
    assert values.max() <= 0.3001
    assert drawn[:, 0].mean(axis=0) == pytest.approx([0.2, 0.2], abs=0.06)
    loose = GaussianSample(statistic, 5.0, 0.01, 3.0)
    assert loose.guarantee().epsilon > law.guarantee().epsilon


@pytest.mark.parametrize("make", [RegressionSample, GaussianSample])
def test_wrong_statistics_and_numbers_are_refused(make):
    other = Sufficient.of("gaussian", PAIR[:1], "add-remove")
    with pytest.raises(ValueError, match="`statistic` must be of a"):
        make(other, 1.0, 1.0, 1.0)
    name = "linear-regression" if make is RegressionSample else "multivariate-gaussian"
    statistic = Sufficient.of(name, PAIR, "replace-one")
    with pytest.raises(ValueError, match="`n` must be given"):
        make(statistic, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="`temperature` must be positive"):
        make(statistic, 0.0, 1.0, 1.0, n=3)


def test_real_arithmetic_cannot_be_saved(tmp_path):
    statistic = regression(intercept=False)
    law = RegressionSample(statistic, 1.0, 1.0, 1.0, n=3)
    released = dp.Released(jnp.zeros(statistic.length), statistic, law, 3)
    with pytest.raises(ValueError, match="must be exact to be saved"):
        released.save(tmp_path / "r.json")
