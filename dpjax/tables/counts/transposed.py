"""Conversion of records to bit planes in chunks that fit the cache, when compiled."""

__all__ = ["chunks_of_records"]

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, DTypeLike, Integer, UInt32

from dpjax.tables.counts.planes import WORDS_AT_ONCE, Chunks

_BYTES_AT_ONCE = 1 << 20
_BLOCK = 256  # words
_WIDE = 96  # columns from which packing bytes, then words, is faster


def chunks_of_records(records: Integer[Array, "n d"], bits: int) -> Chunks:
    """The arguments of `popcounts` for records.

    The planes are the lowest bits of all columns, then the next bits, and so on. Bits
    that no valid level has are ignored.
    """
    n, d = records.shape
    most = min(WORDS_AT_ONCE, _BYTES_AT_ONCE // (32 * max(1, d)), n // 32)
    step = _BLOCK if most >= 2 * _BLOCK else 64
    words = step * max(1, most // step)
    block = min(_BLOCK, words // 2)
    if n < 32 * words:
        records = jnp.pad(records, ((0, 32 * words - n), (0, 0)))
    length = max(n, 32 * words)

    def chunk_at(start, skip):
        mask = _unskipped(words, skip) if length % (32 * words) else None
        return _packed(records, start, mask, (words, block, bits))

    return chunk_at, length, 32 * words


def _packed(
    records: Integer[Array, "n d"],
    start: Array,
    mask: UInt32[Array, " w"] | None,
    sizes: tuple[int, int, int],
) -> UInt32[Array, "p w"]:
    """The planes of the records from `start`, with zeros for masked records.

    There are two loops of at least two blocks, which XLA does not unroll. Otherwise it
    would fuse the transposition with the packing and read bytes in a slow order.
    """
    (words, block, bits), d = sizes, records.shape[1]

    def pack(i):
        part = lax.dynamic_slice_in_dim(records, start + i * 32 * block, 32 * block)
        part = part.reshape(block, 32, d)
        return tuple(_words(part, bit) for bit in range(bits))

    rows = lax.map(pack, np.arange(words // block, dtype=np.int32))

    def transpose(i, planes):
        parts = [row[i].T for row in rows]
        if mask is not None:
            kept = lax.dynamic_slice_in_dim(mask, i * block, block)
            parts = [part & kept[None] for part in parts]
        return [
            lax.dynamic_update_slice_in_dim(plane, part, i * block, axis=1)
            for plane, part in zip(planes, parts, strict=True)
        ]

    planes = [jnp.zeros((d, words), jnp.uint32) for _ in rows]
    planes = lax.fori_loop(np.int32(0), np.int32(words // block), transpose, planes)
    return planes[0] if bits == 1 else jnp.concatenate(planes)


def _words(records: Integer[Array, "w 32 d"], bit: int) -> UInt32[Array, "w d"]:
    zeros_and_ones = (records >> np.asarray(bit, records.dtype)) & 1
    if records.shape[2] < _WIDE:
        return _packed_as(jnp.uint32, zeros_and_ones)
    eights = zeros_and_ones.reshape(-1, 8, records.shape[2])
    eights = _packed_as(jnp.uint8, eights).reshape(-1, 4, records.shape[2])
    parts = [eights[:, i].astype(jnp.uint32) << np.uint32(8 * i) for i in range(4)]
    return functools.reduce(lax.bitwise_or, parts)


def _packed_as(dtype: DTypeLike, bits: Integer[Array, "w b d"]) -> Array:
    """Pack the bits along the middle axis into words, lowest bit first."""
    place = lax.broadcasted_iota(dtype, (1, bits.shape[1], 1), 1)
    return (bits.astype(dtype) << place).sum(1, dtype=dtype)


def _unskipped(words: int, skip: Array) -> UInt32[Array, " w"]:
    """A mask with ones for all records of a chunk except the first `skip`."""
    missing = jnp.clip(skip - 32 * np.arange(words, dtype=np.int32), 0, 32)
    ones = np.uint32(2**32 - 1) << missing.astype(jnp.uint32)
    return jnp.where(missing < 32, ones, np.uint32(0))
