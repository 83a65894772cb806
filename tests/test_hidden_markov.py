"""Gibbs sampling of hidden Markov models against enumeration of every hidden path."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from dpjax.chains import draw_log_gamma, draw_paths
from dpjax.event_logs.sampler import CellCounts, begin, draw_bounded_tables, sweep
from tests.helpers.cases import mostly_thorough
from tests.helpers.statistical import ALPHA, assert_follows

pytestmark = pytest.mark.device

DECLARED = np.array([[True, True, True], [False, True, True]])
OBSERVED = np.array([[True, True, False], [True, True, True]])


@pytest.mark.parametrize("concentration", [0.05, 0.9, 1.0, 30.0])
def test_gamma_draws(concentration, key):
    draws = draw_log_gamma(key, jnp.full(20_000, concentration))
    assert_follows(np.exp(np.asarray(draws, float)), stats.gamma(concentration))


def dirichlet(totals, prior):
    """Log-probability of counts, the table integrated out."""
    whole, size = totals.sum(-1), totals.shape[-1]
    logs = gammaln(size * prior) - gammaln(size * prior + whole)
    return logs + (gammaln(prior + totals) - gammaln(prior)).sum(-1)


def bounded(totals, prior, truncation=2.0):
    """The same, up to a constant, where no probability is below 1 / (2 K), K = 2."""
    grid = np.linspace(1 / (2 * truncation), 1 - 1 / (2 * truncation), 20_001)
    first, second = (totals + prior - 1).T[..., None]
    return logsumexp(first * np.log(grid) + second * np.log1p(-grid), axis=-1)


def enumerated(counts, states, emission, transition, of_levels=dirichlet):
    """The posterior of all paths of two regions, tables integrated out."""
    alive = [tuple(x) for x in np.argwhere(DECLARED)]
    paths = np.array(list(itertools.product(range(states), repeat=len(alive))))

    logs = []
    for path in paths:
        where = dict(zip(alive, path, strict=True))
        totals = np.zeros((states, counts.shape[-1]))
        starts, moves = np.zeros(states), np.zeros((states, states))
        for (region, time), state in where.items():
            totals[state] += counts[region, time] * OBSERVED[region, time]
            if (region, time - 1) in where:
                moves[where[region, time - 1], state] += 1
            else:
                starts[state] += 1
        fields = totals[:, :2], totals[:, 2:]
        log = sum(of_levels(field, emission).sum() for field in fields)
        logs.append(
            log + dirichlet(starts, transition) + dirichlet(moves, transition).sum()
        )
    return alive, paths, np.exp(logs - logsumexp(logs))


@partial(jax.jit, static_argnames=("chains", "sweeps"))
def run(key, cells, chains, sweeps):
    key_start, key_sweeps = jr.split(key)
    state = begin(key_start, cells, chains)

    def step(state, key):
        state, info = sweep(key, cells, state)
        return state, (state.paths, info)

    return jax.lax.scan(step, state, jr.split(key_sweeps, sweeps))[1]


@pytest.mark.slow
@pytest.mark.parametrize("collapsed", mostly_thorough([False, True]))
def test_paths_have_the_enumerated_law(collapsed, key, rng):
    counts = rng.gamma(2.0, 0.5, (2, 3, 5))
    cells = CellCounts(
        *(jnp.asarray(x) for x in (counts.astype(float), DECLARED, OBSERVED)),
        fields=(2, 3),
        states=2,
        emission=jnp.asarray(0.7),
        transition=jnp.asarray(0.5),
        collapsed=collapsed,
    )
    assert_paths_follow(key, cells, enumerated(counts, 2, 0.7, 0.5))


@pytest.mark.thorough
def test_bounded_tables_have_the_enumerated_law(key, rng):
    counts = rng.gamma(2.0, 2.0, (2, 3, 4))
    cells = CellCounts(
        *(jnp.asarray(x) for x in (counts.astype(float), DECLARED, OBSERVED)),
        fields=(2, 2),
        states=2,
        emission=jnp.asarray(0.7),
        transition=jnp.asarray(0.5),
        truncation=jnp.asarray(2.0),
    )
    law = enumerated(counts, 2, 0.7, 0.5, of_levels=bounded)
    free = enumerated(counts, 2, 0.7, 0.5)
    assert np.abs(law[2] - free[2]).sum() / 2 > 0.05  # the bound matters
    assert_paths_follow(key, cells, law, chains=200, sweeps=500, within=0.02)


@pytest.mark.thorough
@pytest.mark.relaxed
def test_bounded_tables_are_drawn_for_their_own_field(key, rng):
    """Fields of one size are drawn together: each has its own parameters and bound."""
    fields, chains = (2, 3, 2), 4000
    parameters = rng.uniform(0.5, 5, sum(fields))
    emission = jnp.broadcast_to(jnp.asarray(parameters, float), (chains, 1, 7))
    moves = jnp.broadcast_to(jnp.asarray([2.0, 1.0]), (chains, 1, 2))
    drawn, moved = draw_bounded_tables(key, emission, moves, fields, jnp.asarray(2.0))
    assert_follows(np.exp(np.asarray(moved, float))[:, 0, 0], stats.beta(2, 1))
    for start, size in ((0, 2), (2, 3), (5, 2)):
        field = np.exp(np.asarray(drawn, float))[:, 0, start : start + size]
        least = 1 / (2 * size)
        np.testing.assert_allclose(field.sum(axis=1), 1, rtol=1e-5)
        assert (field >= least - 1e-6).all()
        expected = bounded_mean(parameters[start : start + size], least)
        error = field.std(axis=0) / chains**0.5
        assert (np.abs(field.mean(axis=0) - expected) < 6 * error).all()


def bounded_mean(parameters, least):
    """Expected probabilities above a bound, on a grid over all but the last."""
    axes = [np.linspace(least, 1, 1001)] * (len(parameters) - 1)
    first = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
    every = np.column_stack([first, 1 - first.sum(axis=1)])
    every = every[(every >= least - 1e-9).all(axis=1)]
    weights = (every ** (parameters - 1)).prod(axis=1)
    return weights @ every / weights.sum()


def assert_paths_follow(key, cells, law, chains=500, sweeps=1000, within=0.01):
    """The chains' paths are near the enumerated law, in total variation."""
    alive, every, chances = law
    paths, info = run(key, cells, chains, sweeps)
    regions, times = np.array(alive).T
    drawn = np.asarray(paths)[20:, times, :, regions]  # (cells, sweeps, chains)
    numbers = (drawn * 2 ** np.arange(len(alive))[::-1, None, None]).sum(axis=0)
    seen = np.bincount(numbers.ravel(), minlength=len(every)) / numbers.size
    assert np.abs(seen - chances).sum() / 2 < within
    assert np.isfinite(np.asarray(info.log_likelihood)).all()


