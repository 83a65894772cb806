"""Gibbs sampling of hidden Markov models, given counts of events."""

__all__ = ["Progress", "check_run", "fit", "sample_hidden_markov"]

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Key as Keys

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Scalar
from dpjax.event_logs.events import cell_counts, check_states, log_variables
from dpjax.event_logs.noise_aware import NoisyState, begin_noisy, sweep_noisy
from dpjax.event_logs.noisy_cells import NoisyCells
from dpjax.event_logs.posterior import HiddenMarkovPosterior
from dpjax.event_logs.sampler import (
    CellCounts,
    HiddenMarkovState,
    SweepInfo,
    begin,
    sweep,
)
from dpjax.releases.released import Released

Progress = Callable[[Iterable[Array]], Iterable[Array]]
Cells = CellCounts | NoisyCells
ChainState = HiddenMarkovState | NoisyState
ChainDraws = tuple[HiddenMarkovState, SweepInfo]
_BLOCKS = 20  # number of blocks, the steps of a progress bar


def fit(
    key: Key,
    released: Released,
    states: int,
    *,
    times: Mapping[Any, tuple] | None = None,
    observed: Bool[ArrayLike, "regions times"] | None = None,
    emission: Scalar = 1.0,
    transition: Scalar = 1.0,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    collapsed: bool = False,
    noise_aware: bool = True,
    selections: int | None = None,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Fit a hidden Markov model to released counts of an event log, by Gibbs chains.

    The chains sum over the hidden exact counts, given their noise (see the modules
    noisy_cells.py and noise_aware.py). With one state the model is naive Bayes.

    Args:
        key: typed JAX key.
        released: release of noisy `NetworkCounts` of an `event_network`.
        states: number of hidden states.
        times: dictionary from region to the public first and last time of its path of
            states, such as `{"north": (0, 9)}`. Counts at other times are ignored. The
            paths of other regions contain all times.
        observed: whether the counts of each region and time are used. Other states are
            predicted from neighbouring times. None means that all counts are used.
        emission: Dirichlet parameter of every level of a field.
        transition: Dirichlet parameter of every transition and every first state.
        chains: number of chains, which start at random.
        sweeps: number of sweeps of each chain.
        burn_in: number of first sweeps that are discarded. None means half.
        collapsed: whether states are drawn one by one with transition tables integrated
            out, as in the reference. This is slower and mixes worse than the default,
            which draws whole paths given the tables.
        noise_aware: False means the plug-in method of the reference, which uses the
            noisy counts as if they were exact, and 0 for negative counts. It is faster,
            but finds events in cells that have none.
        selections: number of times, in equal parts of the burn-in, at which the half of
            the chains with the largest log-likelihoods replaces the other half. Chains
            with different sets of states, which no sweep would change, are left behind.
            0 keeps all chains. None means 3, or 0 if not `noise_aware`.
        progress: function that wraps the iterable of blocks of sweeps, such as `tqdm`.
            It does not change the draws. None runs all sweeps in one compiled program.

    Privacy:
        Post-processing has no privacy cost, whether the chains converge or not, and may
        be repeated with other numbers of states or other priors.

    Raises:
        ValueError: if the release is not of an event log's counts, its noise is not
            discrete Laplace noise although `noise_aware`, an argument is out of range,
            or `states` is larger than 127 or the number of cells on paths.

    Reference:
        Foulds et al. (UAI-16), sections 4.2 and 5, with collapsed transitions.
    """
    if not isinstance(released, Released):
        raise ValueError(
            "`released` must be a release, from `dpjax.release` or `dpjax.load`, got "
            f"{type(released).__name__}."
        )
    statistic = released.counted  # refuses released samples
    if statistic.network is None or statistic.measured is None:
        raise ValueError(
            "`released` must be counts of an event log, made by `event_network` or "
            f"`dpjax release --model hmm`, got {statistic.kind}."
        )
    log_variables(statistic.network, "released")
    counts = cell_counts(statistic, released.values)
    cells = CellCounts.of(
        statistic.network,
        counts if noise_aware else jnp.maximum(counts, 0),
        states,
        times=times,
        observed=observed,
        emission=emission,
        transition=transition,
        collapsed=collapsed,
    )
    if selections is None:
        selections = 3 if noise_aware else 0
    return sample_hidden_markov(
        key,
        NoisyCells.of(released, cells) if noise_aware else cells,
        chains=chains,
        sweeps=sweeps,
        burn_in=burn_in,
        selections=selections,
        progress=progress,
    )


def sample_hidden_markov(
    key: Key,
    cells: Cells,
    *,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    selections: int = 0,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Run Gibbs chains of a hidden Markov model on noisy or exact counts of events.

    The function works under `jit` and `vmap` if `progress` is None.

    Args:
        key: typed JAX key.
        cells: counts and model. For exact counts of records, use
            `CellCounts.of(net, event_counts(net, records), states)`.
        chains, sweeps, burn_in, selections, progress: as for `fit`.

    Privacy:
        Not private for exact counts, since every draw depends on every record. For
        released counts, post-processing has no privacy cost.
    """
    typed_key(key=key)
    burn_in = check_run(chains, sweeps, burn_in)
    whole(0, selections=selections)
    check_states(_model(cells).states, _model(cells).declared)
    times = np.arange(1, selections + 1) * burn_in // (selections + 1)
    if progress is None:
        return _sample(key, cells, chains, sweeps, burn_in, tuple(times.tolist()))
    every = _in_blocks(key, cells, chains, sweeps, times, progress)
    return _posterior_of(every, _model(cells), burn_in)


def _model(cells: Cells) -> CellCounts:
    return cells.model if isinstance(cells, NoisyCells) else cells


def check_run(chains: int, sweeps: int, burn_in: int | None) -> int:
    """Check the arguments of a run; return the burn-in (by default half the sweeps).

    Raises:
        ValueError: if `chains` or `sweeps` is below 1, or no sweep is left.
    """
    whole(1, chains=chains, sweeps=sweeps)
    if burn_in is None:
        return sweeps // 2
    whole(0, burn_in=burn_in)
    if burn_in >= sweeps:
        raise ValueError(f"`burn_in` must be below `sweeps`, {sweeps}, got {burn_in}.")
    return burn_in


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _sample(
    key: Key,
    cells: Cells,
    chains: int,
    sweeps: int,
    burn_in: int,
    selected: tuple[int, ...],
) -> HiddenMarkovPosterior:
    state, keys = _start(key, cells, chains, sweeps)
    _, every = _advance(cells, state, keys, _at(selected, np.arange(sweeps)))
    return _posterior_of(every, _model(cells), burn_in)


def _at(selected: Sequence[int] | np.ndarray, sweeps: np.ndarray) -> np.ndarray | None:
    """Whether chains are selected after each sweep; None if they never are."""
    return np.isin(sweeps, selected) if len(selected) else None


def _in_blocks(
    key: Key,
    cells: Cells,
    chains: int,
    sweeps: int,
    selected: np.ndarray,
    progress: Progress,
) -> ChainDraws:
    """Make the draws of `_sample` in blocks of sweeps that share a compiled program."""
    state, keys = _start(key, cells, chains, sweeps)
    size = -(-sweeps // _BLOCKS)
    blocks = -(-sweeps // size)
    # The last block is filled with additional sweeps, which are discarded.
    places = np.minimum(np.arange(blocks * size), sweeps - 1).reshape(blocks, size)
    done = []
    for block, sweeps_of_block in zip(progress(keys[places]), places, strict=True):
        state, drawn = _advance(cells, state, block, _at(selected, sweeps_of_block))
        done.append(jax.tree.map(np.asarray, drawn))  # waits for the block's end
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:sweeps], *done)


@partial(jax.jit, static_argnums=(2, 3))
def _start(
    key: Key, cells: Cells, chains: int, sweeps: int
) -> tuple[ChainState, Keys[Array, " sweeps"]]:
    key_start, key_sweeps = jr.split(key)
    if isinstance(cells, NoisyCells):
        state: ChainState = begin_noisy(key_start, cells, chains)
    else:
        state = begin(key_start, cells, chains)
    # With weak types, the first block would be compiled separately.
    state = jax.tree.map(lambda x: x.astype(x.dtype), state)
    return state, jr.split(key_sweeps, sweeps)


@jax.jit
def _advance(
    cells: Cells,
    state: ChainState,
    keys: Keys[Array, " sweeps"],
    selected: Bool[ArrayLike, " sweeps"] | None,
) -> tuple[ChainState, ChainDraws]:
    def step(state, inputs):
        words, is_selected = inputs
        key = jr.wrap_key_data(words, impl=jr.key_impl(keys))
        if isinstance(cells, NoisyCells):
            state, info = sweep_noisy(key, cells, state)
            hidden = state.hidden
        else:
            state, info = sweep(key, cells, state)
            hidden = state
        kept = hidden._replace(paths=hidden.paths.astype(np.int8))
        if is_selected is not None:
            state = _selected(state, info.log_likelihood, is_selected)
        return state, (kept, info)

    # Key data, since `jax.debug_key_reuse` fails for keys under `vmap`.
    return lax.scan(step, state, (jr.key_data(keys), selected))


def _selected(state: ChainState, logs: Array, is_selected: Array) -> ChainState:
    """Replace the chains with the smaller log-likelihoods by the others."""
    chains = jnp.arange(len(logs), dtype=jnp.int32)
    better = jnp.argsort(-logs).astype(jnp.int32)[chains // 2]
    chosen = jnp.where(is_selected, better, chains)
    if isinstance(state, NoisyState):
        return NoisyState(_of_chains(state.hidden, chosen), state.rates[:, chosen])
    return _of_chains(state, chosen)


def _of_chains(state: HiddenMarkovState, chosen: Array) -> HiddenMarkovState:
    tables = (state.emission, state.initial, state.transition)
    return HiddenMarkovState(state.paths[:, chosen], *(x[chosen] for x in tables))


@partial(jax.jit, static_argnums=2)
def _posterior_of(
    every: ChainDraws, model: CellCounts, burn_in: int
) -> HiddenMarkovPosterior:
    drawn, info = jax.tree.map(lambda x: x[burn_in:], every)
    return HiddenMarkovPosterior(
        drawn.paths,
        jnp.exp(drawn.emission),
        jnp.exp(drawn.initial),
        jnp.exp(drawn.transition),
        model.declared,
        model.fields,
        info.log_likelihood,
    )
