"""Runs Gibbs chains in one program, or in blocks of sweeps that show progress."""

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
    """The state after every sweep, with paths as bytes; for `jit` and `vmap` too."""
    return _advance(cells, *_start(key, cells, chains, sweeps))[1]


def run_in_blocks(
    key: Key, cells: CellCounts, chains: int, sweeps: int, progress: Progress
) -> ChainDraws:
    """The draws of `run_chains`, computed in blocks of sweeps that share a program.

    `progress` wraps the iterable of blocks, as `tqdm` does.
    """
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
    # With weak types, the first block would compile separately.
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
