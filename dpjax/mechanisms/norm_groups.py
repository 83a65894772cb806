r"""Groups of blocks with one norm each, and their shares of the budget.

Blocks whose rows are named by common variables form a star: a record changes the rows
of one combination of the levels of those variables, so the norm is the sum over the
combinations of the largest norm of a block. Stars form groups, whose norm is the
largest one of a star. A group of dimension D whose cells have the total variance v in
the unit ball has the noise of total variance $(D + 1)(D + 2) v / \epsilon_g^2$. For
budgets with sum ε, the sum over groups is least if $\epsilon_g$ is proportional to
$((D + 1)(D + 2) v)^{1/3}$.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64

from dpjax.noise.norm_balls import Ball, Cells, Classes, Rows, Simplex
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics.block_statistic import BlockStatistic

Groups = tuple[tuple[tuple[int, ...], ...], ...]
"""For each group its stars, and for each star the places of its blocks."""

MOST = 1 << 10  # numbers of a group: more make exact numbers of points slow
_PARTS = 1 << 12  # budgets are multiples of this part of ε, nearly


@dataclass(frozen=True)
class Star:
    """Blocks of a statistic, by their places, and the variables that name its classes.

    Args:
        statistic: the statistic.
        places: the blocks; one alone, or several with common known margins.
    """

    statistic: BlockStatistic
    places: tuple[int, ...]

    def __post_init__(self):
        alone = len(self.places) == 1
        if not self.places or not (alone or self.common):
            raise ValueError("`stars` must be of blocks with a common known margin.")

    @cached_property
    def common(self) -> tuple[int, ...]:
        """The variables of the classes, in order."""
        first, *others = (self.statistic.blocks[i].given for i in self.places)
        return tuple(i for i in first if all(i in other for other in others))

    @cached_property
    def classes(self) -> int:
        """The number of combinations of the levels of `common`."""
        sizes = self.statistic.sizes
        return math.prod(sizes[i] for i in self.common)

    @property
    def steps(self) -> int:
        """Steps of the radius of `ball` in one unit of the norm."""
        counts = self.statistic.is_counts(self.places[0])
        return 2 if self.statistic.adjacency == REPLACE_ONE and not counts else 1

    def rows_by_class(self, place: int) -> np.ndarray:
        """The rows of a block in each class, as a matrix."""
        sizes, given = self.statistic.sizes, self.statistic.blocks[place].given
        levels = np.arange(math.prod(sizes[i] for i in given))
        levels = levels.reshape([sizes[i] for i in given])
        first = [given.index(i) for i in self.common]
        rest = [axis for axis in range(len(given)) if axis not in first]
        return levels.transpose([*first, *rest]).reshape(self.classes, -1)

    def ball(self) -> Ball:
        """Return the unit ball of the star's norm."""
        statistic, place = self.statistic, self.places[0]
        start = statistic.starts[place]
        if statistic.is_counts(place):
            places = tuple(range(start, statistic.starts[place + 1]))
            return Cells(places) if statistic.is_whole(place) else Simplex(places)
        return Classes(tuple(zip(*map(self._tables, self.places), strict=True)))

    def _tables(self, place: int) -> list[Rows]:
        inner = self.statistic.shapes[place][2]
        firsts = self.statistic.starts[place] + inner * self.rows_by_class(place)
        return [
            Rows(tuple(tuple(range(x, x + inner)) for x in row))
            for row in firsts.tolist()
        ]

    @cached_property
    def dimension(self) -> int:
        """The dimension of the ball."""
        shapes = self.statistic.shapes
        return sum(shapes[i][0] * shapes[i][2] for i in self.places)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        """For each block, the variance of a cell, uniformly in the ball.

        Cells of rows are taken without the mean of the row.
        """
        statistic, place = self.statistic, self.places[0]
        shapes = [statistic.shapes[i] for i in self.places]
        if statistic.is_counts(place):
            k = shapes[0][2]
            return (2 / _moment(k) if statistic.is_whole(place) else _of_simplex(k),)
        parts = [rows // self.classes * inner for rows, _, inner in shapes]
        ratio = _moment(sum(parts)) / _moment(self.dimension) * self.steps**2
        pairs = zip(parts, shapes, strict=True)
        return tuple(ratio * _of_row(x[1]) / _moment(k) for k, x in pairs)

    @cached_property
    def variance(self) -> float:
        """Sum of the variances of all cells of the tables, uniformly in the ball."""
        shapes = (self.statistic.shapes[i] for i in self.places)
        cells = (rows * width for rows, width, _ in shapes)
        return sum(x * v for x, v in zip(cells, self.variances, strict=True))


def _moment(dimension: int) -> int:
    """Expected square of a Gamma variable with shape D + 1."""
    return (dimension + 1) * (dimension + 2)


def _of_row(size: int) -> float:
    """Variance of a cell without its row's mean, with density exp(-distance)."""
    skew = size // 2 - (size - 1) // 2
    return (2 * (size - 1) - (size - 1 + skew**2) / size) / size


def _of_simplex(k: int) -> float:
    """Variance of a cell, uniformly in the unit ball of `Simplex`."""
    ways = [math.comb(k, j) ** 2 for j in range(k + 1)]
    squares = (
        2 * j / ((j + 1) * (j + 2)) + 2 * (k - j) / ((k - j + 1) * (k - j + 2))
        for j in range(k + 1)
    )
    total = sum(Fraction(x) * way for x, way in zip(squares, ways, strict=True))
    return float(total / sum(ways)) / k


def balls(
    statistic: BlockStatistic, stars: Sequence[Sequence[int]]
) -> tuple[tuple, tuple]:
    """Return the unit balls of the stars of a group, and the steps of their radii."""
    made = [Star(statistic, tuple(places)) for places in stars]
    return tuple(star.ball() for star in made), tuple(star.steps for star in made)


def are_small(statistic: BlockStatistic, groups: Groups) -> bool:
    """Return whether every group has at most `MOST` numbers."""
    sizes = [rows * inner for rows, _, inner in statistic.shapes]
    return all(sum(sizes[i] for star in x for i in star) <= MOST for x in groups)


@functools.lru_cache(maxsize=16)
def choose_groups(statistic: BlockStatistic) -> tuple[Groups, float]:
    """Choose stars and groups of small noise; return them and the variance at ε = 1.

    The variance is the sum over all cells of the blocks.
    """
    alone = [Star(statistic, (i,)) for i in range(len(statistic.blocks))]
    found = (_grouped(stars) for stars in (_merged(alone), alone))
    groups, variance = min(found, key=lambda x: x[1])
    return tuple(tuple(x.places for x in group) for group in groups), variance


def groups_of_tables(
    statistic: BlockStatistic, parts: Sequence[str | Sequence[str]]
) -> Groups:
    """Choose the stars of given groups of tables, of small total variance.

    Args:
        statistic: the statistic.
        parts: for each group the names of its tables, which are those of the child
            variables: in a sequence, or in a text with commas between them.

    Raises:
        ValueError: if the groups do not have each table of `statistic` once.
    """
    tables = statistic.names_of_tables
    blocks = [frozenset(block.group) for block in statistic.blocks]
    groups = [_names(part, tables) for part in parts]
    if sorted(itertools.chain(*groups)) != sorted(tables):
        raise ValueError(
            "`split` must have each measured table once, alone or with others as in "
            f"'x,y', and no other: {', '.join(tables)}; got {list(parts)!s:.200}."
        )
    found = []
    for group in groups:
        places = sorted(blocks.index(tables[name]) for name in group)
        found.append(_merged([Star(statistic, (i,)) for i in places]))
    return tuple(tuple(star.places for star in stars) for stars in found)


def _names(part: str | Sequence[str], tables: Mapping[str, object]) -> Sequence[str]:
    if not isinstance(part, str):
        return part
    return [part] if part in tables else [name.strip() for name in part.split(",")]


def _merged(stars: Sequence[Star]) -> list[Star]:
    """Merge the two stars whose variances fall most, until none do."""
    left = dict(enumerate(stars))
    gains = {}

    def compare(i: int, j: int) -> None:
        one, other = left[i], left[j]
        if one.dimension + other.dimension > MOST:
            return
        if {*one.common} & {*other.common}:
            both = Star(one.statistic, (*one.places, *other.places))
            gain = one.variance + other.variance - both.variance
            if gain > 1e-12:
                gains[i, j] = gain, both

    for i, j in itertools.combinations(left, 2):
        compare(i, j)
    while gains:
        pair = max(gains, key=lambda x: gains[x][0])
        both = gains[pair][1]
        for i in pair:
            del left[i]
        gains = {x: value for x, value in gains.items() if not {*x} & {*pair}}
        new = max([*left, *pair]) + 1
        left[new] = both
        for i in list(left):
            if i != new:
                compare(i, new)
    return list(left.values())


def _grouped(stars: Sequence[Star]) -> tuple[list[list[Star]], float]:
    """Cut the stars, ordered by dimension, into groups of least total variance."""
    order = sorted(stars, key=lambda star: (star.dimension, star.places))
    size = np.cumsum([0, *(star.dimension for star in order)])
    spread = np.cumsum([0.0, *(star.variance for star in order)])
    best, cut = np.zeros(len(order) + 1), np.zeros(len(order) + 1, int)
    for end in range(1, len(order) + 1):
        d = size[end] - size[:end]
        costs = best[:end] + np.cbrt((d + 1.0) * (d + 2) * (spread[end] - spread[:end]))
        costs[:-1][d[:-1] > MOST] = np.inf
        cut[end] = int(costs.argmin())
        best[end] = costs[cut[end]]
    groups, end = [], len(order)
    while end:
        groups.append(order[cut[end] : end])
        end = cut[end]
    return groups[::-1], float(best[-1] ** 3)


def shares(
    statistic: BlockStatistic, groups: Sequence[Sequence[Sequence[int]]]
) -> list[Fraction]:
    """Return the groups' shares of the budget, of least total variance, with sum 1."""
    costs = []
    for group in groups:
        stars = [Star(statistic, tuple(places)) for places in group]
        d = sum(star.dimension for star in stars)
        costs.append(math.cbrt(_moment(d) * sum(star.variance for star in stars)))
    parts = [max(1, round(_PARTS * cost / sum(costs))) for cost in costs]
    return [Fraction(part, sum(parts)) for part in parts]


def unit_variances(
    statistic: BlockStatistic, groups: Sequence[Sequence[Sequence[int]]]
) -> tuple[Float64[np.ndarray, " blocks"], Int64[np.ndarray, " blocks"]]:
    """Return the variance of a cell of each block at budget 1, and the block's group.

    Cells are taken without the means of their rows.
    """
    found = np.zeros(len(statistic.blocks))
    group_of = np.zeros(len(statistic.blocks), np.int64)
    for number, group in enumerate(groups):
        stars = [Star(statistic, tuple(places)) for places in group]
        square = _moment(sum(star.dimension for star in stars))
        for star in stars:
            found[[*star.places]] = square * np.array(star.variances)
            group_of[[*star.places]] = number
    return found, group_of
