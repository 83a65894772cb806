"""Beta posteriors of noisy counts: divergences, and the law of a clamped count."""

__all__ = ["clamped", "divergence", "mean_divergence"]

from functools import cache

import numpy as np
from scipy.special import betaln, digamma

_NODES = 48


def divergence(exact: np.ndarray, other: np.ndarray) -> np.ndarray:
    """KL(Beta(exact) ‖ Beta(other)) in nats; the last axis holds the two parameters."""
    (a, b), (c, d) = np.moveaxis(exact, -1, 0), np.moveaxis(other, -1, 0)
    means = (a - c) * digamma(a) + (b - d) * digamma(b)
    return betaln(c, d) - betaln(a, b) + means + (c + d - a - b) * digamma(a + b)


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def clamped(count: int, n: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Law of a count with Laplace noise, clamped to [0, n]: values and weights.

    Exact at both ends, where it has atoms; by quadrature on either side of the count.
    """
    nodes, weights = _legendre()
    below, above = count * nodes, count + (n - count) * nodes
    places = np.concatenate([below, above])
    density = np.exp(-np.abs(places - count) / scale) / (2 * scale)
    lengths = np.concatenate([count * weights, (n - count) * weights])
    ends = np.exp(-np.array([count, n - count]) / scale) / 2
    return (
        np.concatenate([[0.0, n], places]),
        np.concatenate([ends, density * lengths]),
    )


def mean_divergence(
    counts: tuple[int, int], n: int, scale: float, prior: float = 1.0
) -> float:
    """E KL of one row: exact counts, against the same with clamped Laplace noise."""
    (ones, weights), (zeros, others) = (clamped(x, n, scale) for x in counts)
    released = np.stack(np.meshgrid(ones, zeros, indexing="ij"), axis=-1)
    exact = prior + np.broadcast_to(np.array(counts, float), released.shape)
    return float(weights @ divergence(exact, prior + released) @ others)
