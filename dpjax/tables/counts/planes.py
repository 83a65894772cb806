"""Bit planes of records, sizes of their intersections, and contingency tables.

A plane holds one bit of every record, 32 in a word, so that one vector instruction
counts hundreds of records. All functions are for use in compiled programs.
"""

import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, DTypeLike, Int32, Integer, UInt32

from dpjax._platforms import Sizes
from dpjax.tables.counts.plan import Plan

_MOST_TOTALS = 1 << 20  # partial sums, 4 MiB
_BYTES_AT_ONCE = 1 << 20
_BLOCK = 256  # words
_WIDE = 96  # columns; with as many or more, packing first bytes, then words is faster

Combine = Callable[[Any, Any], Array]
Chunks = tuple[Callable[[Array, Array], UInt32[Array, "p w"]], int, int]


def over_chunks(
    add: Callable[[Any, Array, Array], Any], totals: Any, length: int, chunk: int
) -> Any:
    """Update totals by `add(totals, start, skip)` for chunks that cover 0 … length.

    All chunks have the size `chunk`. Only in the last chunk can `skip` be > 0: its
    first `skip` entries belong also to the previous chunk.
    """

    def body(i, totals):
        start = jnp.minimum(i * chunk, length - chunk)
        return add(totals, start, i * chunk - start)

    if not length:
        return totals
    return lax.fori_loop(np.int32(0), np.int32(-(-length // chunk)), body, totals)


def popcounts(
    sizes: Sizes,
    chunk_at: Callable[[Array, Array], UInt32[Array, "p w"]],
    length: int,
    chunk: int,
    levels: tuple[np.ndarray, ...],
    combine: Combine = lax.bitwise_and,
) -> Int32[Array, " s"]:
    """Count the bits that are 1 in each combination of bit planes.

    `chunk_at` maps (start, skip) of `over_chunks` to the planes of that chunk. Each row
    of a matrix in `levels` lists planes, whose words `combine` combines pairwise.
    """
    if length == 0 or not levels:
        return jnp.zeros(sum(map(len, levels)), jnp.int32)
    if sizes.whole and combine is lax.bitwise_and:
        levels = _of_one_size(levels)
    words = jax.eval_shape(chunk_at, jnp.int32(0), jnp.int32(0)).shape[1]
    # On a CPU, separate sums for many lanes suit vector instructions.
    many = 64 * sum(map(len, levels)) > _MOST_TOTALS
    lanes = 1 if sizes.whole else math.gcd(words, 16 if many else 64)

    def add(totals, start, skip):
        planes = chunk_at(start, skip)
        # Planes are gathered again, since keeping intersections would need memory.
        combined = [
            functools.reduce(combine, [planes[column] for column in members.T])
            for members in levels
        ]
        return [
            total + _by_lane(x, lanes)
            for total, x in zip(totals, combined, strict=True)
        ]

    totals = [jnp.zeros((len(members), lanes), jnp.int32) for members in levels]
    totals = over_chunks(add, totals, length, chunk)
    return jnp.concatenate([total.sum(1, dtype=jnp.int32) for total in totals])


def _of_one_size(levels: tuple[np.ndarray, ...]) -> tuple[np.ndarray]:
    """Repeat planes in smaller subsets, so that one kernel intersects all subsets."""
    most = max(members.shape[1] for members in levels)
    repeats = [((0, 0), (0, most - members.shape[1])) for members in levels]
    return (np.concatenate([*map(partial(np.pad, mode="edge"), levels, repeats)]),)


def _by_lane(words: UInt32[Array, "s w"], lanes: int) -> Int32[Array, "s l"]:
    set_bits = lax.population_count(words).reshape(words.shape[0], -1, lanes)
    return set_bits.sum(1, dtype=jnp.uint32).astype(jnp.int32)


def tables_of(
    plan: Plan, n: Array | int, popcounts: Int32[Array, " s"], length: int
) -> Int32[Array, " m"]:
    """Compute the plan's tables from `popcounts`, in a vector of `length` entries.

    Entries of other tables are 0. For n < 2^31 records the counts are exact, since an
    overflow of their signed sums wraps to the exact result.
    """
    sizes = jnp.concatenate([jnp.asarray(n, jnp.int32)[None], popcounts])
    tables = jnp.zeros(length, jnp.int32)
    for tables_of_one_width in plan.widths:
        subsets = tables_of_one_width.subsets
        cells = sizes[subsets.reshape(-1)].reshape(subsets.shape)
        cells = _without_supersets(cells).reshape(-1)
        if tables_of_one_width.kept.size < cells.size:
            cells = cells[tables_of_one_width.kept]
        places = tables_of_one_width.places
        if np.array_equal(places, np.arange(length)):
            return cells
        tables = tables.at[places].set(cells, unique_indices=True)
    return tables


def _without_supersets(sizes: Int32[Array, "t e"]) -> Int32[Array, "t e"]:
    """Convert numbers of records with some bits to numbers with only these bits."""
    half = 1
    while half < sizes.shape[1]:
        pairs = sizes.reshape(sizes.shape[0], -1, 2, half)
        without, with_it = pairs[:, :, 0], pairs[:, :, 1]
        sizes = jnp.stack([without - with_it, with_it], axis=2).reshape(sizes.shape)
        half *= 2
    return sizes


def chunks_of_records(
    sizes: Sizes, records: Integer[Array, "n d"], bits: int
) -> Chunks:
    """Return the arguments of `popcounts` after `sizes`, for unpacked records.

    The planes are the lowest bits of all columns, then the next bits, and so on, up to
    `bits` bits. Higher bits are ignored, as no valid level has them.
    """
    n, d = records.shape
    if sizes.whole:
        return _large_chunks(min(n, 32 * sizes.words), records, bits)
    most = min(sizes.words, _BYTES_AT_ONCE // (32 * max(1, d)), n // 32)
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


def _large_chunks(chunk: int, records: Integer[Array, "n d"], bits: int) -> Chunks:
    """Return `chunks_of_records` for chunks that one kernel packs."""
    n = len(records)

    def chunk_at(start, skip):
        if n == chunk:
            return _packed_at_once(records, bits)
        planes = _packed_at_once(lax.dynamic_slice_in_dim(records, start, chunk), bits)
        return planes & _unskipped(chunk // 32, skip)[None] if n % chunk else planes

    return chunk_at, n, chunk


def _packed_at_once(records: Integer[Array, "n d"], bits: int) -> UInt32[Array, "p w"]:
    """Return the bit planes of all records, packed by one kernel of an accelerator."""
    n, d = records.shape
    words = -(-n // 32)
    records = jnp.pad(records, ((0, 32 * words - n), (0, 0))).reshape(1, words, 32, d)
    bit = np.arange(bits, dtype=records.dtype)[:, None, None, None]
    planes = _packed_as(jnp.uint32, (records >> bit) & 1).transpose(0, 2, 1)
    # A vector has one order in memory: here, words of a plane are beside one another.
    return lax.optimization_barrier(planes.reshape(-1)).reshape(bits * d, words)


def _packed(
    records: Integer[Array, "n d"],
    start: Array,
    mask: UInt32[Array, " w"] | None,
    sizes: tuple[int, int, int],
) -> UInt32[Array, "p w"]:
    """Return the bit planes of the records from `start` on, with 0 where masked.

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


def _packed_as(dtype: DTypeLike, bits: Integer[Array, "*more b d"]) -> Array:
    """Pack the bits along the last axis but one into words, lowest bit first."""
    axis = bits.ndim - 2
    shape = (*[1] * axis, bits.shape[axis], 1)
    place = lax.broadcasted_iota(dtype, shape, axis)
    return (bits.astype(dtype) << place).sum(axis, dtype=dtype)


def _unskipped(words: int, skip: Array) -> UInt32[Array, " w"]:
    """Return a bit mask of all records of a chunk except the first `skip`."""
    missing = jnp.clip(skip - 32 * np.arange(words, dtype=np.int32), 0, 32)
    ones = np.uint32(2**32 - 1) << missing.astype(jnp.uint32)
    return jnp.where(missing < 32, ones, np.uint32(0))
