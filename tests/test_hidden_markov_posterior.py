"""Event logs, their releases, and what hidden Markov chains say of them."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.data.levels import Variable
from dpjax.event_logs import (
    CellCounts,
    cell_counts,
    event_network,
    fit,
    sample_hidden_markov,
)
from dpjax.statistics import NetworkCounts
from tests.helpers.event_log import LOG, STATISTIC, encoded, released


def test_counts_are_of_every_cell_empty_or_not(rng):
    records = encoded(rng, 500)
    records = records[records[:, 1] != 3]
    counts = np.asarray(cell_counts(STATISTIC, STATISTIC.measure(records)))
    assert counts.shape == (2, 12, 5)
    expected = np.zeros_like(counts)
    for kind, month, place, dead in records:
        expected[place, month, kind] += 1
        expected[place, month, 3 + dead] += 1
    np.testing.assert_array_equal(counts, expected)
    assert (counts[:, 3] == 0).all()


def test_a_record_moves_two_cells_a_field_wherever_it_goes():
    """By enumeration of all pairs: in another month, another field, or both."""
    small = [
        Variable("place", (0, 1)),
        Variable("month", (0, 1)),
        Variable("kind", (0, 1)),
        Variable("dead", (0, 1)),
    ]
    statistic = NetworkCounts(event_network(small, "place", "month"))
    every = np.array(list(itertools.product(range(2), repeat=4)), np.int32)
    one = np.asarray(jax.jit(jax.vmap(statistic.measure))(every[:, None]))
    moved = np.abs(one[:, None] - one[None]).sum(axis=-1)
    assert moved.max() == statistic.sensitivity("replace-one").value == 4
    assert one.sum(axis=1).max() == statistic.sensitivity("add-remove").value == 2
    same_place = (every[:, None, :2] == every[None, :, :2]).all(-1)
    assert moved[same_place].max() == 4
    other = moved[~same_place]
    assert other.min() == other.max() == 4  # both fields, whatever the values


@pytest.mark.thorough
def test_regimes_are_found(rng, key):
    # Rates of events take longer to be found than states.
    posterior = fit(key, released(rng, key, n=4000), 2, chains=4, sweeps=1200)
    states = np.asarray(posterior.predict_states())
    assert states.shape == (2, 12)
    assert len(np.unique(states[:, :6])) == len(np.unique(states[:, 6:])) == 1
    early, late = states[0, 0], states[0, -1]
    assert early != late
    kind, dead = posterior.emissions()
    assert kind[early, 0] > 0.8
    assert kind[late, 2] > 0.8
    assert dead[late, 1] > 0.7
    moves = np.asarray(posterior.transitions())
    np.testing.assert_allclose(moves.sum(axis=1), 1, rtol=1e-5)
    assert moves[early, early] > 0.7
    found = posterior.diagnostics()
    assert found["log_likelihood"]["r_hat"] < 1.1
    assert found["log_likelihood"]["effective_size"] > 4
    assert set(found) == {"log_likelihood", "largest_state"}


@pytest.mark.thorough
def test_one_state_is_naive_bayes(rng, key):
    """Then the law of the tables is Dirichlet, whatever the chain does."""
    counts = rng.gamma(2.0, 3.0, (2, 3, 5))
    every = jnp.ones((2, 3), bool)
    cells = CellCounts(
        jnp.asarray(counts, float),
        every,
        every.at[1, 2].set(False),
        (3, 2),
        1,
        jnp.asarray(1.0),
        jnp.asarray(1.0),
    )
    posterior = sample_hidden_markov(key, cells, chains=500, sweeps=4, burn_in=2)
    totals = counts.sum(axis=(0, 1)) - counts[1, 2] + 1
    emission = np.asarray(posterior.emission, float)[:, :, 0].reshape(-1, 5)
    expected = np.concatenate(
        [totals[:3] / totals[:3].sum(), totals[3:] / totals[3:].sum()]
    )
    error = emission.std(axis=0) / np.sqrt(len(emission))
    assert (np.abs(emission.mean(axis=0) - expected) < 6 * error).all()
    scores = posterior.log_likelihood(counts)
    likelihood = np.exp(np.log(emission) @ counts[1, 2])
    assert abs(scores[1, 2] - np.log(likelihood.mean())) < 1e-3
    assert (np.asarray(posterior.predict_states()) == 0).all()


@pytest.mark.slow
def test_what_was_held_out_is_predicted_without_it(rng, key):
    """Changing the counts of a cell that is not observed changes no draw."""
    counts = rng.gamma(2.0, 3.0, (1, 4, 2))
    every = jnp.ones((1, 4), bool)

    def draws(last):
        counts[0, 3] = last
        one = jnp.asarray(1.0)
        cells = CellCounts(
            jnp.asarray(counts, float), every, every.at[0, 3].set(False), (2,), 2, one,
            one,
        )  # fmt: skip
        once = jr.clone(key)
        return sample_hidden_markov(once, cells, chains=3, sweeps=5, burn_in=1)

    first, second = draws([1.0, 2.0]), draws([100.0, 0.0])
    assert (np.asarray(first.paths) == np.asarray(second.paths)).all()
    assert (np.asarray(first.emission) == np.asarray(second.emission)).all()


@pytest.mark.parametrize(
    ("region", "time", "message"),
    [
        ("where", "month", "`region` must be"),
        ("place", "when", "`time` must be"),
        ("place", "kind", "`time` must have consecutive integers"),
    ],
)
def test_logs_without_region_or_time(region, time, message):
    with pytest.raises(ValueError, match=message):
        event_network(LOG, region, time)


@pytest.mark.slow
def test_what_cannot_be_sampled(rng, key):
    release = released(rng, key)
    with pytest.raises(ValueError, match="`states` must be an integer of at least 1"):
        fit(key, release, 0)
    with pytest.raises(
        ValueError, match="`states` must be at most the number of cells"
    ):
        fit(key, release, 49)
    with pytest.raises(ValueError, match="`burn_in` must be below `sweeps`, 5, got 5"):
        fit(key, release, 2, sweeps=5, burn_in=5)
    net = dp.BayesNet.naive_bayes({"y": [0, 1], "x": [0, 1]}, "y")
    statistic = NetworkCounts(net)
    values = jnp.zeros(statistic.length, jnp.int32)
    other = dp.Released(values, statistic, release.mechanism, 5)
    with pytest.raises(ValueError, match="`released` must be of an event log"):
        fit(key, other, 2)
