"""All joint values of a network's tables on a public grid, and their posterior masses.

A cell is one joint value of all tables. It represents one part of a partition of the
space of all tables. Masses are integers, computed from the counts by a deterministic
rule with a proved error bound.
"""

import bisect
import decimal
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Array, Int, Int64

from dpjax._checks import whole
from dpjax.noise.exact_choice import exponentials
from dpjax.noise.simplex_grid import LOG_BITS, SimplexGrid, log_table
from dpjax.privacy import Guarantee
from dpjax.tables.layout import TableLayout

SCORE_BITS = 31  # a product of two masses fits 64 bits

Vector = TypeVar("Vector", Array, np.ndarray)

_MOST_CELLS = 1 << 22
_MOST_WEIGHED = 1 << 18  # points of a row, for which a prior's weights are computed
_PRIOR_BITS = 40  # of a cell's prior weight: the sum over all cells fits 64 bits
_STEPS = 1 << 10  # in the search for the largest rate
_PRECISION = 96  # bits of a row's weights


class PriorRange(NamedTuple):
    """Least, largest and total integer prior weight of the points of a row's grid."""

    least: int
    most: int
    total: int


class Row(NamedTuple):
    """All possible values, called points, of one row of a table.

    Attributes:
        points: integer numerators of probabilities, of shape (points, levels).
        logs: logarithms of `points` as integers, in units of 2^-LOG_BITS.
        prior: integer prior weight of each point.
    """

    points: np.ndarray
    logs: np.ndarray
    prior: np.ndarray


