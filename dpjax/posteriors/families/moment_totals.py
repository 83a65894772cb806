"""The laws of totals of first and second moments, the parameters integrated out.

Totals of normal records are a normal vector and a Wishart matrix; those of a regression
are, given the features, a normal vector and a chi-square number. So no approximation is
needed. Terms of the order of n cancel on paper, not in floating point.
"""

__all__ = ["gaussian_total", "multivariate_total", "regression_total"]

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from dpjax.families import (
    Gaussian,
    KnownNoiseParameters,
    LinearRegression,
    MultivariateGaussian,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
)
from dpjax.families.log_densities import gamma_log_density, log_gamma_ratio
from dpjax.families.moments import split

_Scalar = Float[Array, ""]
_Matrix = Float[Array, "d d"]
_Vector = Float[Array, " d"]


def gaussian_total(
    family: Gaussian,
    prior: NormalInverseGammaParameters,
    total: Float[Array, " m"],
    n: _Scalar,
) -> _Scalar:
    """As of a multivariate one of one column."""
    wishart = NormalInverseWishartParameters(
        jnp.reshape(prior.mean - family.centre, (1,)),
        prior.strength,
        2 * prior.shape,
        jnp.reshape(2 * prior.scale, (1, 1)),
    )
    return _normal_moments(total[:1], total[1:, None], n, wishart)


def multivariate_total(
    family: MultivariateGaussian,
    prior: NormalInverseWishartParameters,
    total: Float[Array, " m"],
    n: _Scalar,
) -> _Scalar:
    """A normal vector, and a Wishart matrix of n - 1 degrees of freedom."""
    first, second = split(total, family.columns, linear=True)
    start = prior.mean - jnp.asarray(family.centre)
    return _normal_moments(first, second, n, prior._replace(mean=start))


def regression_total(
    family: LinearRegression, prior: Any, total: Float[Array, " m"], n: _Scalar
) -> _Scalar:
    """Of targets given the features' moments, exactly; times a weak law of those.

    Features are no part of the model. Their moments need some law, here that of normal
    features under a prior worth one record; it matters as little as that prior does.
    """
    gram, products, squares = family.normal_equations(total, n)
    features = _feature_moments(family, total, n)
    whole = jnp.concatenate(
        [
            jnp.concatenate([gram, products[:, None]], axis=1),
            jnp.concatenate([products, squares[None]])[None, :],
        ]
    )
    residual = _pivots(whole)[-1]
    return features + _targets(prior, gram, products, residual, n)


def _targets(
    prior: Any, gram: _Matrix, products: _Vector, residual: _Scalar, n: _Scalar
) -> _Scalar:
    """Of Xᵀy and the sum of squared residuals, given XᵀX."""
    p = gram.shape[0]
    change = _solve(gram, products) - prior.mean
    if isinstance(prior, KnownNoiseParameters):
        gram = gram * prior.noise_precision
    log_gram, log_ratio = _log_determinants(gram, prior.precision)
    weighted = prior.precision @ change
    excess = (gram @ change) @ _solve(gram + prior.precision, weighted)
    of_gram = -log_gram - log_ratio / 2
    if isinstance(prior, KnownNoiseParameters):
        noise = gamma_log_density(residual, (n - p) / 2, prior.noise_precision / 2)
        return of_gram + noise - excess / 2
    return (
        of_gram
        - (prior.shape + p / 2 + 1) * jnp.log(residual)
        - (prior.shape + n / 2) * jnp.log1p((2 * prior.scale + excess) / residual)
        + log_gamma_ratio(n / 2, prior.shape, jnp.asarray(-p / 2))
    )


def _feature_moments(
    family: LinearRegression, total: Float[Array, " m"], n: _Scalar
) -> _Scalar:
    """Normal features, their mean known to be 0 where no means are measured."""
    f = family.columns - 1
    first, second = split(total, family.columns, family.intercept)
    first, second = first[:f], second[:f, :f]
    prior = MultivariateGaussian(family.lower, family.upper).prior()
    if family.intercept:
        return _normal_moments(first, second, n, prior._replace(mean=jnp.zeros(f)))
    scale = jnp.diag(jnp.asarray(family.half_widths[:-1]) ** 2 / 4)
    log_second, log_ratio = _log_determinants(second, scale)
    lag = jnp.arange(f).astype(n.dtype)
    gammas = log_gamma_ratio(n / 2, (f + 2 - lag) / 2, -lag / 2).sum()
    return gammas - (2 * f + 3) / 2 * log_second - (f + 2 + n) / 2 * log_ratio


def _normal_moments(
    first: _Vector, second: _Matrix, n: _Scalar, prior: NormalInverseWishartParameters
) -> _Scalar:
    """Of the sum and the sum of products of n records, about the family's centre."""
    d = first.shape[0]
    average = first / n
    scatter = second - first[:, None] * average[None, :]
    change = average - prior.mean
    pull = prior.strength * n / (prior.strength + n)
    more = prior.scale + pull * change[:, None] * change[None, :]
    log_scatter, log_ratio = _log_determinants(scatter, more)
    lag = jnp.arange(d).astype(n.dtype)
    gammas = log_gamma_ratio(n / 2, (prior.degrees - lag) / 2, -(1 + lag) / 2).sum()
    return (
        gammas
        - (prior.degrees + d + 2) / 2 * log_scatter
        - (prior.degrees + n) / 2 * log_ratio
        - d / 2 * (jnp.log(n) + jnp.log(prior.strength + n))
    )


def _log_determinants(matrix: _Matrix, more: _Matrix) -> tuple[_Scalar, _Scalar]:
    """log|M|, and log|M + more| - log|M| without subtracting them; NaN if M is not > 0.

    By elimination of both matrices at once, the second kept as its difference.
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


def _pivots(matrix: _Matrix) -> _Vector:
    """What elimination divides by, in order."""
    pivots = []
    for _ in range(matrix.shape[0]):
        row = matrix[0, 1:]
        pivots.append(matrix[0, 0])
        matrix = matrix[1:, 1:] - row[:, None] * (row / matrix[0, 0])[None, :]
    return jnp.stack(pivots)


def _solve(matrix: _Matrix, vector: _Vector) -> _Vector:
    """For a positive definite matrix of a few rows: no library call a step."""
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
