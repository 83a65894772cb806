"""Scores, bounds and sweeps."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import sklearn.metrics

import dpjax as dp
from dpjax.mechanisms import DiscreteLaplace, Laplace
from dpjax.noise import discrete_laplace
from dpjax.statistics import NetworkCounts
from tests.helpers.networks import TINY
from tests.helpers.statistical import assert_at_least

NET = TINY["naive Bayes"]
RECORDS = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]] * 20, np.uint8)


@pytest.mark.slow
def test_scores_equal_scikit_learns(rng):
    levels = rng.integers(0, 3, 500)
    probabilities = rng.dirichlet([1, 1, 1], 500).round(2) + 0.001
    probabilities /= probabilities.sum(1, keepdims=True)
    args = jnp.asarray(probabilities), jnp.asarray(levels)
    assert dp.study.metrics.accuracy(*args) == pytest.approx(
        sklearn.metrics.accuracy_score(levels, probabilities.argmax(1)), rel=1e-5
    )
    assert dp.study.metrics.log_loss(*args) == pytest.approx(
        sklearn.metrics.log_loss(levels, probabilities), rel=1e-5
    )
    positive = (levels == 2).astype(int)
    scores = probabilities[:, 2].round(1)  # many ties
    assert dp.study.metrics.roc_auc(
        jnp.asarray(scores), jnp.asarray(positive)
    ) == pytest.approx(sklearn.metrics.roc_auc_score(positive, scores), rel=1e-5)


def test_proposition_1_is_the_printed_formula_where_all_families_are_measured():
    statistic = NetworkCounts(NET, "all")  # three binary variables, m = 1 + 2 + 2
    bound = dp.theory.proposition_1(statistic, "0.5", "replace-one", 0.05)
    assert bound == pytest.approx(2 * 3 / 0.5 * np.log(2 * 5 / 0.05))


LARGEST = np.zeros((20_000, 10), np.int32)  # draws of all that is measured below


@jax.jit
def draw(key, table, exact):
    return discrete_laplace.add(key, table, exact)


@jax.jit
def simulate(key, mechanism, exact):
    return mechanism.sample(key, exact)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("families", ["all", "maximal"])
def test_proposition_1_holds_and_is_not_idle(adjacency, families, key):
    statistic = NetworkCounts(NET, families)
    sensitivity = statistic.sensitivity(adjacency)
    delta, trials = 0.1, len(LARGEST)
    bound = dp.theory.proposition_1(statistic, "0.5", adjacency, delta)
    key, key_simulated = jr.split(key)
    simulated = np.asarray(simulate(key_simulated, Laplace(0.5, sensitivity), LARGEST))
    simulated = np.abs(simulated[:, : statistic.length]).max(axis=1)
    assert_at_least((simulated <= bound).sum(), trials, 1 - delta)
    assert (simulated <= 0.7 * bound).mean() < 1 - delta
    table = DiscreteLaplace.calibrate("0.5", sensitivity).padded_table()
    noise = np.asarray(draw(key, table, LARGEST))[:, : statistic.length]
    errors = np.abs(noise).max(axis=1)
    assert_at_least((errors <= np.ceil(bound)).sum(), trials, 1 - delta)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan")])
def test_a_probability_must_be_one(delta):
    with pytest.raises(ValueError, match="`delta` must be between 0 and 1"):
        dp.theory.proposition_1(NetworkCounts(NET), 1, "replace-one", delta)
