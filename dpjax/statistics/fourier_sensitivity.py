r"""Sensitivities of Fourier coefficients under the replacement of a record.

Replacing record x by x' changes $c_\gamma$ by $p - p'$, where $p, p' \in \{-1, 0, 1\}$
are products over variables. For such values $|p - p'| = p^2 + p'^2 - pp' - p^2p'^2$,
whose terms are products again, as those of $(p - p')^2$ are. The sum over all $\gamma$
with one support is therefore a signed sum of four products over variables. It is
maximised over the states of each variable. A state is a pair of levels, in x and x'; up
to renaming there are five (two, for a binary variable). Under add-remove the
sensitivity is the number of coefficients.
"""

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dpjax.tables.fourier_basis import supports
from dpjax.tables.layout import MOST_CELLS

# For one variable with r levels, where "r" means r - 1: sums over its contrasts of p²,
# p'², pp' and p²p'², for (x, x') = (0, 0), (1, 1), (0, 1), (1, 0) and (1, 2). All other
# pairs of levels are equivalent to one of these.
_SUMS = (("r",) * 4, (1, 1, 1, 1), ("r", 1, -1, 1), (1, "r", -1, 1), (1, 1, 0, 0))

_MOST_TABLES = 1 << 20
_MOST_STATES = 1 << 22  # of a factor in the elimination
_MOST_TERMS = 1 << 24  # of a factor: its states times its supports
_MOST_WORK = 1 << 26  # states of all factors in the elimination: half a second
_MOST_WORK_A_STATE = 1 << 6  # further work per state of the initial factors
_MOST_COMPOSITIONS = 1 << 20  # times the number of variables

States = np.ndarray  # (state, term): the four sums of a variable in each state


def states(size: int) -> States:
    """Return a matrix with a row for each state of a variable (see `_SUMS`)."""
    useful = _SUMS if size > 2 else (_SUMS[1], _SUMS[2])
    return np.array([[size - 1 if x == "r" else x for x in row] for row in useful])


class Measured(NamedTuple):
    """How the change of one coefficient is measured."""

    signs: tuple[int, int, int, int]  # of the four sums
    binary: float  # weight of a coefficient of binary variables, which is halved
    most: float  # of another coefficient


CHANGES = Measured((1, 1, -1, -1), 0.5, 2.0)
"""Absolute values, whose sum is the L1 norm."""

SQUARES = Measured((1, 1, -2, 0), 0.25, 4.0)
"""Squares, whose sum is the squared L2 norm."""


def largest_change_over_groups(
    sizes: Sequence[int],
    groups: Sequence[tuple[int, ...]],
    measured: Measured = CHANGES,
) -> tuple[float, bool]:
    r"""Maximise the change of Fourier coefficients when a record is replaced.

    The change is $\sum_\gamma |w_\gamma (p - p')|$, or the sum of squares, for all
    coefficients $c_\gamma$ whose variables are in one of the `groups`. The old and the
    new record add p and p' to $c_\gamma$; $w_\gamma$ is ½ if all variables of $\gamma$
    have two levels, else 1.

    Returns:
        The maximum and True; or, if it is too expensive, an upper bound and False.
    """
    if len(groups) == 1 or any(_terms(sizes, group) > _MOST_TERMS for group in groups):
        alone = [
            largest_change_of_order([sizes[i] for i in group], len(group), measured)
            for group in groups
        ]
        exact = len(groups) == 1 and alone[0][1]
        return sum(change for change, _ in alone), exact
    factors, seen = [], set()
    for group in groups:
        new = [s for s in supports(group) if s and s not in seen]
        seen.update(new)
        factors.append(_factor(sizes, tuple(sorted(group)), new, measured))
    exact = _eliminate(factors)
    if exact is not None:
        return exact, True
    return sum(float(table.max()) for _, table in factors), False


