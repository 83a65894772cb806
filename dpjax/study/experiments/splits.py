"""Random splits of records into training and held-out records of fixed numbers."""

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Bool, Shaped

from dpjax._checks import typed_key, whole
from dpjax._platforms import by_platform
from dpjax._types import Key


def training_mask(key: Key, n: int, training: int) -> Bool[Array, " n"]:
    """Draw a random set of training records, as a mask of n booleans.

    Every set of `training` out of n records is equally likely, except that ties between
    the random 32-bit words that select records (probability about n / 2^32) are broken
    in favour of the first records.

    Args:
        key: typed JAX key.
        n: number of records.
        training: number of training records, from 1 to n - 1.

    Privacy:
        No data is used.

    Raises:
        ValueError: if the key is not typed, or a size is out of range.
    """
    typed_key(key=key)
    check_sizes(n, training)
    words = jr.bits(key, (n,), jnp.uint32)
    last = by_platform(
        lambda sizes, words: _order_statistic(words, training, sizes.digit), words
    )
    spare = jnp.sum(words <= last, dtype=jnp.int32) - training
    return _drop_ties(words, last, spare)


def check_sizes(n: int, training: int) -> None:
    """Raise `ValueError` unless 1 ≤ `training` < n."""
    whole(1, training=training)
    if training >= n:
        raise ValueError(
            f"`training` must be below the number of records, {n}, so that some are "
            f"held out, got {training}."
        )


def _order_statistic(words: Array, rank: int, digit: int) -> Array:
    """The `rank`-th smallest word: the largest x with fewer than `rank` words < x.

    It is found in digits of `digit` bits, the first one first; 32 is a multiple of it.
    """

    def settle(found, shift):
        tried = found + (jnp.arange(1, 1 << digit, dtype=jnp.uint32) << shift)
        below = jnp.sum(words[None] < tried[:, None], axis=1, dtype=jnp.int32)
        return found + (jnp.sum(below < rank, dtype=jnp.uint32) << shift), None

    shifts = jnp.arange(32 - digit, -1, -digit, dtype=jnp.uint32)
    return lax.scan(settle, jnp.uint32(0), shifts, unroll=digit > 1)[0]


def _drop_ties(words: Array, last: Array, spare: Array) -> Array:
    """Return a mask of the words ≤ `last` except the last `spare` words equal to it.

    A loop is used since `vmap` runs both branches of a `cond`.
    """
    places = jnp.arange(words.shape[0], dtype=jnp.int32)

    def drop(state):
        taken, spare = state
        place = jnp.max(jnp.where(taken & (words == last), places, -1))
        return taken & (places != place), spare - 1

    return lax.while_loop(lambda state: state[1] > 0, drop, (words <= last, spare))[0]


def split(
    key: Key, records: Shaped[Array, "n ..."], training: int
) -> tuple[Shaped[Array, "training ..."], Shaped[Array, "rest ..."]]:
    """Split records into training and held-out records; each part keeps their order.

    The arguments, errors and selected records are those of `training_mask`.
    """
    n = records.shape[0]
    mask = training_mask(key, n, training)
    order = jnp.argsort(~mask, stable=True)
    return records[order[:training]], records[order[training:]]
