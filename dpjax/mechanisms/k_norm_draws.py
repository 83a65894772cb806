"""Floating-point draws of K-norm noise, for studies under `jit` and `vmap`."""

__all__ = ["Simulation"]

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.mechanisms.norm_groups import Star
from dpjax.statistics.contrasts import Contrasts
from dpjax.tables.gathers import Gather, add, take


class _Level(NamedTuple):
    """A partition of members into sets."""

    of: np.ndarray  # the set of each member
    members: Gather  # the members of each set
    dimension: np.ndarray  # of each set

    @classmethod
    def make(cls, of: Sequence[int] | np.ndarray, dimensions: np.ndarray) -> "_Level":
        """Make the partition in which member i, of dimension d_i, is in set `of[i]`."""
        labels, places = np.asarray(of), np.arange(len(of))
        sums = np.bincount(labels, dimensions)
        members = Gather.by_label(labels, places, sums.size, places.size)
        return cls(labels.astype(np.uint32), members, sums)


class Simulation:
    """Draws from the continuous K-norm distribution of several groups.

    Rows form parts (the rows of a block in one class), parts form classes, whose norm
    is the largest one of a part, classes form stars, whose norm is their sum, and stars
    form groups, whose norm is the largest one of a star. A uniform point of the unit
    ball of a norm of dimension D has a norm that is distributed as $U^{1/D}$.
    """

    def __init__(
        self,
        statistic: Contrasts,
        groups: Sequence[Sequence[Sequence[int]]],
        epsilons: Sequence[Fraction],
    ):
        self._statistic = statistic
        stars = [Star(statistic, tuple(x)) for group in groups for x in group]
        firsts = np.cumsum([0, *(rows for rows, _, _ in statistic.shapes)])
        part_of = np.zeros(firsts[-1], int)
        class_of: list[int] = []
        star_of: list[int] = []
        for number, star in enumerate(stars):
            for place in star.places:
                for s, rows in enumerate(star.rows_by_class(place)):
                    part_of[firsts[place] + rows] = len(class_of)
                    class_of.append(len(star_of) + s)
            star_of += [number] * star.classes
        inner = np.repeat(*np.array([(d, rows) for rows, _, d in statistic.shapes]).T)
        self._parts = _Level.make(part_of, inner)
        self._classes = _Level.make(class_of, self._parts.dimension)
        self._stars = _Level.make(star_of, self._classes.dimension)
        group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        self._groups = _Level.make(group_of, self._stars.dimension)
        self._steps = np.array([float(star.steps) for star in stars])
        self._epsilons = np.array([float(x) for x in epsilons])
        self._rows = statistic.numbers.rows
        counts = [i for i in range(len(firsts) - 1) if statistic.is_counts(i)]
        self._positive, self._drawn, self._laws = _laws(statistic, counts, firsts)
        self._nonzero = inner
        cells = np.arange(self._rows.size)
        widths = statistic.numbers.widths
        self._row_sums = Gather.by_label(self._rows, cells, widths.size, cells.size)
        wide = widths[self._rows]
        self._by_width = [
            cells[wide == w].reshape(-1, w).astype(np.uint32) for w in np.unique(wide)
        ]
        joined = np.concatenate([x.ravel() for x in self._by_width])
        self._back = np.argsort(joined).astype(np.uint32)
        public = [i for i in counts if not statistic.is_whole(i)]
        self._simplex = np.isin(np.arange(firsts[-1]), firsts[public])
        # The last cell of a table of counts has no number: it comes after the others.
        absent = statistic.numbers.of_cell == statistic.length
        self._without_number = absent & self._simplex[self._rows]

    def draw(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "*batch m"]:
        """Draw noise on all numbers, with these leading axes."""
        draws = jax.vmap(self._one)(jr.split(key, math.prod(shape)))
        return draws.reshape(*shape, -1)

    def _one(self, key: Key) -> Float[Array, " m"]:
        keys = jr.split(key, 5)
        point, radius = self._points(keys[0])
        total = self._parts.members(add, radius, 0)
        norm = _power(keys[1], self._parts.dimension)
        within = self._classes.members(lambda x: x.max(axis=-1), norm, 0)
        spread = draw_gamma(keys[2], _shape(self._classes))
        whole = self._stars.members(add, spread * within, 0)
        far = draw_gamma(keys[3], _shape(self._groups)) / _like(self._epsilons)
        norm_of_star = _power(keys[4], self._stars.dimension) * _like(self._steps)
        by_star = norm_of_star * take(far, self._groups.of) / whole
        by_part = take(take(by_star, self._stars.of) * spread, self._classes.of)
        by_row = take(by_part * norm / total, self._parts.of)
        cells = jnp.append(point * take(by_row, self._rows), _like(np.zeros(1)))
        number = self._statistic.numbers
        return take(cells, number.plus) - take(cells, number.minus)

    def _points(self, key: Key) -> tuple[Float[Array, " c"], Float[Array, " rows"]]:
        """Draw points with independent directions in the rows, and their norms."""
        size_key, order_key, number_key, radius_key = jr.split(key, 4)
        rows = self._rows
        size = jr.exponential(size_key, rows.shape)
        order = jr.uniform(order_key, rows.shape) + _like(self._without_number)
        rank = self._ranks(order)
        positive = self._numbers_of_positive(number_key)
        up = rank < take(positive, rows)
        down = ~up & (rank < _like(self._nonzero[rows]))
        sides = jnp.stack([jnp.where(up, size, 0), jnp.where(down, size, 0)])
        sums = self._row_sums(add, sides, 0)
        inside = jnp.stack([positive, _like(self._nonzero) - positive])
        norms = jr.uniform(radius_key, inside.shape) ** (1 / jnp.maximum(inside, 1))
        norms = jnp.where(inside > 0, norms, 0)
        simplex = jnp.asarray(self._simplex)
        chosen = jnp.broadcast_to(simplex, norms.shape)
        factors = jnp.where(chosen, norms / jnp.where(sums > 0, sums, 1), 1)
        above, below = take(factors, rows) * sides
        radius = jnp.where(simplex, norms.max(axis=0), sums.sum(axis=0))
        return above - below, radius

    def _numbers_of_positive(self, key: Key) -> Float[Array, " rows"]:
        """Draw how many cells of each row are positive."""
        laws = _like(self._laws)
        uniform = jnp.broadcast_to(jr.uniform(key, (len(laws), 1)), laws.shape)
        drawn = (uniform > laws).sum(axis=1).astype(float)
        return take(jnp.append(_like(self._positive), drawn), self._drawn)

    def _ranks(self, order: Float[Array, " c"]) -> Array:
        """Return the rank of each cell in its row."""
        ranks = [
            take(order, cells).argsort(axis=-1).argsort(axis=-1).ravel()
            for cells in self._by_width
        ]
        return take(jnp.concatenate(ranks), self._back).astype(float)


