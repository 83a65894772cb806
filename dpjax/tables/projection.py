r"""Least-squares projection of noisy contingency tables onto consistent tables.

Each table is expressed in a product of orthonormal bases, one for each variable i with
$r_i$ levels, whose first vectors are constant. A coefficient belongs to the set S of
variables for which its basis vectors are not constant. For a table over V, the
coefficient multiplied by $\sqrt{\prod_{i \in V \setminus S} r_i}$ is a coefficient of
the marginal over S. Tables agree if and only if all tables that contain S give the same
coefficients of this marginal. Least squares averages the tables' values of a
coefficient, with weights inverse to their variances, which are
$\prod_{i \in V \setminus S} r_i$ for noise of variance 1 in all cells. The transform is
a Householder reflection along each axis. Every step is a gather or sum over one
flat vector, so a compiled program grows with the widest table, not with the number of
tables.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Real

from dpjax._checks import positive
from dpjax._platforms import Sizes, by_platform
from dpjax._types import Scalar
from dpjax.tables.layout import TableLayout

# Tens or hundreds of steps suffice unless the noise of a cell exceeds the total.
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
    r"""Find the nearest non-negative tables that agree on the variables they share.

    Any two of the returned tables have the same marginal over their common variables,
    and so the same total. This is local consistency: a joint table with these marginals
    need not exist.

    Args:
        layout: groups of variables, one for each table.
        vector: the noisy tables, in one flat vector, as in the result.
        total: public number of records, >= 0, which is the sum of every returned table.
            If None, it is estimated without the constraint that cells are >= 0, which
            would bias it upwards; a negative estimate is replaced by 0.
        precision: for each table, the inverse noise variance of its cells up to a
            common factor, > 0. None means equal variances.
        nonnegative: if False, cells may be negative; the result is then linear in
            `vector`, unbiased and in closed form.
        tolerance: violation of the optimality conditions at which the search stops, as
            a fraction of the most negative cell of the unconstrained solution. Uniform
            tables are then mixed in with the least weight that removes negative cells,
            so the result is consistent and >= 0, up to rounding, at any tolerance.

    Privacy:
        Post-processing without a privacy cost if `total` is public or released.

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
    noisy, coordinates = jnp.asarray(vector), _Coordinates.of(layout)
    if not jnp.issubdtype(noisy.dtype, jnp.floating):
        noisy = noisy.astype(float)
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
    """Find the nearest consistent tables without negative cells, up to `tolerance`.

    The dual problem finds the non-negative increments of cells after which the nearest
    consistent tables have the least norm. These tables are its gradient, with Lipschitz
    constant 1. At the solution no cell is negative, and only zero cells are raised.
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
    """Mix in the least amount of uniform tables that makes every cell >= 0."""
    missing = jnp.maximum(-tables, 0)
    enough = jnp.where(missing > 0, uniform / (missing + uniform), 1)
    kept = jnp.min(enough, initial=1)
    return jnp.maximum(kept * tables + (1 - kept) * uniform, 0)


@dataclass(frozen=True)
class _Coordinates:
    """Indices that the transform needs for each cell, computed on the host.

    In the transform's output, the cell with level $l_i$ of each variable i holds the
    coefficient of basis vectors number $l_i$; number 0 is the constant vector.
    """

    table: np.ndarray  # the cell's table
    cells: np.ndarray  # number of cells of that table
    sizes: np.ndarray  # levels of the variable on each axis, of shape (axes, m)
    levels: np.ndarray  # the cell's level on each axis, of shape (axes, m)
    lines: np.ndarray  # the cell with level 0 on each axis instead, of shape (axes, m)
    along: tuple["_Sums", ...]  # over the cells with the same line, for each axis
    alike: "_Sums"  # over the cells with the same coefficient of the common marginals
    constant: np.ndarray  # whether that coefficient is the total
    outside: np.ndarray  # table cells that are summed to each cell of the marginal

    @classmethod
    def of(cls, layout: TableLayout) -> "_Coordinates":
        members, strides, offsets = layout.addresses
        lengths = np.diff(layout.offsets)
        table = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
        cell = np.arange(layout.length, dtype=np.int32)
        # A table with fewer axes than the widest one has stride 0 on the others.
        member, stride = members.T[:, table], strides.T[:, table]
        sizes = np.where(stride > 0, np.asarray((*layout.sizes, 1))[member], 1)
        levels = (cell - offsets[table]) // np.maximum(stride, 1) % sizes
        firsts = np.cumsum((1, *layout.sizes))
        pairs = np.where(levels > 0, firsts[member] + levels, 0)
        lines = (cell - levels * stride).astype(np.int32)
        return cls(
            table,
            lengths[table],
            sizes,
            levels,
            lines,
            tuple(map(_Sums.of, lines)),
            _Sums.of(_number_sets(pairs)),
            np.all(levels == 0, axis=0),
            np.prod(np.where(levels > 0, 1, sizes), axis=0, dtype=float),
        )


@dataclass(frozen=True)
class _Sums:
    """Sums of the cells with equal labels.

    Accelerators add by scatter in any order. There, the cells of a label are a row
    instead, padded to a power of two with cells that are absent.
    """

    rows: tuple[np.ndarray, ...]  # indices of cells, one matrix for each length of rows
    places: np.ndarray  # the cell's row, with those of all matrices in sequence

    @classmethod
    def of(cls, labels: np.ndarray) -> "_Sums":
        order = np.argsort(labels, kind="stable").astype(np.int32)
        _, first, row, counts = np.unique(
            labels[order], return_index=True, return_inverse=True, return_counts=True
        )
        lengths = 1 << np.ceil(np.log2(counts)).astype(int)
        rows, places = [], np.argsort(np.argsort(lengths, kind="stable"))
        for length in np.unique(lengths):
            chosen, steps = lengths == length, np.arange(length)
            inside = steps < counts[chosen, None]
            cells = np.minimum(first[chosen, None] + steps, len(order) - 1)
            rows.append(np.where(inside, order[cells], len(order)).astype(np.int32))
        found = np.empty(len(order), np.int32)
        found[order] = places[row.reshape(-1)]
        return cls(tuple(rows), found)

    def __call__(self, values: Array) -> Array:
        """For each cell, the sum of the values of all cells with its label."""
        return by_platform(self.within, values)

    def within(self, sizes: Sizes, values: Array) -> Array:
        """Add by a scatter on a CPU, where this takes half as long."""
        if not sizes.whole:
            return jax.ops.segment_sum(values, self.places, values.size)[self.places]
        sums = [
            values.at[cells].get(mode="fill", fill_value=0).sum(axis=1)
            for cells in self.rows
        ]
        return jnp.concatenate([*sums, values[:0]])[self.places]


def _number_sets(members: np.ndarray) -> np.ndarray:
    """Number the distinct columns, each regarded as a set of positive integers."""
    base = int(members.max(initial=0)) + 1
    numbers = np.zeros(members.shape[1], np.int64)
    for row in np.sort(members, axis=0):
        numbers = np.unique(numbers * base + row, return_inverse=True)[1].reshape(-1)
    return numbers


def _shares(coordinates: _Coordinates, precision: Array | None, like: Array) -> Array:
    """The weight of each table's estimate in a coefficient of the common marginals."""
    # The barrier prevents slow evaluation of the sums by the compiler.
    weights = lax.optimization_barrier(jnp.asarray(1 / coordinates.outside, like.dtype))
    if precision is not None:
        weights = weights * jnp.asarray(precision, like.dtype)[coordinates.table]
    return weights / coordinates.alike(weights)


