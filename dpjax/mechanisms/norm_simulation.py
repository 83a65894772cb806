"""Draws and norms of continuous K-norm noise on contingency tables."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Float64

from dpjax._types import Key
from dpjax.mechanisms.norm_groups import Star
from dpjax.mechanisms.row_draws import log_factorial, power, row_groups
from dpjax.statistics.block_statistic import BlockStatistic
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

    def reduce(
        self, function: Callable[[Array], Array], values: Float[Array, "members n"]
    ) -> Float[Array, "sets n"]:
        """Reduce values >= 0 over the members of each set, for each of n draws."""
        by_draw = jnp.moveaxis(values, 0, -1)
        return jnp.moveaxis(self.members(function, by_draw, 0), -1, 0)


class NormSimulation:
    """Draws from the continuous K-norm distribution of several groups, and norms.

    Rows form parts (the rows of a block in one class), parts form classes, whose norm
    is the largest one of a part, classes form stars, whose norm is their sum, and stars
    form groups, whose norm is the largest one of a star. A uniform point of the unit
    ball of a norm of dimension D has a norm that is distributed as $U^{1/D}$. The noise
    of a group has a norm with a Gamma distribution of shape D, and so has each part of
    a sum of norms. They are sums of the exponential sizes of cells, which directions
    do not depend on.
    """

    def __init__(
        self,
        statistic: BlockStatistic,
        groups: Sequence[Sequence[Sequence[int]]],
    ):
        self._statistic = statistic
        stars = [Star(statistic, tuple(x)) for group in groups for x in group]
        self._rows = row_groups(statistic)
        order = np.concatenate([group.rows for group in self._rows])
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
        self._parts = _Level.make(part_of[order], inner[order])
        self._classes = _Level.make(class_of, self._parts.dimension)
        self._stars = _Level.make(star_of, self._classes.dimension)
        group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        self._groups = _Level.make(group_of, self._stars.dimension)
        self._steps = np.array([float(star.steps) for star in stars])
        numbers = statistic.numbers
        firsts = np.cumsum([0, *numbers.widths])
        self._numbers = [  # of the cells of each row; the last one is 0
            numbers.of_cell[firsts[one.rows, None] + np.arange(one.width)]
            for one in self._rows
        ]
        place_of = np.zeros(numbers.rows.size + 1, np.uint32)
        cells = np.argsort(np.argsort(order)[numbers.rows], kind="stable")
        place_of[cells] = np.arange(cells.size)
        place_of[-1] = cells.size  # no cell
        self._plus, self._minus = place_of[numbers.plus], place_of[numbers.minus]

    def draw(
        self, key: Key, shape: tuple[int, ...], epsilons: Float[Array, " g"]
    ) -> Float[Array, "batch m"]:
        """Draw noise on all numbers, for all of the leading axes `shape` in one.

        Inside, draws are on the last axis, along which all operations are the same.
        """
        of_part, of_star, *drawn = self._uniforms(key, math.prod(shape))
        each = itertools.accumulate((len(one.needs) for one in self._rows), initial=0)
        pairs = zip(self._rows, itertools.pairwise(each), strict=True)
        rows = [one.draw(drawn[first:last]) for one, (first, last) in pairs]
        radius, size = (jnp.concatenate(x) for x in list(zip(*rows, strict=True))[1:])
        # Sums of sizes have Gamma distributions, and do not depend on directions.
        size_of_class = self._classes.reduce(add, self._parts.reduce(add, size))
        size_of_star = self._stars.reduce(add, size_of_class)
        size_of_group = self._groups.reduce(add, size_of_star)
        norm = power(of_part, _column(self._parts.dimension))
        within = self._classes.reduce(_largest, norm)
        norm_of_star = power(of_star, _column(self._stars.dimension))
        largest = self._groups.reduce(_largest, norm_of_star)
        far = size_of_group / (epsilons[:, None] * largest)
        scale = norm_of_star * _column(self._steps) / size_of_star
        by_star = scale * far[self._groups.of]
        by_class = by_star[self._stars.of] * size_of_class / within
        total = self._parts.reduce(add, radius)
        by_row = (by_class[self._classes.of] * norm / total)[self._parts.of]
        ends = itertools.accumulate(len(one.rows) for one in self._rows)
        each = jnp.split(by_row, [*ends][:-1])
        pairs = zip(rows, each, strict=True)
        cells = [points * scale[:, None] for (points, *_), scale in pairs]
        joined = [x.reshape(-1, x.shape[-1]) for x in cells]
        every = jnp.concatenate([*joined, jnp.zeros_like(by_row[:1])])
        return jnp.moveaxis(every[self._plus] - every[self._minus], 0, -1)

    def norms(self, noise: Float[Array, "*batch m"]) -> Float[Array, "*batch g"]:
        """Return the norm of each group."""
        zero = jnp.zeros((*noise.shape[:-1], 1), noise.dtype)
        padded = jnp.concatenate([noise, zero], axis=-1)
        pairs = zip(self._rows, self._numbers, strict=True)
        rows = [one.norms(take(padded, cells)) for one, cells in pairs]
        parts = self._parts.members(add, jnp.concatenate(rows, axis=-1), 0)
        classes = self._classes.members(_largest, parts, 0)
        stars = self._stars.members(add, classes, 0)
        stars = stars / jnp.broadcast_to(_like(self._steps), stars.shape)
        return self._groups.members(_largest, stars, 0)

    @cached_property
    def log_volumes(self) -> Float64[np.ndarray, " g"]:
        """Logarithm of the volume of the unit ball of each group's norm.

        A sum of norms of dimensions d has a ball whose volume times (Σ d)! is the
        product of the volumes times d!; a maximum has the product of the balls.
        """
        rows = np.concatenate([one.log_points for one in self._rows])
        parts = np.bincount(self._parts.of, rows)
        balls = parts - log_factorial(self._parts.dimension)
        classes = np.bincount(self._classes.of, balls)
        classes = classes + log_factorial(self._classes.dimension)
        stars = np.bincount(self._stars.of, classes)
        stars = stars - log_factorial(self._stars.dimension)
        stars = stars + self._stars.dimension * np.log(self._steps)
        return np.bincount(self._groups.of, stars)

    @property
    def dimensions(self) -> Float64[np.ndarray, " g"]:
        """Dimension of each group."""
        return self._groups.dimension

    def _uniforms(self, key: Key, number: int) -> list[Float[Array, "..."]]:
        """Draw all uniform numbers together: of parts, of stars, and of rows."""
        shapes = [self._parts.dimension.shape, self._stars.dimension.shape]
        shapes += [shape for one in self._rows for shape in one.needs]
        ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        least = jnp.finfo(jnp.result_type(float)).eps / 2  # no cell has size 0
        uniform = jr.uniform(key, (ends[-1], number), minval=least)
        drawn = jnp.split(uniform, ends[:-1])
        return [x.reshape(*shape, -1) for x, shape in zip(drawn, shapes, strict=True)]


def _largest(values: Array) -> Array:
    return values.max(axis=-1)


def _like(numbers: np.ndarray) -> Array:
    """Return numbers in the default precision of floats."""
    return jnp.asarray(numbers, float)


def _column(numbers: np.ndarray) -> Array:
    """Return numbers that are the same in all draws."""
    return _like(numbers)[:, None]
