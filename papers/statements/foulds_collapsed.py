"""A pass of collapsed Gibbs sampling, enumerated: each label is given all records.

Records are bits, each label has its own chance of a 1 with a Beta prior, and these
chances are summed out.
"""

__all__ = ["collapsed_pass"]

import itertools
import math

import numpy as np
from scipy.special import betaln

from papers.statements.foulds_laws import replaced


def collapsed_pass(
    n: int, chances: tuple[float, float], beta: float
) -> tuple[float, float]:
    """The largest loss of a pass over all n labels, and 2Δ of the joint law.

    Args:
        n: number of records.
        chances: of the two labels.
        beta: both parameters of the Beta prior.
    """
    prior = np.log(chances)
    joint = {
        (labels, records): _log_joint(labels, records, beta)
        for labels in itertools.product((0, 1), repeat=n)
        for records in itertools.product((0, 1), repeat=n)
    }
    labellings = [*itertools.product((0, 1), repeat=n)]
    width = max(
        abs(joint[labels, one] - joint[labels, other])
        for one, other in replaced(2, n)
        for labels in labellings
    )
    laws = {
        (start, records): _pass(start, records, joint, prior)
        for start in labellings
        for records in labellings
    }
    loss = max(
        abs(math.log(laws[start, one][end] / laws[start, other][end]))
        for one, other in replaced(2, n)
        for start in labellings
        for end in labellings
    )
    return loss, 2 * width


def _log_joint(labels: tuple, records: tuple, beta: float) -> float:
    total = 0.0
    for level in (0, 1):
        own = [x for z, x in zip(labels, records, strict=True) if z == level]
        ones = sum(own)
        total += betaln(beta + ones, beta + len(own) - ones) - betaln(beta, beta)
    return float(total)


def _pass(start: tuple, records: tuple, joint: dict, prior: np.ndarray) -> dict:
    """The law of the labels after each was drawn once, in order."""
    law = {start: 1.0}
    for i in range(len(records)):
        after: dict = {}
        for labels, chance in law.items():
            ends = [(*labels[:i], level, *labels[i + 1 :]) for level in (0, 1)]
            logs = prior + np.array([joint[end, records] for end in ends])
            weights = np.exp(logs - logs.max())
            for end, weight in zip(ends, weights / weights.sum(), strict=True):
                after[end] = after.get(end, 0.0) + chance * float(weight)
        law = after
    return law
