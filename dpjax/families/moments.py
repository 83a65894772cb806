"""First and second moments of bounded records, as the statistic of several families.

The statistic of a record t with d columns consists of t_1, …, t_d, if `linear`, and of
the products t_i t_j for i ≤ j, row by row.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._products import matmul
from dpjax._types import Flat, Scalar
from dpjax.families.base import Bound, Number, Total
from dpjax.families.bounds import standardise
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.families.moment_coordinates import coordinates_of, moments_at


class MomentFamily(FamilyWithLaw):
    """An exponential family whose statistic is the first and second moments.

    Moments are those of each record's columns minus the middle of their bounds.
    """

    @property
    def linear(self) -> bool:
        """Whether the columns themselves, not only products, are in the statistic."""
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
        """Index in the statistic of the square of the first column."""
        return self.columns if self.linear else 0

    @property
    def dimension(self) -> int:
        """Number of components: products of columns and, if `linear`, the columns."""
        d = self.columns
        return d * (d + 1) // 2 + (d if self.linear else 0)

    def scales(self) -> tuple[float, ...]:
        """Half widths of the columns, if `linear`, and products of two half widths."""
        h = np.array(self.half_widths)
        rows, columns = np.triu_indices(len(h))
        linear = h.tolist() if self.linear else []
        return (*linear, *(h[rows] * h[columns]).tolist())

    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Return the moments of records whose columns are scaled to [-1, 1]."""
        t = standardise(records, self.centre, self.half_widths)
        rows, columns = np.triu_indices(t.shape[1])
        products = t[:, rows] * t[:, columns]
        return jnp.concatenate([t, products], axis=1) if self.linear else products

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Return the exact range of each moment of columns scaled by half widths."""
        triples = zip(self.bounds, self.centre, self.half_widths, strict=True)
        ends = [[(x - c) / h for x in pair] for pair, c, h in triples]
        first = [(low, high) for low, high in ends] if self.linear else []
        second = []
        for i, j in zip(*np.triu_indices(len(ends)), strict=True):
            corners = [x * y for x in ends[i] for y in ends[j]]
            low = 0.0 if i == j and min(ends[i]) <= 0 <= max(ends[i]) else min(corners)
            second.append((low, max(corners)))
        return (*first, *second)

    def diameter(self, scaled: bool = False) -> Bound:
        """Return the exact replace-one sensitivity, with `largest_change`."""
        return Bound(largest_change(self._widths(scaled), self.linear))

    def radius(self, scaled: bool = False) -> Bound:
        """Return the exact add-remove sensitivity, for a record at the bounds."""
        h = np.asarray(self._widths(scaled), float)
        rows, columns = np.triu_indices(len(h))
        return Bound(
            float((h[rows] * h[columns]).sum() + (h.sum() if self.linear else 0))
        )

    def _widths(self, scaled: bool) -> tuple[float, ...]:
        return (1.0,) * self.columns if scaled else self.half_widths

    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Change noisy moments so that they meet necessary conditions of n records.

        First moments are clipped to n times the bounds. Negative eigenvalues of the
        scatter matrix become 0. Columns whose second moment exceeds n times its bound
        are shrunk. The result is the moments and n, which is at least 0.
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
        second = matmul(roots, jnp.swapaxes(roots, -1, -2)) + around
        rows, columns = np.triu_indices(self.columns)
        products = second[..., rows, columns]
        if self.linear:
            products = jnp.concatenate([first, products], axis=-1)
        return products * scales, n

    def products(self, total: Real[Array, " m"], n: Scalar) -> Float[Array, "p p"]:
        """Return sums of products of columns; if `linear`, the first column is 1."""
        first, second = split(total, self.columns, self.linear)
        if not self.linear:
            return second
        top = jnp.concatenate([jnp.asarray(n, float)[None], first])[None, :]
        return jnp.concatenate([top, jnp.column_stack([first, second])])

    def _per_unit(
        self, linear: Float[np.ndarray, "j d"], precision: Float[np.ndarray, "j d d"]
    ) -> Float[np.ndarray, "j m"]:
        """Natural parameters of a normal law whose `linear` is precision times mean."""
        rows, columns = np.triu_indices(self.columns)
        factor = np.where(rows == columns, 0.5, 1.0)[None, :]
        products = -precision[:, rows, columns] * factor
        scaled = np.concatenate([linear, products] if self.linear else [products], 1)
        return scaled / np.array(self.scales())[None, :]

    def _moments(
        self, mean: Float[np.ndarray, "j d"], covariance: Float[np.ndarray, "j d d"]
    ) -> Float[np.ndarray, "j m"]:
        """Expected S(x) / `scales`, from moments of the scaled columns."""
        rows, columns = np.triu_indices(self.columns)
        products = covariance[:, rows, columns] + mean[:, rows] * mean[:, columns]
        return np.concatenate([mean, products] if self.linear else [products], axis=1)

    @property
    def fewest(self) -> int:
        """Columns plus 1: the scatter matrix of fewer records is singular."""
        return self.columns + 1

    @property
    def middle(self) -> np.ndarray:
        """Expected statistic of columns with mean 0, variance ¼ and covariance 0."""
        d = self.columns
        squares = np.diag(np.full(d, 0.25))[np.triu_indices(d)]
        return np.concatenate([np.zeros(d), squares]) if self.linear else squares

    @property
    def has_coordinates(self) -> bool:
        """Whether totals have coordinates, which is so (see `moment_coordinates`)."""
        return True

    def coordinates(self, scaled: Total, n: Number) -> Total:
        """Return the coordinates of the sum of the statistic, divided by `scales`."""
        average = self.products(scaled, n) / n
        return coordinates_of(average, self.columns, self.linear)

    def average_at(self, coordinates: Total) -> tuple[Total, Number]:
        """Return the average moments at coordinates, and the log-Jacobian."""
        products, volume = moments_at(coordinates, self.columns, self.linear)
        kept = slice(1, None) if self.linear else slice(None)  # all but the ones
        return products[np.triu_indices(len(products))][kept], volume


def largest_change(half_widths: Sequence[float | int], linear: bool) -> float:
    r"""Return the largest L1 distance of S(z) and S(z') for all $|z_i| \le h_i$.

    S(z) consists of products $z_i z_j$, i ≤ j, and of the $z_i$ if `linear`. With
    $u = (z + z')/2$ and $v = (z - z')/2$, we have $z_i z_j - z'_i z'_j = 2(u_i v_j +
    u_j v_i)$, so that we can assume $u, v \ge 0$ and $u_i = h_i - v_i$. The distance
    $2 \sum_i v_i (\ell + h_i + H - v_i) - 2 (\sum_i v_i)^2$ with $H = \sum_i h_i$ and
    ℓ = 1 if `linear`, else 0, is concave. At its maximum, $v_i = (\ell + h_i + H)/2 -
    V$, clipped to $[0, h_i]$, where $V = \sum_i v_i$ is the root of a decreasing
    piecewise linear function.

    If `linear`, the distance is $d(d + 2)^2 / (2(d + 1))$ for d columns with $h_i = 1$,
    and $h + h^2 + 1/4$ for one column with $h \ge 1/2$.
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
    """Split moments of d columns into first moments (0 if not `linear`) and second."""
    rows, columns = np.triu_indices(d)
    places = np.zeros((d, d), int)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    total = total.astype(float)
    first = total[..., :d] if linear else jnp.zeros((*total.shape[:-1], d))
    return first, total[..., d if linear else 0 :][..., places]


def over(n: Float[Array, ""]) -> Float[Array, ""]:
    """Return 1 / n, or 0 if n is 0."""
    return jnp.where(n > 0, 1 / jnp.where(n > 0, n, 1), 0)
