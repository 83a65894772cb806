"""Noise-aware posteriors of families mean what they say: parameters from the prior.

ε is where the noise matters at this n: as large as what the records themselves leave
open, or larger. Bounds are wide enough that next to nothing is clipped.
"""

import numpy as np
import pytest
from scipy import stats

from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import (
    BetaParameters,
    GammaParameters,
    NormalInverseGammaParameters,
    RegressionParameters,
)
from dpjax.statistics import Sufficient
from tests.helpers import coverage
from tests.helpers.statistical import ALPHA

MANY, N = 1000, 1000


def bernoulli(rng):
    truth = rng.beta(2.0, 3.0, MANY)
    return {"probability": truth}, rng.binomial(1, truth[:, None, None], (MANY, N, 1))


def poisson(rng):
    truth = rng.gamma(10.0, 1 / 2.0, MANY)
    return {"rate": truth}, rng.poisson(truth[:, None, None], (MANY, N, 1)) * 1.0


def gaussian(rng):
    variance = 5.0 / rng.gamma(5.0, size=MANY)
    mean = rng.normal(0.5, np.sqrt(variance / 2))
    spread = np.sqrt(variance)[:, None, None]
    records = mean[:, None, None] + spread * rng.normal(size=(MANY, N, 1))
    return {"mean": mean, "variance": variance}, records


def regression(rng):
    """Features are uniform, which the posterior does not know."""
    variance = 4.0 / rng.gamma(5.0, size=MANY)
    weights = rng.normal(size=(MANY, 2)) * np.sqrt(variance)[:, None]
    x = rng.uniform(-1, 1, (MANY, N))
    noise = rng.normal(size=(MANY, N)) * np.sqrt(variance)[:, None]
    y = weights[:, :1] + weights[:, 1:] * x + noise
    return {"weights": weights[:, 1], "variance": variance}, np.stack([x, y], axis=-1)


CASES = {
    "bernoulli": (
        bernoulli,
        (Variable("x", ("no", "yes")),),
        BetaParameters(2.0, 3.0),
        0.05,
    ),
    "poisson": (poisson, (Interval("x", 0, 20),), GammaParameters(10.0, 2.0), 0.2),
    "gaussian": (
        gaussian,
        (Interval("x", -8, 9),),
        NormalInverseGammaParameters(0.5, 2.0, 5.0, 5.0),
        0.3,
    ),
    "linear-regression": (
        regression,
        (Interval("x", -1, 1), Interval("y", -8, 8)),
        RegressionParameters(np.zeros(2), np.eye(2), 5.0, 4.0),
        1.0,
    ),
}


def assert_calibrated(cdf):
    assert coverage.uniformity(cdf) > ALPHA
    low, high = stats.binom.interval(1 - ALPHA, len(cdf), 0.95)
    assert low <= coverage.covered(cdf) <= high


def assert_not_calibrated(cdf):
    assert coverage.uniformity(cdf) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adjacency", "family"),
    [
        ("replace-one", "bernoulli"),
        pytest.param("replace-one", "poisson", marks=pytest.mark.thorough),
        pytest.param("replace-one", "gaussian", marks=pytest.mark.thorough),
        pytest.param("replace-one", "linear-regression", marks=pytest.mark.thorough),
        pytest.param("add-remove", "poisson", marks=pytest.mark.thorough),
        pytest.param("add-remove", "linear-regression", marks=pytest.mark.thorough),
    ],
)
def test_calibrated_where_taking_the_release_at_its_word_is_not(
    key, rng, adjacency, family
):
    simulate, variables, prior, epsilon = CASES[family]
    truths, records = simulate(rng)
    statistic = Sufficient.of(family, variables, adjacency)
    values = coverage.release_many(rng, statistic, records, epsilon)
    infer = coverage.infer_many(statistic, prior, N)
    assert_only_the_noise_covers(infer, key, values, epsilon, truths)


def assert_only_the_noise_covers(infer, key, values, epsilon, truths):
    """Neither no noise nor half or twice as much as there is, as a fault would have."""
    aware, naive = infer(key, values, epsilon)
    for name, truth in truths.items():
        assert_calibrated(coverage.places(aware, name, truth))
        assert_not_calibrated(coverage.places(naive, name, truth))
    name, truth = next(iter(truths.items()))
    for factor in (0.5, 2.0):
        wrong, _ = infer(key, values, epsilon * factor)
        assert_not_calibrated(coverage.places(wrong, name, truth))


@pytest.mark.thorough
def test_the_default_prior_leaves_the_truth_possible(key, rng):
    """Worth a record, it covered a slope in 31 of 100 releases, a variance in none."""
    x = rng.uniform(2, 8, (100, 500))
    y = 5 + x + rng.normal(size=x.shape)
    over = (Interval("x", 0, 10), Interval("y", 0, 20))
    statistic = Sufficient.of("linear-regression", over, "replace-one")
    values = coverage.release_many(rng, statistic, np.stack([x, y], axis=-1), 1.0)
    infer = coverage.infer_many(statistic, None, 500, warmup=1000)
    aware, _ = infer(key, values, 1.0)
    for name in ("weights", "variance"):
        cdf = coverage.places(aware, name, np.ones(100))
        assert coverage.covered(cdf) >= stats.binom.ppf(ALPHA, 100, 0.95)
