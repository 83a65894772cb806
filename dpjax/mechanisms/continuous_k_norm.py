"""K-norm noise in floating point: for studies under `jit` and `vmap`."""

__all__ = ["ContinuousKNorm", "contrasts_of", "refuse_length"]

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import positive, typed_key
from dpjax._types import Key, Scalar
from dpjax.distributions.gamma_draws import draw_gamma
from dpjax.mechanisms import base
from dpjax.mechanisms.norm_groups import (
    Groups,
    Star,
    choose_groups,
    shares,
    unit_variances,
)
from dpjax.mechanisms.row_draws import power, row_groups
from dpjax.privacy import Adjacency, Epsilon, PureDP, exact_epsilon
from dpjax.statistics import Statistic
from dpjax.statistics.block_statistic import BlockStatistic
from dpjax.statistics.contrast_moments import CellsBeyondMargins
from dpjax.tables.gathers import Gather, add, take


class ContinuousKNorm(base.Mechanism):
    r"""Simulate $T(D) + Z$ with density $\propto \exp(-\sum_g \epsilon_g \|z\|_g)$.

    `KNorm` has the same noise in whole numbers, exactly.

    Args:
        statistic: the contrasts, with their adjacency.
        groups: for each group its stars, and for each star the places of its blocks.
        epsilons: the budget of each group, > 0, on the last axis. Traced, for `vmap`;
            leading axes make a stack of mechanisms, for `sweep`.

    Privacy:
        $\sum_g \epsilon_g$-DP in real arithmetic. Floats leak the data in their
        low-order bits. To publish, use `KNorm`.

    Raises:
        ValueError: if a budget is not positive and finite.

    Reference:
        Hardt & Talwar (STOC 2010), the K-norm mechanism.
    """

    statistic: BlockStatistic = eqx.field(static=True)
    groups: Groups = eqx.field(static=True)
    epsilons: Float[Array | np.ndarray, "*stack g"]

    def __check_init__(self):
        positive(epsilons=self.epsilons)

    @classmethod
    def calibrate_many(
        cls, epsilons: Sequence[Epsilon], statistic: Statistic
    ) -> "ContinuousKNorm":
        """Make a stack of mechanisms, one for each budget, with `KNorm.of`'s groups."""
        contrasts = contrasts_of(statistic)
        groups, _ = choose_groups(contrasts)
        parts = [float(share) for share in shares(contrasts, groups)]
        budgets = [float(exact_epsilon(x, "epsilons")) for x in epsilons]
        each = np.outer(budgets, parts).astype(jnp.result_type(float))
        return cls(contrasts, groups, each)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the statistic."""
        return self.statistic.adjacency

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Add noise to `exact`, independently for each vector on the last axis."""
        typed_key(key=key)
        return exact.astype(float) + self.noise(key, exact.shape)

    def noise(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw noise of this shape, whose last axis has the statistic's numbers."""
        refuse_length(shape, self.statistic)
        budgets = jnp.asarray(self.epsilons).astype(float)
        draws = self._simulation.draw(key, shape[:-1], budgets)
        return draws.reshape(shape)

    @cached_property
    def _simulation(self) -> "_Simulation":
        return _Simulation(self.statistic, self.groups)

    def normal_numbers(
        self, values: Real[Array, "*batch m"], n: Scalar | None
    ) -> base.NormalNumbers:
        """Return the cells of all blocks without the means of rows.

        Given the radius, the noise of a cell is a sum of many; only the correlations
        within a row, of cells whose sum is known, are accounted for, by the weights.
        """
        statistic = self.statistic
        variances, group_of = unit_variances(statistic, self.groups)
        cells = np.diff(statistic.counted.offsets)
        whole = [statistic.is_whole(place) for place in range(len(cells))]
        weights = 1 - ~np.repeat(whole, cells) / statistic.row_widths
        units = jnp.asarray(np.repeat(np.sqrt(variances), cells), float)
        epsilons = jnp.asarray(self.epsilons)[..., np.repeat(group_of, cells)]
        return base.NormalNumbers(
            CellsBeyondMargins(statistic),
            statistic.beyond_margins(values, n),
            units / epsilons,
            jnp.asarray(weights, float),
        )

    def guarantee(self) -> PureDP:
        """Return the sum of the budgets, which must not be traced or stacked."""
        budgets = (exact_epsilon(float(x)) for x in self.epsilons)
        return PureDP(sum(budgets, Fraction(0)), self.adjacency)


def contrasts_of(statistic: Statistic) -> BlockStatistic:
    """Return a statistic of blocks of tables; raise `ValueError` for others."""
    if not isinstance(statistic, BlockStatistic):
        raise ValueError(
            "`statistic` must be contrasts of tables for K-norm noise, got "
            f"{statistic.kind}."
        )
    return statistic


def refuse_length(shape: tuple[int, ...], statistic: Statistic) -> None:
    """Raise `ValueError` unless the last axis has the numbers of the statistic."""
    if shape[-1:] != (statistic.length,):
        raise ValueError(
            f"`exact` must have the {statistic.length} numbers of the statistic on "
            f"the last axis, got shape {shape}."
        )


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


class _Simulation:
    """Draws from the continuous K-norm distribution of several groups.

    Rows form parts (the rows of a block in one class), parts form classes, whose norm
    is the largest one of a part, classes form stars, whose norm is their sum, and stars
    form groups, whose norm is the largest one of a star. A uniform point of the unit
    ball of a norm of dimension D has a norm that is distributed as $U^{1/D}$.
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
        place_of = np.zeros(numbers.rows.size + 1, np.uint32)
        cells = np.argsort(np.argsort(order)[numbers.rows], kind="stable")
        place_of[cells] = np.arange(cells.size)
        place_of[-1] = cells.size  # no cell
        self._plus, self._minus = place_of[numbers.plus], place_of[numbers.minus]

    def draw(
        self, key: Key, shape: tuple[int, ...], epsilons: Float[Array, " g"]
    ) -> Float[Array, "batch m"]:
        """Draw noise on all numbers, for all of the leading axes `shape` in one."""
        keys = jr.split(key, math.prod(shape))
        return jax.vmap(self._one, in_axes=(0, None))(keys, epsilons)

    def _one(self, key: Key, epsilons: Float[Array, " g"]) -> Float[Array, " m"]:
        point_key, class_key, group_key = jr.split(key, 3)
        of_part, of_star, *drawn = self._uniforms(point_key)
        each = itertools.accumulate((len(one.needs) for one in self._rows), initial=0)
        pairs = zip(self._rows, itertools.pairwise(each), strict=True)
        rows = [one.draw(drawn[first:last]) for one, (first, last) in pairs]
        radius = jnp.concatenate([norms for _, norms in rows])
        total = self._parts.members(add, radius, 0)
        norm = power(of_part, _like(self._parts.dimension))
        within = self._classes.members(lambda x: x.max(axis=-1), norm, 0)
        spread = draw_gamma(class_key, _shape(self._classes))
        whole = self._stars.members(add, spread * within, 0)
        far = draw_gamma(group_key, _shape(self._groups)) / epsilons
        norm_of_star = power(of_star, _like(self._stars.dimension)) * _like(self._steps)
        by_star = norm_of_star * take(far, self._groups.of) / whole
        by_part = take(take(by_star, self._stars.of) * spread, self._classes.of)
        by_row = take(by_part * norm / total, self._parts.of)
        ends = itertools.accumulate(len(one.rows) for one in self._rows)
        each = jnp.split(by_row, [*ends][:-1])
        pairs = zip(rows, each, strict=True)
        cells = [(points * scale[:, None]).ravel() for (points, _), scale in pairs]
        joined = jnp.concatenate([*cells, _like(np.zeros(1))])
        return take(joined, self._plus) - take(joined, self._minus)

    def _uniforms(self, key: Key) -> list[Float[Array, "..."]]:
        """Draw all uniform numbers together: of parts, of stars, and of rows."""
        shapes = [self._parts.dimension.shape, self._stars.dimension.shape]
        shapes += [shape for one in self._rows for shape in one.needs]
        ends = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        numbers = jnp.split(jr.uniform(key, (ends[-1],)), ends[:-1])
        return [x.reshape(shape) for x, shape in zip(numbers, shapes, strict=True)]


def _like(numbers: np.ndarray) -> Array:
    """Return numbers in the default precision of floats."""
    return jnp.asarray(numbers, float)


def _shape(level: _Level) -> tuple[Array, Array]:
    """Shape and rate of the Gamma distributions of the radii of sets."""
    shapes = jnp.asarray(level.dimension + 1, float)
    return shapes, jnp.ones_like(shapes)
