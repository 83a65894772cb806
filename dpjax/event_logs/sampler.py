"""Gibbs sampling of a hidden Markov model for counts of events in cells.

A cell is a region at a time. All events of a cell share its hidden state, and given the
state the fields of an event are independent (naive Bayes). The states of each region
form a path with a common transition matrix. All probability tables have Dirichlet
priors. A sweep draws the tables given the paths (Dirichlet), then the paths given the
tables by forward filtering and backward sampling.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int32, Real

from dpjax import distributions
from dpjax._checks import array_of, positive
from dpjax._private import Unpickled, shapes_only
from dpjax._products import einsum
from dpjax._types import Key, Scalar
from dpjax.chains import (
    draw_log_gamma,
    draw_paths,
    log_normalise,
    path_counts,
    update_sites_collapsed,
)
from dpjax.data.bayes_net import BayesNet
from dpjax.event_logs.events import check_states, declared_cells, log_variables

Emission = Float[Array, "chains states levels"]
Moves = Float[Array, "chains rows columns"]


class CellCounts(Unpickled, eqx.Module):
    """Counts of an event log, and the settings of a hidden Markov model.

    A cell is a pair of a region and a time.

    Args:
        counts: number of events, >= 0, with each level of each field in each cell. The
            last axis has the levels of one field after the other.
        declared: whether each cell is on its region's path of hidden states.
        observed: whether the counts of each cell are used.
        fields, states: number of levels of each field, and of hidden states.
        emission: Dirichlet parameter of every level of a field.
        transition: Dirichlet parameter of every transition and every first state.
        truncation: number M > 1; each of a field's K levels has a probability of at
            least 1 / (M K). None means no lower bound.
        collapsed: whether states are drawn one by one with transition tables integrated
            out, instead of path by path.
    """

    counts: Float[Array, "regions times levels"]
    declared: Bool[Array, "regions times"]
    observed: Bool[Array, "regions times"]
    fields: tuple[int, ...] = eqx.field(static=True)
    states: int = eqx.field(static=True)
    emission: Float[Array, ""]
    transition: Float[Array, ""]
    truncation: Float[Array, ""] | None = None
    collapsed: bool = eqx.field(static=True, default=False)

    @classmethod
    def of(
        cls,
        net: BayesNet,
        counts: Real[ArrayLike, "regions times levels"],
        states: int,
        *,
        times: Mapping[Any, tuple] | None = None,
        observed: Bool[ArrayLike, "regions times"] | None = None,
        emission: Scalar = 1.0,
        transition: Scalar = 1.0,
        truncation: Scalar | None = None,
        collapsed: bool = False,
    ) -> "CellCounts":
        """Make the input of the Gibbs sampler from an event log's counts.

        Args:
            net: network of the event log, from `event_network`.
            counts: noisy or exact counts, >= 0, with the axes of `event_counts`.
            states: number of hidden states.
            times: dictionary from region to the first and the last time of its path.
            observed: whether the counts of each cell are used; by default all are.
            emission, transition, truncation, collapsed: fields of `CellCounts`.

        Raises:
            ValueError: if `counts` or `observed` does not have the log's shape, a
                parameter is not positive, or there are more states than cells on paths.
        """
        region, time, fields = log_variables(net)
        sizes = tuple(field.size for field in fields)
        shape = region.size, time.size
        if jnp.shape(counts) != (*shape, sum(sizes)):
            raise ValueError(
                f"`counts` must have shape {(*shape, sum(sizes))}, as from "
                f"`event_counts`, got {jnp.shape(counts)}."
            )
        if observed is not None and jnp.shape(observed) != shape:
            raise ValueError(
                f"`observed` must have shape {shape}, with one boolean for each region "
                f"and time, got {jnp.shape(observed)}."
            )
        positive(emission=emission, transition=transition)
        declared = declared_cells(net, times)
        check_states(states, declared)
        return cls(
            array_of(counts, "counts").astype(float),
            jnp.asarray(declared),
            jnp.ones(shape, bool) if observed is None else jnp.asarray(observed, bool),
            sizes,
            int(states),
            jnp.asarray(emission, float),
            jnp.asarray(transition, float),
            None if truncation is None else jnp.asarray(truncation, float),
            collapsed,
        )

    @property
    def used(self) -> Bool[Array, "regions times"]:
        """Whether the counts of each cell are used."""
        return self.observed & self.declared


class HiddenMarkovState(NamedTuple):
    """State of all Gibbs chains for a hidden Markov model.

    Attributes:
        paths: hidden state of every region at every time.
        emission: log-probabilities of the levels of all fields in every hidden state.
        initial: log-probabilities of a path's first hidden state.
        transition: log-probabilities of the next hidden state, in a row for each state.
    """

    paths: Int32[Array, "times chains regions"]
    emission: Emission
    initial: Float[Array, "chains states"]
    transition: Float[Array, "chains states states"]
    __repr__ = shapes_only


class SweepInfo(NamedTuple):
    """Diagnostics of one sweep, which do not depend on the numbering of hidden states.

    Attributes:
        log_likelihood: log-likelihood of all observed counts given the drawn paths and
            tables. It is not private if the counts are exact.
        rates: drawn probabilities of a cell's rates, if the counts are noisy.
    """

    log_likelihood: Float[Array, " chains"]
    rates: Float[Array, "chains rates"] | None = None
    __repr__ = shapes_only


def begin(key: Key, cells: CellCounts, chains: int) -> HiddenMarkovState:
    """Return a start of all chains, with uniform tables and random hidden states."""
    (regions, times, levels), states = cells.counts.shape, cells.states
    paths = jr.randint(key, (times, chains, regions), 0, states, jnp.int32)
    sizes = np.repeat(cells.fields, cells.fields)
    emission = jnp.broadcast_to(-jnp.log(sizes.astype(float)), (chains, states, levels))
    even = jnp.full((chains, states, states), -math.log(states))
    return HiddenMarkovState(paths, emission, even[:, 0], even)


def sweep(
    key: Key, cells: CellCounts, state: HiddenMarkovState
) -> tuple[HiddenMarkovState, SweepInfo]:
    """Run one Gibbs sweep, which draws new tables, then new paths of hidden states."""
    key_tables, key_paths = jr.split(key)
    state = _draw_tables(key_tables, cells, state.paths)
    logs = cell_log_likelihoods(cells, state.emission)
    return draw_states_of_cells(key_paths, cells, state, logs)


def draw_states_of_cells(
    key: Key, cells: CellCounts, state: HiddenMarkovState, logs: Array
) -> tuple[HiddenMarkovState, SweepInfo]:
    """Draw new paths given the tables and each cell's log-likelihoods `logs`."""
    scaled = jnp.exp(logs - logs.max(axis=-1, keepdims=True))
    if cells.collapsed:
        strength, alive = cells.transition, cells.declared.T
        paths = update_sites_collapsed(key, state.paths, scaled, strength, alive)
    else:
        tables = jnp.exp(state.initial), jnp.exp(state.transition)
        paths = draw_paths(key, scaled, *tables, cells.declared.T)
    drawn = jnp.take_along_axis(logs, paths[..., None], axis=-1)[..., 0]
    return state._replace(paths=paths), SweepInfo(drawn.sum(axis=(0, 2)))


