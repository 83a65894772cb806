"""Regression posteriors: least squares, textbook errors, intervals, ridge."""

import itertools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import dpjax as dp
from dpjax.families import KnownNoiseParameters, LinearRegression
from dpjax.families.marginal_laws import (
    StudentLaw,
    gamma_law,
    inverse_gamma_law,
    mixture_quantile,
)
from dpjax.statistics import Sufficient
from tests.helpers.families import fit, random_records
from tests.helpers.statistical import assert_follows

LINE = LinearRegression((0.0, 1.0), (4.0, 2.0), (-1.0, 2.0))
THROUGH_0 = LinearRegression((0.0, 1.0), (4.0, 2.0), (-1.0, 2.0), intercept=False)


@pytest.fixture(scope="module")
def line():
    """Many records of a known line, with the least-squares solution."""
    rng = np.random.default_rng(5)
    features = rng.uniform(LINE.lower, LINE.upper, (4000, 2))
    target = -1.5 + 0.4 * features[:, 0] + 0.9 * features[:, 1]
    target = target + 0.2 * rng.normal(size=4000)
    records = np.column_stack([features, np.clip(target, -1, 2)]).astype(np.float32)
    design = np.column_stack([np.ones(4000), records[:, :2]])
    return records, design, np.linalg.lstsq(design, records[:, 2], rcond=None)


@pytest.mark.slow
def test_much_data_give_least_squares(line):
    records, design, (solution, residual, *_) = line
    mean = fit(LINE, records).mean()
    np.testing.assert_allclose(mean["intercept"], solution[0], rtol=5e-3)
    np.testing.assert_allclose(mean["weights"], solution[1:], rtol=5e-3)
    np.testing.assert_allclose(mean["variance"], residual[0] / 4000, rtol=1e-2)
    predicted = fit(LINE, records).predict(jnp.asarray(records[:5, :2]))
    np.testing.assert_allclose(predicted, design[:5] @ solution, atol=2e-3)


@pytest.mark.slow
def test_weights_have_the_spread_of_textbooks(line, key):
    records, design, (_, residual, *_) = line
    posterior = fit(LINE, records)
    error = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * residual[0] / 4000)
    sd = posterior.sd()
    np.testing.assert_allclose(sd["intercept"], error[0], rtol=0.02)
    np.testing.assert_allclose(sd["weights"], error[1:], rtol=0.02)
    draws = eqx.filter_jit(posterior.sample)(key, (20_000,))
    p = jax.tree.map(lambda x: np.float64(x), posterior.parameters)
    assert_follows(draws["variance"], stats.invgamma(p.shape, scale=p.scale))
    for q in (0.1, 0.8):
        low = posterior.quantile(q)
        for name in ("intercept", "weights", "variance"):
            below = np.mean(np.asarray(draws[name], float) < low[name], axis=0)
            np.testing.assert_allclose(below, q, atol=0.015)  # 5 standard errors


@pytest.mark.parametrize("wrong", [[[1.0]], [[1.0, 2.0, 3.0]]])
def test_rows_have_a_number_for_each_feature(line, wrong):
    posterior = fit(LINE, line[0])
    for ask in (posterior.predict, posterior.interval):
        with pytest.raises(ValueError, match="`features` must be rows of 2 numbers"):
            ask(np.array(wrong))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["laplace", "posterior-sample"])
def test_features_of_a_table_are_found_by_name(mechanism, rng):
    """The columns of a table may be in any order, and others are not read."""
    over = tuple(dp.Interval(name, -1, 1) for name in ("a", "b", "y"))
    what = Sufficient.of("linear-regression", over, "add-remove")
    records = rng.uniform(-1, 1, (200, 3))
    options = {"epsilon": 20, "adjacency": "add-remove", "mechanism": mechanism}
    found: Any = dp.posterior(dp.release(what, records, **options))
    table = pd.DataFrame({"y": ["?", "?"], "b": [0.5, None], "a": [-0.5, 2.0]})
    rows = np.array([[-0.5, 0.5], [2.0, np.nan]])
    for given in (table, table.to_dict("list"), table[["a", "b"]]):
        np.testing.assert_array_equal(found.predict(given), found.predict(rows))
        ends = zip(found.interval(given), found.interval(rows), strict=True)
        for got, wanted in ends:
            np.testing.assert_array_equal(got, wanted)
    for wrong in (table[["y", "b"]], {"a": ["?"], "b": [1.0]}, pd.DataFrame(rows)):
        with pytest.raises(ValueError, match="`features` must have numbers in a col"):
            found.predict(wrong)