@dataclass(frozen=True)
class CellGrid:
    r"""All tables with rows $g / G$ of integers $g_v \ge \omega G$ whose sum is G.

    One joint value of all rows is a cell. Cells are in C order: the point of the last
    row varies fastest. A grid is static and hashable.

    Args:
        layout: layout of one table per variable, with own levels on the last axis.
        omega: smallest probability ω, > 0 and below 1 / (largest number of levels).
        units: G, the denominator of all probabilities.
        prior: Dirichlet parameter of every level, > 0. The prior weights are public
            integers of at most 16 bits for a row and 40 bits for a cell.

    Raises:
        ValueError: if a row has fewer than two points, there are more than 2^22 cells,
            or a row has more than 2^18 points and the prior is not 1.
    """

    layout: TableLayout
    omega: Fraction
    units: int
    prior: Fraction

    def __post_init__(self):
        whole(1, units=self.units)
        log_size = sum(
            number * math.log2(_points(grid)) for grid, number in self._tables()
        )
        if log_size > math.log2(_MOST_CELLS):
            raise ValueError(
                f"`units` must be fewer than {self.units} for these tables, or rows be "
                f"fewer: there would be 2^{log_size:.1f} joint cells, and 2^22 can be "
                "listed."
            )
        most = max(_points(grid) for grid, _ in self._tables())
        if self.prior != 1 and most > _MOST_WEIGHED:
            raise ValueError(
                f"`prior` must be 1 where a row has more than {_MOST_WEIGHED} points, "
                f"got {most}: or use fewer units."
            )

    def _tables(self) -> Iterator[tuple[SimplexGrid, int]]:
        """The grid of the rows of each table, and the number of rows."""
        least = math.ceil(self.omega * self.units)
        for group in self.layout.groups:
            *parents, levels = self.layout.shape(group)
            yield SimplexGrid(levels, self.units, least), math.prod(parents)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(_points(grid) ** number for grid, number in self._tables())

    @cached_property
    def log_range(self) -> Fraction:
        """Largest minus smallest log-probability of one record over the grid."""
        return Fraction(sum(grid.log_range for grid, _ in self._tables()))

    @cached_property
    def grids(self) -> tuple[SimplexGrid, ...]:
        """The grid of every row, in the order of the vector of all tables."""
        return tuple(grid for grid, number in self._tables() for _ in range(number))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every row with all its points, in the order of the vector of all tables."""
        bits = min(16, _PRIOR_BITS // len(self.grids))
        return tuple(_row(grid, self.prior, bits) for grid in self.grids)

    @property
    def prior_ranges(self) -> list[PriorRange]:
        """The `PriorRange` of every row; if `prior` is 1, no points are listed."""
        if self.prior == 1:
            return [PriorRange(1, 1, _points(grid)) for grid in self.grids]
        weights = [row.prior for row in self.rows]
        return [PriorRange(int(w.min()), int(w.max()), int(w.sum())) for w in weights]

    def holds(self, vector: Int[np.ndarray, " m"]) -> bool:
        """Return whether each row of a vector of tables is a point of its grid."""
        if vector.shape != (self.layout.length,):
            return False
        ends = np.cumsum([grid.levels for grid in self.grids])
        return all(
            bool(row.min() >= grid.least and row.sum() == grid.units)
            for grid, row in zip(self.grids, np.split(vector, ends[:-1]), strict=True)
        )

    @cached_property
    def prior_weights(self) -> Int64[np.ndarray, " k"]:
        """The integer prior weight of each cell, the product over its rows."""
        return functools.reduce(
            lambda cells, prior: np.multiply.outer(cells, prior).ravel(),
            (row.prior for row in self.rows),
        )

    def scores(
        self, counts: Int[np.ndarray, " m"], temperature: Fraction
    ) -> Int64[np.ndarray, " k"]:
        """Return the posterior mass of every cell, as an integer in units of $2^{-31}$.

        The masses are too small by less than two units for each row, or too large by at
        most $2^{-20}$ of a unit. They sum to at most $2^{31}$.
        """
        unit = 1 / (temperature * (1 << LOG_BITS))
        scores = np.array([1 << SCORE_BITS])
        for row, own in self.by_row(counts.astype(object)):
            mass = _row_mass(row, own, unit)
            scores = (np.multiply.outer(scores, mass) >> SCORE_BITS).ravel()
        return scores

    def by_row(self, vector: Vector) -> Iterator[tuple[Row, Vector]]:
        """Yield each row of the tables, with its part of `vector`."""
        start = 0
        for row in self.rows:
            stop = start + row.points.shape[1]
            yield row, vector[start:stop]
            start = stop

    def tables(self, cell: int | np.integer) -> Int[np.ndarray, " m"]:
        """Return the tables of the cell with index `cell`, in units of 1 / G."""
        places = np.unravel_index(cell, [len(row.points) for row in self.rows])
        chosen = zip(self.rows, places, strict=True)
        return np.concatenate([row.points[place] for row, place in chosen])


def _points(grid: SimplexGrid) -> int:
    return math.comb(_parts(grid) - 1, grid.levels - 1)


def _parts(grid: SimplexGrid) -> int:
    """Units to distribute so that each level has at least one."""
    return grid.units - grid.levels * (grid.least - 1)


@functools.lru_cache(maxsize=32)
def _row(grid: SimplexGrid, prior: Fraction, bits: int) -> Row:
    """The row with all points of a grid, and prior weights from 1 to 2^bits."""
    parts = _parts(grid)
    bars = itertools.combinations(range(1, parts), grid.levels - 1)
    edges = np.array([(0, *between, parts) for between in bars], np.int32)
    points = np.diff(edges, axis=1) + np.int32(grid.least - 1)
    logs = np.array(log_table(grid.units), object)[points]
    if prior == 1:
        return Row(points, logs, np.ones(len(points), np.int64))
    powers = logs.sum(axis=1) * (1 if prior > 1 else -1)
    unit = abs(prior - 1) / (1 << LOG_BITS)
    lower, _ = exponentials(powers.tolist(), unit, bits)
    return Row(points, logs, lower.astype(np.int64) + 1)


def _row_mass(row: Row, counts: np.ndarray, unit: Fraction) -> np.ndarray:
    r"""Posterior mass of each point in units of $2^{-31}$, rounded down.

    The weights are too small by at most $3 \cdot 2^{-96}$ of the largest one. Before
    rounding, the error of a mass is thus at most $3 \cdot 2^{-95}$ times the sum of the
    prior weights: $2^{-55}$ for $2^{22}$ points of weight $2^{16}$.
    """
    powers = row.logs @ counts
    lower, _ = exponentials(powers.tolist(), unit, _PRECISION)
    weights = lower * row.prior.astype(object)
    return ((weights << SCORE_BITS) // weights.sum()).astype(np.int64)


def largest_rate(
    budget: Guarantee, width: Fraction, priors: list[PriorRange]
) -> Fraction:
    """Return the largest rate on a fine scale that is proved to cost at most `budget`.

    The rate is the factor of a score in `CellMass`. Scores are masses that are rounded
    down, which increases the change of a score by one record by less than two units for
    each row plus one unit (`docs/proofs.md`, section 13).

    Args:
        budget: a guarantee of kind pure-dp or zcdp.
        width: range over all cells of the change that one record makes in log-weights.
        priors: `PriorRange` of every row of the grid.
    """
    shrink = _exponential_below(-width / 2)
    delta = math.ceil((1 << SCORE_BITS) * (1 - shrink) / (1 + shrink))
    slack = 2 * len(priors) + 1
    largest = math.prod(prior.most for prior in priors)
    smallest = math.prod(prior.least for prior in priors)
    others = math.prod(prior.total for prior in priors) - largest

    def rate(step: int) -> Fraction:
        scale = delta * (1 + Fraction(step, _STEPS)) + 2 * slack
        return budget.choice_epsilon / scale

    def is_proved(step: int) -> bool:
        """Whether the budget pays for the rate, by the bound π or by the range 2 Δ."""
        used = rate(step)
        small = _exponential_below(-used * (1 << SCORE_BITS))
        pi = (largest - smallest * small) / (largest + others * small)
        loss = used * (delta * (1 + pi) + 2 * slack)
        return budget.of_choice(used * 2 * (delta + slack), lambda: loss).fits(budget)

    return rate(bisect.bisect_left(range(_STEPS), True, key=is_proved))


def _exponential_below(power: Fraction) -> Fraction:
    """A lower bound of exp(power), power < 0, with an error of about 1e-40."""
    if power < -1000:
        return Fraction(0)
    numerator, denominator = map(decimal.Decimal, power.as_integer_ratio())
    context = decimal.Context(prec=50)
    exponential = context.exp(context.divide(numerator, denominator))
    return Fraction(exponential) * (1 - Fraction(1, 10**40))
