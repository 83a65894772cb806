"""One noisy count: exact posteriors of Bernoulli and categorical families."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

import dpjax as dp
from dpjax.families import BetaParameters, DirichletParameters
from dpjax.families.bernoulli import BetaPosterior
from dpjax.posteriors import proportions_posterior

X64 = jax.config.jax_enable_x64
CLOSE = 1e-6 if X64 else 1e-4


def bernoulli(value, scale, n):
    variable = dp.Variable("x", (0, 1))
    statistic = dp.statistics.Sufficient.of("bernoulli", (variable,), "replace-one")
    noise = dp.mechanisms.Laplace(1 / scale, statistic.sensitivity("replace-one"))
    return dp.Released(jnp.asarray([value], float), statistic, noise, n)


@pytest.mark.slow
def test_the_reference_value():
    """math.md §9."""
    released = bernoulli(301.02727328, 10.0, 1000)
    posterior = dp.posterior(released, BetaParameters(10.0, 10.0))
    assert posterior.method == "exact-proportions"
    assert posterior.omitted <= 1e-12
    assert abs(posterior.mean() - 0.30811418) < CLOSE
    assert abs(posterior.sd() - 0.02012055) < CLOSE


@pytest.mark.thorough
def test_prior_and_data_that_disagree():
    """Nearly all mass is 50 noise scales from the release; no window may miss it."""
    posterior = proportions_posterior(
        bernoulli(6000.0, 10.0, 10_000), BetaParameters(5000.0, 5000.0)
    )
    counts = np.arange(10_001)
    logs = stats.betabinom(10_000, 5000, 5000).logpmf(counts)
    logs = logs - np.abs(6000 - counts) / 10
    weights = np.exp(logs - logsumexp(logs))
    assert round(weights @ counts) == 5497
    expected = weights @ (5000 + counts) / 20_000
    assert abs(posterior.mean() - expected) < CLOSE
    assert posterior.omitted <= 1e-12


@pytest.mark.thorough
def test_it_is_wider_than_the_papers_and_agrees_without_noise():
    aware = dp.posterior(bernoulli(300.0, 10.0, 1000))
    naive = dp.posterior(bernoulli(300.0, 10.0, 1000), noise_aware=False)
    assert isinstance(naive, BetaPosterior)
    assert aware.sd() > 1.2 * naive.sd()
    exact = dp.posterior(bernoulli(300.0, 0.01, 1000))
    assert abs(exact.mean() - naive.mean()) < 1e-4
    assert abs(exact.sd() - naive.sd()) < 1e-4


@pytest.mark.thorough
def test_quantiles_density_and_draws(key):
    posterior = proportions_posterior(bernoulli(7.0, 3.0, 20), BetaParameters(0.5, 2.0))
    law = posterior.marginal()
    median = posterior.quantile(0.5)
    assert abs(law.cdf(median) - 0.5) < 1e-5
    density = posterior.log_prob(median)
    np.testing.assert_allclose(law.log_prob(median), density, atol=1e-3)
    draws = posterior.sample(key, (2000,))
    ranks = jax.vmap(law.cdf)(draws)
    assert stats.kstest(np.asarray(ranks, float), "uniform").pvalue > 1e-6


@pytest.mark.thorough
def test_a_categorical_family_with_a_private_n():
    variable = dp.Variable("x", ("a", "b", "c"))
    statistic = dp.statistics.Sufficient.of("categorical", (variable,), "add-remove")
    noise = dp.mechanisms.DiscreteLaplace.calibrate(
        "2", statistic.sensitivity("add-remove")
    )
    values = np.array([6, -1, 3])
    prior = np.array([1.0, 0.5, 2.0])
    released = dp.Released(jnp.asarray(values, jnp.int32), statistic, noise, None)
    posterior = dp.posterior(released, DirichletParameters(jnp.asarray(prior, float)))
    grid = np.stack(np.meshgrid(*[np.arange(25)] * 3, indexing="ij"), -1).reshape(-1, 3)
    a, n = grid + prior, grid.sum(axis=1)
    logs = (gammaln(a) - gammaln(grid + 1)).sum(axis=1) + gammaln(n + 1)
    logs -= gammaln(a.sum(axis=1)) + 2.0 * np.abs(grid - values).sum(axis=1)
    weights = np.exp(logs - logsumexp(logs))
    expected = weights @ (a / a.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(posterior.mean(), expected, atol=CLOSE)


@pytest.mark.thorough
def test_more_records_join_the_prior():
    posterior = dp.posterior(bernoulli(7.0, 3.0, 20), BetaParameters(1.0, 1.0))
    updated = posterior.update(np.array([[1], [1], [0]]))
    for wrong in (np.array([[7]]), np.array([[-1]]), np.ones((3, 2), int)):
        with pytest.raises(ValueError, match="`records` must"):
            posterior.update(wrong)
    again = dp.posterior(bernoulli(7.0, 3.0, 20), BetaParameters(3.0, 2.0))
    np.testing.assert_allclose(updated.mean(), again.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (DirichletParameters(np.ones(2)), "`prior` must be of type BetaParameters"),
        (BetaParameters(0.0, 1.0), "`successes` must be positive"),
    ],
)
def test_bad_priors_are_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        proportions_posterior(bernoulli(7.0, 3.0, 20), prior)
