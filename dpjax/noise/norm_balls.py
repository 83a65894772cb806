r"""Integer points in balls of polyhedral norms: exact numbers of points, exact draws.

The number of integer points in a ball of radius R is $\sum_j m_j \binom{R}{j}$ with
integers $m_j \ge 0$ (Newton's form of the Ehrhart polynomial of the unit ball). A point
with distance t from 0 in a row of cells has j cells that are not 0, whose absolute
values are a composition of t into j parts. Hence a sum of norms has the product of the
generating functions $\sum_j m_j s^j$, and points are drawn from integers alone.
"""

import abc
import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dpjax.noise import compositions
from dpjax.noise.compositions import Below, Newton, pick, points

Placed = Iterable[tuple[int, int]]
"""Pairs of the index of a number in a vector and its value, for values other than 0."""


class Ball(abc.ABC):
    """The unit ball of a norm on integer vectors; it is static and hashable.

    A subclass states which numbers of a vector it places, by their indices.
    """

    @cached_property
    @abc.abstractmethod
    def newton(self) -> Newton:
        """The coefficients m of the number of points."""

    @property
    def dimension(self) -> int:
        """The dimension of the ball."""
        return len(self.newton) - 1

    @abc.abstractmethod
    def norm(self, vector: Sequence[int]) -> int:
        """Return the norm of the ball's numbers in an integer vector."""

    @abc.abstractmethod
    def draw(self, radius: int, below: Below) -> Placed:
        """Draw a uniform point of the ball of this radius."""


@dataclass(frozen=True)
class Simplex(Ball):
    """The norm max(sum of positive parts, sum of negative parts) of all numbers.

    It is the gauge of the differences of two of the counts of a table, one of whose
    cells is left out, since the number of records is known.
    """

    places: tuple[int, ...]

    @cached_property
    def newton(self) -> Newton:
        """The coefficients m of the number of points."""
        k, choose = len(self.places), math.comb
        return tuple(choose(k, j) * choose(k + j, j) for j in range(k + 1))

    def norm(self, vector: Sequence[int]) -> int:
        """Return the norm of the ball's numbers in an integer vector."""
        values = [vector[i] for i in self.places]
        return max(sum(v for v in values if v > 0), -sum(v for v in values if v < 0))

    def _by_positive(self, radius: int) -> list[int]:
        """Number of points by the number of their positive coordinates."""
        k, choose = len(self.places), math.comb
        return [
            choose(k, j) * choose(radius, j) * choose(radius + k - j, k - j)
            for j in range(k + 1)
        ]

    def draw(self, radius: int, below: Below) -> Placed:
        """Draw a uniform point: positive parts, then the others, which may be 0."""
        positive = pick(self._by_positive(radius), below)
        order, others = (
            compositions.shuffled(self.places, below),
            len(self.places) - positive,
        )
        yield from zip(order, compositions.gaps(radius, positive, below), strict=False)
        gaps = compositions.gaps(radius + others, others, below)
        yield from ((i, 1 - g) for i, g in zip(order[positive:], gaps, strict=True))


class _ByNonzero(Ball):
    """A norm of which points with j nonzero parts are compositions into j parts."""

    def draw(self, radius: int, below: Below) -> Placed:
        """Draw a uniform point of the ball of this radius."""
        j = pick((m * math.comb(radius, j) for j, m in enumerate(self.newton)), below)
        return self.place(compositions.gaps(radius, j, below), below)

    def draw_at(self, radius: int, below: Below) -> Placed:
        """Draw a uniform point whose norm is exactly `radius`."""
        if radius == 0:
            return ()
        parts = enumerate(self.newton[1:])
        j = pick((m * math.comb(radius - 1, j) for j, m in parts), below)
        gaps = compositions.gaps(radius - 1, j, below)
        return self.place([*gaps, radius - sum(gaps)], below)

    @abc.abstractmethod
    def place(self, parts: Sequence[int], below: Below) -> Placed:
        """Draw a uniform point with these positive parts, in this order."""


@dataclass(frozen=True)
class Cells(_ByNonzero):
    """The L1 norm: the gauge of adding a record to one of the cells, or removing it."""

    places: tuple[int, ...]

    @cached_property
    def newton(self) -> Newton:
        """The coefficients m of the number of points."""
        k = len(self.places)
        return tuple(math.comb(k, j) << j for j in range(k + 1))

    def norm(self, vector: Sequence[int]) -> int:
        """Return the norm of the ball's numbers in an integer vector."""
        return sum(abs(vector[i]) for i in self.places)

    def place(self, parts: Sequence[int], below: Below) -> Placed:
        """Draw a uniform point with these positive parts, in this order."""
        order = compositions.shuffled(self.places, below)
        signed = [part if below(2) else -part for part in parts]
        return zip(order, signed, strict=False)