def test_the_quantile_of_a_mixture_is_where_its_distribution_function_is_q(rng):
    shape, rate = rng.gamma(2, 3, (300, 4)) + 0.1, rng.gamma(2, 0.1, (300, 4))
    laws = {
        "t": StudentLaw(100 * rng.normal(size=(300, 4)), rate, 3 + shape),
        "normal, far apart": StudentLaw(1e4 * np.sign(rate - 0.2), rate, None),
        "gamma": gamma_law(shape, rate),
    }
    laws["t"].location[:, 0], laws["t"].scale[:, 0] = 2.0, 1.0  # nothing to search
    laws["t"].degrees[:, 0] = 5.0
    weights = rng.uniform(size=(300, 1))
    for law, q in itertools.product(laws.values(), (0.001, 0.025, 0.5, 0.95, 0.9999)):
        for each in (np.ones((300, 1)), weights):
            found = mixture_quantile(law, q, each)
            for x, sign in ((found - 1e-8, -1), (found + 1e-8, 1)):
                share = (law.cdf(x) * each).sum(axis=0) / each.sum()
                assert np.all(sign * (share - q) >= -1e-12)
    endless = inverse_gamma_law(np.array([[1e-4, 3.0], [3.0, 3.0]]), np.ones((2, 1)))
    found = mixture_quantile(endless, 0.9)
    assert found[0] == math.inf
    assert found[1] == pytest.approx(1 / special.gammainccinv(3, 0.9))
    calls = []

    class Counted(StudentLaw):
        def cdf(self, x):
            calls.append(x)
            return super().cdf(x)

    centre = rng.normal(120, 5, (300, 4))
    mixture_quantile(Counted(centre, rng.gamma(3, 4, (300, 1)), 9.0), 0.95)
    assert len(calls) <= 30  # to halve the interval alone would take 45


@pytest.mark.thorough
def test_intervals_cover_what_they_say(line):
    records, _, _ = line
    for prior in (None, KnownNoiseParameters(np.zeros(3), np.eye(3), 1 / 0.04)):
        posterior = fit(LINE, records[:2000], prior)
        for level in (0.5, 0.95):
            new = jnp.asarray(records[2000:, :2])
            low, high = posterior.interval(new, level)
            inside = np.mean((low < records[2000:, 2]) & (records[2000:, 2] < high))
            assert inside == pytest.approx(level, abs=0.055)  # 5 standard errors
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        posterior.interval(jnp.zeros((1, 2)), 1.5)


def test_known_noise_is_the_model_of_zhang_et_al(rng):
    """Weights N(0, I/b), noise precision τ, no intercept: ridge regression."""
    b, tau = 2.0, 3.0
    records = random_records(rng, THROUGH_0, 40)
    x, y = np.asarray(records[:, :2], float), np.asarray(records[:, 2], float)
    prior = KnownNoiseParameters(np.zeros(2), b * np.eye(2), tau)
    posterior = fit(THROUGH_0, records, prior)
    precision = b * np.eye(2) + tau * x.T @ x
    mean = np.linalg.solve(precision, tau * x.T @ y)
    covariance = np.linalg.inv(precision)
    np.testing.assert_allclose(posterior.mean()["weights"], mean, rtol=1e-4)
    np.testing.assert_allclose(
        posterior.variance()["weights"], np.diag(covariance), rtol=1e-4
    )
    law = stats.norm(mean, np.sqrt(np.diag(covariance)))
    low = posterior.quantile(0.1)["weights"]
    np.testing.assert_allclose(low, law.ppf(0.1), rtol=1e-3)


def test_centring_loses_nothing_far_from_0(rng):
    """Years of birth: moments about 0 would leave nothing of the variance."""
    family = LinearRegression((1900.0,), (2000.0,), (0.0, 10.0))
    years = rng.uniform(1900, 2000, 20_000)
    target = 5 + 0.03 * (years - 1950) + 0.5 * rng.normal(size=20_000)
    records = np.column_stack([years, target]).astype(np.float32)
    mean = fit(family, records).mean()
    assert float(mean["weights"][0]) == pytest.approx(0.03, abs=1e-3)
    assert float(mean["variance"]) == pytest.approx(0.25, rel=0.05)
