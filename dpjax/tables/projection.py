r"""Least squares of noisy contingency tables onto tables that agree with each other.

Write each table in an orthonormal basis whose first vector, for each variable, is
constant. A coefficient then belongs to the set S of variables in whose basis vectors it
is not constant; multiplied by $\sqrt{\prod_{i \in V \setminus S} r_i}$ for a table over
V, it is a coefficient of the table's marginal over S, and tables agree exactly when all
that contain S give it the same value. Least squares therefore averages it over them:
equal noise in all cells becomes a variance of $\prod_{i \in V \setminus S} r_i$, whose
inverse is the weight. The transform is a Householder reflection along each axis, which
is its own inverse, and every step is a gather or a segment sum over one flat vector, so
a compiled program grows with the widest table and not with their number.
"""

__all__ = ["project"]

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Real

from dpjax._checks import positive
from dpjax._types import Scalar
from dpjax.tables.layout import TableLayout

# Tens or hundreds of steps do, unless the noise of a cell exceeds the whole total.
_MOST_STEPS = 5000


def project(
    layout: TableLayout,
    vector: Real[Array, " m"],
    total: Scalar | None = None,
    *,
    precision: Real[Array, " t"] | None = None,
    nonnegative: bool = True,
    tolerance: Scalar = 1e-6,
) -> Float[Array, " m"]:
    r"""The nearest tables that agree on the variables they share, and are not negative.

    Any two of the returned tables have the same marginal over the variables that both
    contain, and so the same total. This is local consistency: some joint table with
    these marginals need not exist.

    Args:
        layout: of the tables.
        vector: the noisy tables, end to end.
        total: the number of records if it is public, >= 0: every table will sum to it.
            None: it is estimated, without the sign constraint, which would bias it
            upwards, but not below 0.
        precision: for each table, the inverse of the noise variance of its cells, up to
            a common factor, > 0. None: all are equal.
        nonnegative: False for the least squares without the sign constraint: linear,
            unbiased and in closed form.
        tolerance: by how much the sign constraint and its complementary slackness may
            be off when the search stops, in units of the most negative cell without the
            constraint. What is then still negative is lifted by mixing in uniform
            tables, no more than suffices, so that the result agrees and is >= 0 to
            rounding whatever the tolerance.

    Privacy:
        Post-processing: costs nothing, if `total` is public or released.

    Raises:
        ValueError: if `vector` or `precision` does not fit the layout, `total` is
            negative or `precision` is not positive.

    Reference:
        Beck & Teboulle (SIAM J. Imaging Sciences 2, 2009) for the search, restarted as
        in O'Donoghue & Candès (Found. Comput. Math. 15, 2015), on the dual problem.
    """
    _has_length(layout.length, vector=vector)
    if total is not None and _is_negative(total):
        raise ValueError(f"`total` must not be negative, got {total}.")
    if precision is not None:
        _has_length(len(layout.groups), precision=precision)
        positive(precision=precision)
    return _project(layout, vector, total, precision, nonnegative, tolerance)


@partial(jax.jit, static_argnums=(0, 4))
def _project(layout, vector, total, precision, nonnegative, tolerance):
    noisy, coordinates = _as_floats(vector), _Coordinates.of(layout)
    agree = partial(_agreeing, coordinates, _shares(coordinates, precision, noisy))
    cells = jnp.asarray(coordinates.cells, noisy.dtype)
    if total is not None:
        total = jnp.maximum(jnp.asarray(total, noisy.dtype), 0)
    nearest = agree(noisy, total)
    if not nonnegative:
        return nearest
    if total is None:
        estimate = jnp.sum(nearest) / max(len(layout.groups), 1)
        total = jnp.maximum(estimate, 0)
        nearest = nearest + (total - estimate) / cells
    tables = _search(nearest, agree, tolerance)
    return _mix_with_uniform(agree(jnp.maximum(tables, 0), total), total / cells)


def _search(nearest: Array, agree, tolerance: Scalar) -> Array:
    """The nearest agreeing tables without negative cells, up to the tolerance.

    By the dual problem: of all ways to push cells up, that after which the nearest
    agreeing tables are smallest. Its gradient is these tables, with Lipschitz constant
    1. At its solution none is negative, and only cells that end at zero are pushed.
    """
    rounding = 2 * jnp.finfo(nearest.dtype).eps * jnp.max(jnp.abs(nearest), initial=0)
    most_negative = -jnp.min(nearest, initial=0)
    tolerance = jnp.asarray(tolerance, nearest.dtype)
    allowed = jnp.maximum(tolerance * most_negative, rounding)
    zero, one = jnp.zeros((), nearest.dtype), jnp.ones((), nearest.dtype)

    def unfinished(state):
        tables, _, ahead, _, step = state
        error = jnp.max(jnp.abs(jnp.minimum(tables, ahead)), initial=0)
        return (error > allowed) & (step < _MOST_STEPS)

    def improve(state):
        tables, push, ahead, momentum, step = state
        proposal = jnp.maximum(ahead - tables, 0)
        overshot = jnp.sum((ahead - proposal) * (proposal - push)) > 0
        momentum = jnp.where(overshot, one, momentum)
        following = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
        ahead = proposal + (momentum - 1) / following * (proposal - push)
        tables = nearest + agree(ahead, zero)
        return tables, proposal, ahead, following, step + 1

    still = jnp.zeros_like(nearest)
    start = nearest, still, still, one, jnp.int32(0)
    return lax.while_loop(unfinished, improve, start)[0]


