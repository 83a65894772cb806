"""Scores of predictions and errors of tables, as functions that JAX can batch."""

__all__ = ["accuracy", "log_loss", "roc_auc", "table_errors"]

import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Integer

from dpjax._types import Cells
from dpjax.tables.layout import TableLayout


def accuracy(
    probabilities: Float[Array, "n k"], levels: Integer[Array, " n"]
) -> Float[Array, ""]:
    """Return the fraction of records whose most probable level is the true level."""
    return jnp.mean(jnp.argmax(probabilities, axis=1) == levels.astype(int))


def log_loss(
    probabilities: Float[Array, "n k"], levels: Integer[Array, " n"]
) -> Float[Array, ""]:
    """Return the mean of -log p, with p the predicted probability of the true level."""
    true = jnp.take_along_axis(probabilities, levels[:, None].astype(int), axis=1)
    return -jnp.mean(jnp.log(true))


def roc_auc(
    scores: Float[Array, " n"],
    positive: Integer[Array, " n"],
    among: Bool[Array, " n"] | None = None,
) -> Float[Array, ""]:
    """Return the area under the ROC curve of `scores`, in [0, 1].

    Args:
        scores: larger for records more likely to be positive; a tie counts ½.
        positive: 1 for positive records and 0 for negative records; both must occur.
        among: mask of the records that are used, which may be traced; None means all.

    Reference:
        Hanley & McNeil (Radiology 1982): the Mann-Whitney form.
    """
    if among is None:
        among = jnp.ones(scores.shape, bool)
    finite = jnp.minimum(scores, jnp.finfo(scores.dtype).max)
    scores = jnp.where(among, finite, jnp.inf)  # last, so that other ranks stay
    ordered = jnp.sort(scores)
    below = jnp.searchsorted(ordered, scores, side="left", method="sort")
    up_to = jnp.searchsorted(ordered, scores, side="right", method="sort")
    ranks = (below + up_to + 1) / 2
    positive = jnp.where(among, positive.astype(ranks.dtype), 0)
    number = positive.sum()
    u = jnp.sum(ranks * positive) - number * (number + 1) / 2
    return u / (number * (among.astype(ranks.dtype).sum() - number))


def table_errors(
    layout: TableLayout, truth: Cells, learned: Cells
) -> dict[str, Float[Array, ""]]:
    """Return a dictionary with "total_variation" and "kl", averaged over tables' rows.

    Total variation is half the sum of absolute differences; kl is KL(truth ‖ learned).

    Args:
        layout: layout of the tables; rows (along the last axis) are distributions.
        truth, learned: flat vectors of tables whose rows sum to 1.
    """
    rows = int(layout.rows[-1]) + 1
    variation = jnp.abs(truth - learned).sum() / 2
    divergence = (xlogy(truth, truth) - xlogy(truth, learned)).sum()
    return {"total_variation": variation / rows, "kl": divergence / rows}
