"""Functions that stay accurate where their textbook forms cancel, and small helpers.

They serve log-densities with parameters up to 1e6 in float32.
"""

__all__ = [
    "as_complex",
    "broadcast",
    "expm1_minus",
    "log1p_minus",
    "over_batches",
    "positive",
    "refuse",
]

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Inexact, PyTree, Real


def _terms() -> int:
    """Of the series below, for full precision wherever they serve."""
    return 8 if jnp.finfo(float).bits == 32 else 16


def broadcast(*values: Real[ArrayLike, "..."]) -> list[Float[Array, "*shape"]]:
    """The values as arrays of the default floating-point type and of one shape."""
    shape = jnp.broadcast_shapes(*(jnp.shape(value) for value in values))
    return [jnp.broadcast_to(jnp.asarray(value, float), shape) for value in values]


def positive(x: Float[Array, "*shape"]) -> Bool[Array, "*shape"]:
    """Whether entries are positive and finite."""
    return (x > 0) & jnp.isfinite(x)


def refuse(wrong: Bool[Array, "*shape"], message: str) -> None:
    """Raise `ValueError` if a known value is wrong; the message says what is right.

    Values that JAX is tracing pass. No value is shown: parameters may be secret.
    """
    try:
        anywhere = bool(jnp.any(wrong))
    except jax.errors.TracerBoolConversionError:
        return
    if anywhere:
        raise ValueError(message)


def expm1_minus(x: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
    """e^x - 1 - x, for real x."""
    near = jnp.abs(x) < 0.5
    small = jnp.where(near, x, 0)
    series = jnp.full_like(x, 1 / math.factorial(_terms() + 1))
    for term in range(_terms(), 1, -1):
        series = series * small + 1 / math.factorial(term)
    return jnp.where(near, small * small * series, jnp.expm1(x) - x)


def log1p_minus(x: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
    """log(1 + x) - x, for real x > -1 or complex x off the cut.

    Near zero from log(1 + x) = 2 artanh(x / (2 + x)).
    """
    near = jnp.abs(x) < 0.5
    small = jnp.where(near, x, 0)
    ratio = small / (2 + small)
    square = ratio * ratio
    series = jnp.zeros_like(x)
    for term in range(_terms(), 0, -1):
        series = square * (1 / (2 * term + 1) + series)
    # 2r - x = -r x
    return jnp.where(near, ratio * (2 * series - small), jnp.log1p(x) - x)


def as_complex(tree: PyTree[Array]) -> PyTree[Array]:
    """All floating-point leaves as complex numbers, for strict promotion of types."""

    def convert(leaf):
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        return leaf.astype(complex) if real else leaf

    return jax.tree.map(convert, tree)


def over_batches(function: Callable, *ranks: int) -> Callable:
    """A function of arrays of these ranks, for arrays with more axes before them.

    Those broadcast, as for `jnp.vectorize`, which refuses to under strict promotion.
    """

    def mapped(*arrays):
        cuts = [jnp.ndim(x) - rank for x, rank in zip(arrays, ranks, strict=True)]
        shapes = [jnp.shape(x) for x in arrays]
        parts = list(zip(arrays, shapes, cuts, strict=True))
        batch = jnp.broadcast_shapes(*(shape[:cut] for _, shape, cut in parts))
        wide = [jnp.broadcast_to(x, (*batch, *shape[cut:])) for x, shape, cut in parts]
        deep = function
        for _ in batch:
            deep = jax.vmap(deep)
        return deep(*wide)

    return mapped