def prior_draw(rng, many, fields, states, regions, times, events, strengths):
    """Paths and integer counts from the model; a chain of the sampler each."""
    emission, transition = strengths
    tables = [rng.dirichlet([emission] * k, (many, states)) for k in fields]
    start = rng.dirichlet([transition] * states, many)
    moves = rng.dirichlet([transition] * states, (many, states))
    each = np.arange(many)[:, None]

    def draw(laws):
        return (laws.cumsum(-1) < rng.random((*laws.shape[:-1], 1))).sum(-1)

    paths = [draw(np.repeat(start[:, None], regions, axis=1))]
    for _ in range(times - 1):
        paths.append(draw(moves[each, paths[-1]]))
    paths = np.stack(paths, axis=2)
    counts = [
        rng.multinomial(events, table[each[..., None], paths]) for table in tables
    ]
    return paths, np.concatenate(counts, axis=-1)


def joint_ranks(key, rng, emission):
    """With data from the prior, tables after some sweeps are from the prior again.

    Args:
        emission: what the sampler takes for the emission's Dirichlet parameter, 2.
    """
    fields, states, many = (2, 3), 2, 10_000
    paths, counts = prior_draw(rng, many, fields, states, 2, 3, 1, (2.0, 1.5))

    def one(key, counts, paths):
        every = jnp.ones((2, 3), bool)
        strengths = jnp.asarray(emission, float), jnp.asarray(1.5, float)
        cells = CellCounts(
            counts, every, every, fields, states, strengths[0], strengths[1]
        )
        key_start, key_sweeps = jr.split(key)
        state = begin(key_start, cells, 1)._replace(paths=paths)

        def step(carried, _):
            key, key_sweep = jr.split(carried[0])
            return (key, sweep(key_sweep, cells, carried[1])[0]), None

        (_, state), _ = jax.lax.scan(step, (key_sweeps, state), length=4)
        return state.emission[0, 0, 0], state.transition[0, 0, 0]

    paths = np.moveaxis(paths, 2, 1)[:, :, None].astype(np.int32)
    found = jax.jit(jax.vmap(one))(
        jr.split(key, many), jnp.asarray(counts, float), jnp.asarray(paths)
    )
    share, stay = (np.exp(np.asarray(x, float)) for x in found)
    return (
        stats.kstest(share, stats.beta(2, 2).cdf).pvalue,
        stats.kstest(stay, stats.beta(1.5, 1.5).cdf).pvalue,
    )


@pytest.mark.thorough
def test_data_from_the_prior_give_the_prior_back(key, rng):
    assert min(joint_ranks(key, rng, 2.0)) > ALPHA


@pytest.mark.thorough
def test_a_wrong_dirichlet_update_is_noticed(key, rng):
    assert joint_ranks(key, rng, 3.0)[0] < ALPHA


def test_paths_given_tables_have_the_enumerated_law(key):
    """The block alone, with a strong likelihood and laws that are not symmetric."""
    likelihood = np.array([[0.9, 0.2], [0.1, 0.6], [0.5, 0.4]])
    initial, moves = np.array([0.3, 0.7]), np.array([[0.8, 0.2], [0.4, 0.6]])
    paths = np.array(list(itertools.product(range(2), repeat=3)))
    law = initial[paths[:, 0]] * likelihood[np.arange(3), paths].prod(axis=1)
    law = law * moves[paths[:, 0], paths[:, 1]] * moves[paths[:, 1], paths[:, 2]]
    chains = 100_000
    drawn = jax.jit(draw_paths)(
        key,
        jnp.broadcast_to(
            jnp.asarray(likelihood, float)[:, None, None], (3, chains, 1, 2)
        ),
        jnp.broadcast_to(jnp.asarray(initial, float), (chains, 2)),
        jnp.broadcast_to(jnp.asarray(moves, float), (chains, 2, 2)),
        jnp.ones((3, 1), bool),
    )
    numbers = np.asarray(drawn)[:, :, 0].T @ np.array([4, 2, 1])
    seen = np.bincount(numbers, minlength=8)
    assert stats.chisquare(seen, law / law.sum() * chains).pvalue > ALPHA
