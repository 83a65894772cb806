"""Noise-aware posteriors of exponential families, against exact sums and limits."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

from dpjax.data.bayes_net import BayesNet
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import (
    Bernoulli,
    BetaParameters,
    GammaParameters,
    conjugate_posterior,
)
from dpjax.mechanisms import DiscreteLaplace, FamilyPosteriorSampler, Laplace
from dpjax.posteriors import family_posterior
from dpjax.privacy import Sensitivity
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts, Sufficient
from tests.helpers.conjugates import FAMILIES, arrays
from tests.helpers.statistical import ALPHA

COIN = Sufficient.of("bernoulli", (Variable("x", ("no", "yes")),), "replace-one")
Z_ALPHA = stats.norm.isf(ALPHA / 2)


def coin_release(noisy, scale, n=1000):
    law = Laplace(1 / scale, COIN.sensitivity("replace-one"))
    return Released(jnp.asarray([noisy], float), COIN, law, n)


def exact_coin(noisy, scale, n, a, b):
    """Mean, sd, and density of the probability: a sum over hidden counts."""
    counts = np.arange(n + 1)
    logs = stats.betabinom.logpmf(counts, n, a, b) - np.abs(counts - noisy) / scale
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    laws = stats.beta(a + counts, b + n - counts)
    mean = weights @ laws.mean()
    sd = np.sqrt(weights @ (laws.var() + laws.mean() ** 2) - mean**2)
    return mean, sd, lambda p: weights @ laws.pdf(p)


def assert_near_exact(posterior, mean, sd):
    """Within Monte-Carlo error, from the spread among chains."""
    a, b = (np.asarray(x, float) for x in posterior.parameters)
    laws = stats.beta(a, b)
    assert_chains_average(laws.mean(), mean)
    assert_chains_average(laws.var() + (laws.mean() - mean) ** 2, sd**2)
    assert float(posterior.mean()) == pytest.approx(laws.mean().mean(), rel=1e-4)
    assert float(posterior.sd()) == pytest.approx(sd, rel=0.1)


def assert_chains_average(values, expected):
    by_chain = values.mean(axis=1)
    error = by_chain.std(ddof=1) / np.sqrt(len(by_chain))
    off = abs(by_chain.mean() - expected) / error
    assert off < stats.t.isf(ALPHA / 2, len(by_chain) - 1)


@pytest.mark.thorough
def test_the_reference_value(key):
    mean, sd, density = exact_coin(301.02727328, 10.0, 1000, 10.0, 10.0)
    assert (mean, sd) == pytest.approx((0.30811418, 0.02012055), abs=2e-8)
    prior = BetaParameters(10.0, 10.0)
    found = family_posterior(
        key, coin_release(301.02727328, 10.0), prior, chains=32, draws=2000
    )
    assert_near_exact(found, mean, sd)
    at = np.array([0.27, 0.3, 0.33])
    densities = np.exp(found.log_prob(jnp.asarray(at)))
    np.testing.assert_allclose(densities, [density(p) for p in at], rtol=0.05)
    middle = found.quantile(0.5)
    assert stats.norm.cdf((middle - mean) / sd) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_prior_and_release_disagree(key):
    """The walk leaves the release far behind: by fifty scales of its noise."""
    mean, sd, _ = exact_coin(6000, 10.0, 10_000, 5000.0, 5000.0)
    prior = BetaParameters(5000.0, 5000.0)
    found = family_posterior(
        key, coin_release(6000, 10.0, 10_000), prior, chains=32, draws=2000
    )
    assert float(found.totals.mean()) == pytest.approx(5497, abs=5)
    assert_near_exact(found, mean, sd)


@pytest.mark.slow
def test_totals_that_no_records_have_are_not_drawn(key):
    """Twenty numbers from 5 to 10 sum to 100 at least; the release is 110."""
    statistic = Sufficient.of("exponential", (Interval("x", 5, 10),), "replace-one")
    step, prior = statistic.steps / 10, GammaParameters(2.0, 8.0)
    law = Laplace(0.1, statistic.sensitivity("replace-one"))
    released = Released(jnp.asarray([110 * step], float), statistic, law, 20)
    found = family_posterior(key, released, prior, chains=16, draws=1000)
    totals = np.linspace(100, 200, 10_001)
    logs = 19 * np.log(totals) - 22 * np.log(8 + totals)
    logs -= np.abs(totals - 110) * step * 0.1 / float(law.sensitivity.value)
    weights = np.exp(logs - logs.max())
    mean = weights @ (22 / (8 + totals)) / weights.sum()
    assert float(found.totals.min()) >= 100 - 1e-3
    rates = np.asarray(found.parameters[0] / found.parameters[1], float)
    assert_chains_average(rates, mean)


def measured(rng, name, family, law, n=400):
    """A release of random records, and the conjugate posterior of the exact total."""
    over = (Interval("x", *family.bounds[0]), Interval("y", -6, 2))[: family.columns]
    if family.categorical:
        over = (Variable("x", ("a", "b", "c")),)
    statistic = Sufficient.of(name, over, "replace-one", **family.options())
    lower, upper = np.array(family.bounds).T
    records = lower + (upper - lower) * rng.random((n, family.columns))
    exact = statistic.measure(records)
    return Released(
        exact.astype(float), statistic, law(statistic.sensitivity("replace-one")), n
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    [
        "exponential",
        pytest.param("multivariate-gaussian", marks=pytest.mark.thorough),
        pytest.param("linear-regression", marks=pytest.mark.thorough),
    ],
)
def test_without_noise_the_conjugate_posterior(rng, key, name):
    family, prior = FAMILIES[name]
    released = measured(rng, name, family, lambda delta: Laplace(1e4, delta))
    found = family_posterior(key, released, prior, chains=2, warmup=300, draws=200)
    total, n = released.statistic.decode(released.values, 400)
    expected = conjugate_posterior(family, total, n, arrays(prior))
    assert_same(found.mean(), expected.mean(), expected.sd(), 0.02)
    assert_same(found.sd(), expected.sd(), expected.sd(), 0.02)
    for q in (0.1, 0.9):
        middle, scale = expected.quantile(0.5), expected.quantile(0.8)
        scale = jax.tree.map(lambda x, y: np.abs(x - y), scale, middle)
        assert_same(found.quantile(q), expected.quantile(q), scale, 0.04)
    at = expected.mean()
    assert float(found.log_prob(at)) == pytest.approx(
        float(expected.log_prob(at)), abs=0.02
    )
    if name != "linear-regression":
        return
    features = np.array([[-1.0], [4.0]])
    assert_same(found.predict(features), expected.predict(features), 1.0, 0.02)
    for got, wanted in zip(
        found.interval(features, 0.9), expected.interval(features, 0.9), strict=True
    ):
        np.testing.assert_allclose(got, wanted, atol=0.02)


def assert_same(found, expected, unit, tolerance):
    """Equal structures, and values that differ by less than so many units."""
    unit = (
        unit
        if jax.tree.structure(unit) == jax.tree.structure(found)
        else (jax.tree.map(lambda _: unit, found))
    )
    off = jax.tree.map(lambda x, y, u: np.max(np.abs(x - y) / u), found, expected, unit)
    assert max(jax.tree.leaves(off)) < tolerance


@pytest.mark.slow
def test_releases_stack_and_everything_is_a_pytree(key):
    @jax.jit
    @jax.vmap
    def ask(key, values, epsilon, n):
        law = Laplace(epsilon, COIN.sensitivity("replace-one"))
        released = Released(values, COIN, law, n)
        return family_posterior(key, released, chains=2, warmup=50, draws=30)

    values, epsilons = jnp.asarray([[300.0], [20.0]]), jnp.asarray([0.1, 0.5])
    found = ask(jr.split(key, 2), values, epsilons, jnp.asarray([1000, 30]))
    assert found.totals.shape == (2, 2, 30, 1)
    means = np.asarray(jax.vmap(lambda p: p.mean())(found))
    np.testing.assert_allclose(means, [0.3, 20 / 30], atol=0.1)
    totals = np.asarray(found.totals)
    assert np.all(totals == np.round(totals))  # whole, and of so many records
    assert totals[1].max() <= 30
    leaves, structure = jax.tree.flatten(found)
    assert jax.tree.unflatten(structure, leaves).method == found.method


@pytest.mark.thorough
def test_counts_that_must_sum_to_n_do(key):
    """Against a sum over all of them."""
    over = (Variable("x", ("a", "b", "c")),)
    statistic = Sufficient.of("categorical", over, "replace-one")
    law = DiscreteLaplace.calibrate("0.2", statistic.sensitivity("replace-one"))
    noisy, prior = np.array([-9, 25, 3]), FAMILIES["categorical"][1]
    released = Released(jnp.asarray(noisy), statistic, law, 31)
    key, key_chains = jr.split(key)
    found = family_posterior(
        key_chains, released, prior, chains=32, warmup=200, draws=500
    )
    counts = np.array([(i, j, 31 - i - j) for i in range(32) for j in range(32 - i)])
    weights = np.exp(
        stats.dirichlet_multinomial.logpmf(counts, prior.concentration, 31)
        - np.abs(counts - noisy).sum(axis=1) / 10
    )
    totals = np.asarray(found.totals, float)
    assert np.all(totals >= 0)
    assert np.all(totals == np.round(totals))
    np.testing.assert_array_equal(totals.sum(axis=-1), 31)
    for level in range(3):
        exact = weights @ counts[:, level] / weights.sum()
        assert_chains_average(totals[..., level], exact)
    draws = found.sample(key, (2, 3))
    assert draws.shape == (2, 3, 3)
    np.testing.assert_allclose(draws.sum(axis=-1), 1, rtol=1e-5)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_more_records_and_diagnostics(key):
    """Records of one's own are worth what they are; the hidden ones stay hidden."""
    released = coin_release(30.0, 100.0)
    before = family_posterior(key, released, chains=32, warmup=300, draws=500)
    records = np.repeat([[1], [0]], [150, 50], axis=0)
    after = before.update(records, key)
    assert_near_exact(after, *exact_coin(30.0, 100.0, 1000, 151.0, 51.0)[:2])
    assert after.releases == ((released,),)
    told = after.diagnostics()
    assert told["r_hat"] == pytest.approx(1, abs=0.05)
    assert 400 < told["effective"] < 32_000
    assert 0 < told["accepted"] < 1


