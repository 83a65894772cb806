"""Coordinates, without limits, of the average moments of bounded records."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._products import matmul

_Scalar = Float[Array, ""]


def moments_at(
    coordinates: Float[Array, " m"], columns: int, linear: bool
) -> tuple[Float[Array, "p p"], _Scalar]:
    r"""Return average products of columns, each average square of which is below 1.

    The products are $R R^\top$ for a lower triangular matrix R with a positive
    diagonal. A row of R is $w / \sqrt{1 + |w|^2}$, so that its norm is below 1. The
    coordinates are the numbers in all rows w, of which the last is replaced by its
    logarithm. Every positive definite matrix of average products has coordinates.

    If `linear`, another column of ones comes first. The first row of R is (1, 0, …, 0),
    and has no coordinates.

    Returns:
        The products, and the log-Jacobian of the map from the coordinates to the
        products on and below the diagonal.
    """
    size = columns + linear
    rows, places = _positions(columns, linear)
    w = jnp.zeros((size, size), coordinates.dtype).at[rows, places].set(coordinates)
    last = jnp.diagonal(w)
    w = jnp.tril(w, -1) + jnp.diag(jnp.exp(last))
    is_row = np.arange(size) >= linear
    squares = (w**2).sum(axis=1) + jnp.asarray(is_row, w.dtype)
    factor = w / jnp.sqrt(squares)[:, None]
    # The map from w to a row of R of `lengths` numbers, then from R to R Rᵀ, where
    # the entry (i, j) changes by R_jj times the change of R_ij
    lengths, below = np.arange(size) + 1, np.where(is_row, size - np.arange(size), 0)
    logs = jnp.log(squares)
    of_row = last - jnp.asarray(lengths / 2 + 1, w.dtype) * logs
    of_product = jnp.asarray(below, w.dtype) * (last - logs / 2)
    volume = jnp.where(is_row, of_row, 0).sum() + of_product.sum()
    return matmul(factor, factor.T), volume + columns * np.log(2)


def coordinates_of(
    products: Float[Array, "p p"], columns: int, linear: bool
) -> Float[Array, " m"]:
    """Return the coordinates of average products; the inverse of `moments_at`."""
    factor = jnp.linalg.cholesky(products)
    left = 1 - (factor**2).sum(axis=1, keepdims=True)
    w = factor / jnp.sqrt(jnp.where(left > 0, left, 1))
    w = jnp.where(np.eye(len(w), dtype=bool), jnp.log(jnp.diagonal(w)), w)
    return w[_positions(columns, linear)]


def _positions(columns: int, linear: bool) -> tuple[np.ndarray, np.ndarray]:
    rows, places = np.tril_indices(columns + linear)
    return rows[int(linear) :], places[int(linear) :]
