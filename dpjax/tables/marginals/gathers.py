"""Reductions over ragged lists of positions in a vector."""

__all__ = ["Gather", "add", "log_add", "take"]

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

_MATRIX = 1024  # one more matrix costs as much as this many entries of padding


@dataclass(frozen=True, eq=False)
class Gather:
    """Ragged lists of positions in a vector, each of which is to be reduced.

    Lists of similar length share a matrix, padded with the vector's length.
    """

    matrices: tuple[np.ndarray, ...]
    back: np.ndarray

    @classmethod
    def of(cls, lists: list[np.ndarray], length: int) -> "Gather":
        """Arrange lists of positions in a vector of this length."""
        lengths = np.array([len(places) for places in lists])
        matrices, order = [], []
        for widest in _widths(lengths):
            chosen = np.flatnonzero(lengths <= widest)
            chosen = chosen[~np.isin(chosen, order)]
            matrix = np.full((len(chosen), widest), length, np.uint32)
            for row, i in zip(matrix, chosen, strict=True):
                row[: len(lists[i])] = lists[i]
            matrices.append(matrix)
            order += chosen.tolist()
        return cls(tuple(matrices), np.argsort(order).astype(np.uint32))

    def __call__(self, reduce, vector: Array, neutral: float) -> Array:
        """Apply `reduce`, which ignores `neutral`, to each list."""
        padded = jnp.append(vector, jnp.asarray(neutral, vector.dtype))
        parts = [reduce(take(padded, matrix)) for matrix in self.matrices]
        return parts[0] if len(parts) == 1 else take(jnp.concatenate(parts), self.back)


def _widths(lengths: np.ndarray) -> list[int]:
    """Widths of few matrices with little padding, in ascending order."""
    values, number = np.unique(lengths, return_counts=True)
    best: list[tuple[int, list[int]]] = [(0, [])]
    for end in range(1, values.size + 1):
        width = int(values[end - 1])
        best.append(
            min(
                (cost + _MATRIX + width * int(number[start:end].sum()), [*used, width])
                for start, (cost, used) in enumerate(best)
            )
        )
    return best[-1][1]


def take(vector: Array, places: np.ndarray) -> Array:
    """Entries of a vector at valid unsigned positions, which are not checked."""
    return vector.at[places].get(mode="promise_in_bounds")


def add(matrix: Array) -> Array:
    """Sum of each row."""
    return matrix.sum(axis=-1)


def log_add(matrix: Array) -> Array:
    """Log of the sum of the exponentials of each row; entries may be -inf."""
    largest = jax.lax.stop_gradient(matrix.max(axis=-1, keepdims=True))
    return jnp.log(jnp.exp(matrix - largest).sum(axis=-1)) + largest[:, 0]
