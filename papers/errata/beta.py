"""The law of a clamped noisy count, and the mean divergence of its posterior."""

__all__ = ["clamped", "mean_divergence"]

import itertools
from functools import cache

import numpy as np

from papers.beta import divergence

_NODES = 40


@cache
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def clamped(
    count: int, n: int, scale: float, top: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Law of a count with Laplace noise, clamped to [0, top]: values and weights.

    Exact at both ends, where it has atoms; between them by quadrature, with breaks
    near the count and at n. Without `top` it is n.
    """
    nodes, weights = _legendre()
    last = n if top is None else top
    ends = np.exp(-np.array([count, last - count]) / scale) / 2
    places, chances = [np.array([0.0, last])], [ends]
    near = count + scale * np.array([-40.0, -5.0, 0.0, 5.0, 40.0])
    breaks = np.unique(np.clip([0, *near, n, last], 0, last))
    for low, high in itertools.pairwise(breaks):
        inner = low + (high - low) * nodes
        density = np.exp(-np.abs(inner - count) / scale) / (2 * scale)
        places.append(inner)
        chances.append(density * (high - low) * weights)
    return np.concatenate(places), np.concatenate(chances)


def mean_divergence(
    counts: tuple[int, int],
    n: int,
    scale: float,
    prior: float = 1.0,
    top: float | None = None,
    reverse: bool = False,
) -> float:
    """E KL of one row: exact counts, against the same with clamped Laplace noise.

    With `reverse`, KL of the noisy posterior from the exact one.
    """
    laws = [clamped(x, n, scale, top) for x in counts]
    (ones, weights), (zeros, others) = laws
    released = prior + np.stack(np.meshgrid(ones, zeros, indexing="ij"), axis=-1)
    exact = prior + np.broadcast_to(np.array(counts, float), released.shape)
    sides = (released, exact) if reverse else (exact, released)
    return float(weights @ divergence(*sides) @ others)
