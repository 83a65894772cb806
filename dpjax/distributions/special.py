"""Functions without cancellation for log-densities, and helpers for arrays.

They are accurate for parameters up to 1e6 in float32.
"""

import math
from collections.abc import Callable
from itertools import compress

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Inexact, PyTree, Real


def _terms() -> int:
    """Number of terms at which the series below have full precision."""
    return 8 if jnp.finfo(float).bits == 32 else 16


def broadcast(*values: Real[ArrayLike, "..."]) -> list[Float[Array, "*shape"]]:
    """Broadcast values to arrays of a common shape and of JAX's default float type."""
    shape = jnp.broadcast_shapes(*(jnp.shape(value) for value in values))
    return [jnp.broadcast_to(jnp.asarray(value, float), shape) for value in values]


def positive(x: Float[Array, "*shape"]) -> Bool[Array, "*shape"]:
    """Return whether each entry is positive and finite."""
    return (x > 0) & jnp.isfinite(x)


def refuse(wrong: Bool[Array, "*shape"], message: str) -> None:
    """Raise `ValueError(message)` if an entry of `wrong` is true; not inside `jit`.

    The message must not contain parameter values, since these may be private.
    """
    try:
        anywhere = bool(jnp.any(wrong))
    except jax.errors.TracerBoolConversionError:
        return
    if anywhere:
        raise ValueError(message)


def expm1_minus(x: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
    """Return e^x - 1 - x for real x, without cancellation near 0."""
    near = jnp.abs(x) < 0.5
    small = jnp.where(near, x, 0)
    series = jnp.full_like(x, 1 / math.factorial(_terms() + 1))
    for term in range(_terms(), 1, -1):
        series = series * small + 1 / math.factorial(term)
    return jnp.where(near, small * small * series, jnp.expm1(x) - x)


def log1p_minus(x: Inexact[Array, "*shape"]) -> Inexact[Array, "*shape"]:
    """Return log(1 + x) - x for real x > -1, or complex x not on the branch cut.

    Near zero, log(1 + x) = 2 artanh(x / (2 + x)) is used.
    """
    near = jnp.abs(x) < 0.5
    small = jnp.where(near, x, 0)
    ratio = small / (2 + small)
    square = ratio * ratio
    series = jnp.zeros_like(x)
    for term in range(_terms(), 0, -1):
        series = square * (1 / (2 * term + 1) + series)
    # 2 ratio - x = -ratio x
    return jnp.where(near, ratio * (2 * series - small), jnp.log1p(x) - x)


def as_complex(tree: PyTree[Array]) -> PyTree[Array]:
    """Convert all floating-point arrays of a pytree to complex arrays."""

    def convert(leaf):
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        return leaf.astype(complex) if real else leaf

    return jax.tree.map(convert, tree)


def over_batches(function: Callable, *ranks: int) -> Callable:
    """Vectorise a function of arrays with the given `ranks` over leading batch axes.

    Unlike `jnp.vectorize`, it also works under JAX's strict rank promotion. An array is
    not repeated along batch axes that it lacks, so that products with it stay small.
    """

    def mapped(*arrays):
        shapes = [jnp.shape(x) for x in arrays]
        batches = [s[: len(s) - r] for s, r in zip(shapes, ranks, strict=True)]
        batch = jnp.broadcast_shapes(*batches)
        owned = [_owned(own, batch) for own in batches]
        kept = [
            jnp.reshape(x, (*compress(batch, own), *shape[len(shape) - rank :]))
            for x, shape, rank, own in zip(arrays, shapes, ranks, owned, strict=True)
        ]
        deep = function
        for levels in reversed([*zip(*owned, strict=True)]):
            deep = jax.vmap(deep, in_axes=tuple(0 if x else None for x in levels))
        return deep(*kept)

    return mapped


def _owned(own: tuple[int, ...], batch: tuple[int, ...]) -> list[bool]:
    """For each axis of `batch`, whether an array of batch shape `own` has it whole."""
    missing = len(batch) - len(own)
    whole = [a == b for a, b in zip(own, batch[missing:], strict=True)]
    return [False] * missing + whole
