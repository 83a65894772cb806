"""Expected errors of hidden Markov models of private event logs, without any data.

A repeat draws probabilities uniformly, and from them two logs of n events in uniformly
random cells. One log is released. The error is the mean loss of log-likelihood of an
event of the other log, whose hidden paths are its own and summed out.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.distributions.gamma_draws import draw_dirichlet
from dpjax.event_logs import (
    cell_counts,
    check_states,
    declared_cells,
    fit,
    log_variables,
)
from dpjax.mechanisms.hidden_markov_sampler import (
    PathTables,
    path_log_likelihoods,
    tables_of,
)
from dpjax.mechanisms.recipes import HiddenMarkovSample, recipe_of
from dpjax.privacy import REPLACE_ONE, PureDP
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from dpjax.study.outlooks import Outlook

_MOST_DRAWS = 100  # of a fit, whose average predicts; about as many


def event_outlooks(
    key: Key, net: BayesNet, states: int, n: int, budget: PureDP, repeats: int
) -> list[Outlook]:
    """Return errors of noisy counts followed by `fit`, and of one sample, best first.

    Raises:
        ValueError: if `net` is not of an event log, or `states` is out of range.
    """
    log_variables(net)
    check_states(states, declared_cells(net, None))
    statistic, public = (
        NetworkCounts(net),
        n if budget.adjacency == REPLACE_ONE else None,
    )
    made: list[Any] = [
        recipe.mechanism(statistic, budget, public)
        for recipe in (recipe_of("laplace"), HiddenMarkovSample(states))
    ]
    names, errors = ("laplace", HiddenMarkovSample.kind), []
    for each in jr.split(key, repeats):
        key_truth, key_logs, key_noise, key_fit = jr.split(each, 4)
        truth = _drawn_tables(key_truth, statistic, states)
        exact, fresh = (_log(k, statistic, truth, n) for k in jr.split(key_logs))
        counts = cell_counts(statistic, fresh).astype(float)
        best = path_log_likelihoods(counts, truth)[0]
        values = [x.sample(key_noise, exact) for x in made]
        noisy = Released(values[0], statistic, made[0], public)
        learned, weights = _weighted_draws(fit(key_fit, noisy, states))
        candidates = tables_of(made[1].candidates)
        logs = [path_log_likelihoods(counts, x) for x in (learned, candidates)]
        averaged = jax.nn.logsumexp(logs[0], b=weights)
        drawn = logs[1][int(values[1][0, 0])]
        errors.append([float(best - x) / n for x in (averaged, drawn)])
    mean, se = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / repeats**0.5
    sampler = made[1]
    choices = {"temperature": float(sampler.temperature)}
    choices["points"] = float(sampler.candidates.number)
    both = zip(names, mean.tolist(), se.tolist(), ({}, choices), made, strict=True)
    found = [
        Outlook.of_divergence(name, error, spread, chosen, not one.additive)
        for name, error, spread, chosen, one in both
    ]
    return sorted(found, key=lambda outlook: outlook.divergence)


def _drawn_tables(key: Key, statistic: NetworkCounts, states: int) -> PathTables:
    """Draw uniform probabilities of one model, and return their logarithms."""
    _, _, fields = log_variables(statistic.net)
    keys = jr.split(key, len(fields) + 2)

    def rows(key, rows, size):
        return jnp.log(draw_dirichlet(key, jnp.ones((1, rows, size))))

    levels = [rows(k, states, x.size) for k, x in zip(keys[2:], fields, strict=True)]
    emission = jnp.concatenate(levels, axis=2)
    first, moves = rows(keys[0], 1, states)[:, 0], rows(keys[1], states, states)
    return PathTables(emission, first, moves)


@partial(jax.jit, static_argnums=(1, 3))
def _log(
    key: Key, statistic: NetworkCounts, truth: PathTables, n: int
) -> Int[Array, " m"]:
    """Draw paths and events in uniformly random cells; return the exact counts."""
    region, time, fields = log_variables(statistic.net)
    key_first, key_moves, key_cells, *key_fields = jr.split(key, 3 + len(fields))
    state = jr.categorical(key_first, truth.first[0], shape=(region.size,))
    path = [state]
    for each in jr.split(key_moves, time.size - 1):
        path.append(jr.categorical(each, truth.moves[0][path[-1]]))
    key_regions, key_times = jr.split(key_cells)
    regions = jr.randint(key_regions, (n,), 0, region.size)
    times = jr.randint(key_times, (n,), 0, time.size)
    states = jnp.stack(path)[times, regions]
    columns, start = {region.name: regions, time.name: times}, 0
    for each, field in zip(key_fields, fields, strict=True):
        logs = truth.emission[0, :, start : start + field.size]
        columns[field.name] = jr.categorical(each, logs[states])
        start += field.size
    names = [variable.name for variable in statistic.variables]
    records = jnp.stack([columns[name].astype(jnp.int32) for name in names], axis=1)
    return statistic.measure(records)


def _weighted_draws(posterior: Any) -> tuple[PathTables, Float[np.ndarray, " d"]]:
    """Return some draws of all chains of a fit, as logarithms, and their weights."""
    draws, chains = posterior.emission.shape[:2]
    step = -(-draws * chains // _MOST_DRAWS)
    kept = [
        x[::step].reshape(-1, *x.shape[2:])
        for x in (posterior.emission, posterior.initial, posterior.transition)
    ]
    weights = np.tile(posterior.weights, len(kept[0]) // chains)
    least = jnp.finfo(kept[0].dtype).tiny
    tables = PathTables(*(jnp.log(jnp.maximum(x, least)) for x in kept))
    return tables, weights / weights.sum()
