"""Posteriors of the parameter of records that were clipped before they were summed."""

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.families import Exponential, GammaParameters, GaussianMean, Poisson
from dpjax.mechanisms import DiscreteLaplace
from dpjax.noise.keys import study_key
from dpjax.posteriors import clipped_posterior, family_posterior
from dpjax.posteriors.exact.noisy_sums import NoisySum, log_likelihood
from dpjax.privacy import ZCDP, PureDP
from dpjax.releases.released import Released
from dpjax.statistics import Sufficient

FAMILIES = {
    "times": (Exponential(2.0), 64, np.linspace(0.05, 4, 40)),
    "late times": (Exponential(3.0, 0.5), 60, np.linspace(0.1, 3, 40)),
    "counts": (Poisson(4), None, np.linspace(0.1, 9, 40)),
    "counts in fine steps": (Poisson(3), 9, np.linspace(0.1, 7, 40)),
    "numbers": (GaussianMean(-1.0, 2.0, 1.5), 50, np.linspace(-5, 5, 40)),
}
LAWS = {
    "times": lambda x, rate: stats.expon.cdf(x, scale=1 / rate),
    "late times": lambda x, rate: stats.expon.cdf(x, scale=1 / rate),
    "counts": lambda x, rate: stats.poisson.cdf(x, rate),
    "counts in fine steps": lambda x, rate: stats.poisson.cdf(x, rate),
    "numbers": lambda x, mean: stats.norm.cdf(x, mean, math.sqrt(1.5)),
}


def statistic_of(family, adjacency="replace-one", units=None):
    return Sufficient(family, (dp.Interval("x", *family.bounds[0]),), adjacency, units)


def released_of(family, values, n, epsilon, units=None):
    adjacency = "add-remove" if n is None else "replace-one"
    statistic = statistic_of(family, adjacency, units)
    law = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity(adjacency))
    return Released(jnp.array(values, jnp.int32), statistic, law, n)


def record_law(name, parameter):
    """Mass of every number of steps of one clipped and rounded record, with SciPy."""
    family, units, _ = FAMILIES[name]
    units = units or family.lattice
    start = family.lower if isinstance(family, GaussianMean) else 0.0
    length = family.span[1] / units
    ends = start + (np.arange(units) + 0.5) * length
    masses = np.diff(LAWS[name](ends, parameter), prepend=0, append=1)
    least = round(family.span[0] / length)
    masses[least] = masses[: least + 1].sum()
    masses[:least] = 0
    return masses


def enumerated(name, values, n, scale, points):
    """The likelihood by sums over all totals, and all numbers of records."""
    return enumerated_of_several(name, [(values, scale)], n, points, 1)


def enumerated_of_several(name, releases, n, points, power):
    """The same for several releases, whose noise has the density e^-|z / scale|^p."""
    found = np.zeros(len(points))
    for i, parameter in enumerate(points):
        one = record_law(name, parameter)
        total = np.ones(1)
        for m in range(1, (n or 80) + 1):
            total = np.convolve(total, one)
            if n not in (None, m):
                continue
            exact = np.arange(len(total))
            sums = exact, m * (len(one) - 1) - exact
            off = sum(
                np.abs((value - right) / scale) ** power
                for values, scale in releases
                for value, right in zip(values, sums, strict=False)
            )
            found[i] += (total * np.exp(-off)).sum()
    return found


RELEASES = [
    ((5,), 1, "1"),
    ((7,), 3, "10"),
    ((-9,), 3, "1"),
    ((70,), 9, "1/3"),
    ((100,), 25, "4"),
    ((40, 60), None, "2"),
    ((150, -20), None, "1"),
]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("values", "n", "epsilon"), RELEASES)
def test_the_likelihood_is_the_enumerated_one(name, values, n, epsilon):
    family, units, points = FAMILIES[name]
    released = released_of(family, values, n, epsilon, units)
    noisy = NoisySum.of([released], released.statistic)
    steps = released.statistic.steps
    expected = enumerated(name, values, n, noisy.scales[0] * steps, points)
    found = np.exp(log_likelihood(family, noisy, points))
    found *= expected.sum() / found.sum()
    np.testing.assert_allclose(found, expected, 0, 1e-3 * expected.max())


SEVERAL = {  # values, in largest records, and budgets of releases of n records
    "two": ([((1.2,), 2), ((1.8,), 2)], 3),
    "precise and noisy": ([((12,), 4), ((-9,), Fraction(1, 9)), ((12.5,), 3)], 25),
    "far apart": ([((3,), 2), ((6,), 2)], 9),
    "private": ([((3, 4), 1), ((2, 5.5), Fraction(1, 3))], None),
}


