"""Probability that an increment leaves no cell negative: printed and simulated."""

__all__ = ["binary", "closure_of", "corollary_3", "stealth_probability"]

import functools
import itertools
import math

import jax.random as jr
import numpy as np

from dpjax._checks import one_of, positive, typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet, maximal_groups
from dpjax.tables.fourier_basis import DownwardClosure, from_coefficients

_MOST_STATES = 1 << 26  # of one table in an elimination, over all draws


def corollary_3(t: float) -> float:
    """Return the paper's probability 1 - exp(-t) that an increment gives stealth.

    The claim is that 4t|N|²/ε more records leave no cell of Algorithm 2 negative. It
    fails for small t and is far too low for larger t: see `stealth_probability`.

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
    r"""Simulate the probability that an increment of t leaves no cell negative.

    Algorithm 2 is used as printed: noise Lap(2|N|/ε) on every unnormalised coefficient,
    and 4t|N|²/ε added to the constant one; ε cancels. The data set is empty, which for
    node tables gives a lower bound for any other. A full table is rebuilt from only |N|
    coefficients, and with data can have negative cells even without noise.

    Args:
        key: typed key of the simulation.
        net: over binary variables.
        t: > 0.
        draws: number of simulated draws; the standard error is at most 1/√(4 draws).
        tables: "families" for all node tables, or "full" for one over all variables.

    Raises:
        ValueError: if an argument is outside its range, or the moral graph is too dense
            for "full" and so many draws.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    typed_key(key=key)
    positive(t=t)
    whole(1, draws=draws)
    one_of(("families", "full"), tables=tables)
    closure = closure_of(net)
    noise = np.asarray(jr.laplace(key, (draws, len(closure))))
    lowest = _lowest_of_families if tables == "families" else _lowest_of_all
    return float(np.mean(lowest(closure, noise) >= -2 * t * len(closure)))


def _lowest_of_families(closure: DownwardClosure, noise: np.ndarray) -> np.ndarray:
    """For each draw, the smallest numerator of a cell of a node table."""
    return from_coefficients(closure.layout, noise[:, closure.slots]).min(axis=1)


def _lowest_of_all(closure: DownwardClosure, noise: np.ndarray) -> np.ndarray:
    """For each draw, the smallest numerator of the full table, by elimination."""
    layout, axes = closure.layout, set(range(1, len(closure.sizes) + 1))
    own = np.zeros((len(noise), layout.length), noise.dtype)
    own[:, closure.owners] = noise  # each in one table, so that they sum to the full
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


def binary(net: BayesNet) -> None:
    """Raise `ValueError` unless every variable has two levels."""
    if set(net.sizes) != {2}:
        raise ValueError(f"`net` must have two levels per variable, got {net.sizes}.")


def closure_of(net: BayesNet) -> DownwardClosure:
    """Return the index set of Algorithm 2's coefficients."""
    binary(net)
    groups = maximal_groups(net.families)
    return DownwardClosure(net.sizes, tuple(tuple(sorted(group)) for group in groups))
