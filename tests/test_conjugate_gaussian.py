"""Posteriors of several parameters: by Bayes' rule, and against SciPy and NumPyro."""

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy import stats

from dpjax.families import (
    Gaussian,
    KnownNoiseParameters,
    LinearRegression,
    MultivariateGaussian,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
    RegressionParameters,
)
from tests.helpers.cases import mostly_thorough
from tests.helpers.families import fit, random_records
from tests.helpers.statistical import assert_follows

# Bayes' rule: posterior over prior is the likelihood, up to a factor; and the posterior
# after one more record says what that record's predictive density was.

PAIR = MultivariateGaussian((-1.0, 0.0), (1.0, 5.0))
PAIR_PRIOR = NormalInverseWishartParameters(
    np.array([0.2, 2.0]), 0.8, 4.5, np.array([[0.5, 0.1], [0.1, 1.5]])
)
ONE = Gaussian(-1.0, 3.0)
ONE_PRIOR = NormalInverseGammaParameters(0.5, 0.7, 2.5, 1.2)
LINE = LinearRegression((0.0, 1.0), (4.0, 2.0), (-1.0, 2.0))
LINE_PRIOR = RegressionParameters(
    np.array([0.1, -0.2, 0.4]), np.diag([0.5, 2.0, 1.0]), 2.2, 0.4
)
KNOWN_PRIOR = KnownNoiseParameters(np.zeros(3), np.diag([0.5, 2.0, 1.0]), 3.0)
THROUGH_0 = LinearRegression((0.0, 1.0), (4.0, 2.0), (-1.0, 2.0), intercept=False)
THROUGH_0_PRIOR = RegressionParameters(np.zeros(2), np.eye(2), 1.0, 1.0)


def pair_likelihood(theta, records):
    law = stats.multivariate_normal(theta["mean"], theta["covariance"])
    return np.atleast_1d(law.logpdf(records))


def one_likelihood(theta, records):
    law = stats.norm(theta["mean"], np.sqrt(theta["variance"]))
    return law.logpdf(records[:, 0])


def line_likelihood(theta, records):
    heights = theta.get("intercept", 0) + records[:, :-1] @ theta["weights"]
    spread = np.sqrt(theta.get("variance", 1 / 3.0))
    return stats.norm.logpdf(records[:, -1], heights, spread)


SEVERAL = {
    "one": (ONE, ONE_PRIOR, one_likelihood),
    "pair": (PAIR, PAIR_PRIOR, pair_likelihood),
    "line": (LINE, LINE_PRIOR, line_likelihood),
    "known noise": (LINE, KNOWN_PRIOR, line_likelihood),
    "through 0": (THROUGH_0, THROUGH_0_PRIOR, line_likelihood),
}


@pytest.mark.slow
@pytest.mark.relaxed
@pytest.mark.parametrize("name", mostly_thorough(SEVERAL))
def test_bayes_rule(name, key, rng):
    family, prior, log_likelihood = SEVERAL[name]
    records = random_records(rng, family, 6)
    nothing, before, after = (fit(family, records[:n], prior) for n in (0, 5, 6))
    values = eqx.filter_jit(before.sample)(key, (8,))
    log_prob = jax.jit(lambda p, x: jax.vmap(p.log_prob)(x))
    densities = [np.asarray(log_prob(p, values)) for p in (nothing, before, after)]
    thetas = [
        jax.tree.map(lambda x, i=i: np.asarray(x[i], float), values) for i in range(8)
    ]
    likelihood = np.array([log_likelihood(theta, records) for theta in thetas])
    factor = densities[1] - densities[0] - likelihood[:, :5].sum(1)
    np.testing.assert_allclose(factor, factor.mean(), atol=5e-3)
    if name in ("one", "pair"):
        predictive = before.predictive().log_prob(records[5])
    else:
        predictive = before.predictive(records[5:, :-1]).log_prob(records[5:, -1])
    by_bayes = densities[1] + likelihood[:, 5] - densities[2]
    np.testing.assert_allclose(by_bayes, float(np.sum(predictive)), atol=5e-3)


