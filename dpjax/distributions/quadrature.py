r"""Gauss-Legendre quadrature on a line, and inverse Laplace transforms on a hyperbola.

On both sides of the maximum of a log-concave function, Gauss-Legendre nodes cover the
part where the function is not negligible in its own precision. The trapezoidal rule
evaluates $\frac{1}{2\pi i}\int e^{s t} L(s)\,ds$ through the saddle point, with an
error that falls exponentially with the number of nodes.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Complex, Float
from numpy.polynomial import legendre

from dpjax.distributions.special import as_complex

Reals = Float[Array, "*shape"]
Scalar = Float[Array, ""]

_BISECTIONS = 40
_NODES, _WEIGHTS = legendre.leggauss(48)


def negligible() -> float:
    """Return how far below its maximum a log-density counts as minus infinity."""
    return float(4 - np.log(jnp.finfo(float).eps))


def bisect(
    is_below: Callable[[Reals], Bool[Array, "*shape"]],
    low: Reals,
    high: Reals,
    steps: int,
    middle: Callable[[Reals, Reals], Reals] = lambda low, high: (low + high) / 2,
) -> Reals:
    """Bisect [low, high] for the point where `is_below` becomes false.

    Returns the upper end of the last interval; `middle` chooses a point of an interval.
    """

    def halve(_, bracket):
        low, high = bracket
        point = middle(low, high)
        below = is_below(point)
        return jnp.where(below, point, low), jnp.where(below, high, point)

    return lax.fori_loop(0, steps, halve, (low, high))[1]


def reach(log_density: Callable[[Reals], Reals], bound: Reals) -> Reals:
    """Find h in [0, bound] beyond which a decreasing density is negligible.

    The log-density is 0 at h = 0. Derivatives treat the result as a constant.
    """
    bound = lax.stop_gradient(bound)

    def is_below(h):
        return ~(log_density(h) < -negligible())  # also where it is NaN

    found = bisect(is_below, jnp.zeros_like(bound), bound, _BISECTIONS)
    return lax.stop_gradient(found)


def nodes(
    left: Float[Array, ""], right: Float[Array, ""]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return nodes and weights to integrate over [-left, 0] and [0, right]."""
    place = jnp.asarray((_NODES + 1) / 2, float)
    weight = jnp.asarray(_WEIGHTS / 2, float)
    points = jnp.concatenate([-left * place, right * place])
    return points, jnp.concatenate([left * weight, right * weight])


class Contour(NamedTuple):
    """Nodes on the upper half of an integration path symmetric about the real axis."""

    shift: Complex[Array, " n"]  # distance from the saddle point
    weight: Complex[Array, " n"]


def hyperbola(scale: Scalar, lean: Scalar, end: Scalar, count: int) -> Contour:
    r"""Place the nodes of an inverse Laplace integral on a hyperbola.

    Relative to the saddle point of the integrand, the points of the hyperbola are
    $\nu (\sin\phi\,(1 - \cosh u) + i \cos\phi\,\sinh u)$ for real numbers u.

    Args:
        scale: $\nu$, the inverse standard deviation of the variable whose Laplace
            transform is inverted.
        lean: $\sin\phi$; how far the path bends to the left of the vertical.
        end: largest value of u, where the integrand is negligible.
        count: number of nodes; the first is the saddle point.

    Reference:
        Weideman & Trefethen (Mathematics of Computation 76, 2007), section 4.
    """
    step = end / count
    u = step * jnp.arange(count, dtype=float)
    upright = jnp.sqrt(1 - lean * lean)
    bend = 2 * jnp.sinh(u / 2) ** 2  # cosh u - 1 without cancellation
    shift = lax.complex(-lean * bend, upright * jnp.sinh(u))
    speed = lax.complex(upright * jnp.cosh(u), lean * jnp.sinh(u))
    half = jnp.where(u > 0, 1, 0.5)
    scale, factor = as_complex((scale, scale * step / jnp.pi * half))
    return Contour(scale * shift, factor * speed)


def integrate(contour: Contour, exponent: Complex[Array, " n"]) -> Scalar:
    """Integrate exp(exponent), given at the nodes, along both halves of the path."""
    return (contour.weight * jnp.exp(exponent)).real.sum()
