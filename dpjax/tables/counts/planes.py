"""Sizes of intersections of bit planes, and contingency tables computed from them.

A plane holds one bit of every record, 32 in a word, so that one vector instruction
counts hundreds of records. All functions are for use in compiled programs.
"""

__all__ = ["WORDS_AT_ONCE", "Chunks", "over_chunks", "popcounts", "tables_of"]

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int32, UInt32

from dpjax.tables.counts.plan import Plan

WORDS_AT_ONCE = 1024  # of each plane; with 2048, XLA does not fuse: 3 times slower
_MOST_TOTALS = 1 << 20  # partial sums, 4 MiB

Combine = Callable[[Any, Any], Array]
Chunks = tuple[Callable[[Array, Array], UInt32[Array, "p w"]], int, int]


def over_chunks(
    add: Callable[[Any, Array, Array], Any], totals: Any, length: int, chunk: int
) -> Any:
    """Fold `add(totals, start, skip)` over chunks that cover 0 … length.

    All chunks have one size and share a program. The last chunk overlaps the previous
    one by its first `skip` entries.
    """

    def body(i, totals):
        start = jnp.minimum(i * chunk, length - chunk)
        return add(totals, start, i * chunk - start)

    if not length:
        return totals
    return lax.fori_loop(np.int32(0), np.int32(-(-length // chunk)), body, totals)


def popcounts(
    chunk_at: Callable[[Array, Array], UInt32[Array, "p w"]],
    length: int,
    chunk: int,
    levels: tuple[np.ndarray, ...],
    combine: Combine = lax.bitwise_and,
) -> Int32[Array, " s"]:
    """Count the bits that are set in each combination of planes.

    Args:
        chunk_at: maps (start, skip) of `over_chunks` to the planes of that chunk.
        length: as for `over_chunks`.
        chunk: as for `over_chunks`.
        levels: matrices whose rows are combinations of planes of one size.
        combine: function that combines two words.
    """
    if length == 0 or not levels:
        return jnp.zeros(sum(map(len, levels)), jnp.int32)
    words = jax.eval_shape(chunk_at, jnp.int32(0), jnp.int32(0)).shape[1]
    # Separate sums for many lanes suit vector instructions.
    lanes = 64 if 64 * sum(map(len, levels)) <= _MOST_TOTALS else 16
    lanes = math.gcd(words, lanes)

    def add(totals, start, skip):
        planes = chunk_at(start, skip)
        # Keeping smaller intersections instead would take memory.
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


def _by_lane(words: UInt32[Array, "s w"], lanes: int) -> Int32[Array, "s l"]:
    set_bits = lax.population_count(words).reshape(words.shape[0], -1, lanes)
    return set_bits.sum(1, dtype=jnp.uint32).astype(jnp.int32)


def tables_of(
    plan: Plan, n: Array | int, popcounts: Int32[Array, " s"], length: int
) -> Int32[Array, " m"]:
    """Compute the plan's tables in a vector of `length`; other entries are zero.

    Exact for n < 2^31: cells are sums of signed counts, and overflow wraps to the exact
    result.
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
    """Number of records with exactly these bits, from those with at least these."""
    half = 1
    while half < sizes.shape[1]:
        pairs = sizes.reshape(sizes.shape[0], -1, 2, half)
        without, with_it = pairs[:, :, 0], pairs[:, :, 1]
        sizes = jnp.stack([without - with_it, with_it], axis=2).reshape(sizes.shape)
        half *= 2
    return sizes
