"""Default priors with unknown hyperparameters: exact laws, exact sums, and coverage."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import special, stats

from dpjax.data.intervals import Interval
from dpjax.families import BetaParameters, LinearRegression, RegressionParameters
from dpjax.mechanisms import Laplace
from dpjax.posteriors import family_posterior
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient
from tests.helpers import regressions
from tests.helpers.coverage import infer_many, release_many
from tests.helpers.statistical import ALPHA
from tests.test_open_posterior import Tosses
from tests.test_totals import log_moments, some_total

Z_ALPHA = stats.norm.isf(ALPHA / 2)


@dataclass(frozen=True)
class UnknownCoin(Tosses):
    """Tosses with the default prior Beta(4eʰ, 4e⁻ʰ), in which h ~ N(0, ½²)."""

    hyperparameters = 1

    def default_prior(self, hyper, total, n):
        half = jnp.exp(hyper[0] / 2)
        return BetaParameters(4 * half, 4 / half)

    def log_hierarchical(self, hyper, prior, total, n):
        a, b = prior
        heads, tails = total[0], n * self.upper - total[0]
        after = log_beta(a + heads, b + tails) - log_beta(a, b)
        ways = log_beta(1 + heads, 1 + tails)
        return jnp.where((heads >= 0) & (tails >= 0), after - ways, -jnp.inf)


def log_beta(a, b):
    gammaln = jax.scipy.special.gammaln
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def exact_coin(noisy, heads=0, tails=0):
    """Posterior mean: a sum over totals of 30 tosses and over a grid of 2h.

    `heads` and `tails` are of further records, without noise.
    """
    h = np.linspace(-6, 6, 2401)[:, None]
    a, b, total = 4 * np.exp(h / 2), 4 * np.exp(-h / 2), np.arange(31)
    up, down = a + heads + total, b + tails + 30 - total
    ways = special.betaln(1 + total, 31 - total)
    logs = special.betaln(up, down) - special.betaln(a, b) - ways - h**2 / 2
    logs = logs - 0.2 * np.abs(total - noisy)
    weights = np.exp(logs - logs.max())
    return (weights * up / (up + down)).sum() / weights.sum()


def assert_chains_average(posterior, exact):
    by_chain = np.asarray(
        posterior.parameters.successes
        / (posterior.parameters.successes + posterior.parameters.failures)
    ).mean(axis=1)
    error = by_chain.std(ddof=1) / len(by_chain) ** 0.5
    assert abs(by_chain.mean() - exact) < stats.t.isf(ALPHA / 2, 31) * error
    assert error < 0.004  # so that a difference of .025 is noticed


@pytest.mark.slow
def test_hyperparameters_are_drawn_with_the_total(key):
    """Against sums; also with further records, which tell about hyperparameters."""
    statistic = Sufficient(UnknownCoin(3), (Interval("x", 0, 3),), "replace-one")
    law = Laplace(0.6, statistic.sensitivity("replace-one"))
    released = Released(jnp.asarray([26.0]), statistic, law, 10)
    found = family_posterior(key, released, chains=32, warmup=200, draws=2000)
    assert_chains_average(found, exact_coin(26))
    more = found.update(np.full((5, 1), 1.0), jr.clone(key))
    assert_chains_average(more, exact_coin(26, heads=5, tails=10))
    more = more.update(np.full((5, 1), 0.0), jr.clone(key))
    assert_chains_average(more, exact_coin(26, heads=5, tails=25))
    given = family_posterior(
        jr.clone(key), released, BetaParameters(2.0, 2.0), chains=2, warmup=9, draws=9
    )
    sums = np.asarray(given.parameters.successes + given.parameters.failures)
    np.testing.assert_allclose(sums, 34)  # a prior that is given stays as it is


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [True, False])
def test_law_of_a_regression_given_its_scales(rng, key, intercept):
    """p(t | z) = p(t | θ) p(θ | z) / p(θ | t, z), up to one constant for all t and z.

    The parameters θ include the mean and variance of the feature.
    """
    family = LinearRegression((-3,), (5,), (-6, 2), intercept=intercept)

    @jax.jit
    def parts(hyper, total, n):
        prior = family.default_prior(hyper, total, n)
        after = family.posterior(family.update(prior, total, n))
        theta = after.sample(jr.clone(key))
        before = family.posterior(prior).log_prob(theta)
        law = family.log_hierarchical(hyper, prior, total, n)
        return theta, before - after.log_prob(theta), law

    offsets = []
    for n in (7.0, 12.0, 12.0, 40.0):
        total = some_total(rng, "regression", family, n)
        hyper = rng.normal(size=3)
        theta, ratio, law = jax.tree.map(
            lambda x: np.asarray(x, float),
            parts(jnp.asarray(hyper), jnp.asarray(total), jnp.asarray(n)),
        )
        expected = log_targets(family, theta, total, n) + ratio
        offsets.append(law - expected - log_feature(family, hyper[2], total, n))
    exact = jnp.zeros(()).dtype == jnp.float64
    np.testing.assert_allclose(offsets, offsets[0], atol=1e-8 if exact else 5e-3)


def log_targets(family, theta, total, n):
    """Log-density of sums with the target given one feature, by SciPy."""
    products = np.asarray(family.products(jnp.asarray(total), n), float)
    gram, vector = products[:-1, :-1], products[:-1, -1]
    weights = theta["weights"]
    if family.intercept:
        middle = weights[0] * family.centre[0] - family.centre[1]
        weights = np.array([theta["intercept"] + middle, weights[0]])
    residual = products[-1, -1] - vector @ np.linalg.solve(gram, vector)
    variance = theta["variance"]
    return (
        stats.multivariate_normal.logpdf(vector, gram @ weights, variance * gram)
        + stats.chi2.logpdf(residual / variance, n - len(gram))
        - np.log(variance)
    )


def log_feature(family, z, total, n):
    """Log-density of one feature's moments, by SciPy: variance ~ InverseGamma(5)."""
    relative = 0.165 * np.exp(0.3 * z)
    sd, strength = family.half_widths[0] * relative, (relative / 0.08) ** 2
    if not family.intercept:
        density = stats.betaprime.logpdf(total[0] / (8 * sd**2), n / 2, 5)
        return density - np.log(8 * sd**2)
    sums, squares = total[0], total[2]
    # At one variance and mean, by Bayes' theorem
    mean, variance = 0.3, 1.7
    gap = strength * n / (strength + n) * (sums / n) ** 2
    scale = 8 * sd**2 / 2 + (squares - sums**2 / n + gap) / 2
    before = stats.invgamma.logpdf(variance, 5, scale=8 * sd**2 / 2)
    before += stats.norm.logpdf(mean, 0, np.sqrt(variance / strength))
    after = stats.invgamma.logpdf(variance, 5 + n / 2, scale=scale)
    centre = sums / (strength + n)
    after += stats.norm.logpdf(mean, centre, np.sqrt(variance / (strength + n)))
    moments = np.array([sums, squares])
    given = log_moments(moments, n, np.array([mean]), np.array([[variance]]))
    return given + before - after


