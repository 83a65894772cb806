"""Grids of an exponential family's parameters, for posterior samples that are exact."""

import abc
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

Truncation = Mapping[str, tuple[float | int, float | int]]
"""Least and largest value of each parameter, by name."""
Points = Float[np.ndarray, "j p"]  # by default, parameters in alphabetical order
Natural = tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]  # θ and log g(θ)

_EVEN_IN_LOGS = ("rate", "variance")


class OnGrid(abc.ABC):
    """What a family says of grids of its parameters; a point is a row of numbers."""

    name: ClassVar[str]
    """The name of the family in files and on the command line."""
    parameters: ClassVar[Truncation]
    """Name and open range of each parameter that posterior sampling must truncate."""
    grid_parameters: ClassVar[Truncation] = {}
    """The same for samples on a grid; empty if they are those of `parameters`."""

    def natural(self, points: Points) -> Natural:
        """Return natural parameters θ and log g(θ) at each of `points` (rows).

        Raises:
            ValueError: if samples of the family's parameters have no grid.
        """
        raise ValueError(
            f"`mechanism` must be 'laplace' to publish a {self.name}: its parameters "
            "have no grid."
        )

    def expected(self, points: Points) -> Float[np.ndarray, "j m"]:
        """Return the expectation of S(x) / `scales` at each point, before clipping.

        A regression has uniform features. The choice of a default truncation uses it.

        Raises:
            ValueError: if the family derives no limits from bounds.
        """
        raise self._no_limits()

    def truncation(self, share: float) -> Truncation:
        """Derive limits of the parameters from the bounds of the records.

        Args:
            share: number in (0, 1). The smaller it is, the wider are the limits, such
                as [share · upper, upper] for the rate of a Poisson family.

        Raises:
            ValueError: if the family derives no limits from bounds.
        """
        raise self._no_limits()

    def _no_limits(self) -> ValueError:
        names = ", ".join(f"{name!r}: (least, most)" for name in self.parameters)
        return ValueError(
            f"`truncation` must be given for the {self.name} family: {{{names}}}."
        )

    def axes(self, limits: Truncation, points: int) -> tuple[int, ...]:
        """Return the number of values on each axis of `grid`, 1 where limits agree."""
        ends = [limits[name] for name in sorted(limits)]
        return tuple(1 if least == most else points for least, most in ends)

    def grid(self, limits: Truncation, points: int) -> Points:
        """Return the points in C order of `axes`, or some of them."""
        sizes = self.axes(limits, points)
        names = zip(sorted(limits), sizes, strict=True)
        return all_of([spaced(name, *limits[name], size) for name, size in names])

    def shown(self, points: Points) -> dict[str, np.ndarray]:
        """Return arrays of shape (points, …), by the names of a posterior's `mean`."""
        return dict(zip(sorted(self.parameters), points.T, strict=True))


def spaced(
    name: str, least: float, most: float, size: int
) -> Float[np.ndarray, " size"]:
    """Return equally spaced values; of a rate or a variance, in their logarithm."""
    space = np.geomspace if name in _EVEN_IN_LOGS else np.linspace
    return np.clip(space(least, most, size), least, most)


def all_of(axes: Sequence[np.ndarray]) -> Points:
    """Return all combinations of one entry, which may be a row, of each axis."""
    columns = [np.asarray(axis, float).reshape(len(axis), -1) for axis in axes]
    places = np.indices([len(axis) for axis in axes]).reshape(len(axes), -1)
    both = zip(columns, places, strict=True)
    return np.concatenate([column[place] for column, place in both], axis=1)


def ball(size: int, radius: int) -> Int[np.ndarray, "j size"]:
    """Return all vectors of `size` integers whose L1 norm is at most `radius`."""
    if size == 0:
        return np.zeros((1, 0), int)
    parts = []
    for first in range(-radius, radius + 1):
        rest = ball(size - 1, radius - abs(first))
        parts.append(np.insert(rest, 0, first, axis=1))
    return np.concatenate(parts)


def at_most(size: int, radius: int) -> int:
    """Return the number of vectors of `ball`."""
    return sum(
        math.comb(size, i) * math.comb(radius, i) << i
        for i in range(min(size, radius) + 1)
    )
