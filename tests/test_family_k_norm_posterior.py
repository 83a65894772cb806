"""Posteriors of families given K-norm noise, whose numbers have one joint density."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import NormalInverseGammaParameters, conjugate_posterior
from dpjax.mechanisms import ContinuousFamilyKNorm, FamilyKNorm
from dpjax.posteriors import family_posterior
from dpjax.privacy import budget_of
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient
from tests.helpers.statistical import ALPHA

from .test_noise_aware_coverage import CASES, N, assert_only_the_noise_covers

PRIOR = NormalInverseGammaParameters(0.5, 2.0, 5.0, 5.0)
COLUMN = (Interval("x", -8, 9),)


def release_many(rng, statistic, records, epsilon):
    """Noisy statistics of many data sets; all of the noise is NumPy's."""
    exact = np.asarray(jax.jit(jax.vmap(statistic.measure))(records), float)
    mechanism = FamilyKNorm.of(statistic, budget_of(epsilon, statistic.adjacency))
    many, length = exact.shape
    radius = rng.gamma(length + 1, 1 / epsilon, many)
    for places, size in mechanism.parts:
        point = rng.laplace(size=(many, len(places)))
        whole = np.abs(point).sum(axis=1) + rng.exponential(size=many)
        exact[:, places] += point * (size * radius / whole)[:, None]
    return exact


def infer_many(statistic, prior, epsilon):
    """A function of keys, noisy values and a budget, to (aware, naive) parameters."""
    public = N if statistic.adjacency == "replace-one" else None
    budget = budget_of(epsilon, statistic.adjacency)
    mechanism = FamilyKNorm.of(statistic, budget).for_studies()

    def one(key, values, epsilon):
        noise = eqx.tree_at(lambda x: x.epsilon, mechanism, epsilon)
        released = Released(values, statistic, noise, public)
        aware = family_posterior(key, released, prior, chains=1, warmup=200, draws=400)
        total, n = statistic.decode(values, public)
        naive = conjugate_posterior(statistic.family, total, n, prior)
        return jax.tree.map(lambda x: x[0], aware.parameters), naive.parameters

    many = jax.jit(jax.vmap(one, (0, 0, None)))

    def run(key, values, epsilon):
        keys = jr.split(jr.clone(key), len(values))
        return many(keys, jnp.asarray(values, float), jnp.asarray(epsilon, float))

    return run


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("adjacency", "family"),
    [
        ("replace-one", "gaussian"),
        ("add-remove", "gaussian"),
        ("replace-one", "linear-regression"),
        ("add-remove", "linear-regression"),
        ("add-remove", "poisson"),
    ],
)
def test_intervals_cover_and_those_for_other_noise_do_not(key, rng, adjacency, family):
    simulate, variables, prior, epsilon = CASES[family]
    truths, records = simulate(rng)
    statistic = Sufficient.of(family, variables, adjacency)
    values = release_many(rng, statistic, records, epsilon)
    infer = infer_many(statistic, prior, epsilon)
    assert_only_the_noise_covers(infer, key, values, epsilon, truths)


@pytest.mark.slow
def test_chains_have_the_means_of_an_integral_over_all_totals(key):
    """Steps follow a smooth approximation of the norm, and draws the norm itself."""
    statistic = Sufficient.of("gaussian", COLUMN, "replace-one")
    budget = budget_of("1/10", "replace-one")
    mechanism = FamilyKNorm.of(statistic, budget)
    n, noisy = 100, jnp.asarray([5_000.0, 21_000.0])
    released = Released(noisy, statistic, mechanism, n)
    found = family_posterior(key, released, PRIOR, chains=32, draws=300)
    family, units = statistic.family, statistic.steps
    means = np.linspace(-1, 1, 803)[1:-1]
    squares = np.linspace(0, 1, 803)[1:-1]
    grid = np.stack(np.meshgrid(means, squares), axis=-1).reshape(-1, 2)
    grid = jnp.asarray(grid[grid[:, 0] ** 2 < grid[:, 1]] * n, float)
    totals = grid * jnp.asarray(family.scales())[None]

    def weigh(scaled, total):
        law = family.log_total(PRIOR, total, jnp.asarray(n, float))
        return law + mechanism.for_studies().joint_log_prob(noisy, scaled * units)

    logs = np.asarray(jax.jit(jax.vmap(weigh))(grid, totals), float)
    weights = np.exp(logs - logs.max())
    updated = jax.vmap(lambda total: family.update(PRIOR, total, n))(totals)
    expected = family.posterior(updated).mean()
    by_chain = jax.vmap(jax.vmap(lambda x: family.posterior(x).mean()))(
        found.parameters
    )
    for name, value in expected.items():
        wanted = np.average(np.asarray(value, float), weights=weights)
        each = np.asarray(by_chain[name], float).mean(axis=1)
        off = abs(each.mean() - wanted) / (each.std(ddof=1) / 32**0.5)
        assert off < stats.t.isf(ALPHA / 2, 31)
        assert each.std() < 0.1 * abs(wanted) + 0.1  # the comparison says something


def released(family, adjacency):
    rng = np.random.default_rng(3)
    over = (Variable("x", ("a", "b", "c")),)
    records = rng.integers(0, 3, (300, 1))
    if family != "categorical":
        columns = "xyz" if family == "multivariate-gaussian" else "x"
        over = tuple(Interval(x, 0, 6) for x in columns)
        records = rng.gamma(4.0, 0.5, (300, len(over)))
    statistic = Sufficient.of(family, over, adjacency)
    mechanism = FamilyKNorm.of(statistic, budget_of(2, adjacency))
    values = mechanism.sample(dp.study_key(1), statistic.measure(records))
    n = 300 if adjacency == "replace-one" else None
    return Released(values, statistic, mechanism, n)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "adjacency"),
    [
        ("categorical", "replace-one"),
        pytest.param("poisson", "add-remove", marks=pytest.mark.thorough),
        pytest.param("exponential", "replace-one", marks=pytest.mark.thorough),
        pytest.param("multivariate-gaussian", "add-remove", marks=pytest.mark.thorough),
    ],
)
def test_the_posterior_of_a_release_is_noise_aware(family, adjacency):
    one = released(family, adjacency)
    found = dp.posterior(one)
    assert found.method == "hidden-totals"
    plain = dp.posterior(one, noise_aware=False)
    if family == "multivariate-gaussian":
        assert np.all(found.sd()["mean"] > plain.sd()["mean"])
        assert max(np.max(x) for x in found.diagnostics()["r_hat"].values()) < 1.15
    else:
        assert np.all(np.asarray(found.sd()) > np.asarray(plain.sd()))
    np.testing.assert_allclose(
        *(jax.tree.leaves(x.mean())[-1] for x in (found, plain)), atol=1.0
    )


def test_the_density_has_its_largest_value_at_the_release():
    statistic = Sufficient.of("gaussian", COLUMN, "add-remove")
    noise = ContinuousFamilyKNorm.calibrate_many([1, 2], statistic)
    exact = jnp.zeros((statistic.length,))
    for far in (1.0, 100.0, 5_000.0):
        logs = jax.vmap(lambda one, far=far: one.joint_log_prob(exact, exact + far))
        peak = jax.vmap(lambda one: one.joint_log_prob(exact, exact))(noise)
        assert np.all(np.asarray(logs(noise)) < np.asarray(peak))
