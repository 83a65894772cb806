"""ChaCha20 (RFC 8439) as a JAX key implementation with 256-bit keys, for releases.

Bits, splits and folds use different nonces, so that no bit drawn from a key is part of
a key derived from it.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.extend.random import define_prng_impl
from jaxtyping import Array, UInt8, UInt32

from dpjax._platforms import Sizes, by_platform
from dpjax._types import Key

Words = UInt32[Array, "..."]

_DOUBLE_ROUNDS = 10
_CONSTANTS = np.frombuffer(b"expand 32-byte k", np.uint32)
_BITS, _SPLIT, _FOLD = (
    int.from_bytes(x, "little") for x in (b"bits", b"splt", b"fold")
)
_QUARTERS = (
    *((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)),
    *((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)),
)
_PART = 4096  # blocks of the stream that are stored together, word by word
_WORDS = 16  # 32-bit words in a block
_MOST_WORDS = _WORDS << 32  # the block counter has 32 bits


def block(
    key: UInt32[Array, "8"], counter: Words, nonce: tuple[int, int, int]
) -> tuple[Words, ...]:
    """Return the 16 words of the ChaCha20 block for each `counter` (RFC 8439, 2.3)."""

    def words(sizes, key, counter):
        at_once = min(2, sizes.double_rounds)  # few blocks: it compiles sooner
        return block_in(at_once, key, counter, nonce)

    return by_platform(words, key, counter)


def block_in(
    at_once: int,
    key: UInt32[Array, "8"],
    counter: Words,
    nonce: tuple[int, int, int],
) -> tuple[Words, ...]:
    """Compute `block` with `at_once` double rounds in each kernel of an accelerator."""
    public = [jnp.full_like(counter, word) for word in _CONSTANTS]
    secret = [jnp.broadcast_to(key[i], counter.shape) for i in range(8)]
    nonces = [jnp.full_like(counter, np.uint32(word)) for word in nonce]
    start = state = (*public, *secret, counter, *nonces)
    # The first rounds, if not all, are in the kernel that sets up the state.
    first = _DOUBLE_ROUNDS % at_once or at_once * (at_once > 1)
    for _ in range(first):
        state = _double_round(state)
    end = lax.fori_loop(
        first, _DOUBLE_ROUNDS, lambda _, x: _double_round(x), state, unroll=at_once
    )
    return tuple(a + b for a, b in zip(start, end, strict=True))


@jax.jit
def _double_round(state: tuple[Words, ...]) -> tuple[Words, ...]:
    words = list(state)
    for a, b, c, d in _QUARTERS:
        for x, y, z, distance in (
            (a, b, d, 16),
            (c, d, b, 12),
            (a, b, d, 8),
            (c, d, b, 7),
        ):
            words[x] = words[x] + words[y]
            words[z] = _rotate(words[z] ^ words[x], distance)
    return tuple(words)


def _rotate(word: Words, distance: int) -> Words:
    return (word << np.uint32(distance)) | (word >> np.uint32(32 - distance))


def _seed(seed: Array) -> Words:
    """A key with the seed in its first words; for tests, as a seed is not secret."""
    seed = jnp.asarray(seed)
    wide = seed.dtype.itemsize == 8
    high = seed >> jnp.asarray(32, seed.dtype) if wide else jnp.zeros_like(seed)
    words = jnp.stack([seed, high]).astype(jnp.uint32)
    return jnp.concatenate([words, jnp.zeros(6, jnp.uint32)])


def _random_bits(key: Words, bit_width: int, shape: tuple[int, ...]) -> Array:
    dtype = jnp.dtype(f"uint{bit_width}")
    count = math.prod(shape)
    needed = -(-count * bit_width // 32)
    if needed > _MOST_WORDS:
        raise ValueError(f"`shape` must need at most 2^36 words a key, got {shape}.")
    words = _stream(key, -(-needed // _WORDS), (_BITS, bit_width, 0))
    if bit_width == 64:
        pairs = words[: 2 * count].reshape(count, 2).astype(jnp.uint64)
        return ((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]).reshape(shape)
    if bit_width < 32:
        words = lax.bitcast_convert_type(words, dtype).reshape(-1)
    return words[:count].reshape(shape)


def _stream(key: Words, blocks: int, nonce: tuple[int, int, int]) -> Words:
    return by_platform(partial(stream_in, blocks=blocks, nonce=nonce), key)


def stream_in(
    sizes: Sizes, key: Words, blocks: int, nonce: tuple[int, int, int]
) -> Words:
    """The words of at least `blocks` blocks, in the order (part, word, block).

    A CPU computes one part after the other, since its state fits the cache.
    """
    at_once = _rounds_at_once(sizes, blocks)
    unrolled = at_once == _DOUBLE_ROUNDS

    def part(first):
        counter = first + lax.iota(jnp.uint32, min(blocks, _PART))
        words = block_in(at_once, key, counter, nonce)
        # Without the barrier, XLA may compute all rounds again for each word.
        return jnp.stack(lax.optimization_barrier(words) if unrolled else words)

    if blocks <= _PART:
        return part(jnp.uint32(0)).reshape(-1)
    parts = lax.iota(jnp.uint32, -(-blocks // _PART)) * np.uint32(_PART)
    return sizes.map(part, parts).reshape(-1)


def _rounds_at_once(sizes: Sizes, blocks: int) -> int:
    return _DOUBLE_ROUNDS if blocks >= sizes.least_unrolled else sizes.double_rounds


def map_rows(
    sizes: Sizes,
    key: Words,
    firsts: UInt32[Array, " d"],
    size: int,
    function: Callable[[Words, Any], UInt8[Array, "..."]],
    of_row: Sequence[Any],
) -> list[UInt8[Array, " n"]]:
    """Return a function of rows of random words, whose first words are at `firsts`.

    One kernel computes all parts of the stream in which the rows are, and the function.
    The stream has at least `_PART` blocks.
    """
    part = _PART * _WORDS
    shape = len(of_row), -(-size // part) + 1, _PART
    place, lane = (lax.broadcasted_iota(jnp.uint32, shape, axis) for axis in (1, 2))
    place = place + (firsts // np.uint32(part))[:, None, None]
    counter = place * np.uint32(_PART) + lane
    at_once = _rounds_at_once(sizes, counter.size)
    words = block_in(at_once, key, counter, (_BITS, 32, 0))
    rows = jax.tree.map(lambda *x: jnp.stack(x), *of_row)
    found = [jax.vmap(function)(x, rows).astype(jnp.uint32) for x in words]
    # XLA computes all rounds for each array and merges them: fewer compile sooner.
    shifts = range(0, 32 if len(of_row) > 1 else 16, 8)
    groups = (found[i : i + len(shifts)] for i in range(0, _WORDS, len(shifts)))
    packed = lax.optimization_barrier([*map(partial(_packed, shifts), groups)])
    parted = [x >> np.uint32(shift) for x in packed for shift in shifts]
    ordered = jnp.stack(parted, axis=2).astype(jnp.uint8).reshape(len(of_row), -1)
    starts = firsts % np.uint32(part)
    return [
        lax.dynamic_slice(row, (start,), (size,))
        for row, start in zip(ordered, starts, strict=True)
    ]


def _packed(shifts: Sequence[int], found: Sequence[Words]) -> Words:
    """Return integers of one byte each, side by side in one."""
    shifted = (x << np.uint32(y) for x, y in zip(found, shifts, strict=True))
    return reduce(jnp.bitwise_or, shifted)


def _split(key: Words, shape: tuple[int, ...]) -> Words:
    counter = lax.iota(jnp.uint32, math.prod(shape))
    children = block(key, counter, (_SPLIT, 0, 0))[:8]
    return jnp.stack(children, axis=-1).reshape(*shape, 8)


def _fold_in(key: Words, data: Array | int) -> Words:
    counter = jnp.asarray(data).astype(jnp.uint32)
    return jnp.stack(block(key, counter, (_FOLD, 0, 0))[:8], axis=-1)


CHACHA20 = define_prng_impl(
    key_shape=(8,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="chacha20",
    tag="cc20",
)


def release_key() -> Key:
    """Create a random 256-bit JAX key from the operating system's randomness.

    Never print or store the key: the `repr` of a JAX key shows its value.

    Raises:
        ValueError: if called inside `jit` or `vmap`, where the key would become a
            constant of the program.
    """
    words = jnp.asarray(np.frombuffer(os.urandom(32), np.uint32))
    try:
        np.asarray(words + np.uint32(0))
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`release_key` must be called outside of `jit` and `vmap`, since compiled "
            "code would use the same key at every call."
        ) from None
    return jr.wrap_key_data(words, impl=CHACHA20)
