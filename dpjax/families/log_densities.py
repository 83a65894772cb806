"""Log-densities of conjugate distributions, accurate in float32 for large counts.

In float32, a difference of log-gammas of large numbers is inaccurate. Here log-gammas
are expanded around the distribution's mean, so that nothing large is subtracted.
"""

import math

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln, xlog1py
from jaxtyping import Array, Float

from dpjax._products import matmul

_HALF_LOG_2_PI = math.log(2 * math.pi) / 2
_LARGE = 10.0  # above it, three terms of the series are exact in float32


def gamma_log_density(
    x: Float[Array, "..."], shape: Float[Array, "..."], rate: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Log-density of the distribution Gamma(shape, rate) at x."""
    off = (rate * x - shape) / shape
    around = xlog1py(shape - 1, off) - shape * off
    return around + jnp.log(rate) - jnp.log(shape) / 2 - _HALF_LOG_2_PI - _rest(shape)


def inverse_gamma_log_density(
    x: Float[Array, "..."], shape: Float[Array, "..."], scale: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Log-density of the inverse of a Gamma(shape, rate=scale) variable at x."""
    return gamma_log_density(1 / x, shape, scale) - 2 * jnp.log(x)


def dirichlet_log_density(
    x: Float[Array, "*batch k"], concentration: Float[Array, "*batch k"]
) -> Float[Array, "*batch"]:
    """Log-density of Dirichlet(concentration) at a vector x that sums to 1."""
    whole = concentration.sum(axis=-1, keepdims=True)
    off = (x * whole - concentration) / concentration
    around = xlog1py(concentration - 1, off) - concentration * off
    cells = around - jnp.log(concentration) / 2 - _rest(concentration)
    size = concentration.shape[-1]
    total = (size - 0.5) * jnp.log(whole) + _rest(whole) + (1 - size) * _HALF_LOG_2_PI
    return cells.sum(axis=-1) + total[..., 0]


def dirichlet_multinomial(
    counts: Float[Array, " k"], concentration: Float[Array, " k"], n: Float[Array, ""]
) -> Float[Array, ""]:
    """Dirichlet-multinomial log-probability, up to a constant, of counts with sum n."""
    one = jnp.ones(())
    cells = log_gamma_ratio(counts, concentration, one).sum()
    value = cells - log_gamma_ratio(n, concentration.sum(), one)
    return jnp.where(jnp.all(counts >= 0), value, -jnp.inf)


def inverse_wishart_log_density(
    x: Float[Array, "d d"], degrees: Float[Array, ""], scale: Float[Array, "d d"]
) -> Float[Array, ""]:
    """Log-density of InverseWishart(degrees, scale) at the covariance x."""
    d = x.shape[-1]
    factor = jnp.linalg.cholesky(x)
    whitened = solve_triangular(factor, jnp.linalg.cholesky(scale), lower=True)
    values = jnp.linalg.eigvalsh(matmul(whitened, whitened.T))
    off = (values - degrees) / degrees
    around = degrees / 2 * (jnp.log1p(off) - off).sum()
    volume = (d + 1) * jnp.log(jnp.diagonal(factor)).sum()
    # log Γ(half - j/2) minus (half log half - half), one term for each dimension
    half, lag = degrees / 2, jnp.arange(d).astype(x.dtype) / 2
    shapes = half - lag
    gammas = (shapes - 0.5) * jnp.log1p(-lag / half) - (lag + 0.5) * jnp.log(half)
    gammas = gammas + lag + _HALF_LOG_2_PI + _rest(shapes)
    return around - volume - gammas.sum() - d * (d - 1) / 4 * math.log(math.pi)


def log_gamma_ratio(
    x: Float[Array, "..."], above: Float[Array, "..."], below: Float[Array, "..."]
) -> Float[Array, "..."]:
    """Return log Γ(x + above) - log Γ(x + below); both arguments of Γ are > 0."""
    top, bottom, more = x + above, x + below, above - below
    smooth = (bottom - 0.5) * jnp.log1p(more / bottom) + more * (jnp.log(top) - 1)
    return smooth + _rest(top) - _rest(bottom)


def _rest(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The remainder of Stirling's formula for log Γ(x): about 1/(12x)."""
    small = jnp.minimum(x, _LARGE)
    exact = gammaln(small) - (small - 0.5) * jnp.log(small) + small - _HALF_LOG_2_PI
    large = jnp.maximum(x, _LARGE)
    series = (1 / 12 - (1 / 360 - 1 / (1260 * large**2)) / large**2) / large
    return jnp.where(x < _LARGE, exact, series)