@pytest.mark.slow
def test_what_cannot_be_inferred(key):
    released = coin_release(30.0, 10.0)
    with pytest.raises(ValueError, match="`prior` must be of type BetaParameters"):
        family_posterior(key, released, GammaParameters(1.0, 1.0))
    with pytest.raises(ValueError, match="`failures` must be positive"):
        family_posterior(key, released, BetaParameters(1.0, 0.0))
    for setting in ("chains", "warmup", "draws"):
        with pytest.raises(ValueError, match=f"`{setting}` must be an integer"):
            family_posterior(key, released, **{setting: 0})
    found = family_posterior(key, released, chains=1, warmup=10, draws=5)
    with pytest.raises(ValueError, match="`family` must be a linear-regression"):
        found.predict(np.zeros((1, 1)))
    with pytest.raises(ValueError, match="`q` must be between 0 and 1"):
        found.quantile(1.0)


def test_what_is_no_noisy_statistic(key, rng):
    family, _ = FAMILIES["gaussian"]
    law = Laplace(1.0, Sensitivity(1, "replace-one"))
    few = measured(rng, "gaussian", family, lambda _: law, n=1)
    with pytest.raises(ValueError, match="`released` must be of at least 2 records"):
        family_posterior(key, few)
    over = (Variable("x", ("no", "yes")),)
    counts = NetworkCounts(BayesNet(over, ((),)))
    with pytest.raises(ValueError, match="`released` must be of the sufficient"):
        family_posterior(key, Released(jnp.zeros(counts.length), counts, law, 9))
    drawn = FamilyPosteriorSampler.calibrate(Bernoulli(), 1, 0, "1", "replace-one", n=9)
    with pytest.raises(
        ValueError, match="`released` must be of a mechanism with a law"
    ):
        family_posterior(key, Released(jnp.zeros((1, 1), int), COIN, drawn, 9))