def _mix_with_uniform(tables: Array, uniform: Array) -> Array:
    """As much of the uniform tables with the same total as lifts every cell to zero."""
    missing = jnp.maximum(-tables, 0)
    enough = jnp.where(missing > 0, uniform / (missing + uniform), 1)
    kept = jnp.min(enough, initial=1)
    return jnp.maximum(kept * tables + (1 - kept) * uniform, 0)


@dataclass(frozen=True)
class _Coordinates:
    """What the transform needs to know of each cell, on the host.

    In the transform's output, a cell stands for the coefficient of the basis vectors
    that its levels number: level 0 is the constant one.

    Attributes:
        table: that the cell is in.
        cells: number of cells of that table.
        sizes, levels, lines: of the variable on each axis, its number of levels, the
            cell's level and the cell with level 0 that is otherwise the same; (a, m).
        coefficient: which coefficient of the common marginals the cell stands for.
        constant: whether that is the total.
        outside: number of cells of the table for each cell of that marginal.
    """

    number_of_coefficients: int
    table: np.ndarray
    cells: np.ndarray
    sizes: np.ndarray
    levels: np.ndarray
    lines: np.ndarray
    coefficient: np.ndarray
    constant: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, layout: TableLayout) -> "_Coordinates":
        members, strides, offsets = layout.addresses
        lengths = np.diff(layout.offsets)
        table = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
        cell = np.arange(layout.length, dtype=np.int32)
        # A table with fewer axes than the widest has stride 0 on those it lacks.
        member, stride = members.T[:, table], strides.T[:, table]
        sizes = np.where(stride > 0, np.asarray((*layout.sizes, 1))[member], 1)
        levels = (cell - offsets[table]) // np.maximum(stride, 1) % sizes
        firsts = np.cumsum((1, *layout.sizes))
        pairs = np.where(levels > 0, firsts[member] + levels, 0)
        number, coefficient = _number_sets(pairs)
        return cls(
            number,
            table,
            lengths[table],
            sizes,
            levels,
            (cell - levels * stride).astype(np.int32),
            coefficient,
            np.all(levels == 0, axis=0),
            np.prod(np.where(levels > 0, 1, sizes), axis=0, dtype=float),
        )


def _number_sets(members: np.ndarray) -> tuple[int, np.ndarray]:
    """Number the distinct columns, taken as sets of positive integers."""
    base = int(members.max(initial=0)) + 1
    numbers = np.zeros(members.shape[1], np.int64)
    for row in np.sort(members, axis=0):
        numbers = np.unique(numbers * base + row, return_inverse=True)[1].reshape(-1)
    return int(numbers.max(initial=-1)) + 1, numbers.astype(np.int32)


def _shares(coordinates: _Coordinates, precision: Array | None, like: Array) -> Array:
    """What part each table's estimate has in a coefficient of the common marginals."""
    # The barrier keeps the compiler from evaluating the sums itself, which is slow.
    weights = lax.optimization_barrier(jnp.asarray(1 / coordinates.outside, like.dtype))
    if precision is not None:
        weights = weights * jnp.asarray(precision, like.dtype)[coordinates.table]
    return weights / _sum_alike(coordinates, weights)


def _agreeing(
    coordinates: _Coordinates, shares: Array, vector: Array, total: Array | None
) -> Array:
    """The least squares without the sign constraint, with this total unless None."""
    gain = jnp.asarray(np.sqrt(coordinates.outside), vector.dtype)
    estimates = _reflect(coordinates, vector) * gain
    common = _sum_alike(coordinates, shares * estimates)
    if total is not None:
        common = jnp.where(coordinates.constant, total, common)
    return _reflect(coordinates, common / gain)


def _sum_alike(coordinates: _Coordinates, values: Array) -> Array:
    """For each cell, the sum over all that stand for the same coefficient."""
    which, number = coordinates.coefficient, coordinates.number_of_coefficients
    return jax.ops.segment_sum(values, which, number)[which]


def _reflect(coordinates: _Coordinates, vector: Array) -> Array:
    """To the orthonormal basis along every axis of every table, or back.

    Along an axis of r levels: the reflection that exchanges the unit vector of level 0
    with the constant one, $I - n n^T / (1 - r^{-1/2})$, n their difference.
    """
    axes = zip(coordinates.sizes, coordinates.levels, coordinates.lines, strict=True)
    for sizes, levels, lines in axes:
        constant = 1 / np.sqrt(sizes)
        normal = np.where(levels == 0, 1, 0) - constant
        # An axis that a table lacks has one level, and nothing to reflect.
        step = normal / np.where(sizes > 1, 1 - constant, 1)
        sums = jax.ops.segment_sum(vector, lines, vector.size)
        along = vector - sums * jnp.asarray(constant, vector.dtype)
        vector = vector - jnp.asarray(step, vector.dtype) * along[lines]
    return vector


def _as_floats(values: Array) -> Array:
    """Floats stay in their own precision; counts take the default one."""
    array = jnp.asarray(values)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def _has_length(length: int, **vectors: Array) -> None:
    for name, vector in vectors.items():
        if jnp.shape(vector) != (length,):
            raise ValueError(
                f"`{name}` must be of shape ({length},), got {jnp.shape(vector)}."
            )


def _is_negative(total: Scalar) -> bool:
    try:
        return bool(total < 0)
    except jax.errors.TracerBoolConversionError:
        return False
