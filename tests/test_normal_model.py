"""The normal approximation against sums over all hidden data sets, where it is good."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpyro import diagnostics, handlers

from dpjax import BayesNet
from dpjax.mechanisms import DiscreteLaplace
from dpjax.posteriors import normal_model, normal_posterior
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, NetworkCounts
from tests.helpers.hidden_counts import hidden_counts
from tests.helpers.networks import TINY, measure

DEVIATIONS = 6  # of Monte Carlo error: one number in 1e8 beyond
PRIORS = ("prior", "flat")  # factors of the model
BIAS = 0.1  # of a posterior deviation, at about a hundred records

pytestmark = pytest.mark.relaxed


def release(rng, statistic, adjacency, epsilon, records):
    mechanism = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    noise = rng.geometric(1 - np.exp(-mechanism.rho), (2, statistic.length))
    exact = np.asarray(measure(statistic, jnp.asarray(records)))
    values = jnp.asarray(exact + noise[0] - noise[1], jnp.int32)
    n = jnp.asarray(len(records)) if adjacency == REPLACE_ONE else None
    return Released(values, statistic, mechanism, n)


def assert_agrees(samples, released, prior, most=None):
    """Means and deviations, but for Monte Carlo error and the stated bias."""
    truth = hidden_counts(released, prior, most)
    assert released.n is not None or truth.weights[truth.n == most].sum() < 1e-6
    samples = np.asarray(samples, float)
    worth = diagnostics.effective_sample_size(samples)
    worth = np.minimum(worth, samples.shape[0] * samples.shape[1])
    allowed = truth.sd * (BIAS + DEVIATIONS / np.sqrt(worth))
    assert np.all(np.abs(samples.mean(axis=(0, 1)) - truth.mean) < allowed)
    # Squares of draws that lean to one side vary more than those of normal ones.
    allowed = truth.sd * (BIAS + 1.5 * DEVIATIONS / np.sqrt(2 * worth))
    assert np.all(np.abs(samples.std(axis=(0, 1)) - truth.sd) < allowed)
    return truth


@pytest.mark.thorough
def test_releases_of_public_n_agree_with_enumeration(key, rng):
    net = BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
    statistic = FourierCoefficients.of_network(net, REPLACE_ONE)
    records = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [40, 20, 15, 35], axis=0)
    pair = [release(rng, statistic, REPLACE_ONE, e, records) for e in (1, 1)]
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pair)
    run = jax.vmap(lambda key, one: normal_posterior(key, one, 2.0, warmup=500))
    posteriors = run(jr.split(key, 2), stack)
    assert posteriors.method == "normal"
    for samples, released in zip(posteriors.samples, pair, strict=True):
        assert_agrees(samples, released, 2.0)
    assert np.all(posteriors.reports["divergences"] < 10)


@pytest.mark.thorough
def test_a_hidden_n_agrees_with_enumeration(key, rng):
    statistic = NetworkCounts(TINY["coin"])
    records = np.repeat([[0], [1], [2]], [20, 10, 15], axis=0)
    released = release(rng, statistic, ADD_REMOVE, 0.6, records)
    posterior = normal_posterior(key, released, 1.0, warmup=500)
    assert posterior.diagnostics().worst_r_hat < 1.05
    truth = assert_agrees(posterior.samples, released, 1.0, most=100)
    n = np.asarray(posterior.n, float)
    mean = truth.weights @ truth.n
    sd = np.sqrt(truth.weights @ (truth.n - mean) ** 2)
    error = sd * (BIAS + DEVIATIONS / np.sqrt(diagnostics.effective_sample_size(n)))
    assert abs(n.mean() - mean) < error
    updated = posterior.update(np.full((3_000, 1), 2, np.int32), key)
    assert updated.mean()["x"][2] > 0.95
    assert updated.method == posterior.method


@pytest.fixture
def released(rng):
    statistic = NetworkCounts(TINY["chain"])
    return release(rng, statistic, REPLACE_ONE, 1, np.zeros((5, 2), np.int32))


@pytest.mark.parametrize("setting", ["chains", "warmup", "samples"])
def test_settings_are_checked(key, released, setting):
    with pytest.raises(
        ValueError, match=f"`{setting}` must be an integer of at least 1"
    ):
        normal_posterior(key, released, **{setting: 0})


def test_networks_must_have_few_states(key, rng):
    names = [f"v{i}" for i in range(13)]
    net = BayesNet.from_parents(
        {name: [0, 1] for name in names}, {name: [] for name in names}
    )
    records = np.zeros((5, 13), np.int32)
    large = release(rng, NetworkCounts(net), REPLACE_ONE, 1, records)
    for attempt in (lambda: normal_model(large), lambda: normal_posterior(key, large)):
        with pytest.raises(
            ValueError, match="at most 4096 joint states, got 8192: use"
        ):
            attempt()


def test_priors_are_checked(released):
    with pytest.raises(ValueError, match="`prior` must be positive"):
        normal_model(released, 0.0)


def test_coordinates_carry_their_jacobians(key, rng):
    statistic = NetworkCounts(TINY["coin"])
    records = np.zeros((30, 1), np.int32)
    model = normal_model(release(rng, statistic, ADD_REMOVE, 1, records), 1.7)

    @jax.jit
    def densities(logits, log_multiple):
        given = {"logits": logits, "log_multiple": log_multiple}
        sites = handlers.trace(
            handlers.substitute(handlers.seed(model, key), given)
        ).get_trace()
        prior, flat = (sites[x]["fn"].log_prob(sites[x]["value"]) for x in PRIORS)
        slopes = jax.jacobian(lambda x: jax.nn.softmax(jnp.append(x, 0.0))[:2])(logits)
        theta, n = sites["theta"]["value"], sites["n"]["value"]
        jacobian = jnp.linalg.slogdet(slopes)[1]
        return prior - jacobian - 0.7 * jnp.log(theta).sum(), flat - jnp.log(n)

    first = densities(jnp.array([0.3, -1.0]), jnp.asarray(0.7))
    second = densities(jnp.array([-0.8, 2.0]), jnp.asarray(-0.4))
    np.testing.assert_allclose(first, second, atol=1e-4)
