"""First and second moments of records in a box, as the statistic of several families.

The statistic of d columns t consists of t_1, …, t_d, if `linear`, and of the products
t_i t_j for i ≤ j, row by row.
"""

__all__ = ["MomentFamily", "largest_change", "over", "split"]

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._types import Flat, Scalar
from dpjax.families.base import Bound, Number, Total
from dpjax.families.bounds import standardise
from dpjax.families.total_law import FamilyWithLaw


class MomentFamily(FamilyWithLaw):
    """A family whose statistic consists of moments about the middle of the bounds."""

    @property
    def linear(self) -> bool:
        """Whether first moments are part of the statistic."""
        return True

    @property
    def centre(self) -> tuple[float, ...]:
        """The constant subtracted from every column: the middle of its bounds."""
        return tuple(lower + (upper - lower) / 2 for lower, upper in self.bounds)

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The largest distance of every column from `centre`."""
        return tuple((upper - lower) / 2 for lower, upper in self.bounds)

    @property
    def complement(self) -> int:
        """Index of the square of the first column."""
        return self.columns if self.linear else 0

    @property
    def dimension(self) -> int:
        """Number of products of two columns, plus the number of columns if `linear`."""
        d = self.columns
        return d * (d + 1) // 2 + (d if self.linear else 0)

    def scales(self) -> tuple[float, ...]:
        """Half-widths, if `linear`, and products of two half-widths."""
        h = np.array(self.half_widths)
        rows, columns = np.triu_indices(len(h))
        linear = h.tolist() if self.linear else []
        return (*linear, *(h[rows] * h[columns]).tolist())

    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Moments of the columns after scaling to [-1, 1]."""
        t = standardise(records, self.centre, self.half_widths)
        rows, columns = np.triu_indices(t.shape[1])
        products = t[:, rows] * t[:, columns]
        return jnp.concatenate([t, products], axis=1) if self.linear else products

    def diameter(self, scaled: bool = False) -> Bound:
        """The exact supremum: see `largest_change`."""
        return Bound(largest_change(self._widths(scaled), self.linear))

    def radius(self, scaled: bool = False) -> Bound:
        """Exact: all terms are largest at the corner farthest from `centre`."""
        h = np.asarray(self._widths(scaled), float)
        rows, columns = np.triu_indices(len(h))
        return Bound(
            float((h[rows] * h[columns]).sum() + (h.sum() if self.linear else 0))
        )

    def _widths(self, scaled: bool) -> tuple[float, ...]:
        return (1.0,) * self.columns if scaled else self.half_widths

    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Project onto moments that meet necessary conditions for possible records.

        First moments are clipped to n times the bounds. The scatter around them becomes
        positive semidefinite (negative eigenvalues become 0, which is nearest in
        Frobenius norm). Columns whose second moment is too large are shrunk.
        """
        n = jnp.maximum(jnp.asarray(n, float), 0)
        scales = jnp.asarray(self.scales()).reshape((1,) * (total.ndim - 1) + (-1,))
        scaled = total.astype(float) / scales
        first, second = split(scaled, self.columns, self.linear)
        first = jnp.clip(first, -n, n)
        around = first[..., :, None] * first[..., None, :] * over(n)
        values, vectors = jnp.linalg.eigh(second - around)
        roots = vectors * jnp.sqrt(jnp.maximum(values, 0))[..., None, :]
        present = jnp.sum(roots**2, axis=-1)
        most = jnp.maximum(n - first**2 * over(n), 0)
        excess = jnp.where(present > most, most / jnp.where(present > 0, present, 1), 1)
        roots = roots * jnp.sqrt(excess)[..., None]
        second = roots @ jnp.swapaxes(roots, -1, -2) + around
        rows, columns = np.triu_indices(self.columns)
        products = second[..., rows, columns]
        if self.linear:
            products = jnp.concatenate([first, products], axis=-1)
        return products * scales, n

    def products(self, total: Real[Array, " m"], n: Scalar) -> Float[Array, "p p"]:
        """Sums of products of columns; the first column is n ones if `linear`."""
        first, second = split(total, self.columns, self.linear)
        if not self.linear:
            return second
        top = jnp.concatenate([jnp.asarray(n, float)[None], first])[None, :]
        return jnp.concatenate([top, jnp.column_stack([first, second])])

    @property
    def fewest(self) -> int:
        """Number of columns plus 1; the scatter of fewer records is singular."""
        return self.columns + 1

    @property
    def middle(self) -> np.ndarray:
        """Expected statistic of columns with mean 0, variance ¼ and covariance 0."""
        d = self.columns
        squares = np.diag(np.full(d, 0.25))[np.triu_indices(d)]
        return np.concatenate([np.zeros(d), squares]) if self.linear else squares

    @property
    def maps(self) -> int:
        """Number of pairs of columns: see `mapped`."""
        return len(self._pairs)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """Pairs (source, target) of columns; column 0 is constant if `linear`."""
        size = self.columns + self.linear
        return [(i, j) for i in range(size) for j in range(self.linear, size)]

    def mapped(
        self, kind: Int[Array, ""], amount: Number, scaled: Total, n: Number
    ) -> tuple[Total, Number]:
        """The total after a multiple of one column, or of 1, is added to a column.

        A column that is added to itself is scaled by exp(`amount`).
        """
        source, target = jnp.asarray(self._pairs)[kind]
        stretch = source == target
        added = jnp.where(stretch, jnp.expm1(amount), amount)
        matrix = self.products(scaled, n)
        size = len(matrix)
        added = added * (jnp.arange(size) == target).astype(float)
        matrix = matrix + added[:, None] * matrix[source][None, :]
        matrix = matrix + matrix[:, source][:, None] * added[None, :]
        rows, columns = np.triu_indices(size)
        kept = slice(1, None) if self.linear else slice(None)  # all but n itself
        volume = jnp.where(stretch, (size + 1) * amount, 0)
        return matrix[rows, columns][kept], volume


def largest_change(half_widths: Sequence[float | int], linear: bool) -> float:
    r"""Supremum of the L1 distance between S(z) and S(z'), with all $|z_i| \le h_i$.

    With $u = (z + z')/2$ and $v = (z - z')/2$, $z_i z_j - z'_i z'_j = 2(u_i v_j + u_j
    v_i)$, so that we can assume $u, v \ge 0$ and $u_i = h_i - v_i$. The distance
    $2 \sum_i v_i (\ell + h_i + H - v_i) - 2 (\sum_i v_i)^2$ with $H = \sum_i h_i$ and ℓ
    1 or 0 is concave. At its maximum, $v_i = (\ell + h_i + H)/2 - V$, clipped to $[0,
    h_i]$, and $V = \sum_i v_i$ is the root of a decreasing piecewise linear function.

    With linear terms, it is $d(d + 2)^2 / (2(d + 1))$ for d columns with h = 1, and
    $h + h^2 + 1/4$ for one column with $h \ge 1/2$.
    """
    h = np.asarray(half_widths, float)
    start = ((1.0 if linear else 0.0) + h + h.sum()) / 2
    kinks = np.unique(np.concatenate([[0, h.sum()], start, start - h]))
    kinks = kinks[kinks >= 0]
    excess = np.clip(start[:, None] - kinks, 0, h[:, None]).sum(0) - kinks
    total = np.interp(0, excess[::-1], kinks[::-1])
    v = np.clip(start - total, 0, h)
    return float(2 * (v * (2 * start - v)).sum() - 2 * v.sum() ** 2)


def split(
    total: Real[Array, "*batch m"], d: int, linear: bool
) -> tuple[Float[Array, "*batch d"], Float[Array, "*batch d d"]]:
    """Split a total into sums of columns (0 if not linear) and sums of products."""
    rows, columns = np.triu_indices(d)
    places = np.zeros((d, d), int)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    total = total.astype(float)
    first = total[..., :d] if linear else jnp.zeros((*total.shape[:-1], d))
    return first, total[..., d if linear else 0 :][..., places]


def over(n: Float[Array, ""]) -> Float[Array, ""]:
    """1 / n, or 0 if n is 0."""
    return jnp.where(n > 0, 1 / jnp.where(n > 0, n, 1), 0)