@pytest.mark.parametrize("kind", ["laplace", "normal"])
@pytest.mark.parametrize("name", ["times", "late times", "counts", "numbers"])
@pytest.mark.parametrize("case", SEVERAL)
def test_the_likelihood_of_several_releases_is_the_enumerated_one(name, case, kind):
    family, units, points = FAMILIES[name]
    given, n = SEVERAL[case]
    adjacency = "add-remove" if n is None else "replace-one"
    statistic = statistic_of(family, adjacency, units)

    def release(values, budget):
        if kind == "laplace":
            law = DiscreteLaplace.calibrate(budget, statistic.sensitivity(adjacency))
        else:
            cost = ZCDP(Fraction(budget) ** 2, adjacency)
            law = dp.recipes.Gaussian().mechanism(statistic, cost, n)
        return Released(jnp.array(values, jnp.int32), statistic, law, n)

    steps = statistic.steps
    given = [(np.round(np.array(x) * steps).astype(int), y) for x, y in given]
    noisy = NoisySum.of([release(*x) for x in given], statistic)
    power = 1 if kind == "laplace" else 2
    budgets = np.array([float(budget) for _, budget in given])
    if kind == "laplace":
        stated = float(statistic.sensitivity(adjacency).value) / budgets
    else:  # Δ² / 2ρ
        stated = np.sqrt(float(statistic.squared_sensitivity(adjacency).value) / 2)
        stated = stated / budgets
    np.testing.assert_allclose(noisy.scales * steps, stated, rtol=0.01)
    scales = noisy.scales * steps * np.sqrt(power)  # of e^(-z² / 2σ²)
    releases = [(values, x) for (values, _), x in zip(given, scales, strict=True)]
    expected = enumerated_of_several(name, releases, n, points, power)
    found = np.exp(log_likelihood(family, noisy, points))
    found *= expected.sum() / found.sum()
    np.testing.assert_allclose(found, expected, 0, 1e-3 * expected.max())


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_several_releases_infer_the_parameter_before_clipping(rng, adjacency):
    """More than a third of 4,000 times with rate 1/2 are beyond the bound."""
    times = rng.exponential(2, 4000)
    family = Exponential(2.0)
    table = statistic_of(family, adjacency)

    def release(times, cost, **options):
        return dp.release(table, {"x": times}, budget=cost, **options)

    def pure(epsilon):
        return PureDP(Fraction(epsilon), adjacency)

    rho = {"cost": ZCDP(Fraction(1, 2), adjacency), "mechanism": "gaussian"}
    first, second = release(times, pure(1)), release(times, pure("1/2"))
    parts = [release(x, pure(1)) for x in (times[:900], times[900:])]
    found = [
        dp.posterior(release(times, **rho)),
        dp.posterior([release(times, **rho), release(times, **rho)], disjoint=False),
        dp.posterior([first, second], disjoint=False),
        dp.posterior(parts, disjoint=True),
    ]
    for posterior in found:
        assert posterior.method == "exact-clipped"
        assert abs(posterior.mean() - 0.5) < 5 * posterior.sd() < 0.06
    assert found[2].guarantee() == pure("3/2")
    assert found[3].guarantee() == pure(1)
    assert found[3].sd() < 1.2 * found[2].sd()  # of 900 times, it would be twice
    alone = dp.posterior([first], disjoint=True)
    np.testing.assert_allclose(alone.mean(), dp.posterior(first).mean(), rtol=1e-6)
    with pytest.raises(ValueError, match="noise of one kind"):
        clipped_posterior([first, release(times, **rho)], disjoint=False)
    coarse = dp.release(
        statistic_of(family, adjacency, 10), {"x": times}, budget=pure(1)
    )
    for disjoint in (False, True):
        with pytest.raises(ValueError, match="the same statistic, family and `units`"):
            dp.posterior([first, coarse], disjoint=disjoint)


