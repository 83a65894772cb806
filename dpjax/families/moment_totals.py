"""Densities of sums of normal records and of their products, parameters unknown.

The sum of normal records is a normal vector and their scatter is a Wishart matrix, so
densities are exact. Terms of order n cancel in the formulas, not in floating point.
"""

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
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
    pull = strength * mean
    more = scale + pull[:, None] * mean[None, :]
    # The first step of elimination leaves the scatter matrices, without and with prior
    sums, added = bordered(second, first, n), bordered(more, pull, strength)
    logs, gains = log_pivots(sums[::-1, ::-1], added[::-1, ::-1])
    lag = jnp.arange(d).astype(n.dtype)
    gammas = log_gamma_ratio(n / 2, (degrees - lag) / 2, -(1 + lag) / 2).sum()
    return (
        gammas
        - (degrees + d + 2) / 2 * logs[1:].sum()
        - (degrees + n) / 2 * gains[1:].sum()
        - d / 2 * (jnp.log(n) + jnp.log(strength + n))
    )


def bordered(matrix: _Matrix, side: _Vector, corner: Scalar) -> Array:
    """Return a symmetric matrix with a further last row and column."""
    last = jnp.concatenate([side, jnp.asarray(corner, side.dtype)[None]])
    return jnp.concatenate([jnp.column_stack([matrix, side]), last[None, :]])


@jax.custom_jvp
def log_pivots(matrix: _Matrix, more: _Matrix) -> tuple[_Vector, _Vector]:
    """Return the logarithms of the pivots of M, and what they gain if `more` is added.

    The pivots are those of Gaussian elimination of the positive definite M = `matrix`,
    in order. The gain is accurate where `more` is small relative to M.
    """
    return _eliminated(matrix, more)[0]


def _eliminated(
    matrix: _Matrix, more: _Matrix
) -> tuple[tuple[_Vector, _Vector], tuple[_Matrix, _Matrix]]:
    """Also return the inverses of the Cholesky factors of M and of M + more."""
    # Else what makes the matrices is compiled again into each of their uses
    matrix, more = jax.lax.optimization_barrier((matrix, more))
    one = jnp.eye(len(matrix), dtype=matrix.dtype)
    factor = jnp.linalg.cholesky(matrix)
    inverse = solve_triangular(factor, one, lower=True)
    relative = matmul(matmul(inverse, more), inverse.T)
    grown = jnp.linalg.cholesky(one + relative)
    # A pivot of 1 + `relative`, minus 1, without the number 1
    gain = jnp.diagonal(relative) - (jnp.tril(grown, -1) ** 2).sum(axis=1)
    logs = 2 * jnp.log(jnp.diagonal(factor))
    both = solve_triangular(grown, inverse, lower=True)
    return (logs, jnp.log1p(gain)), (inverse, both)


@log_pivots.defjvp
def _log_pivots_jvp(
    values: tuple[_Matrix, _Matrix], changes: tuple[_Matrix, _Matrix]
) -> tuple[tuple[_Vector, _Vector], tuple[_Vector, _Vector]]:
    logs, (inverse, both) = _eliminated(*values)
    first = _diagonal(inverse, changes[0])
    last = _diagonal(both, changes[0] + changes[1])
    return logs, (first, last - first)


def _diagonal(left: _Matrix, middle: _Matrix) -> _Vector:
    return (matmul(left, middle) * left).sum(axis=1)
