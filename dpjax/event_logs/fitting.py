"""Gibbs sampling of hidden Markov models, given counts of events.

The likelihood of annealed chains has a power that rises in equal steps from 0.01 to 1
during the first half of the burn-in. Fewer of them stay in sets of states of little
posterior probability than of chains that start at power 1.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, ArrayLike, Bool, Float, Key as Keys

from dpjax._checks import of_type, typed_key, whole
from dpjax._types import Key, Scalar
from dpjax.event_logs.events import cell_counts, check_states, log_variables
from dpjax.event_logs.modes import Cells, weigh_modes
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
ChainState = HiddenMarkovState | NoisyState
ChainDraws = tuple[HiddenMarkovState, SweepInfo]
_BLOCKS = 20  # number of blocks, the steps of a progress bar
_LEAST_POWER = 0.01  # of the likelihood, at the start of annealed chains


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
    sweeps: int = 600,
    burn_in: int | None = None,
    collapsed: bool = False,
    noise_aware: bool = True,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Fit a hidden Markov model to released counts of an event log, by Gibbs chains.

    The chains sum over the hidden exact counts, given their noise (see the modules
    noisy_cells.py and noise_aware.py). They are annealed, and are grouped into modes,
    which have the weights of `weigh_modes`. With one state the model is naive Bayes.

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
        progress: function that wraps the iterable of blocks of sweeps, such as `tqdm`.
            It does not change the draws. None runs all sweeps in one compiled program.

    Privacy:
        Post-processing has no privacy cost, whether the chains converge or not, and may
        be repeated with other numbers of states or other priors.

    Raises:
        ValueError: if the release is not of an event log's counts, its noise is not
            discrete Laplace or Gaussian noise although `noise_aware`, an argument is
            out of range, or `states` is larger than 127 or the number of cells on
            paths.

    Reference:
        Foulds et al. (UAI-16), sections 4.2 and 5, with collapsed transitions.
    """
    of_type(Released, "give one of `dpjax.release` or `dpjax.load`", released=released)
    statistic = released.counted  # refuses released samples
    if statistic.network is None or statistic.measured is None:
        raise ValueError(
            "`released` must be counts of an event log, made by `event_network` or "
            f"`dpjax release --model hmm`, got {statistic.kind}."
        )
    region, time, fields = log_variables(statistic.network, "released")
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
    given = NoisyCells.of(released, cells) if noise_aware else cells
    typed_key(key=key)
    key_chains, key_modes = jr.split(key)
    run = {"chains": chains, "sweeps": sweeps, "burn_in": burn_in, "progress": progress}
    found = sample_hidden_markov(key_chains, given, annealed=True, **run)
    weighed = weigh_modes(key_modes, given, found)
    return replace(weighed, variables=(region, time, *fields))


def sample_hidden_markov(
    key: Key,
    cells: Cells,
    *,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    annealed: bool = False,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Run Gibbs chains of a hidden Markov model on noisy or exact counts of events.

    The function works under `jit` and `vmap` if `progress` is None. All chains have the
    same weight: see `weigh_modes`.

    Args:
        key: typed JAX key.
        cells: counts and model. For exact counts of records, use
            `CellCounts.of(net, event_counts(net, records), states)`.
        chains, sweeps, burn_in, progress: as for `fit`.
        annealed: whether the chains are annealed, as those of `fit` are (see the module
            fitting.py). The reference does not anneal them.

    Privacy:
        Not private for exact counts, since every draw depends on every record. For
        released counts, post-processing has no privacy cost.
    """
    typed_key(key=key)
    burn_in = check_run(chains, sweeps, burn_in)
    check_states(_model(cells).states, _model(cells).declared)
    powers = _powers(sweeps, burn_in) if annealed else None
    if progress is None:
        return _sample(key, cells, powers, chains, sweeps, burn_in)
    every = _in_blocks(key, cells, powers, chains, sweeps, progress)
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


def _powers(sweeps: int, burn_in: int) -> np.ndarray:
    """Return the power of the likelihood in each sweep of annealed chains."""
    rising = np.linspace(_LEAST_POWER, 1, burn_in // 2)
    return np.concatenate([rising, np.ones(sweeps - len(rising))])


@partial(jax.jit, static_argnums=(3, 4, 5))
def _sample(
    key: Key,
    cells: Cells,
    powers: Float[ArrayLike, " sweeps"] | None,
    chains: int,
    sweeps: int,
    burn_in: int,
) -> HiddenMarkovPosterior:
    state, keys = _start(key, cells, chains, sweeps)
    _, every = _advance(cells, state, keys, powers)
    return _posterior_of(every, _model(cells), burn_in)


def _in_blocks(
    key: Key,
    cells: Cells,
    powers: np.ndarray | None,
    chains: int,
    sweeps: int,
    progress: Progress,
) -> ChainDraws:
    """Make the draws of `_sample` in blocks of sweeps that share a compiled program."""
    state, keys = _start(key, cells, chains, sweeps)
    size = -(-sweeps // _BLOCKS)
    blocks = -(-sweeps // size)
    # The last block is filled with additional sweeps, which are discarded.
    places = np.minimum(np.arange(blocks * size), sweeps - 1).reshape(blocks, size)
    done = []
    for block, place in zip(progress(keys[places]), places, strict=True):
        power = None if powers is None else powers[place]
        state, drawn = _advance(cells, state, block, power)
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
    powers: Float[ArrayLike, " sweeps"] | None,
) -> tuple[ChainState, ChainDraws]:
    def step(state, inputs):
        words, power = inputs
        key = jr.wrap_key_data(words, impl=jr.key_impl(keys))
        scale = 1.0 if power is None else power
        if isinstance(cells, NoisyCells):
            state, info = sweep_noisy(key, cells, state, scale)
            hidden = state.hidden
        else:
            given = replace(cells, counts=cells.counts * scale)
            state, info = sweep(key, given, state)
            hidden = state
        kept = hidden._replace(paths=hidden.paths.astype(np.int8))
        return state, (kept, info)

    if powers is not None:
        powers = jnp.asarray(powers, float)
    # Key data, since `jax.debug_key_reuse` fails for keys under `vmap`.
    return lax.scan(step, state, (jr.key_data(keys), powers))


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
        info.rates,
    )
