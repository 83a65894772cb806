"""Density of the moment sums of a regression, and its hierarchical default prior."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from dpjax._products import matmul
from dpjax._types import Scalar
from dpjax.families.conjugate_regression import (
    KnownNoiseParameters,
    RegressionParameters,
)
from dpjax.families.log_densities import gamma_log_density, log_gamma_ratio
from dpjax.families.moment_totals import (
    bordered,
    log_normal_moments,
    log_pivots,
)

_TYPICAL = 0.165  # median of a column's scale, in half widths
_LOCATION = 0.08  # sd of the mean of a column, in half widths
_SPREAD = 0.3  # sd of the log of a column's scale
_LOG_ODDS = 1.5  # sd of the log-odds of the explained share
_SHAPE = 5.0  # of the inverse-gamma prior of the noise variance, given its mean

_Scalar = Float[Array, ""]


def column_sds(
    hyper: Float[Array, " d"], half_widths: tuple[float, ...]
) -> Float[Array, " d"]:
    """Return the scales of the target and of every feature, in the data's units.

    The target is first in `hyper` and in the result, but last in `half_widths`.
    """
    widths = jnp.asarray((half_widths[-1], *half_widths[:-1]))
    return widths * _TYPICAL * jnp.exp(_SPREAD * hyper)


def mean_strength(hyper: Float[Array, " f"]) -> _Scalar:
    """Return the weight, in records, of the prior of the features' means."""
    return (_TYPICAL / _LOCATION * jnp.exp(_SPREAD * hyper.mean())) ** 2


def hierarchical_prior(
    hyper: Float[Array, " h"],
    half_widths: tuple[float, ...],
    average: Float[Array, " f"] | None,
) -> RegressionParameters:
    """Return the prior that `LinearRegression.default_prior` describes."""
    sds = column_sds(hyper[1:], half_widths)
    log_odds = _LOG_ODDS * hyper[0]
    noise = sds[0] ** 2 / (1 + jnp.exp(log_odds))  # expected noise variance
    features = len(half_widths) - 1
    median = features * (1 - 2 / (9 * features)) ** 3  # of a chi-square, approximately
    precisions = median * jnp.exp(-log_odds) * sds[1:] ** 2
    precision = jnp.diag(precisions)
    if average is not None:
        row = jnp.concatenate([jnp.ones(1), average])
        of_target = noise / (_LOCATION * half_widths[-1]) ** 2
        precision = jnp.pad(precision, (1, 0)) + of_target * jnp.outer(row, row)
    mean = jnp.zeros(len(precision), precision.dtype)
    shape = jnp.asarray(_SHAPE, precision.dtype)
    return RegressionParameters(mean, precision, shape, (_SHAPE - 1) * noise)


def log_normaliser(prior: RegressionParameters) -> _Scalar:
    """Return the prior's log-normaliser, which `log_targets` omits.

    It is correct up to a function of `prior.shape`.
    """
    logs, _ = log_pivots(prior.precision, jnp.zeros_like(prior.precision))
    return logs.sum() / 2 + prior.shape * jnp.log(prior.scale)


def log_targets(
    prior: RegressionParameters | KnownNoiseParameters,
    sums: Float[Array, "d d"],
    n: _Scalar,
) -> _Scalar:
    """Log-density of the sums with the target, given the features, up to a constant.

    Given the features' moments and the parameters, the sums of products of the target
    with features are a normal vector, and the residual sum of squares is an independent
    scaled chi-square variable. The parameters are integrated out. `sums` has the sums
    of products of every two columns, with the target as the last column.
    """
    known = isinstance(prior, KnownNoiseParameters)
    rate = prior.noise_precision if known else 1.0
    # The prior adds to the sums as further records would
    pull = matmul(prior.precision, prior.mean)
    square = matmul(prior.mean, pull) + (0 if known else 2 * prior.scale)
    logs, gains = log_pivots(sums * rate, bordered(prior.precision, pull, square))
    p = len(pull)
    of_gram = -logs[:p].sum() - gains[:p].sum() / 2
    residual = jnp.exp(logs[p])
    if known:
        noise = gamma_log_density(residual / rate, (n - p) / 2, jnp.asarray(rate) / 2)
        return of_gram + noise - residual * jnp.expm1(gains[p]) / 2
    return (
        of_gram
        - (prior.shape + p / 2 + 1) * logs[p]
        - (prior.shape + n / 2) * gains[p]
        + log_gamma_ratio(n / 2, prior.shape, jnp.asarray(-p / 2))
    )


def log_features(
    moments: tuple[Float[Array, " d"], Float[Array, "d d"]],
    n: _Scalar,
    sds: Float[Array, " f"],
    degrees: float,
    strength: Scalar | None,
) -> _Scalar:
    """Log-density of the moments of normal features, up to a function of `degrees`.

    The covariance of the features has an inverse Wishart prior with mean diag(`sds`²).
    Their mean has the prior N(0, covariance / `strength`).

    Args:
        moments: first and second moments of all columns; those of the target are not
            used.
        n: number of records.
        sds: standard deviation of every feature.
        degrees: degrees of freedom of the inverse Wishart prior, more than f + 1.
        strength: weight of the prior of the mean, in records. None: there is no
            intercept; the mean is 0, and the first moments are not used.
    """
    f = sds.shape[0]
    first, second = moments[0][:f], moments[1][:f, :f]
    scale = (degrees - f - 1) * jnp.diag(sds**2)
    normaliser = degrees * jnp.log(sds).sum()
    if strength is not None:
        zero = jnp.zeros(f)
        law = log_normal_moments(first, second, n, zero, strength, degrees, scale)
        return law + normaliser + f / 2 * jnp.log(strength)
    logs, gains = log_pivots(second, scale)
    log_second, log_ratio = logs.sum(), gains.sum()
    lag = jnp.arange(f).astype(n.dtype)
    gammas = log_gamma_ratio(n / 2, (degrees - lag) / 2, -lag / 2).sum()
    law = gammas - (degrees + f + 1) / 2 * log_second - (degrees + n) / 2 * log_ratio
    return law + normaliser
