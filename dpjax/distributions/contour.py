r"""Inverse Laplace transforms, integrated along a hyperbola.

The trapezoidal rule evaluates $\frac{1}{2\pi i}\int e^{s t} L(s)\,ds$ through the
saddle point, with an error that falls exponentially with the number of nodes.
"""

__all__ = ["Contour", "hyperbola", "integrate"]

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Complex, Float

from dpjax.distributions.special import as_complex

Scalar = Float[Array, ""]


class Contour(NamedTuple):
    """The upper half of a path that is symmetric about the real axis."""

    shift: Complex[Array, " n"]  # distance from the saddle point
    weight: Complex[Array, " n"]


def hyperbola(scale: Scalar, lean: Scalar, end: Scalar, count: int) -> Contour:
    r"""The path $\nu (\sin\phi\,(1 - \cosh u) + i \cos\phi\,\sinh u)$, u up to `end`.

    Args:
        scale: $\nu$, the inverse of the sum's standard deviation.
        lean: $\sin\phi$; how far the path bends to the left of the vertical.
        end: largest u, where the integrand is negligible.
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


def integrate(
    contour: Contour, exponent: Complex[Array, " n"], factor: Array | None = None
) -> Float[Array, "..."]:
    """Integrate exp(exponent), times `factor` (nodes on its first axis) if given."""
    terms = contour.weight * jnp.exp(exponent)
    if factor is None:
        return terms.real.sum()
    return jnp.tensordot(terms, factor, axes=1).real
