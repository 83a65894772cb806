"""Functions of rows of random words, computed where an accelerator draws the words."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, UInt8

from dpjax._platforms import Sizes
from dpjax._types import Key
from dpjax.noise.keys import chacha, threefry

LEAST_WORDS = 1 << 20  # of fewer, memory is no concern: another program compiles sooner

_KINDS = (
    (chacha.CHACHA20, chacha.map_rows),
    (threefry.UNROLLED_THREEFRY, threefry.map_rows),
)

Function = Callable[[Array, Any], UInt8[Array, "..."]]
Rows = list[UInt8[Array, " n"]]


def mapped_rows(
    sizes: Sizes, key: Key, size: int, function: Function, of_row: Sequence[Any]
) -> Rows:
    """Return a function of each row of `jr.bits(key, (len(of_row), size))`.

    The words of keys of releases and of studies are not written to memory.

    Args:
        sizes: sizes for an accelerator.
        key: any key.
        size: number of words of a row; all rows have from 2^16 to 2^32 words.
        function: function of words of a row and of an entry of `of_row`, word by word.
        of_row: arrays for each row, of equal shapes.
    """
    kind = jr.key_impl(key)
    found = (x for like, x in _KINDS if jr.key_impl(jr.key(0, impl=like)) == kind)
    if (map_rows := next(found, None)) is None:
        words = jr.bits(key, (len(of_row), size), jnp.uint32)
        return [*map(function, words, of_row)]
    data, lanes = jr.key_data(key), min(size, sizes.lanes)
    firsts = jnp.arange(len(of_row), dtype=jnp.uint32) * jnp.uint32(size)

    def update(block: Array, rows: Rows) -> Rows:
        start = jnp.minimum(block * jnp.uint32(lanes), jnp.uint32(size - lanes))
        parts = map_rows(sizes, data, firsts + start, lanes, function, of_row)
        pairs = zip(rows, parts, strict=True)
        return [lax.dynamic_update_slice(row, part, (start,)) for row, part in pairs]

    if lanes == size:
        return map_rows(sizes, data, firsts, size, function, of_row)
    empty = [jnp.zeros(size, jnp.uint8) for _ in of_row]
    blocks = jnp.uint32(-(-size // lanes))
    return lax.fori_loop(jnp.uint32(0), blocks, update, empty)
