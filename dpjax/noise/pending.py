"""Draws in blocks, of which a few are completed with more random words."""

import math
from collections.abc import Callable

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Int32, UInt8

from dpjax._types import Key

TIE, OVERFLOW = 128, 1
"""Why a draw is pending: a word ties with a threshold, or a value is not the last."""

_MOST_WORDS = (1 << 32) - 1  # that threefry draws from a key
_MOST_LANES = 1 << 10  # draws that are completed at once

Noise = tuple[Int32[Array, " n"], ...]
Lanes = Int32[Array, " k"]


def in_blocks(
    key: Key, draw: Callable[..., Noise], shape: tuple[int, ...], words: int
) -> list[Int32[Array, "..."]]:
    """Draw arrays of the given shape, in blocks that bound the memory.

    Args:
        draw: function of a key and the keyword `size`, the length of a block.
        words: random words of a draw.
    """
    size = math.prod(shape)
    blocks = max(1, -(-size * words // _MOST_WORDS))
    each = -(-size // blocks)

    def one(key: Key) -> Noise:
        return draw(key, size=each)

    found = one(key) if blocks == 1 else lax.map(one, jr.split(key, blocks))
    return [limb.reshape(-1)[:size].reshape(shape) for limb in found]


def completed(
    key: Key,
    noise: Noise,
    pending: UInt8[Array, " n"],
    again: Callable[[Key, Lanes, Bool[Array, " k"], Noise], tuple[Noise, Array]],
) -> Noise:
    """Draw more words for the pending draws, at most 2^10 at once, until none is left.

    Args:
        key: a key for the words.
        noise: all limbs of the draws.
        pending: `TIE`, `OVERFLOW` or 0 for each draw.
        again: function of a key, of the places of some draws, of whether they are ties,
            and of their limbs, to the new limbs and whether a draw is still pending, as
            an `OVERFLOW`. A place that is not below n stands for no draw.
    """
    size = pending.size

    def complete(state):
        key, noise, pending, lanes = state
        key, key_words = jr.split(key)
        old = tuple(at(limb, lanes) for limb in noise)
        new, overflow = again(key_words, lanes, at(pending, lanes) == TIE, old)
        noise = tuple(
            x.at[lanes].set(y, mode="drop") for x, y in zip(noise, new, strict=True)
        )
        still = jnp.where(overflow, OVERFLOW, 0).astype(jnp.uint8)
        pending = pending.at[lanes].set(still, mode="drop")
        return key, noise, pending, _some(pending > 0)

    start = (key, noise, pending, _some(pending > 0))
    return lax.while_loop(lambda x: jnp.any(x[3] < size), complete, start)[1]


def at(values: Array, lanes: Lanes) -> Array:
    """Return values at places of the last axis, and 0 for no place."""
    return values.at[..., lanes].get(mode="fill", fill_value=0)


def _some(flags: Bool[Array, " n"]) -> Lanes:
    """Places of flags that are set, at least one unless none is, and otherwise ≥ n."""
    slots = min(flags.size, _MOST_LANES)
    rows = -(-flags.size // max(1, slots))
    flags = jnp.pad(flags, (0, rows * slots - flags.size)).reshape(rows, slots)
    row = lax.broadcasted_iota(jnp.int32, flags.shape, 0)
    first = jnp.where(flags, row, rows).min(axis=0, initial=rows)
    return first * slots + jnp.arange(slots, dtype=jnp.int32)