def _draw_tables(key: Key, cells: CellCounts, paths: Array) -> HiddenMarkovState:
    laws = table_laws(cells, paths)
    if (most := cells.truncation) is None:
        emission, moved = _free_tables(key, *laws, cells.fields)
    else:
        emission, moved = draw_bounded_tables(key, *laws, cells.fields, most)
    return HiddenMarkovState(paths, emission, moved[:, 0], moved[:, 1:])


def _free_tables(
    key: Key, emission: Emission, moves: Moves, fields: tuple[int, ...]
) -> tuple[Emission, Moves]:
    flat = [x.reshape(x.shape[0], -1) for x in (emission, moves)]
    # One draw compiles faster and needs fewer passes.
    logs = draw_log_gamma(key, jnp.concatenate(flat, axis=1))
    of_levels = logs[:, : flat[0].shape[1]].reshape(emission.shape)
    of_moves = logs[:, flat[0].shape[1] :].reshape(moves.shape)
    return normalised(of_levels, fields), log_normalise(of_moves)


def normalised(v: Emission, fields: tuple[int, ...]) -> Emission:
    """Return log-probabilities of each field's levels, whose log-weights are `v`."""
    parts = jnp.split(v, np.cumsum(fields)[:-1], axis=-1)
    return jnp.concatenate([log_normalise(part) for part in parts], axis=-1)


