"""Losses of finite laws: what the statements' enumerations have in common."""

__all__ = ["hockey_stick", "largest", "logs_of", "replaced"]

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp


def logs_of(weights: np.ndarray) -> np.ndarray:
    """Log-probabilities from the logarithms of weights, on the last axis."""
    return weights - logsumexp(weights, axis=-1, keepdims=True)


def largest(one: np.ndarray, other: np.ndarray) -> np.ndarray | np.number:
    """The loss between laws that are given by logarithms of weights, on the last axis.

    The largest log-ratio of the probabilities of an outcome, either way.
    """
    return np.abs(logs_of(one) - logs_of(other)).max(axis=-1)


def hockey_stick(
    one: np.ndarray, other: np.ndarray, ratio: float | int | np.ndarray
) -> np.ndarray | np.number:
    """The least δ for ε = ln(ratio) between two laws, either way."""
    excess = np.stack([one - ratio * other, other - ratio * one])
    return np.maximum(excess, 0).sum(axis=-1).max(axis=0)


def replaced(levels: int, n: int) -> Iterator[tuple[tuple, tuple]]:
    """All pairs of tables of n records that differ in one, the order being known."""
    for data in itertools.product(range(levels), repeat=n):
        for i in range(n):
            for level in range(data[i] + 1, levels):
                yield data, (*data[:i], level, *data[i + 1 :])
