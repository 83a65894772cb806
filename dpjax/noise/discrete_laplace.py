r"""The exact discrete Laplace distribution $P(Z = z) \propto e^{-\rho|z|}$ on integers.

All noise of released numbers is drawn in this module, from random bits without
floating-point operations, also under `jit` and `vmap`, with or without x64. Studies add
the noise on the device in 32 bits; releases add it on the host in 64 bits.
"""

from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Int64, Real, UInt8, UInt32

from dpjax._platforms import CPU, TPU, Sizes, by_platform
from dpjax._types import Key, Scalars
from dpjax.noise.keys.rows import LEAST_WORDS, mapped_rows
from dpjax.noise.pending import OVERFLOW, TIE, at, completed, in_blocks
from dpjax.noise.tables import BASE_BITS, LIMBS, Table

LARGEST = 1 << 29  # largest magnitude of a count, with or without noise, on a device
WIDEST = 1 << 53  # largest magnitude of a count or released number: a double is exact
_LIMB = 30  # bits of the lower limb of a magnitude
_MOST_HIGH = 1 << 25  # a magnitude is clipped to 2^55, above 2 * WIDEST
_NONE = (1 << 32) - 1  # a leading limb that no word exceeds
_NEGATIVE, _CATEGORY = 64, 63  # bits of a byte, beside that of `TIE`

Words = UInt32[Array | np.ndarray, "..."]
Row = tuple[UInt32[Array | np.ndarray, " _"], Any, Any]
"""Leading limbs of a digit's thresholds, their number, and 1 for the lowest digit."""

Marks = UInt8[Array, "d n"] | list[UInt8[Array, " n"]]
"""What `_digit` returns, a row for each digit; rows beyond them do not count."""


def sample(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "..."]:
    """Draw independent discrete Laplace noise of the given shape, clipped to ±2^30.

    `table` comes from `dpjax.noise.tables.build`. A draw uses one random 32-bit word
    for each digit of the noise in base 16, and more words in about one of 2^26 draws.
    """
    return _noise(key, table, shape, 1)[0]


def limbs(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "2 ..."]:
    """Draw noise as in `sample`, but as a high and a low limb, clipped to ±2^55.

    The noise is 2^30 times the first row plus the second row.
    """
    return jnp.stack(_noise(key, table, shape, 2))


def _noise(
    key: Key, table: Table, shape: tuple[int, ...], number: int
) -> list[Int32[Array, "..."]]:
    """Draw the given number of limbs of noise."""
    draw = partial(_block, table=table, number=number)
    return in_blocks(key, draw, shape, words=table.largest.shape[-1])


def add(key: Key, table: Table, exact: Int32[Array, "..."]) -> Int32[Array, "..."]:
    """Return `exact` plus discrete Laplace noise, clipped to the public range ±2^29.

    Since |exact| ≤ 2^29, the noise of `sample`, which is clipped to ±2^30, gives the
    same clipped sum as unbounded noise. Therefore clipping of noise reveals nothing.
    """
    noisy = exact + sample(key, table, exact.shape)
    return jnp.clip(noisy, -LARGEST, LARGEST)


def add_wide(
    exact: Int64[np.ndarray, " m"], noise: Int32[np.ndarray, "2 m"]
) -> Int64[np.ndarray, " m"]:
    """Return `exact` plus the noise of `limbs`, clipped to the public range ±2^53.

    Since |exact| ≤ 2^53 and the noise is clipped to ±2^55, clipping of noise reveals
    nothing: see `add`.
    """
    high, low = noise.astype(np.int64)
    return np.clip(exact + (high << _LIMB) + low, -WIDEST, WIDEST)


def log_prob(noise: Real[Array, "..."], rho: Scalars) -> Float[Array, "..."]:
    """Return log P(Z = z) for each z in `noise`; `rho` broadcasts to its shape."""
    rho = jnp.asarray(rho, float)
    peak, rho = (
        jnp.broadcast_to(x, noise.shape) for x in (jnp.log(jnp.tanh(rho / 2)), rho)
    )
    return peak - rho * jnp.abs(noise.astype(float))


