"""Conjugate posteriors: against quadrature, Bayes' rule, SciPy and NumPyro."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax.families import (
    Bernoulli,
    BetaParameters,
    Categorical,
    DirichletParameters,
    Exponential,
    GammaParameters,
    Gaussian,
    GaussianMean,
    MultivariateGaussian,
    NormalInverseGammaParameters,
    NormalParameters,
    Poisson,
    conjugate_posterior,
)
from dpjax.families.log_densities import (
    dirichlet_log_density,
    gamma_log_density,
    inverse_wishart_log_density,
)
from tests.helpers.families import fit
from tests.helpers.statistical import assert_departs, assert_follows


def numbers(tree):
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


# One parameter: law of the prior, log p(x|θ), the parameter's grid, records

X = np.array([0, 2, 3, 1, 5, 2, 0, 1])
TIMES = np.array([0.2, 1.5, 0.4, 3.0, 0.7])
REALS = np.array([1.2, -0.4, 0.9, 2.0, 2.2])
ONE_PARAMETER = {
    "bernoulli": (
        Bernoulli(),
        BetaParameters(2.0, 0.5),
        stats.beta(2.0, 0.5),
        lambda x, p: stats.bernoulli.logpmf(x, p),
        (1e-9, 1 - 1e-9),
        X % 2,
    ),
    "bernoulli, default": (
        Bernoulli(),
        None,
        stats.beta(1.0, 1.0),
        lambda x, p: stats.bernoulli.logpmf(x, p),
        (1e-9, 1 - 1e-9),
        X % 2,
    ),
    "poisson": (
        Poisson(10),
        GammaParameters(2.0, 0.5),
        stats.gamma(2.0, scale=2.0),
        lambda x, rate: stats.poisson.logpmf(x, rate),
        (1e-9, 30.0),
        X,
    ),
    "exponential": (
        Exponential(5.0),
        GammaParameters(1.5, 2.0),
        stats.gamma(1.5, scale=0.5),
        lambda x, rate: stats.expon.logpdf(x, scale=1 / rate),
        (1e-9, 30.0),
        TIMES,
    ),
    "gaussian mean": (
        GaussianMean(-1.0, 3.0, 0.7),
        NormalParameters(0.5, 2.0),
        stats.norm(0.5, np.sqrt(1 / 2)),
        lambda x, mean: stats.norm.logpdf(x, mean, np.sqrt(0.7)),
        (-6.0, 6.0),
        REALS,
    ),
    "gaussian mean, default": (
        GaussianMean(-1.0, 3.0, 0.7),
        None,
        stats.norm(1.0, 2.0),
        lambda x, mean: stats.norm.logpdf(x, mean, np.sqrt(0.7)),
        (-6.0, 6.0),
        REALS,
    ),
}


@pytest.fixture(scope="module", params=ONE_PARAMETER)
def one(request):
    """A posterior, and its density on a grid by numeric normalisation."""
    case = ONE_PARAMETER[request.param]
    family, given, prior, log_likelihood, ends, records = case
    theta = np.linspace(*ends, 100_001)
    log_density = prior.logpdf(theta) + log_likelihood(
        records[:, None], theta[None]
    ).sum(0)
    density = np.exp(log_density - log_density.max())
    density /= integrate.trapezoid(density, theta)
    return fit(family, records, given), theta, density, log_likelihood, records


def test_moments_and_quantiles_equal_quadrature(one):
    posterior, theta, density, _, _ = one
    mean = integrate.trapezoid(density * theta, theta)
    variance = integrate.trapezoid(density * (theta - mean) ** 2, theta)
    assert float(posterior.mean()) == pytest.approx(mean, rel=1e-4)
    assert float(posterior.variance()) == pytest.approx(variance, rel=1e-3)
    assert float(posterior.sd()) == pytest.approx(np.sqrt(variance), rel=1e-3)
    below = integrate.cumulative_trapezoid(density, theta, initial=0)
    for q in (0.025, 0.5, 0.9):
        assert np.interp(posterior.quantile(q), theta, below) == pytest.approx(
            q, abs=1e-4
        )


def test_densities_equal_quadrature(one):
    posterior, theta, density, _, _ = one
    places = np.searchsorted(
        np.cumsum(density), density.sum() * np.linspace(0.05, 0.95, 9)
    )
    ours = eqx.filter_jit(posterior.log_prob)(jnp.asarray(theta[places], float))
    np.testing.assert_allclose(ours, np.log(density[places]), atol=2e-3)


@pytest.mark.relaxed
def test_predictions_equal_quadrature_and_laws_are_numpyros(one):
    posterior, theta, density, log_likelihood, records = one
    values = posterior.quantile(0.3)
    new = np.unique(records)[:4]
    predicted, at, ours = jax.jit(
        lambda p, x, y: (
            p.predictive().log_prob(x),
            p.distribution().log_prob(y),
            p.log_prob(y),
        )
    )(posterior, new, jnp.asarray(values, float))
    for x, log_prob in zip(new, predicted, strict=True):
        weighted = density * np.exp(log_likelihood(x, theta))
        expected = integrate.trapezoid(weighted, theta)
        assert np.exp(log_prob) == pytest.approx(expected, rel=2e-3)
    assert float(at) == pytest.approx(float(ours), abs=1e-3)


def test_samples_follow_the_posterior(one, key):
    posterior, theta, density, _, _ = one
    below = integrate.cumulative_trapezoid(density, theta, initial=0)

    class Law:
        cdf = staticmethod(lambda x: np.interp(x, theta, below))

    class Wider:
        cdf = staticmethod(
            lambda x: np.interp(1.1 * (x - centre) + centre, theta, below)
        )

    draws = np.asarray(posterior.sample(key, (20_000,)), np.float64)
    centre = float(posterior.mean())
    assert_follows(draws, Law)
    assert_departs(draws, Wider)


@pytest.mark.slow
def test_a_dirichlet_posterior_is_scipys(key):
    records = [0, 1, 1, 3, 3, 3]
    prior = DirichletParameters(jnp.array([1.0, 0.5, 2.0, 1.0]))
    posterior = fit(Categorical(4), records, prior)
    alpha = np.array([2.0, 2.5, 2.0, 4.0])
    law = stats.dirichlet(alpha)
    np.testing.assert_allclose(posterior.mean(), law.mean(), rtol=1e-5)
    np.testing.assert_allclose(posterior.variance(), law.var(), rtol=1e-5)
    marginal = stats.beta(alpha, alpha.sum() - alpha)
    np.testing.assert_allclose(posterior.quantile(0.2), marginal.ppf(0.2), rtol=1e-5)
    theta = np.array([0.1, 0.2, 0.3, 0.4])
    ours = posterior.log_prob(jnp.asarray(theta, float))
    assert float(ours) == pytest.approx(law.logpdf(theta), abs=1e-4)
    draws = posterior.sample(key, (5000,))
    assert draws.shape == (5000, 4)
    for column in range(4):
        assert_follows(
            draws[:, column], stats.beta(alpha[column], 10.5 - alpha[column])
        )


@pytest.mark.slow
@pytest.mark.relaxed
def test_a_dirichlet_posterior_has_numpyros_laws():
    posterior = fit(Categorical(3), [0, 1, 1])
    np.testing.assert_allclose(posterior.predictive().probs, [2 / 6, 3 / 6, 1 / 6])
    theta = jnp.array([0.2, 0.5, 0.3])
    ours = float(posterior.log_prob(theta))
    assert posterior.distribution().log_prob(theta) == pytest.approx(ours, abs=1e-4)


@pytest.mark.slow
def test_mean_and_variance_equal_quadrature(key):
    family = Gaussian(-1.0, 3.0)
    prior = NormalInverseGammaParameters(0.5, 0.7, 2.5, 1.2)
    posterior = fit(family, REALS, prior)
    m, v = np.meshgrid(
        np.linspace(-4, 6, 1201), np.geomspace(0.02, 60, 1501), indexing="ij"
    )
    log_density = stats.invgamma.logpdf(v, 2.5, scale=1.2)
    log_density += stats.norm.logpdf(m, 0.5, np.sqrt(v / 0.7))
    log_density += sum(stats.norm.logpdf(x, m, np.sqrt(v)) for x in REALS)
    density = np.exp(log_density - log_density.max())
    whole = integrate.trapezoid(integrate.trapezoid(density, v, axis=1), m[:, 0])
    density /= whole

    def expected(f):
        inner = integrate.trapezoid(density * f, v, axis=1)
        return integrate.trapezoid(inner, m[:, 0])

    mean, variance = numbers((posterior.mean(), posterior.variance()))
    assert mean["mean"] == pytest.approx(expected(m), rel=1e-4)
    assert mean["variance"] == pytest.approx(expected(v), rel=1e-3)
    assert variance["mean"] == pytest.approx(expected((m - expected(m)) ** 2), rel=2e-3)
    spread = expected((v - expected(v)) ** 2)
    assert variance["variance"] == pytest.approx(spread, rel=2e-2)
    low = posterior.quantile(0.1)
    assert expected(m < low["mean"]) == pytest.approx(0.1, abs=2e-3)
    assert expected(v < low["variance"]) == pytest.approx(0.1, abs=2e-3)
    at = {"mean": jnp.asarray(m[500, 700]), "variance": jnp.asarray(v[500, 700])}
    at = jax.tree.map(lambda x: x.astype(float), at)
    assert float(posterior.log_prob(at)) == pytest.approx(
        np.log(density[500, 700]), abs=1e-3
    )
    draws = posterior.sample(key, (20_000,))
    p = numbers(posterior.parameters)
    scale = np.sqrt(p.scale / (p.shape * p.strength))
    assert_follows(draws["mean"], stats.t(2 * p.shape, p.mean, scale))
    assert_follows(draws["variance"], stats.invgamma(p.shape, scale=p.scale))
    standard = (draws["mean"] - posterior.parameters.mean) / jnp.sqrt(draws["variance"])
    assert_follows(standard * np.sqrt(p.strength), stats.norm)


def test_one_column_of_many_is_a_gaussian():
    records = np.array([[0.3], [-0.5], [0.9]])
    one = fit(Gaussian(-1.0, 1.0), records).parameters
    many = fit(MultivariateGaussian((-1.0,), (1.0,)), records).parameters
    assert float(many.mean[0]) == pytest.approx(float(one.mean), rel=1e-5)
    assert float(many.degrees / 2) == pytest.approx(float(one.shape))
    assert float(many.scale[0, 0] / 2) == pytest.approx(float(one.scale), rel=1e-5)


def test_pseudo_observations_are_worth_what_they_say():
    for family, expected in ((Poisson(9), 3.0), (GaussianMean(0.0, 9.0, 1.0), 3.0)):
        posterior = fit(family, np.zeros((0, 1)), family.worth(3.0, 2.0))
        assert float(posterior.mean()) == pytest.approx(expected, rel=1e-5)
        more = fit(family, [6.0, 6.0], family.worth(3.0, 2.0))
        assert float(more.mean()) == pytest.approx(4.5, rel=1e-5)
    prior = Bernoulli().worth(0.25, 4.0)
    assert (prior.successes, prior.failures) == (1, 3)
    np.testing.assert_allclose(
        Categorical(3).worth(np.array([0.2, 0.3, 0.5]), 10.0).concentration, [2, 3, 5]
    )
    waiting = Exponential(5.0).worth(2.0, 4.0)  # the density on the rate: λ⁴ e^(-8λ)
    assert (waiting.shape, waiting.rate) == (5, 8)


def test_log_densities_of_large_counts_are_accurate_in_single_precision(rng):
    a = np.array([0.3, 1.0, 9.9, 10.1, 2e3, 1e6])
    x = stats.gamma(a).ppf(0.3)
    ours = jax.jit(gamma_log_density)(
        *(jnp.asarray(y, float) for y in (x, a, 1 + 0 * a))
    )
    x = np.asarray(jnp.asarray(x, float), np.float64)  # as rounded
    np.testing.assert_allclose(ours, stats.gamma(a).logpdf(x), atol=2e-4, rtol=1e-5)
    alpha = np.array([3e5, 7e5, 12.0, 0.5])
    theta = stats.dirichlet(alpha).rvs(random_state=rng)[0].astype(np.float32)
    exact = theta.astype(np.float64)
    exact[1] = 1 - exact[[0, 2, 3]].sum()
    ours = jax.jit(dirichlet_log_density)(
        *(jnp.asarray(y, float) for y in (exact, alpha))
    )
    assert float(ours) == pytest.approx(stats.dirichlet(alpha).logpdf(exact), abs=0.05)
    degrees, scale = 2e4, np.array([[2.0, 0.5], [0.5, 1.0]]) * 2e4
    law = stats.invwishart(degrees, scale)
    covariance = law.rvs(random_state=rng)
    arguments = (jnp.asarray(y, float) for y in (covariance, degrees, scale))
    ours = jax.jit(inverse_wishart_log_density)(*arguments)
    assert float(ours) == pytest.approx(law.logpdf(covariance), abs=0.05)


def test_a_prior_of_another_family_is_refused():
    with pytest.raises(ValueError, match="`prior` must be of type BetaParameters"):
        fit(Bernoulli(), [0, 1], GammaParameters(1.0, 1.0))
    with pytest.raises(ValueError, match="`successes` must be positive"):
        conjugate_posterior(Bernoulli(), jnp.zeros(1), 0, BetaParameters(0.0, 1.0))
    posterior = fit(Poisson(10), X)
    for q in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="`q` must be between 0 and 1"):
            posterior.quantile(q)
