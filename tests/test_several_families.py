"""One posterior of a family from several releases, of one table or more."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.families import BetaParameters
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.posteriors import family_posterior
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal, Noisy
from dpjax.privacy import PureDP
from dpjax.statistics import Sufficient
from tests.helpers.conjugates import FAMILIES, arrays

COIN = Sufficient.of("bernoulli", (Variable("x", ("no", "yes")),), "replace-one")
PRIOR = BetaParameters(2.0, 3.0)
NUMBER = (Interval("x", -3, 5),)


def coin(noisy, scale, n):
    law = Laplace(1 / scale, COIN.sensitivity("replace-one"))
    return dp.Released(jnp.asarray([noisy], float), COIN, law, n)


def exact_coin(tables, n):
    """Mean and sd of the probability: a sum over all hidden counts of all tables."""
    counts = np.indices([size + 1 for size in n]).reshape(len(n), -1)
    rows = zip(counts, n, tables, strict=True)
    logs = np.zeros(counts.shape[1])
    for t, size, releases in rows:
        logs += stats.binom.logpmf(t, size, 0.5) + size * np.log(2)
        logs += sum(-np.abs(t - noisy) / scale for noisy, scale in releases)
    a, b = 2 + counts.sum(axis=0), 3 + sum(n) - counts.sum(axis=0)
    logs += stats.beta(2, 3).logpdf(0.5) - stats.beta(a, b).logpdf(0.5)
    logs -= sum(n) * np.log(2)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    laws = stats.beta(a, b)
    mean = weights @ laws.mean()
    return mean, np.sqrt(weights @ (laws.var() + laws.mean() ** 2) - mean**2)


TABLES = {
    "one": ([[(9, 4), (12, 2)]], [30]),
    "two": ([[(9, 4)], [(31, 8)]], [30, 40]),
    "three": ([[(9, 4), (14, 3)], [(31, 8)], [(-2, 5)]], [20, 40, 10]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES])
def test_a_coin_in_several_tables_is_the_sum_over_all_hidden_counts(key, name):
    numbers, n = TABLES[name]
    tables = [
        [coin(*x, size) for x in found] for found, size in zip(numbers, n, strict=True)
    ]
    found = family_posterior(key, tables, PRIOR, disjoint=True, chains=64, draws=400)
    mean, sd = exact_coin(numbers, n)
    a, b = (np.asarray(x, float) for x in found.parameters)
    by_chain = a / (a + b)
    error = by_chain.mean(axis=1).std(ddof=1) / 8
    assert error < 0.1 * sd
    assert float(found.mean()) == pytest.approx(mean, abs=5 * error)
    assert float(found.sd()) == pytest.approx(sd, rel=0.03)
    assert np.all(found.n == sum(n))


def some_totals(rng, family, sizes):
    """Totals of random records within the bounds of the family."""
    lower, upper = np.array(family.bounds).T
    records = [lower + (upper - lower) * rng.random((n, len(lower))) for n in sizes]
    if family.lattice is not None:
        records = [np.round(x) for x in records]
    return jnp.stack([family.statistics(jnp.asarray(x)).sum(axis=0) for x in records])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FAMILIES])
def test_totals_depend_on_each_other_as_further_records_do(rng, name):
    """p(second | first) is the density under the prior updated with the first."""
    family, prior = FAMILIES[name]
    prior = arrays(prior)
    over = tuple(Interval(f"x{i}", *x) for i, x in enumerate(family.bounds))
    if family.categorical:
        over = (Variable("x", tuple(range(int(family.bounds[0][1]) + 1))),)
    kind = "linear-regression" if name == "known-noise" else name
    statistic = Sufficient.of(kind, over, "replace-one", **family.options())
    law = Laplace(1.0, statistic.sensitivity("replace-one"))
    noisy = ((Noisy(jnp.zeros(statistic.length), law),),) * 2
    sizes = jnp.asarray([30.0, 50.0])
    hidden = HiddenTotal(noisy, sizes, prior, statistic, family)
    first, *seconds = (some_totals(rng, family, [n])[0] for n in (30, 50, 50, 50))
    updated = family.update(prior, first, sizes[0])

    @jax.jit
    def both(second):
        pair = jnp.stack([first, second])
        log_prior = hidden.log_prior(jnp.zeros(0), pair, sizes)
        return family.log_total(updated, second, sizes[1]), log_prior

    wanted, found = np.asarray([both(x) for x in seconds], float).T
    assert np.ptp(wanted) > 0.1
    np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-3, atol=2e-3)


def gaussian(records, epsilon, adjacency="add-remove"):
    statistic = Sufficient.of("gaussian", NUMBER, adjacency)
    return dp.release(statistic, records, epsilon=epsilon)


def nearly_exact(statistic, records):
    """Exact numbers, given out as if they had little noise."""
    law = Laplace(30.0, statistic.sensitivity(statistic.adjacency))
    n = len(records) if statistic.adjacency == "replace-one" else None
    exact = statistic.measure(jnp.asarray(records)).astype(float)
    return dp.Released(exact, statistic, law, n)


@pytest.fixture(scope="module")
def numbers(module_rng):
    return module_rng.normal(1.2, 0.8, (1200, 1)).clip(-3, 5)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_disjoint_tables_with_little_noise_are_all_their_records(numbers, adjacency):
    statistic = Sufficient.of("gaussian", NUMBER, adjacency)
    parts = [nearly_exact(statistic, x) for x in np.split(numbers, [400])]
    found = dp.posterior(parts, disjoint=True)
    whole = dp.posterior(nearly_exact(statistic, numbers))
    assert found.method == "hidden-totals"
    for name in ("mean", "variance"):
        sd = float(whole.sd()[name])
        assert float(found.mean()[name]) == pytest.approx(
            float(whole.mean()[name]), abs=0.3 * sd
        )
        assert float(found.sd()[name]) == pytest.approx(sd, rel=0.2)
    np.testing.assert_allclose(found.n, 1200, rtol=0.02)


@pytest.mark.slow
def test_costs_and_updates_of_several_releases(numbers):
    half, third = gaussian(numbers, "1/2"), gaussian(numbers, "1/3")
    both = dp.posterior([half, third], disjoint=False)
    assert both.guarantee() == PureDP(Fraction(5, 6), "add-remove")
    apart = dp.posterior([half, third], disjoint=True)
    assert apart.guarantee() == PureDP(Fraction(1, 2), "add-remove")
    assert both.n.mean() < 0.6 * apart.n.mean()
    more = both.update(np.full((5000, 1), 2.0))
    assert more.guarantee() == both.guarantee()
    assert float(more.mean()["mean"]) > float(both.mean()["mean"]) + 0.3


@pytest.mark.thorough
def test_a_regression_learns_its_prior_from_all_tables(rng):
    over = (Interval("x", 0, 1), Interval("y", -2, 2))
    statistic = Sufficient.of("linear-regression", over, "replace-one")
    x = rng.random((3000, 1))
    data = np.hstack([x, 0.5 + x + 0.2 * rng.normal(size=x.shape)]).clip(-2, 2)

    parts = [nearly_exact(statistic, x) for x in np.split(data, [1000])]
    found = dp.posterior(parts, disjoint=True)
    whole = dp.posterior(nearly_exact(statistic, data))
    for name, value in whole.mean().items():
        sd = np.asarray(whole.sd()[name])
        np.testing.assert_array_less(abs(found.mean()[name] - value), 0.5 * sd)
        np.testing.assert_allclose(found.sd()[name], sd, rtol=0.25)


WRONG = [
    ([[10, 4, 30], [10, 4, 30]], {}, "`disjoint` must say"),
    ([[10, 4, 30], [10, 4, 31]], {"disjoint": False}, "the same number of records"),
    (
        [[10, 4, 30], [11, 4, 30]],
        {"disjoint": False, "method": "exact-proportions"},
        "`method` must be 'hidden-totals'",
    ),
    (
        [[10, 4, 30], [11, 4, 30]],
        {"disjoint": False, "noise_aware": False},
        "`method` must be 'hidden-totals'",
    ),
]


@pytest.mark.parametrize(("numbers", "options", "message"), WRONG)
def test_lists_that_do_not_fit_are_refused(numbers, options, message):
    with pytest.raises(ValueError, match=message):
        dp.posterior([coin(*x) for x in numbers], **options)


def test_statistics_must_be_the_same():
    fine = Sufficient.of("gaussian", NUMBER, "replace-one", 64)
    rough = Sufficient.of("gaussian", NUMBER, "replace-one", 32)
    made = [
        dp.Released(
            jnp.zeros(2, jnp.int32),
            x,
            DiscreteLaplace.calibrate(Fraction(1), x.sensitivity("replace-one")),
            100,
        )
        for x in (fine, rough)
    ]
    with pytest.raises(ValueError, match="the same statistic, family and `units`"):
        dp.posterior(made, disjoint=False)
