"""Divergences of Beta posteriors."""

__all__ = ["divergence"]

import numpy as np
from scipy.special import betaln, digamma


def divergence(exact: np.ndarray, other: np.ndarray) -> np.ndarray:
    """KL(Beta(exact) ‖ Beta(other)) in nats; the last axis holds the two parameters."""
    (a, b), (c, d) = np.moveaxis(exact, -1, 0), np.moveaxis(other, -1, 0)
    means = (a - c) * digamma(a) + (b - d) * digamma(b)
    change = means + (c + d - a - b) * digamma(a + b)
    return np.asarray(betaln(c, d) - betaln(a, b) + change)
