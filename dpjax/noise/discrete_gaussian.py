r"""The exact discrete Gaussian distribution $P(Z = z) \propto e^{-h z^2}$ on integers.

Noise is drawn from random bits without floating-point operations, also under `jit` and
`vmap`, with or without x64. The tails beyond seven standard deviations are geometric
(see `dpjax.noise.gaussian_tables`).
"""

from functools import partial

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Bool, Float, Int32, Real, UInt32

from dpjax._types import Key, Scalars
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.gaussian_tables import Table
from dpjax.noise.pending import OVERFLOW, TIE, at, completed, in_blocks
from dpjax.noise.tables import LIMBS

_TERMS = 3  # of a theta function, whose next term is below 1e-19


def sample(key: Key, table: Table, shape: tuple[int, ...]) -> Int32[Array, "..."]:
    """Draw independent discrete Gaussian noise of the given shape, clipped to ±2^30.

    `table` comes from `dpjax.noise.gaussian_tables.build`. A draw uses one random word
    of 32 bits, and more words in at most one of 2^15 draws.
    """
    (noise,) = in_blocks(key, partial(_block, table=table), shape, words=1)
    return noise


def add(key: Key, table: Table, exact: Int32[Array, "..."]) -> Int32[Array, "..."]:
    """Return `exact` plus discrete Gaussian noise, clipped to the public range ±2^29.

    Since |exact| ≤ 2^29, the noise of `sample`, which is clipped to ±2^30, gives the
    same clipped sum as unbounded noise. Therefore clipping of noise reveals nothing.
    """
    noisy = exact + sample(key, table, exact.shape)
    return jnp.clip(noisy, -LARGEST, LARGEST)


def log_prob(noise: Real[Array, "..."], h: Scalars) -> Float[Array, "..."]:
    r"""Return log P(Z = z) for each z in `noise`, without the geometric tails.

    `h`, which is at most 2, broadcasts to its shape. By Poisson's summation formula
    $\sum_z e^{-h z^2} = \sqrt{\pi / h}\,(1 + 2\sum_{k \ge 1} e^{-\pi^2 k^2 / h})$.
    """
    h = jnp.broadcast_to(jnp.asarray(h, float), noise.shape)
    waves = sum(jnp.exp(-((jnp.pi * k) ** 2) / h) for k in range(1, _TERMS))
    whole = 0.5 * jnp.log(jnp.pi / h) + jnp.log1p(2 * waves)
    return -h * noise.astype(float) ** 2 - whole


def _block(key: Key, table: Table, size: int) -> tuple[Int32[Array, " n"], ...]:
    """Draw all values by one word each, and then more words for the pending draws.

    A draw is pending if the word's last bits equal the leading limb of the threshold (a
    tie), or if its value is an edge, at which a tail begins.
    """
    key_words, key_pending = jr.split(key)
    words = jr.bits(key_words, (size,), jnp.uint32)
    column, lead = _split(table, words)
    threshold = jnp.asarray(table.lead)[column]
    noise = _value(table, column, lead < threshold)
    overflow = jnp.where(_at_edge(table, noise), OVERFLOW, 0)
    pending = jnp.where(lead == threshold, TIE, overflow)

    def again(key, lanes, tied, old):
        return _completed(key, table, tied, at(words, lanes), *old)

    return completed(key_pending, (noise,), pending.astype(jnp.uint8), again)


def _split(
    table: Table, words: UInt32[Array, " n"]
) -> tuple[Int32[Array, " n"], UInt32[Array, " n"]]:
    """Return the columns that the first bits of words choose, and the other bits."""
    bits = table.lead.shape[-1].bit_length() - 1
    column = (words >> jnp.uint32(32 - bits)).astype(jnp.int32)
    return column, words & jnp.uint32((1 << (32 - bits)) - 1)


def _value(
    table: Table, column: Int32[Array, " n"], own: Bool[Array, " n"]
) -> Int32[Array, " n"]:
    return jnp.where(own, column - table.edge, jnp.asarray(table.alias)[column])


def _at_edge(table: Table, noise: Int32[Array, " n"]) -> Bool[Array, " n"]:
    return jnp.abs(noise) == table.edge


def _completed(
    key: Key,
    table: Table,
    tied: Bool[Array, " k"],
    word: UInt32[Array, " k"],
    noise: Int32[Array, " k"],
) -> tuple[tuple[Int32[Array, " k"]], Bool[Array, " k"]]:
    """Resolve ties, or decide whether a value at an edge or beyond is one further.

    Returns the noise, and whether another step must be decided.
    """
    words = jr.bits(key, (2 * LIMBS - 1, tied.size), jnp.uint32)
    column, _ = _split(table, word)
    below = _is_below(words[LIMBS:], jnp.asarray(table.rest)[column].T)
    resolved = _value(table, column, below)
    onwards = _is_below(words[:LIMBS], jnp.asarray(table.onwards)[:, None])
    further = jnp.minimum(jnp.abs(noise) + onwards.astype(jnp.int32), 1 << 30)
    further = jnp.where(noise < 0, -further, further)
    still = jnp.where(tied, _at_edge(table, resolved), onwards)
    return (jnp.where(tied, resolved, further),), still


def _is_below(
    number: UInt32[Array, "... k"], threshold: UInt32[Array, "... #k"]
) -> Bool[Array, " k"]:
    """Whether numbers of several limbs, the most significant first, are less."""
    below = jnp.zeros(number.shape[1:], bool)
    for limb, other in zip(number[::-1], threshold[::-1], strict=True):
        below = (limb < other) | ((limb == other) & below)
    return below