def largest_change_of_order(
    sizes: Sequence[int], order: int, measured: Measured = CHANGES
) -> tuple[float, bool]:
    """Maximise the change for all indices of at most `order` variables.

    The change is as in `largest_change_over_groups`. Variables with equally
    many levels are exchangeable: only the number of variables in each state matters.

    Returns:
        The maximum and True; or, if it is too expensive, an upper bound and False.
    """
    kinds = sorted(Counter(sizes).items())
    cases = math.prod(
        math.comb(number + len(states(size)) - 1, number) for size, number in kinds
    )
    if cases * len(sizes) > _MOST_COMPOSITIONS:
        total = sum(elementary([size - 1 for size in sizes], order))
        return measured.most * (total - 1), False
    whole = binary = _one(order)
    for size, number in kinds:
        own = _polynomials(size, number, order)
        binary = own if size == 2 else binary  # the first, since kinds are sorted
        whole = _times(whole[:, None], own).reshape(-1, *own.shape[1:])
    change, of_binary = (x.sum(axis=-1) @ measured.signs for x in (whole, binary))
    of_binary = np.repeat(of_binary, len(whole) // len(binary))
    return float((change - (1 - measured.binary) * of_binary).max()), True


def _terms(sizes: Sequence[int], group: tuple[int, ...]) -> int:
    return math.prod(2 * len(states(sizes[i])) for i in group)


def _factor(
    sizes: Sequence[int],
    group: tuple[int, ...],
    own: Iterable[tuple[int, ...]],
    measured: Measured,
) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the weighted change of the coefficients with supports in `own`, by state.

    The change is linear in the weights of the supports. For one variable after the
    other, the axis "in the support or not" is contracted to an axis of its states.
    """
    weights = np.zeros((2,) * len(group))
    for support in own:
        weight = measured.binary if all(sizes[i] == 2 for i in support) else 1.0
        weights[tuple(int(i in support) for i in group)] = weight
    change = np.zeros([len(states(sizes[i])) for i in group])
    for term, sign in enumerate(measured.signs):
        table = weights
        for i in group:
            shares = states(sizes[i])[:, term]
            table = np.tensordot(table, [np.ones(len(shares)), shares], axes=(0, 0))
        change = change + sign * table
    return group, change


def _eliminate(factors: list[tuple[tuple[int, ...], np.ndarray]]) -> float | None:
    """Maximise a sum of tables by variable elimination; None if too expensive."""
    sizes = {i: t.shape[g.index(i)] for g, t in factors for i in g}
    left = _MOST_WORK + _MOST_WORK_A_STATE * sum(table.size for _, table in factors)
    holding = {i: {} for i in sizes}  # by variable: its factors, by number
    neighbours = {i: set() for i in sizes}
    for number, (group, table) in enumerate(factors):
        for i in group:
            holding[i][number] = group, table
            neighbours[i].update(group)
    queue = [(len(neighbours[i]), i) for i in sizes]
    heapq.heapify(queue)
    maximum = 0.0
    for number in range(len(factors), len(factors) + len(sizes)):
        variable = _next(queue, neighbours)
        scope = tuple(sorted(neighbours.pop(variable)))
        states = math.prod(sizes[i] for i in scope)
        spent = holding.pop(variable)
        left -= states * len(spent)
        if states > _MOST_STATES or left < 0:
            return None
        total = _sum(spent.values(), scope, sizes)
        rest = tuple(i for i in scope if i != variable)
        largest = total.max(axis=scope.index(variable))
        maximum += 0.0 if rest else float(largest)
        for i in rest:
            for old, (group, _) in spent.items():
                if i in group:
                    del holding[i][old]
            holding[i][number] = rest, largest
            neighbours[i].update(rest)
            neighbours[i].discard(variable)
            heapq.heappush(queue, (len(neighbours[i]), i))
    return maximum


def _next(queue: list[tuple[int, int]], neighbours: dict[int, set[int]]) -> int:
    """Return the variable with the fewest neighbours, and drop outdated entries."""
    while True:
        number, variable = heapq.heappop(queue)
        if variable in neighbours and len(neighbours[variable]) == number:
            return variable


def _sum(
    factors: Iterable[tuple[tuple[int, ...], np.ndarray]],
    scope: tuple[int, ...],
    sizes: dict[int, int],
) -> np.ndarray:
    total = np.zeros([sizes[i] for i in scope])
    for group, table in factors:
        total = total + table.reshape([sizes[i] if i in group else 1 for i in scope])
    return total


def _compositions(total: int, parts: int) -> Iterable[tuple[int, ...]]:
    """Yield all ways to distribute `total` variables over `parts` states."""
    for bars in itertools.combinations(range(total + parts - 1), parts - 1):
        edges = (-1, *bars, total + parts - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def _polynomials(size: int, number: int, order: int) -> np.ndarray:
    """Return the products of 1 + p z over variables of one size, as coefficients of z.

    Their axes are composition, term and degree. They are at most 2^28.
    """
    ways = np.array(list(_compositions(number, len(states(size)))))
    product = _one(order)
    for state, counts in zip(states(size).tolist(), ways.T, strict=True):
        powers = [
            [[math.comb(k, j) * p**j for j in range(order + 1)] for p in state]
            for k in range(number + 1)
        ]
        product = _times(product, np.array(powers)[counts])
    return product


def _one(order: int) -> np.ndarray:
    return np.eye(1, order + 1, dtype=np.int64)[None].repeat(len(CHANGES.signs), axis=1)


def _times(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Multiply polynomials, and truncate the products to their common degree."""
    product = np.zeros(np.broadcast_shapes(left.shape, right.shape), np.int64)
    for degree in range(left.shape[-1]):
        rest = left.shape[-1] - degree
        product[..., degree:] += left[..., degree, None] * right[..., :rest]
    return product


def elementary(values: Sequence[int], order: int) -> list[int]:
    """Return the elementary symmetric polynomials of `values`, up to degree `order`."""
    result = [1] + [0] * order
    for value in values:
        for degree in range(order, 0, -1):
            result[degree] += value * result[degree - 1]
    return result


def refuse_order(order: int, sizes: Sequence[int]) -> None:
    """Raise if there are too many tables or cells, without listing them."""
    number = len(sizes)
    if order > number:
        raise ValueError(
            f"`order` must be at most the number of variables, {number}, got {order}."
        )
    # Binomials from the 21st on are above 2^20, and so are tables of 2^29 cells.
    few = min(order, number - order, 21)
    cells = order < 29 and math.comb(number, few) <= _MOST_TABLES
    if not cells or elementary(sizes, order)[order] > MOST_CELLS:
        raise ValueError(
            f"`order` must give at most {_MOST_TABLES} tables and {MOST_CELLS} "
            f"cells, got {order} of {number} variables: use fewer."
        )
