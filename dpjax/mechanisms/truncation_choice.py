"""The choice of limits of a family's parameters, from public facts alone."""

__all__ = ["choose_truncation", "expected_divergence", "most_points"]

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpjax.families import Family, Truncation
from dpjax.mechanisms.parameter_grid import MOST_POINTS, SHARES
from dpjax.privacy import REPLACE_ONE, Adjacency

_USUAL = 0.05  # share of the limits that true parameters are assumed to be within
_GUESS = 1000  # number of records if n is private
_FEW = 10_000  # points of one or two parameters
_TRUTHS, _TRIED = 100, 1600  # points of the grids for a choice
_WIDEST = 20  # shares that are tried
_MOST_VALUES = 1000


def most_points(family: Family, limits: Truncation, most: int | None = None) -> int:
    """Return the most values of each parameter, up to 1,000, that make `most` points.

    None: 10,000 points of one or two parameters, or 65,536 of more.
    """
    if most is None:
        most = _FEW if len(family.axes(limits, 2)) < 3 else MOST_POINTS
    size = 2
    while size < _MOST_VALUES and math.prod(family.axes(limits, size + 1)) <= most:
        size += 1
    return size


@functools.lru_cache(maxsize=64)
def choose_truncation(
    family: Family,
    epsilon: Fraction,
    adjacency: Adjacency,
    n: int | None,
    lowest: int = 1,
) -> Truncation:
    """Return the `family.truncation` of least expected error of one posterior sample.

    Wide limits cost a high temperature, and narrow ones exclude true parameters. The
    error is the expected divergence KL(true ‖ sampled) of a record's distribution, in
    nats, averaged over true parameters on a coarse grid. Data are assumed to have the
    expected statistics, so that neither data nor random numbers are used.

    Args:
        family: family that has a default truncation.
        epsilon: budget of one sample.
        adjacency: "replace-one" or "add-remove".
        n: number of records, or a public guess of it; None: 1000.
        lowest: the lowest temperature.
    """
    divergence = expected_divergence(family)
    times = (2 if adjacency == REPLACE_ONE else 1) / float(epsilon)

    def risk(share: float) -> float:
        limits = family.truncation(share)
        widest = family.sampling_sensitivity(adjacency, limits).value
        temperature = max(lowest, times * widest)
        points = family.grid(limits, most_points(family, limits, _TRIED))
        return divergence(points, (n or _GUESS) / temperature)

    return family.truncation(min(SHARES[:_WIDEST], key=risk))


def expected_divergence(family: Family) -> Callable[[np.ndarray, float], float]:
    """Return the expected divergence of a sample, by points and effective records.

    The sample is from the posterior of so many records, uniform on the points.
    """
    usual = family.truncation(_USUAL)
    truths = family.grid(usual, most_points(family, usual, _TRUTHS))
    mean, scales = family.expected(truths), np.array(family.scales())[None, :]
    natural, log_g = family.natural(truths)
    best = (natural * scales * mean).sum(axis=1) + log_g

    def of_points(points: np.ndarray, records: float) -> float:
        natural, log_g = family.natural(points)
        logs = mean @ (natural * scales).T + log_g[None, :]
        weights = np.exp(records * (logs - logs.max(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        return float(((best[:, None] - logs) * weights).sum(axis=1).mean())

    return of_points