def draw_bounded_tables(
    key: Key,
    emission: Emission,
    moves: Moves,
    fields: tuple[int, ...],
    truncation: Float[Array, ""],
) -> tuple[Emission, Moves]:
    """Draw log-probabilities of levels and transitions from Dirichlet parameters.

    Each of a field's K levels has a probability of at least 1 / (`truncation` K).
    """
    key_moves, key_levels = jr.split(key)
    parts = jnp.split(emission, np.cumsum(fields)[:-1], axis=-1)
    drawn: dict[int, Array] = {}
    # Fields of one size share a call and a compiled program.
    for size in sorted(set(fields)):
        which = [i for i, k in enumerate(fields) if k == size]
        alike = jnp.stack([parts[i] for i in which])
        found = _draw_bounded(jr.fold_in(key_levels, size), alike, truncation)
        drawn |= dict(zip(which, jnp.log(found), strict=True))
    of_moves = log_normalise(draw_log_gamma(key_moves, moves))
    every = [drawn[i] for i in range(len(fields))]
    return jnp.concatenate(every, axis=-1), of_moves


def _draw_bounded(
    key: Key, concentration: Float[Array, "*batch k"], truncation: Float[Array, ""]
) -> Float[Array, "*batch k"]:
    """Draw bounded probabilities; for two levels, a truncated Beta draw is faster."""
    size = concentration.shape[-1]
    low = 1 / (truncation * size)
    if size > 2:
        law = distributions.TruncatedDirichlet(concentration, low, validate_args=False)
        return law.sample(key)
    first, second = concentration[..., 0], concentration[..., 1]
    law = distributions.TruncatedBeta(first, second, low, 1 - low, validate_args=False)
    share = law.sample(key)
    return jnp.stack([share, 1 - share], axis=-1)


def table_laws(
    cells: CellCounts, paths: Int32[Array, "times chains regions"]
) -> tuple[Emission, Moves]:
    """Return Dirichlet parameters of levels and of hidden states, given the paths.

    In the second array, row 0 is for first states and other rows are for transitions.
    """
    starts, moves = path_counts(paths, cells.states, cells.declared.T)
    every = jnp.concatenate([starts[:, None], moves], axis=1)
    return cells.emission + _totals(cells, paths), cells.transition + every


def _totals(cells: CellCounts, paths: Array) -> Array:
    """Sum the used counts over the cells in each state, (chains, states, levels)."""
    flat = jnp.moveaxis(paths, 1, 0).reshape(paths.shape[1], -1)
    states = jnp.arange(cells.states, dtype=jnp.int32)
    # This layout makes the sum one matrix product.
    member = (flat[:, None] == states[None, :, None]).astype(float)
    counts = jnp.swapaxes(_used(cells), 0, 1).reshape(flat.shape[1], -1)
    return einsum("ckn,nl->ckl", member, counts)


def _used(cells: CellCounts) -> Array:
    return jnp.where(cells.used[..., None], cells.counts, 0)


def cell_log_likelihoods(
    cells: CellCounts, emission: Emission
) -> Float[Array, "times chains regions states"]:
    """Return the log-likelihood of every cell's counts in every hidden state."""
    return einsum("rtl,ckl->tcrk", _used(cells), emission)
