"""Scores of probabilistic predictions, in JAX, so that thousands go into one call."""

__all__ = ["accuracy", "log_loss", "roc_auc"]

import jax.numpy as jnp
from jaxtyping import Array, Float, Integer


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
    scores: Float[Array, " n"], positive: Integer[Array, " n"]
) -> Float[Array, ""]:
    """Probability that a positive record scores above a negative one, ties half.

    Args:
        scores: larger for records more likely to be positive.
        positive: 1 for positive records, 0 for negative ones; both must occur.

    Reference:
        Hanley & McNeil (Radiology 1982): the Mann-Whitney form.
    """
    ordered = jnp.sort(scores)
    below = jnp.searchsorted(ordered, scores, side="left", method="sort")
    up_to = jnp.searchsorted(ordered, scores, side="right", method="sort")
    ranks = (below + up_to + 1) / 2
    positive = positive.astype(ranks.dtype)
    number = positive.sum()
    u = jnp.sum(ranks * positive) - number * (number + 1) / 2
    return u / (number * (scores.size - number))
