"""The law of a family's exact total under a conjugate prior, before any release.

With the parameters integrated out: beta-binomial, Dirichlet-multinomial and so on. It
is exact for records of the model; that some are clipped or rounded is no part of it.
"""

__all__ = ["LAWS", "log_total"]

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float

from dpjax.families import (
    Bernoulli,
    BetaParameters,
    Categorical,
    DirichletParameters,
    Exponential,
    Family,
    GammaParameters,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    NormalParameters,
    Poisson,
)
from dpjax.families.log_densities import log_gamma_ratio
from dpjax.posteriors.families.moment_totals import (
    gaussian_total,
    multivariate_total,
    regression_total,
)

_Scalar = Float[Array, ""]
_Total = Float[Array, " m"]


def log_total(family: Family, prior: Any, total: _Total, n: _Scalar) -> _Scalar:
    """Log-density of a total of n records, up to a constant; -inf if not possible.

    Args:
        family: an exponential family.
        prior: its conjugate parameters, arrays of floats.
        total: in natural units.
        n: number of records, > 0; the constant is the same for every n.
    """
    value = LAWS[type(family)](family, prior, total, n)
    return jnp.where(jnp.isnan(value), -jnp.inf, value)


def _bernoulli(
    family: Bernoulli, prior: BetaParameters, total: _Total, n: _Scalar
) -> _Scalar:
    """Beta-binomial."""
    both = jnp.stack([total[0], n - total[0]])
    return _counts(both, jnp.stack([prior.successes, prior.failures]), n)


def _categorical(
    family: Categorical, prior: DirichletParameters, total: _Total, n: _Scalar
) -> _Scalar:
    """Dirichlet-multinomial."""
    return _counts(total, prior.concentration, n)


def _counts(counts: _Total, weights: Array, n: _Scalar) -> _Scalar:
    cells = log_gamma_ratio(counts, weights, jnp.ones(())).sum()
    value = cells - log_gamma_ratio(n, weights.sum(), jnp.ones(()))
    return jnp.where(jnp.all(counts >= 0), value, -jnp.inf)


def _poisson(
    family: Poisson, prior: GammaParameters, total: _Total, n: _Scalar
) -> _Scalar:
    """Negative binomial."""
    count, (shape, rate) = total[0], prior
    value = (
        log_gamma_ratio(count, shape, jnp.ones(()))
        - count * jnp.log1p(rate / n)
        - shape * jnp.log(rate + n)
    )
    return jnp.where(count >= 0, value, -jnp.inf)


def _exponential(
    family: Exponential, prior: GammaParameters, total: _Total, n: _Scalar
) -> _Scalar:
    """Beta prime, scaled."""
    time, (shape, rate) = total[0], prior
    value = (
        log_gamma_ratio(n, shape, jnp.zeros(()))
        - (shape + n) * jnp.log1p(rate / time)
        - (shape + 1) * jnp.log(time)
    )
    return jnp.where(time > 0, value, -jnp.inf)


def _gaussian_mean(
    family: GaussianMean, prior: NormalParameters, total: _Total, n: _Scalar
) -> _Scalar:
    """Normal."""
    variance = n * family.variance + n**2 / prior.precision
    return norm.logpdf(total[0], n * (prior.mean - family.lower), jnp.sqrt(variance))


LAWS: dict[type[Family], Callable[..., _Scalar]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    Poisson: _poisson,
    Exponential: _exponential,
    GaussianMean: _gaussian_mean,
    Gaussian: gaussian_total,
    MultivariateGaussian: multivariate_total,
    LinearRegression: regression_total,
}
