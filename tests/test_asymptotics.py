"""Asymptotic efficiency of private estimators, by a million simulated data sets."""

import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace, NetworkPosteriorSampler, PosteriorSample
from dpjax.noise import discrete_laplace

COIN = BayesNet.from_parents({"x": [0, 1]}, {"x": []})
DRAWS, RECORDS, TRUTH = 1_000_000, 100_000, 0.3


def efficiency(estimates):
    """Variance about the truth over that of the best estimator, 1 / (N I)."""
    squares = np.mean((np.asarray(estimates, float) - TRUTH) ** 2)
    return squares * RECORDS / (TRUTH * (1 - TRUTH))


@pytest.fixture(scope="module")
def counts():
    ones = np.random.default_rng(0).binomial(RECORDS, TRUTH, DRAWS)
    return np.stack([RECORDS - ones, ones], axis=1).astype(np.int32)


@pytest.fixture(scope="module")
def noisy(counts):
    sensitivity = dp.statistics.NetworkCounts(COIN).sensitivity("replace-one")
    noise = DiscreteLaplace.calibrate("1", sensitivity)
    key = dp.study_key(0)
    return np.asarray(jax.jit(discrete_laplace.add)(key, noise.table, counts))


@pytest.mark.thorough
def test_theorem_4_one_draw_of_the_laplace_posterior_has_efficiency_2(noisy, key):
    """As a draw of the posterior itself, whatever ε."""

    @jax.jit
    def draw(key, counts):
        posterior = dp.posteriors.PlugInPosterior(COIN, 1.0 + counts.astype(float))
        return posterior.sample(key)["x"][1]

    estimates = jax.vmap(draw)(jr.split(key, DRAWS), noisy)
    assert efficiency(estimates) == pytest.approx(2, rel=0.02)


@pytest.mark.thorough
def test_remark_1_the_mean_of_the_laplace_posterior_has_efficiency_1(noisy):
    concentration = 1.0 + noisy
    means = concentration[:, 1] / concentration.sum(axis=1)
    assert efficiency(means) == pytest.approx(1, rel=0.02)


@functools.partial(jax.jit, static_argnames="temperature")
def tempered_draws(key, counts, temperature):
    law = PosteriorSample(COIN.layout, temperature, 0.2, "replace-one")
    draw = jax.vmap(law.sample)(jr.split(key, counts.shape[0]), counts)
    return draw[:, 1]


@pytest.mark.thorough
def test_theorem_5_a_posterior_sample_has_efficiency_1_plus_T(counts, key):
    """At T = 2.77, what a₀ = .2 and ε = 1 ask for: 3.77."""
    law = NetworkPosteriorSampler.posterior(
        COIN.layout, "1", "replace-one", omega="0.2"
    )
    temperature = float(law.temperature)
    assert temperature == pytest.approx(2.77, abs=0.01)
    found = efficiency(tempered_draws(key, jnp.asarray(counts), temperature))
    assert found == pytest.approx(1 + temperature, rel=0.02)


@pytest.mark.thorough
def test_a_temperature_off_by_a_tenth_is_noticed(counts, key):
    found = efficiency(tempered_draws(key, jnp.asarray(counts), 2.773 * 1.1))
    assert found != pytest.approx(1 + 2.773, rel=0.02)
