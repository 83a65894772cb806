"""Density of a sum of tilted gamma variables, by an inverse Laplace transform."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from dpjax.distributions.quadrature import (
    Contour,
    bisect,
    hyperbola,
    integrate,
    negligible,
)
from dpjax.distributions.special import as_complex
from dpjax.distributions.tilted_gamma import (
    Grid,
    TiltedGamma,
    grid,
    log_transform,
    tilted_gamma,
)

Scalar = Float[Array, ""]

_NODES = 40
_BISECTIONS = 30
_FARTHEST = 8  # largest end of a path


def components(
    shapes: Float[Array, " k"], rate: Scalar, least: Scalar
) -> tuple[TiltedGamma, Grid]:
    """Return gamma laws truncated to values >= `least`, and their quadrature nodes."""
    rates = jnp.broadcast_to(rate, shapes.shape)
    laws = tilted_gamma(shapes, rates, jnp.broadcast_to(least, shapes.shape))
    return laws, jax.vmap(grid)(laws)


def log_sum_density(
    laws: TiltedGamma, grids: Grid, spare: Scalar, tilts: Float[Array, " k"]
) -> Scalar:
    """Return the log-density at `spare` of the sum of the entries minus their bounds.

    Args:
        laws: distributions of the entries, whose expected sum is close to 1.
        grids: quadrature nodes of `laws`.
        spare: 1 minus the sum of the bounds, which is the sum if entries sum to 1.
        tilts: zeros. The derivative in `tilts` is the mean of each entry minus its mean
            given the sum; the second derivative is the covariance given the sum.
    """
    contour = _contour(spare, grids.variance.sum())
    gap = as_complex(spare - grids.mean.sum())

    def exponent(shift):
        shifts = shift + as_complex(tilts)
        return shift * gap + jax.vmap(log_transform)(laws, grids, shifts).sum()

    return jnp.log(integrate(contour, jax.vmap(exponent)(contour.shift)))


def _contour(mean: Scalar, variance: Scalar) -> Contour:
    """A path for sums with this mean and variance, fixed under differentiation.

    End and slope suit the gamma distribution with these moments: the path is vertical
    for a nearly normal one and leans by 27 degrees for an exponential one.
    """
    mean, spread = lax.stop_gradient((mean, jnp.sqrt(variance)))
    ratio = mean / spread
    lean = jnp.minimum(0.45, 0.7 / ratio)
    upright = jnp.sqrt(1 - lean * lean)

    def is_below(u):
        back = lean * 2 * jnp.sinh(u / 2) ** 2 / ratio
        aside = upright * jnp.sinh(u) / ratio
        log_modulus = jnp.log1p(-2 * back + back * back + aside * aside) / 2
        return ~(ratio * ratio * (back + log_modulus) > negligible())

    farthest = jnp.full_like(ratio, _FARTHEST)
    end = bisect(is_below, jnp.zeros_like(ratio), farthest, _BISECTIONS)
    return hyperbola(1 / spread, lean, end, _NODES)
