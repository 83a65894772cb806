"""Chains of event logs that sum over the exact counts, by the law of the noise."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.event_logs import CellCounts, NoisyCells, fit
from dpjax.event_logs.noise_aware import NoisyState, sweep_noisy
from dpjax.event_logs.noisy_cells import law_table, normal_table
from dpjax.event_logs.sampler import HiddenMarkovState
from dpjax.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpjax.statistics import NetworkCounts
from tests.helpers.event_log import STATISTIC, encoded, released
from tests.helpers.statistical import ALPHA

FIELDS, STATES, RATES, REGIONS, MONTHS = (2, 3), 2, 6, 2, 3
LEVELS = sum(FIELDS)


def noisy_probability(number, mean, rate):
    """By a sum over the exact count."""
    exact = np.arange(4000)
    noise = np.tanh(rate / 2) * np.exp(-rate * np.abs(number - exact))
    return (stats.poisson.pmf(exact, mean) * noise).sum()


@pytest.mark.parametrize("rate", [0.02, 0.3, 3.0])
def test_the_law_of_a_noisy_count_is_the_sum_over_exact_counts(rate):
    table = np.asarray(law_table(jnp.asarray(rate, float), 60, 80, 2000), float)
    for number in (0, 1, 17, 80):
        for column in (0, 1, 12, 59):
            expected = noisy_probability(number, (column / 8) ** 2, rate)
            assert abs(table[number, column] - np.log(expected)) < 2e-3


@pytest.mark.parametrize("deviation", [1.5, 4.0, 40.0])
def test_the_law_of_a_count_with_gaussian_noise_is_the_sum_over_exact_counts(deviation):
    rate, least = jnp.asarray(np.sqrt(2) / deviation, float), jnp.asarray(-20)
    table = np.asarray(normal_table(rate, 60, 100, 2000, least), float)
    exact = np.arange(4000)
    for number in (-20, -1, 0, 17, 80):
        for column in (1, 12, 59):
            law = stats.poisson.pmf(exact, (column / 8) ** 2)
            noise = np.exp(-(((number - exact) / deviation) ** 2) / 2)
            whole = np.exp(-((np.arange(-400, 401) / deviation) ** 2) / 2).sum()
            expected = (law * noise).sum() / whole
            if expected > 1e-250:
                assert abs(table[number + 20, column] - np.log(expected)) < 2e-3


def cells_of(counts, epsilon="1", observed=None, rho=None):
    """Noisy cells of a log with two fields, from released counts."""
    schema = {"place": (0, 1), "month": (0, 1, 2), "a": (0, 1), "b": (0, 1, 2)}
    net = dp.event_logs.event_network(dp.Schema(schema), "place", "month")
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.calibrate(epsilon, statistic.sensitivity("add-remove"))
    if rho is not None:
        squared = statistic.squared_sensitivity("add-remove")
        noise = DiscreteGaussian.calibrate(rho, squared)
    values = np.concatenate([counts[..., :2].ravel(), counts[..., 2:].ravel()])
    release = dp.Released(jnp.asarray(values, jnp.int32), statistic, noise, None)
    model = CellCounts.of(net, counts, STATES, observed=observed, emission=2.0)
    return NoisyCells.of(release, replace(model, transition=jnp.asarray(1.5)))


@pytest.mark.slow
def test_numbers_are_looked_up_between_means_and_below_zero(rng):
    counts = np.array([-30, -1, 0, 4, 40])[rng.integers(0, 5, (2, 3, LEVELS))]
    observed = np.ones((2, 3), bool)
    observed[1, 2] = False
    cells = cells_of(counts, observed=observed)
    np.testing.assert_allclose(np.asarray(cells.rate), 0.5, rtol=1e-6)
    root = rng.uniform(0, 6, (3, 1, 2, LEVELS))
    log, slope = (np.asarray(x)[:, 0] for x in cells.law(jnp.asarray(root, float)))
    assert (log[2, 1] == 0).all()
    assert (slope[2, 1] == 0).all()
    for time, region, level in np.ndindex(3, 2, LEVELS):
        if not observed[region, time]:
            continue
        number, mean = counts[region, time, level], root[time, 0, region, level] ** 2
        expected = np.log(noisy_probability(number, mean, 0.5))
        expected += 0.5 * max(-number, 0)  # which no parameter changes
        assert abs(log[time, region, level] - expected) < 0.01


@pytest.mark.slow
def test_numbers_with_gaussian_noise_are_looked_up_below_zero_too(rng):
    counts = np.array([-9, -1, 0, 4, 30])[rng.integers(0, 5, (2, 3, LEVELS))]
    cells = cells_of(counts, rho="1/9")  # the squared sensitivity is 2: σ is 3
    np.testing.assert_allclose(np.asarray(cells.rate), np.sqrt(2) / 3, rtol=1e-5)
    root = rng.uniform(0, 6, (3, 1, 2, LEVELS))
    log, _ = (np.asarray(x)[:, 0] for x in cells.law(jnp.asarray(root, float)))
    exact = np.arange(200)
    for time, region, level in np.ndindex(3, 2, LEVELS):
        number, mean = counts[region, time, level], root[time, 0, region, level] ** 2
        noise = stats.norm.pdf(number - exact, scale=3)
        expected = np.log((stats.poisson.pmf(exact, mean) * noise).sum())
        assert abs(log[time, region, level] - expected) < 0.01


def prior_draw(rng, many, roots, normal=False):
    """Draw tables, paths, rates and noisy counts from the model of the sampler.

    With `normal`, the noise is a discrete Gaussian with σ = 3.
    """
    each = np.arange(many)[:, None]
    start, *moves = np.moveaxis(rng.dirichlet([1.5] * STATES, (many, 1 + STATES)), 1, 0)
    moves = np.stack(moves, axis=1)

    def draw(laws):
        return (laws[..., :-1].cumsum(-1) < rng.random((*laws.shape[:-1], 1))).sum(-1)

    paths = [draw(np.repeat(start[:, None], REGIONS, axis=1))]
    while len(paths) < MONTHS:
        paths.append(draw(moves[each, paths[-1]]))
    paths = np.stack(paths, axis=2)
    tables = [rng.dirichlet([2.0] * k, (many, STATES)) for k in FIELDS]
    emission = np.concatenate(tables, axis=-1)
    prior = rng.gamma(1 / RATES, size=(many, RATES))
    prior /= prior.sum(axis=1, keepdims=True)
    rates = draw(np.broadcast_to(prior[:, None, None], (*paths.shape, RATES)))
    mean = roots[rates][..., None] ** 2 * emission[each[..., None], paths]
    if normal:
        reach = np.arange(-40, 41)
        law = np.exp(-(reach**2) / 18)
        noise = rng.choice(reach, mean.shape, p=law / law.sum())
        return paths, rates, emission, rng.poisson(mean) + noise
    chance = 1 - np.exp(-0.5)
    noise = [rng.geometric(chance, mean.shape) for _ in range(2)]
    return paths, rates, emission, rng.poisson(mean) + noise[0] - noise[1]


@partial(jax.jit, static_argnums=2)
def after_sweeps(keys, starts, sweeps, cells):
    """Return tables and rates some sweeps after the true ones."""

    def one(key, start):
        places, paths, rates, emission = start
        even = jnp.full((1, STATES, STATES), -np.log(STATES), float)
        hidden = HiddenMarkovState(paths[:, None], emission[None], even[:, 0], even)
        mine = replace(cells, places=places)

        def step(carried, _):
            key, key_sweep = jr.split(carried[0])
            return (key, sweep_noisy(key_sweep, mine, carried[1])[0]), None

        start = key, NoisyState(hidden, rates[:, None])
        (_, state), _ = jax.lax.scan(step, start, length=sweeps)
        hidden = state.hidden
        return hidden.emission[0, 0, 2], hidden.transition[0, 0, 0], state.rates[:2, 0]

    return jax.vmap(one)(keys, starts)


def joint_p_values(key, rng, emission, normal=False):
    """With data from the prior, parameters after some sweeps are from the prior."""
    many, least = 4000, -40 if normal else 0
    numbers = np.full((2, 3, LEVELS), 200)
    numbers[0, 0, 0] = least
    cells = cells_of(numbers, rho="1/9" if normal else None)
    roots = np.linspace(0, 6, RATES)
    paths, rates, tables, counts = prior_draw(rng, many, roots, normal)
    cells = replace(
        cells,
        roots=jnp.asarray(roots, float),
        model=replace(cells.model, emission=jnp.asarray(emission, float)),
    )
    columns = 64 * -(-int(np.asarray(cells.table).size / 256) // 64)
    places = (np.clip(counts, least, 200) - least) * columns
    starts = [np.swapaxes(x, 1, 2).astype(np.int32) for x in (places, paths, rates)]
    starts = *map(jnp.asarray, starts), jnp.log(jnp.asarray(tables, float))
    share, stay, rate = after_sweeps(jr.split(key, many), starts, 4, cells)
    # Of one region at two times: the rates are independent between data sets.
    first, second = np.asarray(rate)[..., 0].T
    same = int((first == second).sum())
    return (
        stats.kstest(np.exp(np.asarray(share, float)), stats.beta(2, 4).cdf).pvalue,
        stats.kstest(np.exp(np.asarray(stay, float)), stats.beta(1.5, 1.5).cdf).pvalue,
        stats.chisquare(np.bincount(first, minlength=RATES)).pvalue,
        stats.binomtest(same, many, (1 + 1 / RATES) / 2).pvalue,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("normal", [False, True], ids=["Laplace", "Gaussian"])
def test_noisy_data_from_the_prior_give_the_prior_back(key, rng, normal):
    assert min(joint_p_values(key, rng, 2.0, normal)) > ALPHA


@pytest.mark.thorough
@pytest.mark.parametrize("normal", [False, True], ids=["Laplace", "Gaussian"])
def test_a_wrong_prior_of_noisy_data_is_noticed(key, rng, normal):
    assert joint_p_values(key, rng, 4.0, normal)[0] < ALPHA


@pytest.mark.thorough
def test_noise_is_not_taken_for_events(rng, key):
    """All but two cells are empty, and no event is of the kind c."""
    records = encoded(rng, 3000)
    records = records[records[:, 0] < 2]
    records[:, 1] = 0
    noise = DiscreteLaplace.calibrate("0.1", STATISTIC.sensitivity("replace-one"))
    values = noise.sample(jr.fold_in(key, 1), STATISTIC.measure(records))
    release = dp.Released(values, STATISTIC, noise, len(records))
    run = partial(fit, released=release, states=1, chains=2, sweeps=100)
    aware, plug_in = run(jr.clone(key)), run(key, noise_aware=False)
    assert aware.emissions()[0][0, 2] < 0.04
    assert plug_in.emissions()[0][0, 2] > 0.07


@pytest.mark.slow
def test_what_noise_aware_chains_refuse(rng, key):
    release = released(rng, key)
    values = STATISTIC.measure(np.zeros((1, 4), np.int32))
    noise = dp.mechanisms.Laplace(1.0, STATISTIC.sensitivity("replace-one"))
    real = dp.Released(values.astype(float), STATISTIC, noise, 1)
    with pytest.raises(
        ValueError, match=r"discrete Laplace or Gaussian noise .* noise_aware=False"
    ):
        fit(key, real, 2)
    many = dp.Released(release.values + 10**8, STATISTIC, release.mechanism, 9)
    with pytest.raises(ValueError, match="must have fewer events in a region"):
        fit(key, many, 2)
