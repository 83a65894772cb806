r"""Stealth: increase of the total until no released table has a negative cell.

An increment s of the constant Fourier coefficient adds $s / \prod_i r_i$ to every cell
of a table. If s is large enough, readers who do not know n cannot see that the tables,
which always agree, are noisy.
"""

__all__ = ["Stealth", "calibrated_increment", "paper_increment", "stealth"]

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array
from scipy import stats

from dpjax._checks import typed_key, whole
from dpjax._types import Key, Scalar
from dpjax.mechanisms import Mechanism
from dpjax.privacy import Epsilon, exact_epsilon
from dpjax.releases.released import Released
from dpjax.statistics import FourierCoefficients, TableStatistic
from dpjax.tables.fourier_basis import denominators, raise_total
from dpjax.tables.layout import TableLayout
from dpjax.tables.projection import project

_ROUNDING = 1e-2  # largest rounding error of a count, in records
_CONFIDENCE = 0.999  # that the simulated quantile is not too small


class Stealth(NamedTuple):
    """Observable properties of a release's tables.

    Attributes:
        increment: increase of the total, in records.
        nonnegative: whether no cell is negative.
        consistent: whether any two tables have the same common marginal.
        total_shows: whether n is public, so that the increased total is visible.
    """

    increment: float
    nonnegative: bool
    consistent: bool
    total_shows: bool

    def __str__(self) -> str:
        lines = [
            f"no negative cells: {'yes' if self.nonnegative else 'no'}",
            f"tables agree: {'yes' if self.consistent else 'no'}",
        ]
        if self.total_shows:
            lines.append("n is public, so the raised total shows: rescale the tables.")
        if not self.nonnegative:
            lines.append("another release would cost its ε again; truncation is free.")
        return "\n".join(lines)


def paper_increment(statistic: TableStatistic, epsilon: Epsilon, t: Scalar) -> float:
    r"""Return the increment of the paper, $4 t |N|^2 / \epsilon$, in records.

    The paper claims that with its noise all cells are non-negative with probability at
    least 1 - exp(-t). This fails for small t, and is very loose for larger t.

    Args:
        statistic: over binary variables.
        epsilon: privacy loss of the release.
        t: > 0.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    if not isinstance(statistic, FourierCoefficients):
        raise ValueError("`statistic` must be Fourier coefficients for this increment.")
    if not 0 < t < np.inf:
        raise ValueError(f"`t` must be > 0 and finite, got {t}.")
    size = len(statistic.closure)
    return 4 * float(t) * size**2 / float(exact_epsilon(epsilon))


def calibrated_increment(
    key: Key,
    statistic: TableStatistic,
    mechanism: Mechanism,
    probability: Scalar,
    draws: int = 10_000,
) -> float:
    r"""Simulate the smallest increment that suffices with `probability` for any data.

    It is an upper 99.9 % confidence bound of a quantile of the largest
    $-\prod_i r_i \cdot \text{noise}$ of a cell. No records are used.

    Args:
        key: typed key of the simulation.
        statistic: the statistic that the tables are computed from.
        mechanism: the mechanism that adds the noise.
        probability: probability that no cell is negative, between 0 and 1.
        draws: number of simulated draws.

    Returns:
        An increment of the total, in records.

    Raises:
        ValueError: if `probability` is out of range, or too near 1 for `draws`.
    """
    typed_key(key=key)
    whole(1, draws=draws)
    if not 0 < probability < 1:
        raise ValueError(f"`probability` must be between 0 and 1, got {probability}.")
    rank = int(stats.binom.ppf(_CONFIDENCE, draws, probability))
    if rank >= draws:
        raise ValueError(
            f"`draws` must be more for `probability` {probability}, got {draws}."
        )
    needed = _increments_needed(key, mechanism, statistic, draws)
    return max(0.0, float(np.sort(needed)[rank]))


@partial(jax.jit, static_argnames=("statistic", "draws"))
def _increments_needed(
    key: Key, mechanism: Mechanism, statistic: TableStatistic, draws: int
) -> Array:
    """The increment that each draw of the noise needs if all counts are zero."""
    scale = denominators(statistic.layout)
    zeros = jnp.zeros(statistic.length, jnp.int32)

    def needed(key):
        noise = statistic.tables(mechanism.sample(key, zeros), n=0)
        return jnp.max(-noise * scale.astype(noise.dtype))

    return lax.map(needed, jr.split(key, draws), batch_size=100)


def stealth(released: Released, increment: Scalar = 0.0) -> Stealth:
    """Describe the tables of a release, raised by `increment` records.

    Privacy:
        Post-processing. Every further release costs ε again.
    """
    layout, counts = released.counted.layout, released.counts().astype(float)
    agreed = counts  # tables rebuilt from coefficients always agree
    if not isinstance(released.statistic, FourierCoefficients):
        agreed = project(layout, counts, nonnegative=False)
    lowest, furthest = _extremes(counts, agreed, increment, layout)
    return Stealth(
        float(increment),
        bool(lowest >= 0),
        bool(furthest < _ROUNDING),
        released.n is not None and float(increment) != 0,
    )


@partial(jax.jit, static_argnames="layout")
def _extremes(
    counts: Array, agreed: Array, increment: Scalar, layout: TableLayout
) -> tuple[Array, Array]:
    """The smallest raised count, and the largest difference of a count from its fit."""
    raised = raise_total(layout, counts, increment)
    return jnp.min(raised), jnp.max(jnp.abs(agreed - counts))
