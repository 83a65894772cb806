"""Modes of hidden Markov posteriors: which chains are in one, and with what weight."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.special import gammaln

import dpjax as dp
from dpjax.event_logs import (
    CellCounts,
    HiddenMarkovMode,
    HiddenMarkovPosterior,
    NoisyCells,
    sample_hidden_markov,
    weigh_modes,
)
from dpjax.event_logs.chains_by_mode import chains_by_mode
from dpjax.event_logs.fitting import _powers
from dpjax.event_logs.modes import _bridged
from dpjax.mechanisms import DiscreteLaplace
from dpjax.statistics import NetworkCounts

EMISSION, TRANSITION = 2.0, 1.5
TIMES = 2, 3, 4  # of each place
KINDS = np.array([[20, 2, 2], [2, 17, 2], [2, 2, 14]])


def counts_of():
    """Counts of two fields, with the same events in all months of a place."""
    kinds = np.repeat(KINDS[:, None], 4, axis=1)
    half = kinds.sum(axis=-1, keepdims=True) // 2
    return np.concatenate([kinds, half, kinds.sum(axis=-1, keepdims=True) - half], -1)


def cells_of(noisy):
    """A log of three places that differ, for which two states are one too few."""
    schema = {
        "place": (0, 1, 2),
        "month": (0, 1, 2, 3),
        "kind": (0, 1, 2),
        "of": (0, 1),
    }
    net = dp.event_logs.event_network(dp.Schema(schema), "place", "month")
    counts = counts_of()
    times = {place: (0, size - 1) for place, size in enumerate(TIMES)}
    model = CellCounts.of(
        net, counts, 2, times=times, emission=EMISSION, transition=TRANSITION
    )
    if not noisy:
        return model
    statistic = NetworkCounts(net)
    noise = DiscreteLaplace.calibrate("100", statistic.sensitivity("replace-one"))
    values = np.concatenate([counts[..., :3].ravel(), counts[..., 3:].ravel()])
    released = dp.Released(jnp.asarray(values, jnp.int32), statistic, noise, None)
    return NoisyCells.of(released, model)


def log_dirichlet(counts, strength):
    """Logarithm of the integral of a likelihood over Dirichlet probabilities."""
    size = counts.shape[-1]
    found = gammaln(counts + strength).sum(-1) - gammaln((counts + strength).sum(-1))
    return np.sum(found + gammaln(size * strength) - size * gammaln(strength))


def masses():
    """Posterior probability of each number of cells in the larger state, exactly."""
    counts, found = counts_of(), np.zeros(10)
    every = np.concatenate([counts[i, :size] for i, size in enumerate(TIMES)])
    for path in itertools.product(range(2), repeat=sum(TIMES)):
        states = np.array(path)
        totals = np.eye(2)[states].T @ every
        parts = np.split(states, np.cumsum(TIMES)[:-1])
        moves = np.zeros((2, 2))
        for part in parts:
            np.add.at(moves, (part[:-1], part[1:]), 1)
        log = log_dirichlet(totals[:, :3], EMISSION)
        log += log_dirichlet(totals[:, 3:], EMISSION)
        log += log_dirichlet(moves, TRANSITION)
        log += log_dirichlet(
            np.bincount([x[0] for x in parts], minlength=2), TRANSITION
        )
        found[max(states.sum(), sum(TIMES) - states.sum())] += np.exp(log + 250)
    return found / found.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    "noisy", [False, pytest.param(True, marks=pytest.mark.thorough)]
)
def test_weights_are_posterior_probabilities(key, noisy):
    """Exact ones, from all paths; false alarm: one run in 1e5."""
    key_chains, key_modes = jr.split(key)
    cells = cells_of(noisy)
    run = sample_hidden_markov(key_chains, cells, chains=16, sweeps=200)
    found = weigh_modes(key_modes, cells, run)
    sizes = [largest_of(found, mode) for mode in found.modes]
    assert sorted(sizes) == [5, 6, 7]
    expected = masses()
    assert expected[sizes].sum() > 0.9999
    for mode, size in zip(found.modes, sizes, strict=True):
        assert abs(mode.weight - expected[size]) < 4.5 * mode.error
        assert 0 < mode.error < 0.1 * mode.weight + 0.02
    chains = sorted(chain for mode in found.modes for chain in mode.chains)
    assert chains == list(range(16))
    assert abs(sum(mode.weight for mode in found.modes) - 1) < 1e-6


def largest_of(found, mode):
    """The number of cells in the larger state, in most draws of the mode."""
    shares = found.traces()["largest_state"][list(mode.chains)]
    return round(float(np.median(shares)) * sum(TIMES))


def a_posterior(emission, draws=4, **given):
    """Chains of equal draws that are in state 0 in both cells of a region."""
    chains = len(emission)
    return HiddenMarkovPosterior(
        jnp.zeros((draws, 2, chains, 1), jnp.int8),
        jnp.asarray(np.broadcast_to(emission, (draws, chains, 2, 2)), float),
        jnp.full((draws, chains, 2), 0.5, float),
        jnp.full((draws, chains, 2, 2), 0.5, float),
        jnp.ones((1, 2), bool),
        (2,),
        jnp.zeros((draws, chains)),
        **given,
    )


def test_means_and_predictions_have_the_weights_of_the_modes():
    """Chain 0 predicts the first level, and chains 1 and 2 the second."""
    tables = np.array([[[0.8, 0.2]] * 2, [[0.1, 0.9]] * 2, [[0.1, 0.9]] * 2])
    modes = (
        HiddenMarkovMode((0,), 0.75, 0.0, 0.0, 1.0),
        HiddenMarkovMode((1, 2), 0.25, 0.0, 0.0, 1.0),
    )
    found = a_posterior(tables, modes=modes)
    np.testing.assert_allclose(found.weights, [0.75, 0.125, 0.125])
    score = found.log_likelihood(np.array([[[1, 0], [0, 2]]]))
    likelihood = 0.75 * np.array([0.8, 0.04]) + 0.25 * np.array([0.1, 0.81])
    np.testing.assert_allclose(np.asarray(score)[0], np.log(likelihood), rtol=1e-5)
    np.testing.assert_allclose(
        np.asarray(found.emissions()[0])[0], [0.8, 0.2], rtol=1e-6
    )
    equal = a_posterior(tables)
    np.testing.assert_allclose(equal.weights, 1 / 3)


def test_sets_of_states_that_differ_in_cells_alone_are_modes(rng):
    """Not sets of states that are only numbered in another way, or move in a cell."""
    first, second = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 0, 1])
    last = np.stack([first, second, 1 - first, 1 - second])
    paths = np.repeat(last[:, None], 40, axis=1)
    paths[:, ::2, 0] = 1 - paths[:, ::2, 0]  # one cell moves
    even = jnp.full((40, 4, 2, 2), 0.5, float)
    found = HiddenMarkovPosterior(
        jnp.asarray(paths.transpose(1, 2, 0)[..., None], jnp.int8),
        even,
        even[..., 0],
        even,
        jnp.ones((1, 6), bool),
        (2,),
        jnp.asarray(rng.normal(size=(40, 4)), float),
    )
    assert sorted(chains_by_mode(found)) == [[0, 2], [1, 3]]


@pytest.mark.slow
def test_modes_of_equal_likelihood_and_size_have_their_probabilities(key):
    """All states of 14 cells are enumerated; their moves tell two ways apart."""
    kinds = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
    forms = np.array([[0, 1, 0, 0, 1, 1, 0], [1, 0, 1, 1, 0, 0, 1]])
    fields = [40 * np.eye(2, dtype=int)[x] for x in (kinds, forms)]
    counts = np.concatenate(fields, axis=-1)
    schema = {"place": (0, 1), "month": range(7), "kind": (0, 1), "form": (0, 1)}
    net = dp.event_logs.event_network(
        dp.Schema({name: list(levels) for name, levels in schema.items()}),
        "place",
        "month",
    )
    logs = {}
    for path in itertools.product(range(2), repeat=14):
        states = np.array(path).reshape(2, 7)
        member = np.eye(2)[states]
        moves = np.einsum("pta,ptb->ab", member[:, :-1], member[:, 1:])
        totals = np.einsum("pta,ptc->ac", member, counts)
        logs[path] = sum(
            log_dirichlet(x, 1.0)
            for x in (member[:, 0].sum(axis=0), moves, totals[:, :2], totals[:, 2:])
        )
    largest = max(logs.values())
    whole = sum(np.exp(x - largest) for x in logs.values())
    share = 2 * np.exp(logs[tuple(kinds.ravel())] - largest) / whole
    assert 0.9 < share < 0.99
    key_chains, key_modes = jr.split(key)
    cells = CellCounts.of(net, counts, 2)
    run = sample_hidden_markov(key_chains, cells, chains=16, sweeps=200)
    found = weigh_modes(key_modes, cells, run)
    last = np.asarray(run.paths)[-1].transpose(1, 2, 0)  # chains, places, months
    by_kind = [(x == kinds).all() or (x != kinds).all() for x in last]
    assert 0 < sum(by_kind) < 16
    assert abs(found.weights[by_kind].sum() - share) < 0.03


def test_chains_that_cannot_be_compared_have_equal_weights(key):
    cells, even = cells_of(False), np.full((2, 2, 2), 0.5)
    alone = a_posterior(even[:1])
    assert weigh_modes(jr.clone(key), cells, alone).modes == ()
    alike = a_posterior(even)
    short = a_posterior(even, draws=3)
    assert weigh_modes(jr.clone(key), cells, short).modes == ()
    (mode,) = weigh_modes(key, cells, alike).modes
    assert (mode.chains, mode.weight, mode.error) == ((0, 1), 1.0, 0.0)


def test_chains_are_annealed_in_the_first_half_of_the_burn_in():
    powers = _powers(20, 12)
    np.testing.assert_allclose(powers[:6], np.linspace(0.01, 1, 6))
    assert (powers[6:] == 1).all()
    assert len(powers) == 20


def test_the_error_is_large_if_no_draw_of_one_is_likely_under_the_other():
    """Draws of q and of g that are far apart say nothing of the integral."""
    rng = np.random.default_rng(0)
    log_z, error = _bridged(
        rng.normal(4, 8**0.5, (1, 4000)), rng.normal(-4, 8**0.5, 4000)
    )
    assert abs(log_z) < 5 * error < 0.5
    _, error = _bridged(rng.normal(90, 3, (2, 32)), rng.normal(-90, 3, 64))
    assert abs(error - 90) < 3
