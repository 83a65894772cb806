"""An unrolled Threefry-2x32 as a JAX key implementation, for studies.

It is faster than JAX's default implementation. With `jax_threefry_partitionable`, which
is the default, every function of `jax.random` returns the same bits for both.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.random import define_prng_impl
from jaxtyping import Array, UInt8, UInt32

from dpjax._checks import brief, whole
from dpjax._platforms import Sizes
from dpjax._types import Key

Words = UInt32[Array, "..."]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


@jax.jit
def _threefry(key: Words, high: Words, low: Words) -> tuple[Words, Words]:
    """Twenty rounds on the counter (high, low), in `lax` operations to trace faster.

    Reference: Salmon, Moraes, Dror & Shaw (SC 2011), section 4.
    """
    parity = np.uint32(0x1BD11BDA)
    words = key[0], key[1], lax.bitwise_xor(lax.bitwise_xor(key[0], key[1]), parity)
    schedule = [lax.broadcast(word, low.shape) for word in words]
    x, y = lax.add(high, schedule[0]), lax.add(low, schedule[1])
    for i in range(5):
        for distance in _ROTATIONS[i % 2]:
            x = lax.add(x, y)
            y = lax.bitwise_xor(x, _rotate(y, distance))
        x = lax.add(x, schedule[(i + 1) % 3])
        y = lax.add(lax.add(y, schedule[(i + 2) % 3]), np.uint32(i + 1))
    return x, y


def _rotate(word: Words, distance: int) -> Words:
    left = lax.shift_left(word, np.uint32(distance))
    return lax.bitwise_or(left, lax.shift_right_logical(word, np.uint32(32 - distance)))


def _count(shape: tuple[int, ...]) -> tuple[Words, Words]:
    """A two-word counter of the entries of `shape`."""
    size = math.prod(shape)
    if size >= 1 << 32:
        raise ValueError(f"`shape` must have fewer than 2^32 entries, got {shape}.")
    low = lax.iota(jnp.uint32, size).reshape(shape)
    return jnp.zeros_like(low), low


def _seed(seed: Array) -> Words:
    seed = jnp.asarray(seed)
    wide = seed.dtype.itemsize == 8
    high = (
        lax.shift_right_logical(seed, jnp.asarray(32, seed.dtype)) if wide else seed * 0
    )
    return jnp.stack([high, seed]).astype(jnp.uint32)


def _random_bits(key: Words, bit_width: int, shape: tuple[int, ...]) -> Array:
    high, low = _threefry(key, *_count(shape))
    if bit_width == 64:
        return (high.astype(jnp.uint64) << np.uint64(32)) | low.astype(jnp.uint64)
    return (high ^ low).astype(jnp.dtype(f"uint{bit_width}"))


def map_rows(
    sizes: Sizes,
    key: Words,
    firsts: UInt32[Array, " d"],
    size: int,
    function: Callable[[Words, Any], UInt8[Array, "..."]],
    of_row: Sequence[Any],
) -> list[UInt8[Array, " n"]]:
    """Return a function of rows of random words, whose first words are at `firsts`."""
    del sizes
    high, low = _count((size,))
    pairs = (_threefry(key, high, low + first) for first in firsts)
    return [function(x ^ y, row) for (x, y), row in zip(pairs, of_row, strict=True)]


def _split(key: Words, shape: tuple[int, ...]) -> Words:
    return _once(jnp.stack(_threefry(key, *_count(shape)), axis=-1))


def _fold_in(key: Words, data: Array | int) -> Words:
    low = jnp.asarray(data).astype(jnp.uint32)
    return _once(jnp.stack(_threefry(key, jnp.zeros_like(low), low)))


def _once(keys: Words) -> Words:
    """Prevent XLA from deriving a key again at every use, which compiles for hours."""
    return lax.optimization_barrier(keys)


UNROLLED_THREEFRY = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="unrolled_threefry",
    tag="utf",
)


def study_key(seed: int) -> Key:
    """Create a JAX key for studies; not for releases, since a seed can be guessed.

    Args:
        seed: an integer from 0 to 2^32 - 1, or to 2^63 - 1 if JAX has 64-bit integers.

    Raises:
        ValueError: if the seed is another, for which the key would not be its own.
    """
    if not isinstance(seed, Tracer):
        whole(0, seed=seed)
        bits = 63 if jax.dtypes.canonicalize_dtype(np.int64).itemsize == 8 else 32
        if seed >> bits:
            raise ValueError(f"`seed` must be below 2^{bits}, got {brief(seed)}.")
    return jr.key(seed, impl=UNROLLED_THREEFRY)
