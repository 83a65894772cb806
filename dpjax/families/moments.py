"""First and second moments of records in a box: suprema, projection, layout.

A statistic of d columns t is (t_1, …, t_d) if it is linear too, then the products
t_i t_j for i ≤ j, row by row.
"""

__all__ = [
    "largest_change",
    "largest_norm",
    "moments",
    "over",
    "project_moments",
    "split",
]

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real


def moments(t: Real[Array, "n d"], linear: bool) -> Float[Array, "n m"]:
    """The statistic of every record."""
    rows, columns = np.triu_indices(t.shape[1])
    products = t[:, rows] * t[:, columns]
    return jnp.concatenate([t, products], axis=1) if linear else products


def largest_norm(half_widths: Sequence[float | int], linear: bool) -> float:
    r"""Sup of the L1 norm for $|z_i| \le h_i$: all terms are largest together."""
    h = np.asarray(half_widths, float)
    rows, columns = np.triu_indices(len(h))
    return float((h[rows] * h[columns]).sum() + (h.sum() if linear else 0))


def largest_change(half_widths: Sequence[float | int], linear: bool) -> float:
    r"""Sup of the L1 distance between two records with $|z_i| \le h_i$.

    With u and v half their sum and difference, $z_i z_j - z'_i z'_j = 2(u_i v_j + u_j
    v_i)$, so both may be taken to be ≥ 0 and $u_i = h_i - v_i$. What is left,
    $2 \sum_i v_i (\ell + h_i + H - v_i) - 2 (\sum_i v_i)^2$ with $H = \sum_i h_i$ and ℓ
    1 or 0, is concave: $v_i = (\ell + h_i + H)/2 - V$, clipped to $[0, h_i]$, with V
    their sum, the root of a decreasing piecewise linear function.

    For d columns with h = 1, with linear terms: $d(d + 2)^2 / (2(d + 1))$; for one,
    $h + h^2 + 1/4$ once $h \ge 1/2$.
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
    """Sums of columns (0 if not linear), and the matrix of sums of products."""
    rows, columns = np.triu_indices(d)
    places = np.zeros((d, d), int)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    total = total.astype(float)
    first = total[..., :d] if linear else jnp.zeros((*total.shape[:-1], d))
    return first, total[..., d if linear else 0 :][..., places]


def project_moments(
    total: Real[Array, "*batch m"], n: Float[Array, ""], d: int, linear: bool
) -> Float[Array, "*batch m"]:
    """Moments of n records in [-1, 1]^d, up to what no moments of second order tell.

    First moments are clipped to [-n, n]; the scatter around them becomes positive
    semidefinite (negative eigenvalues to 0: the nearest in Frobenius norm), and is
    shrunk, a column at a time, until no second moment is above n.
    """
    first, second = split(total, d, linear)
    first = jnp.clip(first, -n, n)
    around = first[..., :, None] * first[..., None, :] * over(n)
    values, vectors = jnp.linalg.eigh(second - around)
    roots = vectors * jnp.sqrt(jnp.maximum(values, 0))[..., None, :]
    present = jnp.sum(roots**2, axis=-1)
    most = jnp.maximum(n - first**2 * over(n), 0)
    excess = jnp.where(present > most, most / jnp.where(present > 0, present, 1), 1)
    roots = roots * jnp.sqrt(excess)[..., None]
    second = roots @ jnp.swapaxes(roots, -1, -2) + around
    rows, columns = np.triu_indices(d)
    products = second[..., rows, columns]
    return jnp.concatenate([first, products], axis=-1) if linear else products


def over(n: Float[Array, ""]) -> Float[Array, ""]:
    """1 / n, and 0 for no records."""
    return jnp.where(n > 0, 1 / jnp.where(n > 0, n, 1), 0)