@pytest.mark.slow
def test_densities_of_mean_and_covariance_are_scipys(key):
    prior = fit(PAIR, np.zeros((0, 2)), PAIR_PRIOR)
    values = eqx.filter_jit(prior.sample)(key)
    p = jax.tree.map(lambda x: np.float64(x), prior.parameters)
    mean, covariance = (np.asarray(values[x], float) for x in ("mean", "covariance"))
    expected = stats.invwishart(p.degrees, p.scale).logpdf(covariance)
    expected += stats.multivariate_normal(p.mean, covariance / p.strength).logpdf(mean)
    assert float(eqx.filter_jit(prior.log_prob)(values)) == pytest.approx(
        expected, abs=1e-3
    )
    assert float(p.degrees) == 4.5


@pytest.mark.slow
def test_mean_and_covariance_have_scipys_moments_and_samples(key, rng):
    posterior = fit(PAIR, random_records(rng, PAIR, 20), PAIR_PRIOR)
    p = jax.tree.map(lambda x: np.float64(x), posterior.parameters)
    law = stats.invwishart(p.degrees, p.scale)
    np.testing.assert_allclose(posterior.mean()["covariance"], law.mean(), rtol=1e-4)
    np.testing.assert_allclose(posterior.variance()["covariance"], law.var(), rtol=1e-3)
    draws = eqx.filter_jit(posterior.sample)(key, (20_000,))
    draws = jax.tree.map(lambda x: np.asarray(x, float), draws)
    free = p.degrees - 1
    for i in range(2):
        scale = np.sqrt(p.scale[i, i] / (free * p.strength))
        assert_follows(draws["mean"][:, i], stats.t(free, p.mean[i], scale))
        variance = stats.invgamma(free / 2, scale=p.scale[i, i] / 2)
        assert_follows(draws["covariance"][:, i, i], variance)
        low = posterior.quantile(0.2)
        assert stats.t(free, p.mean[i], scale).ppf(0.2) == pytest.approx(low["mean"][i])
        assert variance.ppf(0.2) == pytest.approx(low["variance"][i])
    correlation = draws["covariance"][:, 0, 1]
    error = np.sqrt(law.var()[0, 1] / 20_000)
    assert abs(correlation.mean() - law.mean()[0, 1]) < 5 * error
    away = draws["mean"] - p.mean  # the mean is spread as its own covariance says
    root = np.linalg.cholesky(draws["covariance"])
    standard = np.linalg.solve(root, away[..., None])[..., 0] * np.sqrt(p.strength)
    assert_follows(standard, stats.norm)


@pytest.mark.relaxed
@pytest.mark.parametrize("name", mostly_thorough(SEVERAL))
def test_marginals_are_numpyros(name, rng):
    family, prior, _ = SEVERAL[name]
    posterior = fit(family, random_records(rng, family, 25), prior)
    laws = posterior.distribution()
    expect = eqx.filter_jit(lambda p: (p.mean(), p.variance(), p.sd()))
    mean, variance, sd = expect(posterior)
    if name == "known noise":
        expected = np.concatenate([mean["intercept"][None], mean["weights"]])
        np.testing.assert_allclose(laws.mean, expected, rtol=1e-4)
        expected = np.concatenate([sd["intercept"][None], sd["weights"]])
        np.testing.assert_allclose(np.sqrt(laws.variance), expected, rtol=1e-4)
        return
    for law in laws.values():
        assert np.isfinite(law.log_prob(law.mean)).all()
    if name == "one":
        for part in ("mean", "variance"):
            assert float(laws[part].mean) == pytest.approx(float(mean[part]), rel=1e-4)
            spread = float(variance[part])
            assert float(laws[part].variance) == pytest.approx(spread, rel=1e-3)
    elif name == "pair":
        np.testing.assert_allclose(laws["mean"].variance, variance["mean"], rtol=1e-3)
        expected = mean["covariance"]
        np.testing.assert_allclose(laws["covariance"].mean, expected, rtol=1e-4)
    else:
        both = [
            np.atleast_1d(variance[x])
            for x in ("intercept", "weights")
            if x in variance
        ]
        expected = np.concatenate(both)
        np.testing.assert_allclose(laws["weights"].variance, expected, rtol=1e-3)
        expected = float(mean["variance"])
        assert float(laws["variance"].mean) == pytest.approx(expected, rel=1e-4)
