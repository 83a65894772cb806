"""Densities of sums of normal records and of their products, parameters unknown.

The sum of normal records is a normal vector and their scatter is a Wishart matrix, so
densities are exact. Terms of order n cancel in the formulas, not in floating point.
"""

__all__ = ["log_determinants", "log_normal_moments", "pivots", "solve"]

import jax.numpy as jnp
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax._types import Scalar
from dpjax.families.log_densities import log_gamma_ratio

_Scalar = Float[Array, ""]
_Matrix = Float[Array, "d d"]
_Vector = Float[Array, " d"]


def log_normal_moments(
    first: _Vector,
    second: _Matrix,
    n: _Scalar,
    mean: _Vector,
    strength: Scalar,
    degrees: Scalar,
    scale: _Matrix,
) -> _Scalar:
    """Log-density of `first` and `second`, up to a constant.

    `first` is the sum of n normal records x (d numbers each), and `second` the sum of
    x xᵀ. The other arguments are parameters of the normal-inverse-Wishart prior.
    """
    d = first.shape[0]
    average = first / n
    scatter = second - first[:, None] * average[None, :]
    change = average - mean
    pull = strength * n / (strength + n)
    more = scale + pull * change[:, None] * change[None, :]
    log_scatter, log_ratio = log_determinants(scatter, more)
    lag = jnp.arange(d).astype(n.dtype)
    gammas = log_gamma_ratio(n / 2, (degrees - lag) / 2, -(1 + lag) / 2).sum()
    return (
        gammas
        - (degrees + d + 2) / 2 * log_scatter
        - (degrees + n) / 2 * log_ratio
        - d / 2 * (jnp.log(n) + jnp.log(strength + n))
    )


def log_determinants(matrix: _Matrix, more: _Matrix) -> tuple[_Scalar, _Scalar]:
    """Return log|M| and log|M + more| - log|M|, for M = `matrix` positive definite.

    Gaussian elimination runs on M and on `more`, so that nothing large is subtracted.
    """
    log_matrix = log_ratio = jnp.zeros((), matrix.dtype)
    for _ in range(matrix.shape[0]):
        pivot, extra = matrix[0, 0], more[0, 0]
        log_matrix = log_matrix + jnp.log(pivot)
        log_ratio = log_ratio + jnp.log1p(extra / pivot)
        row, change = matrix[0, 1:], more[0, 1:]
        cross = row[:, None] * change[None, :]
        outer = row[:, None] * row[None, :]
        lost = cross + cross.T + change[:, None] * change[None, :]
        lost = (lost - outer * (extra / pivot)) / (pivot + extra)
        matrix, more = matrix[1:, 1:] - outer / pivot, more[1:, 1:] - lost
    return log_matrix, log_ratio


def pivots(matrix: _Matrix) -> _Vector:
    """Return the pivots of Gaussian elimination of a square matrix, in order."""
    found = []
    for _ in range(matrix.shape[0]):
        row = matrix[0, 1:]
        found.append(matrix[0, 0])
        matrix = matrix[1:, 1:] - row[:, None] * (row / matrix[0, 0])[None, :]
    return jnp.stack(found)


def solve(matrix: _Matrix, vector: _Vector) -> _Vector:
    """Solve a small positive definite system without library calls."""
    rows = []
    for _ in range(matrix.shape[0]):
        rows.append((matrix[0], vector[0]))
        factors = matrix[1:, 0] / matrix[0, 0]
        vector = vector[1:] - factors * vector[0]
        matrix = matrix[1:, 1:] - factors[:, None] * matrix[0, 1:][None, :]
    solved = jnp.zeros((0,), vector.dtype)
    for row, value in reversed(rows):
        first = (value - matmul(row[1:], solved)) / row[0]
        solved = jnp.concatenate([first[None], solved])
    return solved
