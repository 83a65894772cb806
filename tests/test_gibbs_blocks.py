"""Blocks of Gibbs samplers: laws of the draws, chains of blocks, updates of sites."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from dpjax import _platforms
from dpjax._platforms import ACCELERATOR, CPU
from dpjax.chains import (
    block,
    collapsed_weights,
    draw_beta,
    draw_categorical,
    draw_dirichlet,
    draw_gamma,
    draw_gaussian,
    draw_gaussian_vector,
    draw_paths,
    in_turn,
    path_counts,
    run,
    update_sites,
    update_sites_collapsed,
)
from dpjax.chains.path_draws import (
    _back,
    _back_by_doubling,
    _filter,
    _filter_by_doubling,
    draw_states,
)
from tests.helpers.statistical import ALPHA, assert_counts_follow, assert_follows

MANY = 20_000
DECLARED = np.array([[True, False], [True, True], [False, True]])  # times, regions
ALIVE = [(0, 0), (1, 0), (1, 1), (2, 1)]


@pytest.mark.thorough
def test_draws_have_their_laws(key):
    two, three = jnp.full(MANY, 2.0), jnp.full(MANY, 3.0)
    keys = jr.split(key, 5)
    assert_follows(draw_beta(keys[0], (two, three)), stats.beta(2, 3))
    assert_follows(draw_gamma(keys[1], (two, three)), stats.gamma(2, scale=1 / 3))
    assert_follows(draw_gaussian(keys[2], (two, three)), stats.norm(1.5, 0.5**0.5))
    concentration = jnp.broadcast_to(jnp.asarray([2.0, 1.0, 0.5]), (MANY, 3))
    drawn = np.asarray(draw_dirichlet(keys[3], concentration))
    assert_follows(drawn[:, 0], stats.beta(2, 1.5))
    np.testing.assert_allclose(drawn.sum(axis=1), 1, rtol=1e-5)
    logits = jnp.broadcast_to(jnp.log(jnp.asarray([0.2, 0.3, 0.5])) - 1000, (MANY, 3))
    levels = np.asarray(draw_categorical(keys[4], logits))
    assert_counts_follow(np.bincount(levels, minlength=3), [0.2, 0.3, 0.5])


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0, 0.0])
def test_parameters_without_a_law_give_nan_and_end(wrong, key):
    drawn = draw_dirichlet(key, jnp.asarray([[1.0, wrong], [1.0, 2.0]]))
    assert np.isnan(drawn[0]).all()
    assert np.isfinite(drawn[1]).all()


@pytest.mark.parametrize("sizes", [CPU, ACCELERATOR])
def test_sparse_moves_leave_some_state_possible(key, sizes):
    """Chances of moves and likelihoods that underflow: never a law of nothing."""
    sure = jnp.asarray([[[1.0, 0.0], [0.0, 1.0]]])
    likelihood = jnp.asarray([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])[:, None, None]
    drawn = paths(sizes, key, likelihood, sure[:, 0], sure, jnp.ones((3, 1), bool))
    np.testing.assert_array_equal(drawn[:, 0, 0], [0, 1, 0])


def paths(sizes, key, *given):
    """`draw_paths`, as on a platform with these sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_platforms, "CPU", sizes)
        return jax.jit(lambda *x: draw_paths(*x))(key, *given)  # traced anew


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2, 9])
def test_laws_and_paths_are_alike_time_by_time_and_by_doubling(times, key, rng):
    """Laws up to rounding; the same paths given the same laws."""
    chains, regions, states = 2, 3, 4
    likelihood = rng.random((times, chains, regions, states)) ** 40
    likelihood = np.where(rng.random(likelihood.shape) < 0.3, 0, likelihood)
    likelihood[..., 0] = 1
    moves = rng.dirichlet([0.1] * states, (chains, states + 1)) + 1e-30
    first = np.array([0, 0, times // 2])
    when = np.arange(times)[:, None]
    declared = jnp.asarray((when >= first) & (when < times - np.array([0, 3, 0])))
    floats = (jnp.asarray(x, float) for x in (likelihood, moves[:, 0], moves[:, 1:]))
    likelihood, initial, transition = floats
    given = likelihood, initial, transition, declared
    laws = jax.jit(_filter)(*given)
    doubled = jax.jit(_filter_by_doubling)(*given)
    np.testing.assert_allclose(doubled, laws, rtol=1e-4, atol=1e-30)
    uniforms = jr.uniform(key, laws.shape[:-1])
    last, arrival = draw_states(uniforms[-1], laws[-1]), jnp.swapaxes(transition, 1, 2)
    steps = laws[:-1], uniforms[:-1], declared[1:], last, arrival
    found = jax.jit(_back_by_doubling)(*steps)
    np.testing.assert_array_equal(found, jax.jit(_back)(*steps))


def test_gaussian_vectors(key):
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    shift = np.array([1.0, -1.0])
    drawn = draw_gaussian_vector(
        key,
        (
            jnp.broadcast_to(jnp.asarray(precision, float), (MANY, 2, 2)),
            jnp.broadcast_to(jnp.asarray(shift, float), (MANY, 2)),
        ),
    )
    covariance = np.linalg.inv(precision)
    for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [1.0, 1.0]):
        direction = np.array(direction)
        law = stats.norm(
            direction @ covariance @ shift,
            (direction @ covariance @ direction) ** 0.5,
        )
        assert_follows(np.asarray(drawn) @ direction, law)


def normal_chain(key, rng, half):
    """Means and precisions after five sweeps on data from their prior.

    Args:
        half: what each number adds to the shape of the precision's law: 1 / 2.
    """
    precision = rng.gamma(2.0, 1.0, MANY)
    mean = rng.normal(size=MANY)
    data = jnp.asarray(
        rng.normal(size=(MANY, 4)) / precision[:, None] ** 0.5 + mean[:, None], float
    )

    def mean_law(state):
        known = state["precision"]
        return 1 + 4 * known, known * data.sum(axis=1)

    def precision_law(state):
        squares = (data - state["mean"][:, None]) ** 2
        return jnp.full(MANY, 2.0 + 4 * half), 1 + squares.sum(axis=1) / 2

    step = in_turn(
        block("mean", draw_gaussian, mean_law),
        block("precision", draw_gamma, precision_law),
    )
    start = {
        "mean": jnp.asarray(mean, float),
        "precision": jnp.asarray(precision, float),
    }
    states, infos = jax.jit(run, static_argnums=(1, 3))(key, step, start, 5)
    assert infos[0][0].shape == (5, MANY)
    last = jax.tree.map(lambda x: np.asarray(x[-1], float), states)
    return (
        stats.kstest(last["mean"], stats.norm().cdf).pvalue,
        stats.kstest(last["precision"], stats.gamma(2).cdf).pvalue,
    )


def test_data_from_the_prior_give_the_prior_back(key, rng):
    assert min(normal_chain(key, rng, 0.5)) > ALPHA


@pytest.mark.slow
def test_a_wrong_conjugate_update_is_noticed(key, rng):
    assert normal_chain(key, rng, 0.6)[1] < ALPHA


@pytest.mark.slow
def test_a_mixture_of_blocks_gives_its_prior_back(key, rng):
    """Categorical latents, Dirichlet weights and Beta emissions, 3 records a chain."""
    weights = rng.dirichlet([2.0, 1.0], MANY)
    chances = rng.beta(1.0, 2.0, (MANY, 2))
    labels = (rng.random((MANY, 3)) < weights[:, 1:]).astype(np.int32)
    seen = rng.random((MANY, 3)) < np.take_along_axis(chances, labels, axis=1)
    data = jnp.asarray(seen, float)

    def member(state):
        return jax.nn.one_hot(state["labels"], 2, dtype=float)

    def chances_law(state):
        hits = jnp.einsum("cn,cnk->ck", data, member(state))
        return 1 + hits, 2 + member(state).sum(axis=1) - hits

    def label_logits(state):
        p = state["chances"][:, None]
        fit = jnp.where(data[..., None] == 1, jnp.log(p), jnp.log1p(-p))
        return fit + jnp.log(state["weights"])[:, None]

    prior = jnp.asarray([[2.0, 1.0]])
    step = in_turn(
        block("weights", draw_dirichlet, lambda s: prior + member(s).sum(axis=1)),
        block("chances", draw_beta, chances_law),
        block("labels", draw_categorical, label_logits),
    )
    start = {
        "weights": jnp.asarray(weights, float),
        "chances": jnp.asarray(chances, float),
        "labels": jnp.asarray(labels),
    }
    states, _ = jax.jit(run, static_argnums=(1, 3))(key, step, start, 4)
    assert_follows(states["weights"][-1, :, 0], stats.beta(2, 1))
    assert_follows(states["chances"][-1, :, 1], stats.beta(1, 2))


def test_a_chain_has_at_least_one_sweep(key):
    with pytest.raises(ValueError, match="`sweeps` must be an integer of at least 1"):
        run(key, in_turn(), {}, 0)


def all_paths():
    """Every assignment of 2 states to the 4 sites, times × paths × regions."""
    every = np.array(list(itertools.product((0, 1), repeat=len(ALIVE))), np.int32)
    paths = np.zeros((3, len(every), 2), np.int32)
    for i, (time, region) in enumerate(ALIVE):
        paths[time, :, region] = every[:, i]
    return paths


def number(paths):
    """Which of `all_paths` each path is."""
    digits = [np.asarray(paths)[t, :, r] << 3 - i for i, (t, r) in enumerate(ALIVE)]
    return np.sum(digits, axis=0)


def enumerated(likelihood, tables):
    """Law of all paths: of starts and moves by `tables(starts, moves)`."""
    paths = all_paths()
    starts, moves = path_counts(jnp.asarray(paths), 2, jnp.asarray(DECLARED))
    logs = tables(np.asarray(starts, float), np.asarray(moves, float))
    for time, region in ALIVE:
        logs = logs + np.log(likelihood[time, region])[paths[time, :, region]]
    return np.exp(logs - logsumexp(logs))


def collapsed(starts, moves, strength=0.3):
    def log(totals):
        whole = totals.sum(axis=-1)
        each = gammaln(strength + totals) - gammaln(strength)
        return each.sum(axis=-1) - gammaln(2 * strength + whole) + gammaln(2 * strength)

    return log(starts) + log(moves).sum(axis=-1)


@pytest.mark.slow
def test_collapsed_weights_are_those_of_brute_force(rng):
    """Of every site, whatever the states of all others."""
    flat = np.ones((3, 2, 2))
    law, paths = enumerated(flat, collapsed), all_paths()
    weights_of = jax.jit(collapsed_weights)
    for i, (time, region) in enumerate(ALIVE):
        links = (
            (DECLARED[time - 1, region] if time else False),
            (DECLARED[time + 1, region] if time < 2 else False),
        )
        others = DECLARED.copy()
        others[time, region] = False
        starts, moves = path_counts(jnp.asarray(paths), 2, jnp.asarray(others))
        # A site cut out of a path makes its next one a start: not a real one.
        if links[1]:
            after = jax.nn.one_hot(paths[time + 1, :, region], 2, dtype=float)
            starts = starts - after
        ends = (
            jnp.asarray(paths[time - 1, :, region]),
            jnp.asarray(paths[(time + 1) % 3, :, region]),
        )
        given = tuple(jnp.asarray(link) for link in links)
        weights = np.asarray(weights_of(starts, moves, ends, given, jnp.asarray(0.3)))
        chance = weights[:, 1] / weights.sum(axis=1)
        partner = np.arange(16) | (1 << 3 - i), np.arange(16) & ~(1 << 3 - i)
        expected = law[partner[0]] / (law[partner[0]] + law[partner[1]])
        np.testing.assert_allclose(chance, expected, rtol=2e-5)


def repeated(update, key, likelihood, sweeps=60):
    """Where 20,000 chains from one start are after some sweeps."""
    start = jnp.zeros((3, MANY, 2), jnp.int32)
    full = jnp.broadcast_to(jnp.asarray(likelihood, float)[:, None], (3, MANY, 2, 2))

    @jax.jit
    def go(key):
        def step(paths, key):
            return update(key, paths, full, declared=jnp.asarray(DECLARED)), None

        return jax.lax.scan(step, start, jr.split(key, sweeps))[0]

    return np.bincount(number(go(key)), minlength=16)


@pytest.mark.slow
def test_sites_given_tables_have_the_enumerated_law(key, rng):
    likelihood = rng.gamma(2.0, 1.0, (3, 2, 2))
    first, move = np.array([0.3, 0.7]), np.array([[0.8, 0.2], [0.4, 0.6]])

    def update(key, paths, full, declared):
        initial = jnp.broadcast_to(jnp.asarray(first, float), (MANY, 2))
        transition = jnp.broadcast_to(jnp.asarray(move, float), (MANY, 2, 2))
        return update_sites(key, paths, full, initial, transition, declared)

    def tables(starts, moves):
        return starts @ np.log(first) + (moves * np.log(move)).sum(axis=(1, 2))

    law = enumerated(likelihood, tables)
    assert_counts_follow(repeated(update, key, likelihood), law)


@pytest.mark.slow
def test_collapsed_sites_have_the_enumerated_law(key, rng):
    likelihood = rng.gamma(2.0, 1.0, (3, 2, 2))

    def update(key, paths, full, declared):
        return update_sites_collapsed(key, paths, full, jnp.asarray(0.3), declared)

    law = enumerated(likelihood, collapsed)
    assert_counts_follow(repeated(update, key, likelihood), law)