@pytest.mark.slow
def test_the_posterior_is_prior_times_likelihood():
    released = released_of(Exponential(2.0), (250,), 6, "1", units=64)
    prior = GammaParameters(2.5, 1.5)
    grid = np.linspace(0.01, 15, 1500)
    noisy = NoisySum.of([released], released.statistic)
    likelihood = enumerated("times", (250,), 6, noisy.scales[0] * 64, grid)
    density = likelihood * stats.gamma.pdf(grid, 2.5, scale=1 / 1.5)
    density /= np.trapezoid(density, grid)
    found = clipped_posterior(released, prior)
    mean = np.trapezoid(density * grid, grid)
    sd = math.sqrt(np.trapezoid(density * (grid - mean) ** 2, grid))
    np.testing.assert_allclose(found.mean(), mean, rtol=2e-3)
    np.testing.assert_allclose(found.sd(), sd, rtol=2e-3)
    below = (np.cumsum(density) - density / 2) * (grid[1] - grid[0])
    for q in (0.05, 0.5, 0.95):
        assert abs(np.interp(found.quantile(q), grid, below) - q) < 2e-3
    at = grid[20:1000:150]
    np.testing.assert_allclose(
        np.exp(found.log_prob(at)), density[20:1000:150], atol=2e-3
    )
    draws = np.asarray(found.sample(study_key(1), (4000,)))
    assert abs(draws.mean() - mean) < 6 * sd / math.sqrt(4000)
    beyond = found.log_prob(np.array([-1.0, 0.0, found.points[-1] + 1, 40.0]))
    assert np.isneginf(beyond[:2]).all()  # a rate is positive
    assert found.log_density[-1] > beyond[2] > beyond[3] > -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_clipped_times_give_the_rate_of_unclipped_ones(adjacency, rng, as_for_a_user):
    """Times of rate .5 within [0, 2] gave .802 ± .011, 27 standard deviations off."""
    statistic = statistic_of(Exponential(2.0), adjacency)
    covered = 0
    for _ in range(30):
        times = rng.exponential(2.0, (1000, 1)).astype(np.float32)
        released = dp.release(statistic, times, epsilon=1, adjacency=adjacency)
        found = dp.posterior(released)
        assert found.method == "exact-clipped"
        assert abs(found.mean() - 0.5) < 7 * found.sd()
        covered += bool(found.quantile(0.05) < 0.5 < found.quantile(0.95))
    least, most = stats.binom.ppf([1e-5, 1 - 1e-5], 30, 0.9)
    assert least <= covered <= most


@pytest.mark.thorough
def test_without_the_clipping_the_rate_is_another(rng):
    times = rng.exponential(2.0, (1000, 1)).astype(np.float32)
    statistic = statistic_of(Exponential(2.0))
    released = dp.release(statistic, times, epsilon=1, adjacency="replace-one")
    wrong = family_posterior(study_key(1), released, chains=2)
    assert wrong.mean() - 0.5 > 9 * wrong.sd()


@pytest.mark.parametrize("n", [50, 10**6])
def test_where_nothing_is_clipped_the_posterior_is_the_conjugate_one(n):
    mean = 7.25
    statistic = statistic_of(Poisson(64))
    law = DiscreteLaplace.calibrate(100, statistic.sensitivity("replace-one"))
    values = jnp.array([round(n * mean)], jnp.int32)
    found = dp.posterior(Released(values, statistic, law, n))
    plain = dp.posterior(Released(values, statistic, law, n), method="plug-in")
    np.testing.assert_allclose(found.mean(), plain.mean(), rtol=2e-4)
    np.testing.assert_allclose(found.sd(), plain.sd(), rtol=2e-3)


def test_further_records_are_multiplied_in_clipped_or_not():
    family = Exponential(2.0)
    released = released_of(family, (31,), 6, "1", units=8)
    records = np.array([[0.0], [0.5], [1.9], [2.0], [3.5]])
    before = clipped_posterior(released)
    after = before.update(records)
    assert after.method == "exact-clipped"
    rates = np.linspace(0.3, 2, 8)
    gained = after.log_prob(rates) - before.log_prob(rates)
    expected = 3 * np.log(rates) - rates * (0.5 + 1.9 + 2.0 + 2.0)
    gained, expected = gained - gained[0], expected - expected[0]
    np.testing.assert_allclose(gained, expected, atol=0.02)


def test_counts_at_the_bound_are_at_least_the_bound():
    released = released_of(Poisson(4), (10,), 6, "1")
    before = clipped_posterior(released)
    after = before.update(np.array([[0.0], [3.0], [9.0]]))
    rates = np.linspace(1, 3, 8)
    gained = np.asarray(after.log_prob(rates) - before.log_prob(rates))
    law = stats.poisson(rates)
    expected = law.logpmf(0) + law.logpmf(3) + law.logsf(3)
    np.testing.assert_allclose(
        gained - gained[0], expected - expected[0], rtol=0, atol=0.02
    )


def test_what_it_cannot_infer_is_refused_with_a_remedy():
    released = released_of(Exponential(2.0), (31,), 6, "1", units=8)
    stacked = Released(jnp.ones((2, 1), jnp.int32), *released_parts(released))
    with pytest.raises(ValueError, match=r"one vector of values.*family_posterior"):
        clipped_posterior(stacked)
    with pytest.raises(ValueError, match="`prior` must be of type GammaParameters"):
        clipped_posterior(released, (1.0, 2.0))
    coin = dp.families.Bernoulli()
    statistic = Sufficient(coin, (dp.Variable("x", (0, 1)),), "replace-one")
    of_coin = Released(jnp.ones(1, jnp.int32), statistic, released.mechanism, 6)
    with pytest.raises(ValueError, match=r"bernoulli: use `family_posterior`"):
        clipped_posterior(of_coin)


def released_parts(released):
    return released.statistic, released.mechanism, released.n
