r"""The exact discrete Laplace distribution $P(Z = z) \propto e^{-\rho|z|}$ on integers.

All noise of released numbers is drawn in this module, from random bits without
floating-point operations, also under `jit` and `vmap`, with or without x64.
"""

__all__ = ["LARGEST", "add", "log_prob", "sample"]

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int32, Real, UInt32

from dpjax._types import Key, Scalars
from dpjax.noise.tables import BASE_BITS, LIMBS, Table

LARGEST = 1 << 29  # largest magnitude of a count and of a released number
_SATURATION = 1 << 30  # largest magnitude of the noise; a count plus noise fits int32

Words = UInt32[Array | np.ndarray, "..."]


def sample(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "..."]:
    """Draw independent discrete Laplace noise of the given shape, clipped to ±2^30.

    `table` comes from `dpjax.noise.tables.build`. A draw uses one random 32-bit word
    for each digit of the noise in base 16, and more words in about one of 2^26 draws.
    """
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
    magnitude = _redraw(key_redraw, table, magnitude, overflow)
    return jnp.where(low > 0, jnp.where(negative, -magnitude, magnitude), 0)


def add(key: Key, table: Table, exact: Int32[Array, "..."]) -> Int32[Array, "..."]:
    """Return `exact` plus discrete Laplace noise, clipped to the public range ±2^29.

    Since |exact| ≤ 2^29, the noise of `sample`, which is clipped to ±2^30, gives the
    same clipped sum as unbounded noise. Therefore clipping of noise reveals nothing.
    """
    noisy = exact + sample(key, table, exact.shape)
    return jnp.clip(noisy, -LARGEST, LARGEST)


def log_prob(noise: Real[Array, "..."], rho: Scalars) -> Float[Array, "..."]:
    """Return log P(Z = z) for each z in `noise`; `rho` broadcasts to its shape."""
    rho = jnp.asarray(rho, float)
    peak, rho = (
        jnp.broadcast_to(x, noise.shape) for x in (jnp.log(jnp.tanh(rho / 2)), rho)
    )
    return peak - rho * jnp.abs(noise.astype(float))


def _category(key: Key, first: Words, thresholds: Words) -> Int32[Array, "..."]:
    """Number of thresholds that a uniform word with leading limb `first` reaches.

    The other limbs are drawn only if `first` equals the leading limb of a threshold. A
    loop that runs at most once is used, as `vmap` would run both branches of `cond`.
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

    It runs rarely, so a loop keeps the compiled program small.
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
) -> Int32[Array, "..."]:
    """Redraw the top digit wherever it overflowed, until no entry overflows."""
    place = BASE_BITS * table.top

    def again(state):
        key, magnitude, overflow = state
        key, key_words = jr.split(key)
        words = jr.bits(key_words, (LIMBS, *magnitude.shape), jnp.uint32)
        digit = jnp.minimum(_count_reached([*words], table.redraw), table.top_values)
        larger = jnp.minimum(magnitude + (digit << place), _SATURATION)
        return (
            key,
            jnp.where(overflow, larger, magnitude),
            overflow & (digit == table.top_values),
        )

    state = (key, magnitude, overflow)
    return lax.while_loop(lambda state: jnp.any(state[2]), again, state)[1]
