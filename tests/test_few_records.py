"""Rows of numeric leaves without records, or with a single one, by brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import dpjax as dp
from dpjax.data import Interval, MixedNet
from dpjax.families import Gaussian, NormalInverseGammaParameters
from dpjax.mechanisms import Laplace
from dpjax.posteriors.hidden_totals.hidden_total import HiddenTotal, Noisy
from dpjax.posteriors.hidden_totals.total_walk import all_walks
from dpjax.posteriors.mixed.few_records import (
    _log_at_more,
    _log_at_one,
    _log_noise,
    with_few_records,
)
from dpjax.privacy import Sensitivity
from dpjax.statistics import Sufficient

PRIOR = NormalInverseGammaParameters(0.1, 0.5, 4.0, 0.3)
ROW = Sufficient.of("gaussian", (Interval("z", -1.0, 1.0),), "add-remove")
UNIT = Gaussian(-1.0, 1.0)


def row_of(numbers, scale):
    """A row with three noisy numbers, in records, and noise of a scale in records."""
    noise = Laplace(1 / (scale * ROW.steps), Sensitivity(1, "add-remove", True))
    values = jnp.asarray(numbers, float) * ROW.steps
    prior = jax.tree.map(jnp.asarray, PRIOR)
    return HiddenTotal(((Noisy(values, noise),),), None, prior, ROW, UNIT)


def logs_of(hidden, key):
    key, key_more = jax.random.split(key)
    _, totals, n, _ = all_walks(key, hidden, 4, 200, 500)
    none = _log_noise(hidden, jnp.zeros(2), jnp.zeros(()))
    more = _log_at_more(key_more, hidden, totals, n)
    return np.array([none, logsumexp(np.asarray(_log_at_one(hidden), float)), more])


def by_simulation(rng, numbers, scale, size=2_000_000):
    """The same from parameters and sums that are drawn from the model."""
    top = 40.0
    n = rng.uniform(2, top, size)
    variance = PRIOR.scale / rng.gamma(PRIOR.shape, size=size)
    mean = rng.normal(PRIOR.mean, np.sqrt(variance / PRIOR.strength))
    several = rng.normal(mean, np.sqrt(variance / n)) * n
    squares = variance * rng.chisquare(n - 1) + several**2 / n
    one = rng.normal(mean, np.sqrt(variance))

    def noise(first, second, n):
        exact = np.stack([first, second, n - second], axis=-1)
        off = np.abs(numbers - exact).sum(axis=-1) / scale
        possible = (np.abs(exact) <= np.asarray(n)[..., None] + 1e-9).all(axis=-1)
        law = -off - 3 * np.log(2 * scale * ROW.steps)
        return np.where(possible, law, -np.inf)

    logs = [
        noise(np.zeros(1), np.zeros(1), np.zeros(1)),
        noise(one, one**2, np.ones(size)),
        noise(several, squares, n) + np.log(top - 2),
    ]
    return np.array([logsumexp(x) - np.log(len(x)) for x in logs])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("numbers", "scale"), [((0.4, 0.8, 0.9), 1.0), ((1.5, 2.0, 3.5), 0.5)]
)
def test_probabilities_of_no_record_one_and_more_are_those_of_simulation(
    numbers, scale, rng, key
):
    ours = logs_of(row_of(numbers, scale), key)
    np.testing.assert_allclose(ours, by_simulation(rng, numbers, scale), atol=0.08)


@pytest.mark.slow
def test_draws_are_a_mixture_with_these_probabilities(key):
    hidden = row_of((0.3, 0.4, 0.5), 0.7)
    key_logs, key_few, key = jax.random.split(key, 3)
    drawn, totals, n, _ = all_walks(key, hidden, 4, 200, 500)
    marked = drawn._replace(strength=jnp.full_like(drawn.strength, 99.0))
    found = with_few_records(key_few, hidden, marked, totals, n)
    logs = logs_of(hidden, key_logs)
    shares = np.exp(logs - logsumexp(logs))
    assert shares.min() > 0.02  # all three parts matter
    strength = np.asarray(found.strength).ravel()
    parts = [PRIOR.strength, PRIOR.strength + 1, 99]
    seen = [np.mean(np.abs(strength - x) < 1e-5) for x in parts]
    np.testing.assert_allclose(seen, shares, atol=0.03)
    assert sum(seen) == 1
    mean = np.asarray(found.mean).ravel()[np.abs(strength - parts[1]) < 1e-5]
    weights = np.exp(np.asarray(_log_at_one(hidden), float))
    z = np.linspace(-1, 1, len(weights)) @ weights / weights.sum()
    wanted = (PRIOR.strength * PRIOR.mean + z) / parts[1]
    assert mean.mean() == pytest.approx(wanted, abs=0.02)


@pytest.mark.slow
def test_a_row_without_records_keeps_its_prior_and_one_record_updates_it():
    """So little noise shows the number of records: 0, 1, 2, and many."""
    schema = dp.Schema({"g": [0, 1, 2, 3], "x": {"lower": 0, "upper": 100}})
    net = MixedNet.from_parents(schema, {"g": [], "x": ["g"]})
    rows = {"g": [1, 2, 2, *[3] * 50], "x": [95.0, 20.0, 40.0, *[60.0, 70.0] * 25]}
    made = dp.release(net, rows, epsilon=300, adjacency="add-remove")
    prior = NormalInverseGammaParameters(50.0, 0.25, 4.0, 300.0)
    found = dp.posterior(made, {"x": prior})
    family = Gaussian(0.0, 100.0)
    for g in range(4):
        x = np.array([b for a, b in zip(rows["g"], rows["x"], strict=True) if a == g])
        z = x - 50
        sums = jnp.array([z.sum(), (z**2).sum()], float)
        exact = family.update(prior, sums, len(x))
        spread = np.sqrt(exact.scale / exact.shape / exact.strength)
        law = stats.t(*map(float, (2 * exact.shape, exact.mean, spread)))
        for q in (0.025, 0.5, 0.975):
            ours = float(found.quantile(q)["x"]["mean"][g])
            assert ours == pytest.approx(law.ppf(q), abs=0.15 * law.std())


@pytest.mark.slow
def test_draws_that_rounding_leaves_without_coordinates_count_for_nothing(key):
    """Equal values, and a number of records that is the fewest, up to rounding."""
    hidden = row_of((1.5, 2.0, 3.5), 0.5)
    key, key_more = jax.random.split(key)
    _, totals, n, _ = all_walks(key, hidden, 4, 200, 500)
    without = _log_at_more(key_more, hidden, totals, n)
    equal = jnp.array([4 * 0.25, 4 * 0.25**2])
    totals, n = totals.at[0, :2].set(equal), n.at[0, :2].set(jnp.array([4.0, 2.0]))
    found = _log_at_more(jax.random.clone(key_more), hidden, totals, n)
    assert float(found) == pytest.approx(float(without), abs=0.05)
