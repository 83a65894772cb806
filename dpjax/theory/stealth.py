r"""Stealth: an increase of the number of records until no table cell is negative.

An increment s of the constant Fourier coefficient adds $s / \prod_i r_i$ to every cell
of a table of variables with $r_i$ levels. Common marginals of tables stay equal. If s
is large enough, readers who do not know n cannot see that the tables are noisy.
"""

import functools
import itertools
import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array

from dpjax._checks import one_of, positive, typed_key, whole
from dpjax._later import special
from dpjax._types import Key, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import Mechanism
from dpjax.privacy import Epsilon, exact_epsilon
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic
from dpjax.tables.fourier_basis import (
    DownwardClosure,
    denominators,
    from_coefficients,
    raise_total,
)
from dpjax.tables.layout import TableLayout, maximal_groups
from dpjax.tables.projection import project

_ROUNDING = 1e-2  # largest rounding error of a count, in records
_MOST_STATES = 1 << 26  # of one table in an elimination, over all draws
_CONFIDENCE = 0.999  # that the simulated quantile is not too small


class Stealth(NamedTuple):
    """Observable properties of a release's tables.

    Attributes:
        increment: increase of the number of records in every table.
        nonnegative: whether no cell of a table is negative.
        consistent: whether any two tables have equal marginals of common variables.
        total_shows: whether n is public, so that the increment is visible.
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
    r"""Return the increment of Zhang et al., $4 t |N|^2 / \epsilon$, in records.

    |N| is the number of Fourier coefficients. Zhang et al. claim that, with their
    noise, no cell is negative with probability at least 1 - exp(-t). This fails for
    small t, and is very loose for larger t.

    Args:
        statistic: Fourier coefficients of binary variables.
        epsilon: privacy loss of the release.
        t: number t > 0 in the increment 4t|N|²/ε.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    closure = getattr(statistic, "closure", None)
    if closure is None:
        raise ValueError("`statistic` must be Fourier coefficients for this increment.")
    if not 0 < t < np.inf:
        raise ValueError(f"`t` must be > 0 and finite, got {t}.")
    return 4 * float(t) * len(closure) ** 2 / float(exact_epsilon(epsilon))


def calibrated_increment(
    key: Key,
    statistic: TableStatistic,
    mechanism: Mechanism,
    probability: Scalar,
    draws: int = 10_000,
) -> float:
    r"""Simulate how many records to add so that no table cell is negative.

    The number suffices with `probability` for every data set; no records are used. It
    is an upper 99.9 % confidence bound of the `probability` quantile of the maximum
    over cells of $-\prod_i r_i \cdot \text{noise}$, for variables with $r_i$ levels.

    Args:
        key: typed JAX key of the simulation.
        statistic: statistic from which the tables are computed.
        mechanism: mechanism that adds noise to the statistic.
        probability: probability that no cell is negative, between 0 and 1.
        draws: number of simulated draws of the noise.

    Returns:
        The number of records to add to every table.

    Raises:
        ValueError: if `probability` is out of range, or too close to 1 for `draws`.
    """
    typed_key(key=key)
    whole(1, draws=draws)
    if not 0 < probability < 1:
        raise ValueError(f"`probability` must be between 0 and 1, got {probability}.")
    rank = math.ceil(special.bdtrik(_CONFIDENCE, draws, float(probability)))
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
    """Return properties of a release's tables after adding `increment` records.

    Privacy:
        Post-processing. Every further release has the privacy loss ε again.
    """
    layout, counts = released.counted.layout, released.counts().astype(float)
    agreed = counts  # tables rebuilt from coefficients always agree
    if not hasattr(released.statistic, "closure"):
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
    raised = raise_total(layout, counts, increment)
    return jnp.min(raised), jnp.max(jnp.abs(agreed - counts))


def corollary_3(t: float) -> float:
    """Return 1 - exp(-t), the claimed least probability that no cell is negative.

    Algorithm 2 of Zhang et al. adds noise to |N| Fourier coefficients, and 4t|N|²/ε to
    the constant coefficient. The claim fails for small t and is far too low for larger
    t: see `stealth_probability`.

    Raises:
        ValueError: if `t` is not positive.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    positive(t=t)
    return -math.expm1(-t)


def stealth_probability(
    key: Key, net: BayesNet, t: float, draws: int = 100_000, tables: str = "families"
) -> float:
    r"""Simulate the probability that Algorithm 2 of Zhang et al. has no negative cell.

    The algorithm adds noise Lap(2|N|/ε) to each of |N| unnormalised Fourier
    coefficients, and 4t|N|²/ε to the constant coefficient; ε cancels. The simulated
    data set is empty: for node tables, the result is a lower bound for all data sets. A
    full table is rebuilt from only |N| coefficients, and with data can have negative
    cells even without noise.

    Args:
        key: typed JAX key of the simulation.
        net: network of binary variables.
        t: number t > 0 in the increment 4t|N|²/ε.
        draws: number of simulated draws; the standard error is at most 1/√(4 draws).
        tables: "families" for the table of each node with its parents, "full" for one
            table of all variables.

    Raises:
        ValueError: if an argument is outside its range, or the moral graph is too dense
            for "full" and this number of draws.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    typed_key(key=key)
    positive(t=t)
    whole(1, draws=draws)
    one_of(("families", "full"), tables=tables)
    closure = closure_of(net)
    noise = np.asarray(jr.laplace(key, (draws, len(closure))))
    if tables == "families":
        lowest = from_coefficients(closure.layout, noise[:, closure.slots]).min(axis=1)
    else:
        lowest = _lowest_of_all(closure, noise)
    return float(np.mean(lowest >= -2 * t * len(closure)))


def _lowest_of_all(closure: DownwardClosure, noise: np.ndarray) -> np.ndarray:
    """For each draw, the smallest numerator of the full table, by elimination."""
    layout, axes = closure.layout, set(range(1, len(closure.sizes) + 1))
    own = np.zeros((len(noise), layout.length), noise.dtype)
    own[:, closure.owners] = noise  # each in one table: the tables sum to the full one
    shares = from_coefficients(layout, own)
    tables = []
    spans = itertools.pairwise(layout.offsets)
    for group, (start, stop) in zip(layout.groups, spans, strict=True):
        shape = [2 if axis - 1 in group else 1 for axis in sorted(axes)]
        tables.append(shares[:, start:stop].reshape(-1, *shape))
    while axes:
        scopes = {
            axis: np.broadcast_shapes(*(x.shape for x in tables if x.shape[axis] == 2))
            for axis in axes
        }
        axis = min(axes, key=lambda axis: math.prod(scopes[axis]))
        if math.prod(scopes[axis]) > _MOST_STATES:
            raise ValueError(f"`draws` must be fewer for this `net`, got {len(noise)}.")
        total = functools.reduce(np.add, (x for x in tables if x.shape[axis] == 2))
        tables = [x for x in tables if x.shape[axis] == 1]
        tables.append(total.min(axis=axis, keepdims=True))
        axes.remove(axis)
    return functools.reduce(np.add, tables).ravel()


def closure_of(net: BayesNet) -> DownwardClosure:
    """Return the indices of a binary network's Fourier coefficients in Algorithm 2."""
    if set(net.sizes) != {2}:
        raise ValueError(f"`net` must have two levels per variable, got {net.sizes}.")
    groups = maximal_groups(net.families)
    return DownwardClosure(net.sizes, tuple(tuple(sorted(group)) for group in groups))