def _agreeing(
    coordinates: _Coordinates, shares: Array, vector: Array, total: Array | None
) -> Array:
    """Least squares without the sign constraint; the total is fixed unless None."""
    gain = jnp.asarray(np.sqrt(coordinates.outside), vector.dtype)
    estimates = _reflect(coordinates, vector) * gain
    common = coordinates.alike(shares * estimates)
    if total is not None:
        common = jnp.where(coordinates.constant, total, common)
    return _reflect(coordinates, common / gain)


def _reflect(coordinates: _Coordinates, vector: Array) -> Array:
    """Transform every table to the orthonormal basis or back: the map is an involution.

    Along an axis of r levels, the reflection $I - n n^T / (1 - r^{-1/2})$ exchanges the
    unit vector of level 0 with the constant unit vector; n is their difference.
    """
    at = coordinates
    for sizes, levels, lines, sums in zip(
        at.sizes, at.levels, at.lines, at.along, strict=True
    ):
        constant = 1 / np.sqrt(sizes)
        normal = np.where(levels == 0, 1, 0) - constant
        # An axis that a table lacks has one level and is not changed.
        step = normal / np.where(sizes > 1, 1 - constant, 1)
        along = vector[lines] - sums(vector) * jnp.asarray(constant, vector.dtype)
        vector = vector - jnp.asarray(step, vector.dtype) * along
    return vector


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
