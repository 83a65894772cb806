"""Gauss-Legendre quadrature on both sides of the maximum of a log-concave function.

The nodes cover the part where the function is not negligible in its own precision.
"""

__all__ = ["negligible", "nodes", "reach"]

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from numpy.polynomial import legendre

Reals = Float[Array, "*shape"]

_BISECTIONS = 40
_NODES, _WEIGHTS = legendre.leggauss(48)


def negligible() -> float:
    """How far below its maximum the log of a function is treated as minus infinity."""
    return float(4 - np.log(jnp.finfo(float).eps))


def reach(log_density: Callable[[Reals], Reals], bound: Reals) -> Reals:
    """Where a decreasing function of h >= 0 with value 0 at 0 becomes negligible.

    At most `bound`. The result is not differentiable, as the nodes are arbitrary.
    """
    bound = lax.stop_gradient(bound)

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        beyond = log_density(middle) < -negligible()
        return jnp.where(beyond, low, middle), jnp.where(beyond, middle, high)

    bracket = (jnp.zeros_like(bound), bound)
    return lax.stop_gradient(lax.fori_loop(0, _BISECTIONS, halve, bracket)[1])


def nodes(
    left: Float[Array, ""], right: Float[Array, ""]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Nodes and weights for an integral from -`left` to `right`, split at 0."""
    place = jnp.asarray((_NODES + 1) / 2, float)
    weight = jnp.asarray(_WEIGHTS / 2, float)
    points = jnp.concatenate([-left * place, right * place])
    return points, jnp.concatenate([left * weight, right * weight])