def within_limits(parameters, data):
    """Whether coverage is .88 to .92 up to its standard error, at a level of ALPHA."""
    share, error = regressions.coverage(parameters, data)
    return 0.88 - Z_ALPHA * error < share < 0.92 + Z_ALPHA * error


def former_prior(features):
    """The default prior until 0.1.0: the weights are vague, whatever their number."""
    size = features + 1
    return RegressionParameters(np.zeros(size), 0.01 * np.eye(size), 0.5, 1 / 200)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize(("features", "sets"), [(1, 400), (5, 200)])
def test_prediction_intervals_cover(key, rng, features, n, epsilon, sets):
    """A correct prior fails once in a million; the former one fails where it was off.

    The standard error is about .006 for 400 data sets and .008 for 200, so that a
    coverage below .84 or above .97 is noticed with a probability of .95.
    """
    data = regressions.simulate(rng, sets, features, n)
    statistic = regressions.statistic_of(features)
    values = release_many(rng, statistic, data.records.astype(np.float32), epsilon)
    aware, naive = infer_many(statistic, None, n, keep=100)(key, values, epsilon)
    assert within_limits(aware, data)
    naive = jax.tree.map(lambda x: x[:, None], naive)
    share, _ = regressions.coverage(naive, data)
    assert share < 0.88 or epsilon == 3  # .875 with one feature and n = 1,000
    if (features, n, epsilon) in ((1, 300, 1.0), (5, 300, 0.3)):
        former = infer_many(statistic, former_prior(features), n, keep=100)
        assert not within_limits(former(key, values, epsilon)[0], data)
