"""Chains against sums over all hidden data sets, and what is made of their draws."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro import diagnostics

from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import gibbs_posterior
from dpjax.posteriors.gibbs import gibbs
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.cases import mostly_thorough
from tests.helpers.hidden_counts import hidden_counts
from tests.helpers.networks import TINY, measure

DEVIATIONS = 6  # of Monte Carlo error: one number in 1e8 beyond
CHAIN = BayesNet.from_parents(
    {"a": [0, 1], "b": [0, 1], "c": [0, 1]}, {"a": [], "b": ["a"], "c": ["b"]}
)
CATEGORICAL = BayesNet.naive_bayes({"t": [0, 1, 2], "a": [0, 1, 2]}, "t")


def release(rng, net, kind, adjacency, epsilon, n):
    """Of records that are far from uniform."""
    counts = kind == "counts"
    statistic = (
        NetworkCounts(net) if counts else FourierCoefficients.of_network(net, adjacency)
    )
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    records = np.zeros((n, len(net.sizes)), np.int32)
    records[0] = np.array(net.sizes) - 1
    noise = rng.geometric(1 - np.exp(-mechanism.rho), (2, statistic.length))
    exact = np.asarray(measure(statistic, jnp.asarray(records)))
    values = jnp.asarray(exact + noise[0] - noise[1], jnp.int32)
    return Released(
        values, statistic, mechanism, n if adjacency == REPLACE_ONE else None
    )


CASES = {
    "naive Bayes, counts": (TINY["naive Bayes"], "counts", REPLACE_ONE, 2, 5),
    "categorical, Fourier": (CATEGORICAL, "fourier", REPLACE_ONE, 6, 4),
    "chain of three, Fourier": (CHAIN, "fourier", REPLACE_ONE, 4, 4),
    "collider, counts, n hidden": (TINY["collider"], "counts", ADD_REMOVE, 4, 3),
    "two roots, Fourier, n hidden": (TINY["two roots"], "fourier", ADD_REMOVE, 6, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_thorough(CASES))
def test_chains_agree_with_enumeration(case, key, rng):
    """Where n is public, two records of a sweep are proposed to be replaced."""
    released = release(rng, *CASES[case])
    truth = hidden_counts(released, 0.8, most=14 if CASES[case][-1] == 3 else 24)
    assert (
        truth.weights[truth.n == truth.n.max()].sum() < 1e-7 or released.n is not None
    )
    posterior = gibbs_posterior(
        key,
        released,
        0.8,
        warmup=500,
        sweeps=5_000,
        capacity=None if released.n else 48,
        proposals=2 if released.n else None,
    )
    assert posterior.diagnostics().worst_r_hat < 1.02
    assert posterior.method == "gibbs"
    samples = np.asarray(posterior.samples, float)
    squares = (samples - truth.mean) ** 2
    assert_averages(samples, truth.mean)
    assert_averages(squares, truth.sd**2)
    exact = truth.weights @ truth.statistics
    assert_averages(np.asarray(posterior.statistic, float), exact)
    n = np.asarray(posterior.n, float)[..., None]
    assert_averages(n, np.atleast_1d(truth.weights @ truth.n))
    assert_averages(
        (n > truth.n.min()).astype(float), truth.weights @ (truth.n > truth.n.min())
    )


def assert_averages(draws, expected):
    """Within so many errors, as the chains themselves estimate them."""
    spread = draws.std(axis=(0, 1))
    moves = spread > 1e-9
    worth = np.ones_like(spread)
    worth[moves] = diagnostics.effective_sample_size(draws[..., moves])
    worth = np.minimum(worth, draws.shape[0] * draws.shape[1])
    error = np.abs(draws.mean(axis=(0, 1)) - expected)
    assert np.all(error <= DEVIATIONS * spread / np.sqrt(worth) + 1e-5)


@pytest.fixture(scope="module")
def small(module_rng):
    settings = {"chains": 2, "warmup": 4, "sweeps": 8}
    # As strict as in a test, so that they share compiled programs.
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        released = release(module_rng, TINY["chain"], "counts", REPLACE_ONE, 1, 6)
        return released, settings, gibbs_posterior(study_key(1), released, **settings)


def split(stack):
    return [jax.tree.map(lambda leaf, i=i: leaf[i], stack) for i in range(2)]


@pytest.mark.thorough
def test_releases_go_under_vmap(small):
    released, settings, alone = small
    statistic, sensitivity = released.statistic, released.mechanism.sensitivity
    mechanisms = DiscreteLaplace.calibrate_many([1, 5], sensitivity)
    pair = [
        Released(released.values + i, statistic, mechanism, jnp.asarray(n))
        for i, (n, mechanism) in enumerate(zip([6, 4], split(mechanisms), strict=True))
    ]
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pair)
    words = jnp.stack([jr.key_data(study_key(seed)) for seed in (1, 2)])
    keys = jr.wrap_key_data(words, impl=jr.key_impl(study_key(0)))
    run = jax.vmap(lambda key, one: gibbs_posterior(key, one, **settings, capacity=6))
    many = run(keys, stack)
    assert many.samples.shape == (2, *alone.samples.shape)
    np.testing.assert_allclose(many.samples[0], alone.samples, rtol=1e-4)
    np.testing.assert_array_equal(many.n[1], np.full(alone.n.shape, 4))
    assert not np.any(many.reports["full"])


@pytest.mark.thorough
def test_the_common_face(small, key):
    released, _, posterior = small
    net, rows = released.net, np.array([[0, 2], [1, 0]], np.int32)
    mean, sd = posterior.mean(), posterior.sd()
    assert {name: table.shape for name, table in sd.items()} == {"x": (2,), "y": (2, 3)}
    np.testing.assert_allclose(mean["y"].sum(axis=-1), 1, rtol=1e-5)
    key, key_tables = jr.split(key)
    assert posterior.sample(key_tables)["y"].shape == (2, 3)
    assert posterior.sample_records(key, 7).shape == (7, 2)
    joint = np.asarray(posterior.samples).reshape(-1, net.layout.length)
    joint = (joint[:, :2, None] * joint[:, 2:].reshape(-1, 2, 3)).mean(axis=0)
    np.testing.assert_allclose(
        np.exp(posterior.log_likelihood(rows)), joint[[0, 1], [2, 0]], rtol=1e-4
    )
    law = joint[:, [2, 0]].T
    np.testing.assert_allclose(
        posterior.predict_proba(rows, "x"), law / law.sum(1, keepdims=True), rtol=1e-4
    )


def test_new_records_go_into_the_prior(small, key):
    *_, posterior = small
    updated = posterior.update(np.tile(np.array([[1, 2]], np.int32), (10_000, 1)), key)
    np.testing.assert_allclose(np.asarray(updated.prior)[[1, 7]], 10_001)
    assert updated.mean()["x"][1] > 0.99
    assert updated.sampler == posterior.sampler


def test_too_few_draws_cannot_be_diagnosed(small):
    released, settings, _ = small
    short = gibbs_posterior(study_key(1), released, **{**settings, "thin": 4})
    with pytest.raises(ValueError, match="`diagnostics` must have at least 4 draws"):
        short.diagnostics()


@pytest.mark.parametrize(
    ("epsilon", "n", "proposals"),
    # At least 128 squared scales of 2 / ε and a sixteenth of n, in powers of two.
    [("3/2", 1000, 256), (3, 1000, 64), (3, 10_000, 1024), ("1/2", 1000, None)],
)
def test_a_sweep_replaces_as_many_records_as_the_noise_asks(epsilon, n, proposals, rng):
    released = release(rng, TINY["chain"], "counts", REPLACE_ONE, epsilon, n)
    assert gibbs._proposals(released, None) == proposals


@pytest.mark.slow
def test_a_full_house_is_refused(key, rng):
    released = release(rng, TINY["two roots"], "counts", ADD_REMOVE, 1, 9)
    with pytest.raises(ValueError, match="`capacity` must be larger than the number"):
        gibbs_posterior(key, released, chains=2, warmup=4, sweeps=40, capacity=2)
