"""The laws of totals of first and second moments, with parameters integrated out.

Totals of normal records are a normal vector and a Wishart matrix, so no approximation
is needed. Terms of order n are cancelled in the formulas, not in floating point.
"""

__all__ = ["log_determinants", "log_normal_moments", "pivots", "solve"]

import jax.numpy as jnp
from jaxtyping import Array, Float

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
    """Log-density of the total of n normal records, up to a constant.

    `first` is the sum of the records, and `second` the sum of products. The last four
    arguments are the parameters of the normal-inverse-Wishart prior.
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
    """log|M|, and log|M + more| - log|M| without cancellation; NaN if M is not > 0.

    Both matrices are eliminated at once; the second one is stored as their difference.
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
    """Pivots of Gaussian elimination, in order."""
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
        first = (value - row[1:] @ solved) / row[0]
        solved = jnp.concatenate([first[None], solved])
    return solved