def _laws(
    statistic: Contrasts, counts: Sequence[int], firsts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of positive cells: fixed ones, where to find a row's, cumulative laws."""
    fixed = statistic.numbers.widths // 2
    place, laws = np.arange(fixed.size), []
    for number, i in enumerate(counts):
        k = statistic.shapes[i][2]
        power = 1 if statistic.is_whole(i) else 2
        ways = [math.comb(k, j) ** power for j in range(k + 1)]
        laws.append([float(Fraction(x, sum(ways))) for x in ways])
        place[firsts[i]] = fixed.size + number
    width = max(map(len, laws))
    table = np.array([np.pad(law, (0, width - len(law))) for law in laws])
    return fixed, place.astype(np.uint32), table.cumsum(axis=1)


def _like(numbers: np.ndarray) -> Array:
    """Return numbers in the default precision of floats."""
    return jnp.asarray(numbers, float)


def _shape(level: _Level) -> tuple[Array, Array]:
    """Shape and rate of the Gamma distributions of the radii of sets."""
    shapes = jnp.asarray(level.dimension + 1, float)
    return shapes, jnp.ones_like(shapes)


def _power(key: Key, dimension: np.ndarray) -> Float[Array, " k"]:
    """Draw the norms of uniform points of unit balls of these dimensions."""
    return jr.uniform(key, dimension.shape) ** _like(1 / dimension)
