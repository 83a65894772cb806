"""The joint law of K-norm noise on tables, and Gibbs sampling by it."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.mechanisms import KNorm
from dpjax.posteriors import METHODS, gibbs_posterior
from dpjax.privacy import ADD_REMOVE, REPLACE_ONE, budget_of
from dpjax.releases import Released
from dpjax.statistics import Contrasts
from tests.helpers.cases import mostly_thorough
from tests.helpers.enumeration import Enumerated
from tests.helpers.networks import TINY, random_network

from .test_gibbs_posterior import assert_averages
from .test_k_norm import BOTH, NETS, mechanism, random_blocks

TWO, THREE = [0, 1], [0, 1, 2]


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("seed", mostly_thorough(range(8), 2))
def test_norms_are_those_of_the_exact_law(seed, adjacency):
    """Of random blocks, margins, levels and stars."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, variables=4, most_parents=2, most_levels=4)
    statistic = Contrasts(net, adjacency, random_blocks(rng, net))
    made = KNorm.of(statistic, budget_of(1, adjacency))
    noise = rng.integers(-9, 10, (20, statistic.length))
    noise[0] = 0
    wanted = [[float(law.norm(z)) for law in made.laws] for z in noise.tolist()]
    found = jax.jit(made.for_studies()._simulation.norms)(jnp.asarray(noise, float))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", NETS)
def test_ratios_of_integers_are_those_of_the_exact_law(name, adjacency):
    made, rng = mechanism(name, adjacency), np.random.default_rng(1)
    noise = rng.integers(-3, 4, (24, made.statistic.length))
    noise[12:, 0] = 0  # so that the halves of other blocks decide
    noise[12:] *= rng.random(noise[12:].shape) < 0.4
    still = made.probability([0] * made.statistic.length)
    wanted = [float(made.probability(z) / still) for z in noise.tolist()]
    exact = rng.integers(0, 50, noise.shape)
    law = made.for_studies()
    values = jnp.asarray(exact + noise, jnp.int32)
    hidden = jnp.asarray(exact, jnp.int32)
    found = jax.jit(lambda a, b: law.gain(a, a, b))(values, hidden)
    np.testing.assert_allclose(np.exp(found), wanted, rtol=1e-4)


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", NETS)
def test_volumes_are_those_of_the_exact_balls(name, adjacency):
    """The leading coefficient of the number of points, in steps of a unit."""
    made = mechanism(name, adjacency)
    simulation = made.for_studies()._simulation
    for place, law in enumerate(made.laws):
        d = law.dimension
        assert simulation.dimensions[place] == d
        log_points = simulation.log_volumes[place] + math.lgamma(d + 1)
        assert log_points == pytest.approx(math.log(law.newton[-1]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_density_of_one_number_has_the_integral_one(adjacency):
    net = dp.BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []})
    statistic = Contrasts.of_network(net, adjacency)
    made = KNorm.of(statistic, budget_of(2, adjacency)).for_studies()
    axis = (np.arange(-60, 60) + 0.5) / 8
    points = np.stack(np.meshgrid(*[axis] * statistic.length), -1)
    points = jnp.asarray(points.reshape(-1, statistic.length), float)
    logs = made.joint_log_prob(points, jnp.zeros_like(points))
    assert float(jnp.exp(logs).sum()) / 8**statistic.length == pytest.approx(
        1, rel=0.02
    )


CASES = {
    "naive Bayes": (TINY["naive Bayes"], REPLACE_ONE, 2, 5),
    "three levels": (
        dp.BayesNet.from_parents({"t": TWO, "a": THREE}, {"t": [], "a": ["t"]}),
        REPLACE_ONE,
        4,
        4,
    ),
    "n hidden": (TINY["chain"], ADD_REMOVE, 3, 3),
}


def exact_law(made):
    """The exact law of a release given each of some vectors, as logarithms."""

    def one(noise):
        return math.log(made.probability([round(float(x)) for x in noise]))

    return lambda values, exact: np.array([[one(values - row)] for row in exact])


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_thorough(CASES, 1))
def test_chains_agree_with_enumeration(case, key):
    net, adjacency, epsilon, n = CASES[case]
    statistic = Contrasts.of_network(net, adjacency)
    made = KNorm.of(statistic, budget_of(epsilon, adjacency))
    records = np.zeros((n, len(net.sizes)), np.uint8)
    records[0] = np.array(net.sizes) - 1
    exact = np.asarray(statistic.measure(records))
    noise = np.asarray(jax.jit(made.sample)(jr.key(3), jnp.asarray(exact))) - exact
    public = n if adjacency == REPLACE_ONE else None
    values = jnp.asarray(exact + noise, jnp.int32)
    released = Released(values, statistic, made, public)
    sizes = [n] if public else range(16)
    truth = Enumerated(statistic, np.asarray(values), exact_law(made), 0.8, sizes)
    draws = gibbs_posterior(
        key,
        released,
        0.8,
        warmup=500,
        sweeps=5_000,
        capacity=None if public else 32,
        proposals=2 if public else None,
    )
    assert draws.diagnostics().worst_r_hat < 1.02
    samples = np.asarray(draws.samples, float)
    mean, square = truth.moments()
    assert_averages(samples, mean)
    assert_averages(samples**2, square)


def test_the_method_is_offered_by_name():
    records = np.random.default_rng(0).integers(0, 2, (40, 3)).astype("u1")
    net = TINY["naive Bayes"]
    one = dp.release(net, records, epsilon=1, adjacency=BOTH[0], mechanism="k-norm")
    assert METHODS["gibbs"].suits(one)
    assert not METHODS["exact"].suits(one)