def _block(
    key: Key, table: Table, size: int, number: int
) -> tuple[Int32[Array, " n"], ...]:
    """Draw all leading limbs at once, and then more words for the few pending draws.

    A draw is pending if a word equals the leading limb of a threshold (a tie), or if
    its top digit overflowed.
    """
    draw = partial(_drawn, size=size, number=number)
    if size * table.largest.shape[-1] < LEAST_WORDS:
        return draw(CPU, key, table)
    return by_platform(draw, key, table, on_tpu=TPU)


def _drawn(
    sizes: Sizes, key: Key, table: Table, size: int, number: int
) -> tuple[Int32[Array, " n"], ...]:
    """Compute `_block`, with the sizes for a platform."""
    key_words, key_pending = jr.split(key)
    marked = _marked(sizes, key_words, table, size)
    noise, overflow = _assembled(table, marked, number)
    ties = reduce(jnp.logical_or, (row >= TIE for row in marked))
    pending = jnp.where(ties, TIE, jnp.where(overflow, OVERFLOW, 0)).astype(jnp.uint8)

    def again(key, lanes, tied, old):
        found = jax.tree.map(lambda rows: at(rows, lanes), marked)
        return _completed(key, table, tied, found, *old)

    return completed(key_pending, noise, pending, again)


def _marked(sizes: Sizes, key: Key, table: Table, size: int) -> Marks:
    """Draw a word for each digit of all draws, and return them as `_digit` does."""
    parts = enumerate((table.low, *table.high))
    rows = [(part[:, 0], len(part), np.uint32(i == 0)) for i, part in parts]
    if sizes.whole:
        marked = mapped_rows(sizes, key, size, _digit, _of_one_shape(rows))
        return lax.optimization_barrier(marked)
    words = jr.bits(key, (len(rows), size), jnp.uint32)
    marked = [*map(_digit, words, rows)]
    if len(rows) == 1:
        marked.append(jnp.zeros_like(marked[0]))
    # XLA may draw the words again for each use of the result, but not of two rows.
    return lax.optimization_barrier(jnp.stack(marked))


def _of_one_shape(rows: list[Row]) -> list[Row]:
    most = max(number for _, number, _ in rows)
    pad = partial(jnp.pad, constant_values=np.uint32(_NONE))
    return [
        (pad(leading, (0, most - number)), jnp.asarray(number), jnp.asarray(lowest))
        for leading, number, lowest in rows
    ]


def _digit(words: UInt32[Array, "..."], row: Row) -> UInt8[Array, "..."]:
    """For words of a digit, the number of thresholds whose leading limb is below.

    Bit `TIE` is set if a word equals a leading limb. The last bit of a word of the
    lowest digit is the sign; it becomes bit `_NEGATIVE`.

    The search halves the thresholds, for all words together.
    """
    leading, number, lowest = row
    first = words >> lowest
    count = jnp.zeros(first.shape, jnp.int32)
    left = [*leading, np.uint32(_NONE)]  # among them is the first that is not below
    while len(left) > 1:
        half = len(left) // 2
        lower, upper = left[:half], left[half:]
        below = lower[-1] < first
        count = count + jnp.where(below, half, 0)
        lower += lower[-1:] * (len(upper) - half)
        left = [jnp.where(below, y, x) for x, y in zip(lower, upper, strict=True)]
    tie = (first == left[0]) & (count < number)
    negative = (words & lowest).astype(jnp.uint8) * jnp.uint8(_NEGATIVE)
    return (count + jnp.where(tie, TIE, 0)).astype(jnp.uint8) | negative


