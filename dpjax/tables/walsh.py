r"""The Walsh-Hadamard transform of tables over binary variables, exact for integers.

Transforming a released table is post-processing and costs no privacy.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, DTypeLike, Real, Shaped

from dpjax._platforms import TPU, Sizes, by_platform
from dpjax._types import Flat

_MOST_AT_ONCE = 1 << 20  # cells; longer tables are transformed in parts that fit caches

_EXACT = lax.Precision.HIGHEST  # the default is inexact beyond 2048


def walsh_hadamard(table: Shaped[Array, "..."]) -> Flat:
    r"""Compute $c_\gamma = \sum_x (-1)^{\langle\gamma,x\rangle} t_x$ for a table t.

    These are the table's Walsh coefficients. The bits of an index x or $\gamma$, most
    significant first, are the levels of the variables, as in a binary table in C order
    and in `scipy.linalg.hadamard`. The matrix of the transform is symmetric, and its
    square is the length times the identity.

    The result is exact for integers if $\sum_x |t_x| < 2^{31}$ in int32 ($2^{63}$ in
    int64), or if this sum is $\le 2^{24}$ in float32 ($2^{53}$ in float64).

    Args:
        table: last axis of length $2^k$, $k \ge 0$, after any batch axes.

    Returns:
        The coefficients, of the shape and dtype of `table`.

    Raises:
        ValueError: if the last axis is not a power of two, an axis is empty, or the
            dtype is not int32, int64, float32 or float64.
    """
    _check(table)
    return _transform(table)


def _check(table: Array) -> None:
    length = table.shape[-1] if table.ndim and table.size else 0
    if length.bit_count() != 1:
        raise ValueError(
            f"`table` must have no empty axis and end in one of length 2^k, "
            f"got shape {table.shape}."
        )
    # JAX would silently narrow 64-bit NumPy arrays by default, and counts could wrap.
    if table.dtype not in (jnp.int32, jnp.float32, *map(jnp.result_type, (int, float))):
        raise ValueError(
            f"`table` must be int32, float32 or, with x64, int64 or float64, "
            f"got {table.dtype}."
        )


@jax.jit
def _transform(table: Flat) -> Flat:
    return by_platform(transform_in, table, on_tpu=TPU)


def transform_in(sizes: Sizes, table: Flat) -> Flat:
    """Transform a table; if it is long, first within its rows and then across them.

    An accelerator transforms it at once, with few passes.
    """
    length = table.shape[-1]
    if sizes.whole:
        return _at_once(table, sizes.repeats_sums)
    if length <= _MOST_AT_ONCE:
        return _levels(table, 1, length)
    within = partial(_levels, stride=1, size=_MOST_AT_ONCE)
    rows = lax.map(within, table.reshape(-1, _MOST_AT_ONCE))
    height = length // _MOST_AT_ONCE
    return _across(rows.reshape(-1, height, _MOST_AT_ONCE)).reshape(table.shape)


def _at_once(table: Array, repeats_sums: bool) -> Array:
    """Transform several bits of the index in each pass over the whole table.

    The first bits become the last ones, so that all are in order at the end.
    """
    shape, by_product = table.shape, _is_float(table)
    bits, most = shape[-1].bit_length() - 1, 7 if by_product else 6
    passes = -(-bits // most)
    for width in ((bits + i) // passes for i in range(passes)):
        table = table.reshape(-1, 1 << width, shape[-1] >> width)
        if by_product:
            matrix = _hadamard(1 << width, table.dtype)
            table = jnp.einsum("bim,ij->bmj", table, matrix, precision=_EXACT)
        elif repeats_sums:
            table = _each_alone(table)
        else:
            parts = [lax.index_in_dim(table, i, 1, False) for i in range(1 << width)]
            # Without the barrier, each output of the next pass computes this one.
            table = lax.optimization_barrier(jnp.stack(_butterfly(parts), axis=-1))
    return table.reshape(shape)


def _each_alone(table: Real[Array, "b w m"]) -> Real[Array, "b m w"]:
    """Transform the middle axis in one kernel, which computes each result alone.

    The signs come from a number of each result. XLA would write a short vector of signs
    to memory, and it does not write the table's repetitions, since they are too large.
    """
    batch, width, rest = table.shape
    shape = (batch, width, rest, width)
    results = lax.iota(jnp.uint32, batch * rest * width).reshape(batch, 1, rest, width)
    sums = jnp.broadcast_to(table[..., None], shape)
    for bit in range(width.bit_length() - 1):
        sign = 1 - 2 * ((results >> np.uint32(bit)) & 1).astype(table.dtype)
        pairs = sums.reshape(batch, -1, 2, rest, width)
        sums = pairs[:, :, 0] + sign * pairs[:, :, 1]
    return sums[:, 0]


def _across(rows: Real[Array, "b h w"]) -> Real[Array, "b h w"]:
    """Transform along the middle axis, in place, by blocks of columns."""
    _, height, width = rows.shape
    columns = width // height

    def step(i, rows):
        block = lax.dynamic_slice_in_dim(rows, i * columns, columns, axis=2)
        block = _levels(block, columns, height)
        return lax.dynamic_update_slice_in_dim(rows, block, i * columns, axis=2)

    return lax.fori_loop(0, height, step, rows)


def _levels(table: Array, stride: int, size: int) -> Array:
    """Transform each sequence of `size` cells that are `stride` apart.

    Each pass combines four cells. XLA computes every output from all inputs of a pass,
    so combining eight would be slower. Matrix products are twice as fast for floats.
    """
    shape = table.shape
    if stride == 1 and _is_float(table):
        stride = min(size, 32)
        table, size = _product(table, stride), size // stride
    while size > 1:
        radix = min(size, 4)
        table = table.reshape(-1, radix, stride)
        parts = [lax.index_in_dim(table, i, 1, keepdims=False) for i in range(radix)]
        table = jnp.stack(_butterfly(parts), axis=1)
        stride, size = stride * radix, size // radix
    return table.reshape(shape)


def _product(table: Array, size: int) -> Array:
    """Transform `size` adjacent cells by a matrix product."""
    matrix = _hadamard(size, table.dtype)
    return jnp.matmul(table.reshape(-1, size), matrix, precision=_EXACT)


def _hadamard(size: int, dtype: DTypeLike) -> Array:
    index = np.arange(size)
    odd = np.bitwise_count(index & index[:, None]) % 2
    return jnp.asarray(1.0 - 2.0 * odd, dtype)


def _butterfly(parts: Sequence[Array]) -> Sequence[Array]:
    """Transform a few arrays as if each were one cell."""
    if len(parts) == 1:
        return parts
    half = len(parts) // 2
    low, high = _butterfly(parts[:half]), _butterfly(parts[half:])
    return [a + sign * b for sign in (1, -1) for a, b in zip(low, high, strict=True)]


def _is_float(array: Array) -> bool:
    return jnp.issubdtype(array.dtype, jnp.floating)
