"""Gibbs chains, sweep after sweep: in one program, or in blocks that can be counted."""

__all__ = ["ChainDraws", "Progress", "run_chains", "run_in_blocks"]

from collections.abc import Callable, Iterable
from functools import partial

import jax
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Key as Keys

from dpjax._types import Key
from dpjax.event_logs.sampler import (
    CellCounts,
    HiddenMarkovState,
    SweepInfo,
    begin,
    sweep,
)

Progress = Callable[[Iterable[Array]], Iterable[Array]]
ChainDraws = tuple[HiddenMarkovState, SweepInfo]
_BLOCKS = 20  # steps of a progress bar


def run_chains(key: Key, cells: CellCounts, chains: int, sweeps: int) -> ChainDraws:
    """The state after every sweep, its paths as bytes; pure, for `jit` and `vmap`."""
    return _advance(cells, *_start(key, cells, chains, sweeps))[1]


def run_in_blocks(
    key: Key, cells: CellCounts, chains: int, sweeps: int, progress: Progress
) -> ChainDraws:
    """The same draws in blocks of sweeps, all of one shape and so of one program.

    Args:
        key: typed.
        cells: what is sampled.
        chains: how many.
        sweeps: of each chain.
        progress: wraps the blocks that are worked through, as `tqdm` does.
    """
    state, keys = _start(key, cells, chains, sweeps)
    size = -(-sweeps // _BLOCKS)
    blocks = -(-sweeps // size)
    # The last block is filled up with sweeps that nobody asked for.
    places = np.minimum(np.arange(blocks * size), sweeps - 1).reshape(blocks, size)
    done = []
    for block in progress(keys[places]):
        state, drawn = _advance(cells, state, block)
        done.append(jax.tree.map(np.asarray, drawn))  # waits, so that a bar is true
    return jax.tree.map(lambda *parts: np.concatenate(parts)[:sweeps], *done)


@partial(jax.jit, static_argnums=(2, 3))
def _start(
    key: Key, cells: CellCounts, chains: int, sweeps: int
) -> tuple[HiddenMarkovState, Keys[Array, " sweeps"]]:
    key_start, key_sweeps = jr.split(key)
    state = begin(key_start, cells, chains)
    # Weakly typed, the first block would be a program of its own.
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

    # Compiled once. Over words: `jax.debug_key_reuse` stumbles over keys under `vmap`.
    return lax.scan(step, state, jr.key_data(keys))