def _assembled(
    table: Table, marked: Marks, number: int
) -> tuple[tuple[Int32[Array, " n"], ...], Bool[Array, " n"]]:
    """Return the noise with the given digits, and where its top digit overflowed."""
    digits = [
        jnp.minimum((row & jnp.uint8(_CATEGORY)).astype(jnp.int32), most)
        for row, most in zip(marked, table.largest, strict=False)
    ]
    low = magnitude = digits[0]
    overflow = (low == table.top_values + 1) & (table.top == 0)
    for j, digit in enumerate(digits[1:], start=1):
        magnitude = magnitude + (digit << (BASE_BITS * j))
        overflow = overflow | ((digit == table.top_values) & (table.top == j))
    magnitude = jnp.where(low == 0, 0, magnitude)
    noise = _sum((*[jnp.zeros_like(low)] * (number - 1), magnitude), 0)
    negative = (marked[0] & jnp.uint8(_NEGATIVE)) > 0
    return _signed(negative, noise), overflow & (low > 0)


def _completed(
    key: Key,
    table: Table,
    tied: Bool[Array, " k"],
    marked: Marks,
    *noise: Int32[Array, " k"],
) -> tuple[tuple[Int32[Array, " k"], ...], Bool[Array, " k"]]:
    """Resolve ties, or redraw a top digit that overflowed and add it to the noise.

    Returns the noise, and where the top digit overflowed (again).
    """
    parts = (table.low, *table.high)
    shape = (LIMBS + (LIMBS - 1) * len(parts), tied.size)
    words = jr.bits(key, shape, jnp.uint32)
    rest = words[LIMBS:].reshape(len(parts), LIMBS - 1, -1)
    resolved = [*map(_resolved, marked, rest, parts)]
    first, first_overflow = _assembled(table, resolved, len(noise))
    digit = _count_reached([*words[:LIMBS]], table.redraw)
    digit = jnp.minimum(digit, table.top_values)
    more = _sum(tuple(map(jnp.abs, noise)), digit << (BASE_BITS * table.top))
    more = _signed(jnp.any(jnp.stack(noise) < 0, axis=0), more)
    new = tuple(jnp.where(tied, x, y) for x, y in zip(first, more, strict=True))
    return new, jnp.where(tied, first_overflow, digit == table.top_values)


def _resolved(
    marked: UInt8[Array, " k"], rest: UInt32[Array, "_ k"], thresholds: Words
) -> UInt8[Array, " k"]:
    """Count thresholds again, with all limbs, where a word ties with a threshold."""
    count = (marked & jnp.uint8(_CATEGORY)).astype(jnp.int32)
    first = jnp.asarray(thresholds)[:, 0].at[count].get(mode="clip")  # the word
    reached = _count_reached([first, *rest], thresholds).astype(jnp.uint8)
    reached = reached | (marked & jnp.uint8(_NEGATIVE))
    return jnp.where(marked >= TIE, reached, marked)


def _count_reached(
    limbs: list[UInt32[Array, " k"]], thresholds: Words
) -> Int32[Array, " k"]:
    """Number of thresholds that are ≤ the number with the given limbs."""
    *others, last = [limb[None] for limb in limbs]
    reached = last >= thresholds[:, LIMBS - 1, None]
    for place in reversed(range(LIMBS - 1)):
        limb, threshold = others[place], thresholds[:, place, None]
        reached = (limb > threshold) | ((limb == threshold) & reached)
    return reached.sum(axis=0, dtype=jnp.int32)


def _signed(
    negative: Bool[Array, " n"], magnitude: tuple[Int32[Array, " n"], ...]
) -> tuple[Int32[Array, " n"], ...]:
    return tuple(jnp.where(negative, -limb, limb) for limb in magnitude)


def _sum(
    magnitude: tuple[Int32[Array, " n"], ...], addend: Int32[Array, " n"] | int
) -> tuple[Int32[Array, " n"], ...]:
    """Add to a magnitude of one limb, up to 2^30, or of a high and a low limb."""
    *high, low = magnitude
    if high:
        return _carried(high[0], low + addend)
    return (jnp.minimum(low + addend, 1 << _LIMB),)


def _carried(
    high: Int32[Array, " n"], low: Int32[Array, " n"]
) -> tuple[Int32[Array, " n"], Int32[Array, " n"]]:
    """Move the bits of the low limb above its 30 lowest into the high limb."""
    high = jnp.minimum(high + (low >> _LIMB), _MOST_HIGH)
    return high, low & jnp.int32((1 << _LIMB) - 1)
