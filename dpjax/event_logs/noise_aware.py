r"""Gibbs sampling of a hidden Markov model from noisy counts, by the law of the noise.

The exact counts are summed out, given each cell's hidden state and rate of events (see
the module noisy_cells.py). Given the rates, this is the model of the plug-in method if
the counts are exact. A rate has one of a fixed number of values, whose probabilities
have a Dirichlet prior. A sweep draws the transitions given the paths, the emissions
given paths and rates, the rates, and the paths.

The probabilities of a field's levels in a state are $p_l = e^{v_l} / \sum_k e^{v_k}$,
where the prior of the $e^{v_l}$ is that of independent Gamma variables. New values of v
are proposed from a normal distribution with mean $v + \tau^2 g / 2h$ and variance
$\tau^2 / h$, and accepted or rejected. Here g is the gradient of the log-posterior, and
h is the Dirichlet parameter plus the information of the noisy counts,
$\sum m^2 / (m + a^{-2})$ over the cells in the state.

Reference:
    Girolami & Calderhead (JRSS B 2011), for the proposals: a simplified manifold
    Metropolis-adjusted Langevin algorithm, with a diagonal metric.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int32

from dpjax._private import shapes_only
from dpjax._products import einsum, matmul
from dpjax._types import Key, Scalar
from dpjax.chains import draw_log_gamma, log_normalise
from dpjax.event_logs.hidden_rates import Rates, draw_rates
from dpjax.event_logs.noisy_cells import NoisyCells
from dpjax.event_logs.sampler import (
    Emission,
    HiddenMarkovState,
    SweepInfo,
    begin,
    draw_states_of_cells,
    normalised,
    table_laws,
)

_LENGTHS = 1.2, 0.7, 0.3  # τ of the proposals of emissions in a sweep


class NoisyState(NamedTuple):
    """State of all chains for noisy counts.

    Attributes:
        hidden: paths and tables, as in the plug-in method.
        rates: index of the rate of events of every cell.
    """

    hidden: HiddenMarkovState
    rates: Rates
    __repr__ = shapes_only


class _Point(NamedTuple):
    """Parameters v of the emissions, and the terms of their proposals."""

    v: Emission
    log: Float[Array, "chains states fields"]  # log-posterior
    gradient: Emission
    metric: Emission


def begin_noisy(key: Key, cells: NoisyCells, chains: int) -> NoisyState:
    """Return a start of all chains, with equal tables and random hidden states."""
    hidden = begin(key, cells.model, chains)
    rates = jnp.broadcast_to(cells.first_rates[:, None], hidden.paths.shape)
    emission = jnp.broadcast_to(cells.average, hidden.emission.shape)
    return NoisyState(hidden._replace(emission=emission), rates)


def sweep_noisy(
    key: Key, cells: NoisyCells, state: NoisyState, power: Scalar = 1.0
) -> tuple[NoisyState, SweepInfo]:
    """Run one sweep, which draws tables, then rates, then paths of hidden states.

    The paths are drawn with their likelihood to a power: rates adapt at power 1.
    """
    key_moves, key_emission, key_rates, key_paths = jr.split(key, 4)
    _, law = table_laws(cells.model, state.hidden.paths)
    moves = log_normalise(draw_log_gamma(key_moves, law))
    emission = _draw_emission(key_emission, cells, state)
    share = _of_cells(jnp.exp(emission / 2), state.hidden.paths)

    def log_of_rates(rates):
        return cells.law(cells.roots[rates][..., None] * share)[0].sum(axis=-1)

    rates, law_of_rates = draw_rates(key_rates, cells, state.rates, log_of_rates)
    hidden = HiddenMarkovState(state.hidden.paths, emission, moves[:, 0], moves[:, 1:])
    root = cells.roots[rates][..., None]

    def log_of(share):  # of the levels in one state, in all chains
        return cells.law(root * share[None, :, None])[0].sum(axis=-1)

    shares = jnp.swapaxes(jnp.exp(emission / 2), 0, 1)
    logs = power * jnp.moveaxis(lax.map(log_of, shares), 0, -1)
    hidden, info = draw_states_of_cells(key_paths, cells.model, hidden, logs)
    return NoisyState(hidden, rates), info._replace(rates=jnp.exp(law_of_rates))


def _draw_emission(key: Key, cells: NoisyCells, state: NoisyState) -> Emission:
    key_sum, *keys = jr.split(key, 1 + len(_LENGTHS))
    emission, fields = state.hidden.emission, cells.model.fields
    # The sum of e^v is independent of the probabilities.
    whole = _by_field(jnp.full(emission.shape, cells.model.emission), fields)
    v = emission + draw_log_gamma(key_sum, whole)[..., _field_of(fields)]
    point = _at(cells, state, v)
    for length, key_step in zip(_LENGTHS, keys, strict=True):
        point = _proposed(key_step, cells, state, point, length)
    return normalised(point.v, fields)


def _proposed(
    key: Key, cells: NoisyCells, state: NoisyState, old: _Point, length: float
) -> _Point:
    """Propose new emissions; accept or reject those of each field in each state."""
    key_noise, key_choice = jr.split(key)
    noise = jr.normal(key_noise, old.v.shape, old.v.dtype)
    drifted = _drifted(old, length)
    new = _at(cells, state, drifted + length * noise / jnp.sqrt(old.metric))
    back = (old.v - _drifted(new, length)) / length
    density = jnp.log(new.metric / old.metric) + noise**2 - new.metric * back**2
    gain = new.log - old.log + _by_field(density / 2, cells.model.fields)
    accepted = jnp.log(jr.uniform(key_choice, gain.shape, gain.dtype)) < gain
    of_levels = accepted[..., _field_of(cells.model.fields)]
    chosen = _Point(of_levels, accepted, of_levels, of_levels)
    return _Point(*map(jnp.where, chosen, new, old))


def _drifted(point: _Point, length: float) -> Emission:
    return point.v + length**2 / 2 * point.gradient / point.metric


def _at(cells: NoisyCells, state: NoisyState, v: Emission) -> _Point:
    model, paths = cells.model, state.hidden.paths
    share = jnp.exp(normalised(v, model.fields))
    root = cells.roots[state.rates][..., None] * _of_cells(jnp.sqrt(share), paths)
    log, slope = cells.law(root)
    mean = jnp.where(cells.used, root**2, 0)
    known = mean**2 / (mean + 1 / cells.rate[None, None, None] ** 2)
    member = jax.nn.one_hot(paths, model.states, dtype=v.dtype)
    log, pull, known = (
        einsum("tcrk,tcrl->ckl", member, x) for x in (log, root * slope / 2, known)
    )
    prior = model.emission - jnp.exp(v)
    of_field = _by_field(pull, model.fields)[..., _field_of(model.fields)]
    return _Point(
        v,
        _by_field(log + model.emission * v - jnp.exp(v), model.fields),
        pull - share * of_field + prior,
        model.emission + known,
    )


def _of_cells(
    table: Emission, paths: Int32[Array, "times chains regions"]
) -> Float[Array, "times chains regions levels"]:
    """Return the row of each cell's state."""
    chains = jnp.arange(table.shape[0], dtype=jnp.int32)[None, :, None]
    return table[chains, paths]


def _field_of(fields: tuple[int, ...]) -> np.ndarray:
    """Return the index of each level's field."""
    return np.repeat(np.arange(len(fields), dtype=np.int32), fields)


def _by_field(
    levels: Emission, fields: tuple[int, ...]
) -> Float[Array, "chains states fields"]:
    """Sum over the levels of each field."""
    member = jax.nn.one_hot(_field_of(fields), len(fields), dtype=levels.dtype)
    return matmul(levels, member)