@dataclass(frozen=True)
class Rows(_ByNonzero):
    r"""The sum over rows of $\min_c \sum_v |u_v - c|$.

    The counts u of a row of r cells are known up to their total: by r - 1 differences
    from the last one. With c a lower median, at most half of the cells are above c, and
    fewer than half are below.

    Args:
        places: for each row, the indices of its differences.
    """

    places: tuple[tuple[int, ...], ...]

    @cached_property
    def newton(self) -> Newton:
        """The coefficients m of the number of points."""
        return compositions.product(tuple(_of_row(len(row) + 1) for row in self.places))

    def norm(self, vector: Sequence[int]) -> int:
        """Return the norm of the ball's numbers in an integer vector."""
        return sum(_distance([vector[i] for i in row]) for row in self.places)

    def place(self, parts: Sequence[int], below: Below) -> Placed:
        """Draw a uniform point with these positive parts, in this order."""
        left = iter(parts)
        each = tuple(_of_row(len(row) + 1) for row in self.places)
        for row, j in zip(
            self.places, compositions.split(each, len(parts), below), strict=True
        ):
            if j:
                yield from _row(row, list(itertools.islice(left, j)), below)


def _distance(differences: Sequence[int]) -> int:
    """The sum of distances of a row's cells from their median."""
    cells = sorted([0, *differences])
    half = len(cells) // 2
    return sum(cells[len(cells) - half :]) - sum(cells[:half])


def _row(places: Sequence[int], parts: list[int], below: Below) -> Placed:
    """Place parts on random cells of a row, above or below the median."""
    size = len(places) + 1
    negative = pick(_by_negative(size, len(parts)), below)
    signed = [-part for part in parts[:negative]] + parts[negative:]
    cells = dict(zip(compositions.shuffled(range(size), below), signed, strict=False))
    last = cells.get(size - 1, 0)
    values = ((i, cells.get(v, 0) - last) for v, i in enumerate(places))
    yield from ((i, value) for i, value in values if value)


@functools.lru_cache(maxsize=256)
def _by_negative(size: int, nonzero: int) -> tuple[int, ...]:
    """Signs of `nonzero` cells of a row, by the number of cells below the median."""
    above, beneath = size // 2, (size - 1) // 2
    allowed = (b <= beneath and nonzero - b <= above for b in range(nonzero + 1))
    return tuple(math.comb(nonzero, b) * ok for b, ok in enumerate(allowed))


@functools.lru_cache(maxsize=256)
def _of_row(size: int) -> Newton:
    ways = (sum(_by_negative(size, j)) for j in range(size))
    return tuple(math.comb(size, j) * way for j, way in enumerate(ways))


@dataclass(frozen=True)
class Classes(_ByNonzero):
    """The sum over classes of the largest of several norms of rows in that class.

    One record changes the counts of several tables, in the rows of one class alone if
    the variables of the classes are among those that name the rows of each table.

    Args:
        classes: for each class, the rows of each table.
    """

    classes: tuple[tuple[Rows, ...], ...]

    @cached_property
    def newton(self) -> Newton:
        """The coefficients m of the number of points."""
        return compositions.product(self._each)

    def norm(self, vector: Sequence[int]) -> int:
        """Return the norm of the ball's numbers in an integer vector."""
        return sum(max(x.norm(vector) for x in tables) for tables in self.classes)

    @cached_property
    def _each(self) -> tuple[Newton, ...]:
        return tuple(
            compositions.largest(tuple(x.newton for x in one)) for one in self.classes
        )

    def place(self, parts: Sequence[int], below: Below) -> Placed:
        """Draw a uniform point with these positive parts, in this order."""
        left = iter(parts)
        counts = compositions.split(self._each, len(parts), below)
        for tables, j in zip(self.classes, counts, strict=True):
            radius = sum(itertools.islice(left, j))
            yield from _largest_at(tables, radius, below)


def _largest_at(tables: Sequence[Rows], radius: int, below: Below) -> Placed:
    """Draw points of which the largest norm is `radius`.

    The first table that reaches it is drawn; those before it have smaller norms.
    """
    if radius == 0:
        return
    inner = [points(table.newton, radius - 1) for table in tables]
    outer = [points(table.newton, radius) for table in tables]
    weights = [
        math.prod(inner[:i]) * (outer[i] - inner[i]) * math.prod(outer[i + 1 :])
        for i in range(len(tables))
    ]
    first = pick(weights, below)
    for i, table in enumerate(tables):
        if i == first:
            yield from table.draw_at(radius, below)
        else:
            yield from table.draw(radius - (i < first), below)
