r"""Integer points of balls, by coefficients: sums, products and uniform draws.

The number of integer points in a ball of radius R is $\sum_j m_j \binom{R}{j}$, with
coefficients m that are whole numbers ≥ 0. If points with j nonzero parts are the
compositions of their norm into j parts, a sum of norms has the product of the
generating functions $\sum_j m_j s^j$.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from dpjax.noise.exact_choice import Bits, drawn_below

Below = Callable[[int], int]
"""A function from k to a uniform integer from 0 to k - 1."""

Newton = tuple[int, ...]
"""Coefficients m of a number of points; the degree is the dimension."""


def below_from(bits: Bits) -> Below:
    """Return a function that draws uniform integers below a bound from random bits."""
    return functools.partial(drawn_below, bits)


def pick(weights: Iterable[int], below: Below) -> int:
    """Draw an index with probability exactly proportional to its weight."""
    sums = list(itertools.accumulate(weights))
    drawn = below(sums[-1])
    return next(i for i, upper in enumerate(sums) if drawn < upper)


def points(newton: Newton, radius: int) -> int:
    """Return the number of integer points in the ball of this radius."""
    total, chosen = 0, 1
    for j, m in enumerate(newton[: radius + 1]):
        total += m * chosen
        chosen = chosen * (radius - j) // (j + 1)
    return total


def differences(values: Sequence[int]) -> Newton:
    """Return the coefficients m from the numbers of points for radii 0, 1, …, D."""
    left, found = list(values), []
    while left:
        found.append(left[0])
        left = [after - before for before, after in itertools.pairwise(left)]
    return tuple(found)


@functools.lru_cache(maxsize=256)
def largest(parts: tuple[Newton, ...]) -> Newton:
    """Coefficients of the product of the numbers of points."""
    if len(parts) == 1:
        return parts[0]
    radii = range(sum(len(part) - 1 for part in parts) + 1)
    return differences(
        [math.prod(points(x, radius) for x in parts) for radius in radii]
    )


@functools.lru_cache(maxsize=256)
def product(parts: tuple[Newton, ...]) -> Newton:
    """Product of generating functions; equal halves are multiplied once."""
    if len(parts) < 2:
        return parts[0] if parts else (1,)
    half = len(parts) // 2
    return _times(product(parts[:half]), product(parts[half:]))


@functools.lru_cache(maxsize=256)
def _times(one: Newton, other: Newton) -> Newton:
    result = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] += a * b
    return tuple(result)


def split(parts: tuple[Newton, ...], total: int, below: Below) -> list[int]:
    """Draw how many of `total` nonzero parts each factor of the product has."""
    if len(parts) < 2:
        return [total] * len(parts)
    half = len(parts) // 2
    one, other = product(parts[:half]), product(parts[half:])
    least, most = max(0, total - len(other) + 1), min(total, len(one) - 1)
    weights = (one[j] * other[total - j] for j in range(least, most + 1))
    first = least + pick(weights, below)
    return [
        *split(parts[:half], first, below),
        *split(parts[half:], total - first, below),
    ]


def gaps(most: int, number: int, below: Below) -> list[int]:
    """Draw `number` positive integers with sum ≤ `most`, uniformly (Floyd's method)."""
    chosen: set[int] = set()
    for top in range(most - number + 1, most + 1):
        drawn = 1 + below(top)
        chosen.add(top if drawn in chosen else drawn)
    return [
        after - before for before, after in itertools.pairwise([0, *sorted(chosen)])
    ]


def shuffled(items: Sequence[int], below: Below) -> list[int]:
    """Return the items in a uniform random order."""
    order = list(items)
    for i in range(len(order) - 1, 0, -1):
        j = below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order
