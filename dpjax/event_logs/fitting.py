"""Gibbs sampling of hidden Markov models, given counts of events."""

__all__ = ["Progress", "check_run", "fit", "sample_hidden_markov"]

from collections.abc import Callable, Iterable, Mapping
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
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Fit a hidden Markov model to released counts of an event log, by Gibbs chains.

    This is a plug-in method: it uses the noisy counts as if they were exact, and 0 for
    negative counts. With one state the model is naive Bayes.

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
        progress: function that wraps the iterable of blocks of sweeps, such as `tqdm`.
            It does not change the draws. None runs all sweeps in one compiled program.

    Privacy:
        Post-processing has no privacy cost, whether the chains converge or not, and may
        be repeated with other numbers of states or other priors.

    Raises:
        ValueError: if the release is not of an event log's counts, an argument is out
            of range, or `states` is larger than 127 or the number of cells on paths.

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
    cells = CellCounts.of(
        statistic.network,
        jnp.maximum(cell_counts(statistic, released.values), 0),
        states,
        times=times,
        observed=observed,
        emission=emission,
        transition=transition,
        collapsed=collapsed,
    )
    return sample_hidden_markov(
        key, cells, chains=chains, sweeps=sweeps, burn_in=burn_in, progress=progress
    )


def sample_hidden_markov(
    key: Key,
    cells: CellCounts,
    *,
    chains: int = 8,
    sweeps: int = 200,
    burn_in: int | None = None,
    progress: Progress | None = None,
) -> HiddenMarkovPosterior:
    """Run Gibbs chains of a hidden Markov model on noisy or exact counts of events.

    The function works under `jit` and `vmap` if `progress` is None.

    Args:
        key: typed JAX key.
        cells: counts and model. For exact counts of records, use
            `CellCounts.of(net, event_counts(net, records), states)`.
        chains, sweeps, burn_in, progress: as for `fit`.

    Privacy:
        Not private for exact counts, since every draw depends on every record. For
        released counts, post-processing has no privacy cost.
    """
    typed_key(key=key)
    burn_in = check_run(chains, sweeps, burn_in)
    check_states(cells.states, cells.declared)
    if progress is None:
        return _sample(key, cells, chains, sweeps, burn_in)
    every = _in_blocks(key, cells, chains, sweeps, progress)
    return _posterior_of(every, cells, burn_in)


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


@partial(jax.jit, static_argnums=(2, 3, 4))
def _sample(
    key: Key, cells: CellCounts, chains: int, sweeps: int, burn_in: int
) -> HiddenMarkovPosterior:
    _, every = _advance(cells, *_start(key, cells, chains, sweeps))
    return _posterior_of(every, cells, burn_in)


def _in_blocks(
    key: Key, cells: CellCounts, chains: int, sweeps: int, progress: Progress
) -> ChainDraws:
    """Make the draws of `_sample` in blocks of sweeps that share a compiled program."""
    state, keys = _start(key, cells, chains, sweeps)
    size = -(-sweeps // _BLOCKS)
    blocks = -(-sweeps // size)
    # The last block is filled with additional sweeps, which are discarded.
    places = np.minimum(np.arange(blocks * size), sweeps - 1).reshape(blocks, size)
    done = []
    for block in progress(keys[places]):
        state, drawn = _advance(cells, state, block)
        done.append(jax.tree.map(np.asarray, drawn))  # waits for the block's end
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:sweeps], *done)


@partial(jax.jit, static_argnums=(2, 3))
def _start(
    key: Key, cells: CellCounts, chains: int, sweeps: int
) -> tuple[HiddenMarkovState, Keys[Array, " sweeps"]]:
    key_start, key_sweeps = jr.split(key)
    state = begin(key_start, cells, chains)
    # With weak types, the first block would be compiled separately.
    state = jax.tree.map(lambda x: x.astype(x.dtype), state)
    return state, jr.split(key_sweeps, sweeps)


@jax.jit
def _advance(
    cells: CellCounts, state: HiddenMarkovState, keys: Keys[Array, " sweeps"]
) -> tuple[HiddenMarkovState, ChainDraws]:
    def step(state, words):
        key = jr.wrap_key_data(words, impl=jr.key_impl(keys))
        state, info = sweep(key, cells, state)
        kept = state._replace(paths=state.paths.astype(np.int8))
        return state, (kept, info)

    # Key data, since `jax.debug_key_reuse` fails for keys under `vmap`.
    return lax.scan(step, state, jr.key_data(keys))


@partial(jax.jit, static_argnums=2)
def _posterior_of(
    every: ChainDraws, cells: CellCounts, burn_in: int
) -> HiddenMarkovPosterior:
    drawn, info = jax.tree.map(lambda x: x[burn_in:], every)
    return HiddenMarkovPosterior(
        drawn.paths,
        jnp.exp(drawn.emission),
        jnp.exp(drawn.initial),
        jnp.exp(drawn.transition),
        cells.declared,
        cells.fields,
        info.log_likelihood,
    )
