r"""Mass and moments of a Gaussian vector w inside the unit ball.

Coordinates are those of the eigenvectors of the precision matrix, with eigenvalues
$l_i$. A tilt t multiplies the density by $e^{-t (|w|^2 - 1)}$, which gives a Gaussian
with precisions $l_i + 2t$. The results are inverse Laplace integrals over complex t.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from dpjax._products import matmul
from dpjax.distributions.quadrature import Contour, bisect, hyperbola, integrate
from dpjax.distributions.special import as_complex, log1p_minus

Vector = Float[Array, " d"]
Scalar = Float[Array, ""]

_BISECTIONS = 50
_NODES = 48
_LEAN = 0.34
_END = 5.3  # an exponential distribution, which decays most slowly, is negligible there


class Tilted(NamedTuple):
    """A Gaussian with diagonal precision, multiplied by exp(-amount (|w|^2 - 1))."""

    amount: Scalar
    precision: Vector
    mean: Vector

    def expected_square(self) -> Scalar:
        """Return the expected squared norm E|w|^2 of the tilted Gaussian."""
        return (self.mean**2 + 1 / self.precision).sum()


def tilt(precision: Vector, pull: Vector, amount: Scalar) -> Tilted:
    """Multiply the density exp(-precision . w^2 / 2 + pull . w) by exp(-amount |w|^2).

    Args:
        precision: eigenvalues of the precision matrix.
        pull: product of precision matrix and mean, in the basis of the eigenvectors.
        amount: the tilt, at least 0.
    """
    tilted = precision + 2 * amount
    return Tilted(amount, tilted, pull / tilted)


def to_fill(precision: Vector, pull: Vector) -> Tilted:
    """Apply the least tilt with E|w|^2 <= 1, which is best for rejection sampling."""
    zero = jnp.zeros(())

    def outside(amount):
        return tilt(precision, pull, amount).expected_square() > 1

    amount = bisect(outside, zero, _most(pull), _BISECTIONS)
    return tilt(precision, pull, jnp.where(outside(zero), amount, zero))


def saddle(precision: Vector, pull: Vector) -> Tilted:
    """Apply the tilt t with E|w|^2 = 1 - 1 / t, the saddle point of `log_inside`."""

    def outside(amount):
        return tilt(precision, pull, amount).expected_square() + 1 / amount > 1

    def middle(low, high):
        return jnp.sqrt(low * high)

    amount = bisect(outside, jnp.ones(()), _most(pull), _BISECTIONS, middle)
    return tilt(precision, pull, amount)


def _most(pull: Vector) -> Scalar:
    """An upper bound of the tilts of `to_fill` and `saddle`."""
    return pull.shape[0] + 2 + jnp.sqrt((pull * pull).sum())


def log_inside(law: Tilted) -> Scalar:
    """Return log E[exp(t (|w|^2 - 1)) 1(|w| <= 1)] for w ~ `law`.

    The Gaussian `law` comes from `saddle`, and t is its tilt, `law.amount`.
    """
    contour, exponent = _integrand(law)
    return jnp.log(integrate(contour, exponent)) - jnp.log(law.amount)


class Moments(NamedTuple):
    """Moments of a Gaussian inside the unit ball, and a derivative of its mass."""

    mean: Vector
    second: Float[Array, "d d"]  # second moment of w - centre
    growth: Scalar  # derivative of the log-mass in the squared radius


def moments(precision: Vector, pull: Vector, basis: Array, centre: Vector) -> Moments:
    """Return moments of a Gaussian inside the unit ball, in the original basis.

    The columns of `basis` are eigenvectors; `precision` and `pull` are those of `tilt`.
    Second moments are about `centre`.
    """
    law = saddle(precision, pull)
    contour, exponent = _integrand(law)
    share = contour.weight * jnp.exp(exponent)
    share = share / as_complex(share.real.sum())
    precision, pull, basis, centre = as_complex((law.precision, pull, basis, centre))
    shifted = precision[None, :] + 2 * contour.shift[:, None]
    means = matmul(pull[None, :] / shifted, basis.T)
    mean = matmul(share, means).real
    gap = means - centre[None, :]
    across = matmul(share, 1 / shifted)[:, None] * basis.T
    second = matmul((share[:, None] * gap).T, gap)
    spread = matmul(basis, across)
    growth = law.amount + matmul(share, contour.shift).real
    return Moments(mean, (second + spread).real, growth)


def _integrand(law: Tilted) -> tuple[Contour, Complex[Array, " n"]]:
    """A path of tilts, and the log-transform on the path relative to the saddle point.

    Linear terms are combined before they can cancel.
    """
    variance = ((4 * law.mean**2 + 2 / law.precision) / law.precision).sum()
    scale = 1 / jnp.sqrt(variance + 1 / law.amount**2)
    contour = hyperbola(scale, jnp.asarray(_LEAN), jnp.asarray(_END), _NODES)
    linear = 1 - law.expected_square() - 1 / law.amount
    signal = law.mean**2 * law.precision / 2
    linear, signal, precision, amount = as_complex(
        (linear, signal, law.precision, law.amount)
    )

    def exponent(shift):
        turned = 2 * shift / precision
        curved = signal * turned * turned / (1 + turned) - log1p_minus(turned) / 2
        return shift * linear + curved.sum() - log1p_minus(shift / amount)

    return contour, jax.vmap(exponent)(contour.shift)
