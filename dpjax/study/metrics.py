"""Scores of probabilistic predictions, in JAX, so that thousands go into one call."""

__all__ = ["accuracy", "log_loss", "roc_auc"]

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Integer


def accuracy(
    probabilities: Float[Array, "n k"], levels: Integer[Array, " n"]
) -> Float[Array, ""]:
    """Fraction of records whose most probable level is the true one."""
    return jnp.mean(jnp.argmax(probabilities, axis=1) == levels.astype(int))


def log_loss(
    probabilities: Float[Array, "n k"], levels: Integer[Array, " n"]
) -> Float[Array, ""]:
    """Mean of -log of the probability given to the true level, in nats."""
    true = jnp.take_along_axis(probabilities, levels[:, None].astype(int), axis=1)
    return -jnp.mean(jnp.log(true))


def roc_auc(
    scores: Float[Array, " n"],
    positive: Integer[Array, " n"],
    among: Bool[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """Probability that a positive record scores above a negative one, ties half.

    Args:
        scores: larger for records more likely to be positive.
        positive: 1 for positive records, 0 for negative ones; both must occur.
        among: which records count; None: all. As a mask, it may differ from call to
            call of one compiled program.

    Reference:
        Hanley & McNeil (Radiology 1982): the Mann-Whitney form.
    """
    if among is None:
        among = jnp.ones(scores.shape, bool)
    finite = jnp.minimum(scores, jnp.finfo(scores.dtype).max)
    scores = jnp.where(among, finite, jnp.inf)  # above all, whose ranks stay the same
    ordered = jnp.sort(scores)
    below = jnp.searchsorted(ordered, scores, side="left", method="sort")
    up_to = jnp.searchsorted(ordered, scores, side="right", method="sort")
    ranks = (below + up_to + 1) / 2
    positive = jnp.where(among, positive.astype(ranks.dtype), 0)
    number = positive.sum()
    u = jnp.sum(ranks * positive) - number * (number + 1) / 2
    return u / (number * (among.astype(ranks.dtype).sum() - number))
