"""The choice of limits of a family's parameters, from public facts alone."""

import functools
import math
from fractions import Fraction

import numpy as np

from dpjax.families import Family, Truncation
from dpjax.mechanisms.parameter_grid import MOST_POINTS, SHARES
from dpjax.privacy import REPLACE_ONE, Adjacency

_USUAL = 0.05  # share of the limits that true parameters are assumed to be within
_GUESS = 1000  # number of records if n is private
_FEW = 10_000  # points of one or two parameters
_MANY, _TRUTHS = 5000, 100  # points, of which some are taken as true parameters
_TRIED = 1600  # points of a grid whose limits are tried
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
    truths = Truths(family)
    times = (2 if adjacency == REPLACE_ONE else 1) / float(epsilon)

    def risk(share: float) -> float:
        limits = family.truncation(share)
        widest = family.sampling_sensitivity(adjacency, limits).value
        temperature = max(lowest, times * widest)
        points = family.grid(limits, most_points(family, limits, _TRIED))
        return float(truths.of_sample(points, (n or _GUESS) / temperature).mean())

    return family.truncation(min(SHARES[:_WIDEST], key=risk))


class Truths:
    """True parameters on a coarse grid within usual limits, and errors about them.

    Parameters are left out if records within the bounds cannot have their expectations.

    Attributes:
        usual: the limits, which follow from the bounds of the records.
        mean: expected S(x) / `scales` for each of the true parameters.
    """

    def __init__(self, family: Family) -> None:
        self.family, self.usual = family, family.truncation(_USUAL)
        points = family.grid(self.usual, most_points(family, self.usual, _MANY))
        means = family.expected(points)
        possible = np.flatnonzero((np.abs(means) <= 1).all(axis=1))
        ends = 0, len(possible) - 1
        some = possible[np.linspace(*ends, min(_TRUTHS, len(possible))).astype(int)]
        self.mean, points = means[some], points[some]
        scaled, log_g = self.scaled(points)
        self.best = (scaled * self.mean).sum(axis=1) + log_g

    def scaled(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return natural parameters of S(x) / `scales`, and log g, at points."""
        natural, log_g = self.family.natural(points)
        return natural * np.array(self.family.scales())[None, :], log_g

    def divergences(self, points: np.ndarray) -> np.ndarray:
        """Return KL(true ‖ point) of a record, in nats, by truth and point."""
        scaled, log_g = self.scaled(points)
        return self.best[:, None] - self.mean @ scaled.T - log_g[None, :]

    def of_sample(self, points: np.ndarray, records: float) -> np.ndarray:
        """Return the expected divergence of a sample, by truth.

        The sample is from the posterior, uniform on the points, of so many records.
        """
        errors = self.divergences(points)
        weights = np.exp(records * (errors.min(axis=1, keepdims=True) - errors))
        return (errors * weights).sum(axis=1) / weights.sum(axis=1)
