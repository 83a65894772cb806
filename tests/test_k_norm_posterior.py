"""Noise-aware estimates from K-norm noise: coverage, accuracy and many releases."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.data.probabilities import sample_records
from dpjax.mechanisms import KNorm, Laplace
from dpjax.posteriors import point_estimate
from dpjax.posteriors.estimate.number_law import normal_log_prob
from dpjax.privacy import budget_of
from dpjax.releases import Released
from dpjax.statistics import Contrasts, NetworkCounts
from tests.helpers.cases import mostly_thorough

TWO, THREE = [0, 1], [0, 1, 2]
NET = dp.BayesNet.from_parents(
    {"x": THREE, "a": TWO, "b": THREE, "c": TWO, "d": TWO},
    {"x": [], "a": ["x"], "b": ["x"], "c": ["x"], "d": ["b", "c"]},
)
BAYES = dp.BayesNet.naive_bayes({f"v{i}": TWO for i in range(9)}, "v0")
N, SETS = 1_000, 130


def releases(net, made, statistic, sets=SETS):
    """True tables, drawn from the prior, and a release of records from each."""

    def one(key):
        first, second, third = jr.split(key, 3)
        layout = net.layout
        truth = layout.normalise(jr.exponential(first, (layout.length,)))
        exact = statistic.measure(sample_records(second, truth, net, N))
        return truth, made.sample(third, exact)

    truth, values = jax.jit(lambda key: jax.lax.map(one, jr.split(key, sets)))(
        jr.key(5)
    )
    public = made.adjacency == "replace-one"
    return truth, Released(values, statistic, made, N if public else None)


@pytest.fixture(scope="module", params=mostly_thorough(["replace-one", "add-remove"]))
def estimated(request):
    statistic = Contrasts.of_network(NET, request.param)
    made = KNorm.of(statistic, budget_of(1, request.param))
    truth, released = releases(NET, made, statistic)
    return truth, point_estimate(released, 1.0)


@eqx.filter_jit
def intervals(estimate):
    """Nominal 95 % intervals of the tables of each release."""
    ends = [jnp.asarray(q) for q in (0.025, 0.975)]

    def one(given):
        theta, prior, n, values = given
        of_one = eqx.tree_at(
            lambda x: (x.theta, x.prior, x.n, x.released.values),
            estimate,
            (theta, prior, n, values),
        )
        law = of_one._law()
        return jnp.stack([law.quantile(q) for q in ends])

    given = estimate.theta, estimate.prior, estimate.n, estimate.released.values
    return jax.vmap(one)(given)


@pytest.mark.slow
def test_intervals_of_many_releases_at_once_cover_the_truth(estimated):
    """Also those after the hundredth, which jaxlib 0.10 computes wrongly if it can."""
    truth, estimate = estimated
    low, high = jnp.moveaxis(intervals(estimate), 1, 0)
    inside = np.asarray((low <= truth) & (truth <= high))
    assert 0.89 < inside.mean() < 0.98
    assert inside[100:].mean() > 0.86


@pytest.mark.thorough
def test_the_error_is_less_than_with_laplace_noise():
    adjacency, budget = "replace-one", budget_of(1, "replace-one")
    shaped, counts = Contrasts.of_network(BAYES, adjacency), NetworkCounts(BAYES)
    errors = []
    for statistic, made in (
        (shaped, KNorm.of(shaped, budget)),
        (counts, Laplace(jnp.asarray(1.0), counts.sensitivity(adjacency))),
    ):
        truth, released = releases(BAYES, made, statistic, 40)
        errors.append(((point_estimate(released, 1.0).theta - truth) ** 2).mean())
    assert errors[0] < 0.6 * errors[1]


def test_a_number_with_normal_noise_has_the_sum_of_the_variances():
    values, mean = jnp.asarray([3.0, -1.0]), jnp.asarray([1.0, 2.0])
    variance, deviation = jnp.asarray([4.0, 0.5]), jnp.asarray([3.0, 0.2])
    weights = jnp.asarray([1.0, 0.5])
    found = normal_log_prob(values, mean, variance, deviation, weights)
    law = stats.norm(mean, np.sqrt(np.asarray(variance) + np.asarray(deviation) ** 2))
    wanted = weights * (law.logpdf(values) + np.log(2 * np.pi) / 2)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.slow
def test_posterior_takes_a_release_with_k_norm_noise():
    records = np.random.default_rng(0).integers(0, 2, (300, 5)).astype(np.uint8)
    released = dp.release(
        NET, records, epsilon=2, adjacency="add-remove", mechanism="k-norm"
    )
    found = dp.posterior(released)
    assert found.method == "point-estimate"
    assert found.n == pytest.approx(300, abs=60)
    assert dp.posterior(released, method="plug-in").mean().keys() == {*NET.names}


@pytest.mark.slow
def test_a_private_number_of_records_is_estimated_without_bias():
    """Many tables of few records' noise pull a number with a flat prior down."""
    statistic = Contrasts.of_network(BAYES, "add-remove")
    made = KNorm.of(statistic, budget_of("0.3", "add-remove"))
    _, released = releases(BAYES, made, statistic, 100)
    found = np.asarray(point_estimate(released, 1.0, steps=50).n)
    error = found.std() / 10
    assert error < 5  # of 1,000: 30 fewer would be noticed
    assert abs(found.mean() - N) < 5 * error
