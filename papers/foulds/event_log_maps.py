"""How well maps of hidden states agree with the truth, and how noisy they are."""

__all__ = ["agreement", "matched", "moves", "states_in_use"]

import numpy as np
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment

States = Int[np.ndarray, "regions months"]


def matched(found: States, truth: States) -> States:
    """States found, by the names of those that most of their cells are in."""
    size = int(max(found.max(), truth.max())) + 1
    together = np.zeros((size, size), int)
    np.add.at(together, (found.ravel(), truth.ravel()), 1)
    _, names = linear_sum_assignment(-together)
    return names[found]


def agreement(found: States, truth: States) -> float:
    """Share of the cells whose states are the true ones, after matching."""
    return float((matched(found, truth) == truth).mean())


def moves(found: States) -> int:
    """How often a region changes its state from one month to the next."""
    return int((np.diff(found, axis=1) != 0).sum())


def states_in_use(
    paths: Int[np.ndarray, "draws months regions"], states: int, share: float
) -> float:
    """The least number of states that together hold this share of all cells.

    On average over draws.
    """
    flat = paths.reshape(len(paths), -1)
    parts = np.stack([(flat == state).mean(axis=1) for state in range(states)], axis=1)
    held = np.cumsum(-np.sort(-parts, axis=1), axis=1)
    return float((1 + (held < share - 1e-9).sum(axis=1)).mean())
