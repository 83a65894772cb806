r"""The exact discrete Laplace distribution $P(Z = z) \propto e^{-\rho|z|}$ on integers.

All noise of released numbers is drawn in this module, from random bits without
floating-point operations, also under `jit` and `vmap`, with or without x64. Studies add
the noise on the device in 32 bits; releases add it on the host in 64 bits.
"""

__all__ = ["LARGEST", "WIDEST", "add", "add_wide", "limbs", "log_prob", "sample"]

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Int64, Real, UInt32

from dpjax._types import Key, Scalars
from dpjax.noise.tables import BASE_BITS, LIMBS, Table

LARGEST = 1 << 29  # largest magnitude of a count, with or without noise, on a device
WIDEST = 1 << 53  # largest magnitude of a count or released number: a double is exact
_LIMB = 30  # bits of the lower limb of a magnitude
_MOST_HIGH = 1 << 25  # a magnitude is clipped to 2^55, above 2 * WIDEST

Words = UInt32[Array | np.ndarray, "..."]


def sample(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "..."]:
    """Draw independent discrete Laplace noise of the given shape, clipped to ±2^30.

    `table` comes from `dpjax.noise.tables.build`. A draw uses one random 32-bit word
    for each digit of the noise in base 16, and more words in about one of 2^26 draws.
    """
    negative, high, low = _magnitudes(key, table, shape)
    magnitude = jnp.where(high > 0, 1 << _LIMB, low)
    return jnp.where(negative, -magnitude, magnitude)


def limbs(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "2 ..."]:
    """Draw noise as in `sample`, but as a high and a low limb, clipped to ±2^55.

    The noise is 2^30 times the first row plus the second row.
    """
    negative, high, low = _magnitudes(key, table, shape)
    both = jnp.stack([high, low])
    return jnp.where(negative, -both, both)


def _magnitudes(
    key: Key, table: Table, shape: tuple[int, ...]
) -> tuple[Bool[Array, "..."], Int32[Array, "..."], Int32[Array, "..."]]:
    """Draw whether noise is negative, and its magnitude as 2^30 high + low."""
    digits = table.largest.shape[-1]
    key_words, key_redraw, *key_ties = jr.split(key, digits + 2)
    words = jr.bits(key_words, (digits, *shape), jnp.uint32)
    negative = (words[0] & jnp.uint32(1)) == 1
    low = _category(key_ties[0], words[0] >> jnp.uint32(1), table.low)
    low = jnp.minimum(low, table.largest[0])
    magnitude, overflow = low, (low == table.top_values + 1) & (table.top == 0)
    for j, thresholds in enumerate(table.high, start=1):
        digit = _category(key_ties[j], words[j], thresholds)
        digit = jnp.minimum(digit, table.largest[j])
        magnitude = magnitude + (digit << (BASE_BITS * j))
        overflow = overflow | ((digit == table.top_values) & (table.top == j))
    overflow = overflow & (low > 0)
    high, magnitude = _redraw(key_redraw, table, magnitude, overflow)
    zero = low == 0
    return negative & ~zero, jnp.where(zero, 0, high), jnp.where(zero, 0, magnitude)


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


def _category(key: Key, first: Words, thresholds: Words) -> Int32[Array, "..."]:
    """Number of thresholds that a uniform word with leading limb `first` reaches.

    The other limbs are drawn only if `first` equals the leading limb of a threshold.
    This is a loop that runs at most once, since `vmap` runs both branches of `cond`.
    """
    count = jnp.zeros(first.shape, jnp.int32)
    tie = jnp.zeros(first.shape, bool)
    for k in range(thresholds.shape[-2]):
        count = count + (first > thresholds[k, 0]).astype(jnp.int32)
        tie = tie | (first == thresholds[k, 0])

    def resolve(state):
        key, key_rest = jr.split(state[0])
        rest = jr.bits(key_rest, (LIMBS - 1, *first.shape), jnp.uint32)
        return key, _count_reached([first, *rest], thresholds), jnp.asarray(False)

    start = (key, count, jnp.any(tie))
    return lax.while_loop(lambda state: state[2], resolve, start)[1]


def _count_reached(limbs: list[Words], thresholds: Words) -> Int32[Array, "..."]:
    """Number of thresholds that are ≤ the number with the given limbs.

    The function runs rarely; it is a loop, so that the compiled program is small.
    """

    def add_one(count, threshold):
        reached = limbs[-1] >= threshold[LIMBS - 1]
        for place in reversed(range(LIMBS - 1)):
            limb = limbs[place]
            reached = (limb > threshold[place]) | ((limb == threshold[place]) & reached)
        return count + reached.astype(jnp.int32), None

    none = jnp.zeros(limbs[0].shape, jnp.int32)
    return lax.scan(add_one, none, thresholds)[0]


def _redraw(
    key: Key, table: Table, magnitude: Int32[Array, "..."], overflow: Bool[Array, "..."]
) -> tuple[Int32[Array, "..."], Int32[Array, "..."]]:
    """Redraw the top digit wherever it overflowed, until no entry overflows.

    Returns the high and the low limb.
    """
    place = BASE_BITS * table.top

    def again(state):
        key, high, low, overflow = state
        key, key_words = jr.split(key)
        words = jr.bits(key_words, (LIMBS, *low.shape), jnp.uint32)
        digit = jnp.minimum(_count_reached([*words], table.redraw), table.top_values)
        high, low = _carried(high, low + jnp.where(overflow, digit << place, 0))
        return key, high, low, overflow & (digit == table.top_values)

    state = (key, *_carried(jnp.zeros_like(magnitude), magnitude), overflow)
    return lax.while_loop(lambda state: jnp.any(state[3]), again, state)[1:3]


def _carried(
    high: Int32[Array, "..."], low: Int32[Array, "..."]
) -> tuple[Int32[Array, "..."], Int32[Array, "..."]]:
    """Move the bits of the low limb above its 30 lowest into the high limb."""
    high = jnp.minimum(high + (low >> _LIMB), _MOST_HIGH)
    return high, low & jnp.int32((1 << _LIMB) - 1)
