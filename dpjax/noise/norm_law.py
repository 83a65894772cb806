r"""The K-norm distribution on integers, with an exact sampler.

A group of parts with unit balls $B_i$ has the norm $\max_i \|z_i\|$ and the probability
$P(z) \propto x^{\lceil \|z\| \rceil}$, where the ratio x is a rational number. With
$\sum_j m_j \binom{R}{j}$ points in the ball of radius R, the sum of all weights is
$\sum_j m_j (x / (1 - x))^j$. A draw takes j with the weight of its term, R as j plus a
sum of j + 1 geometric numbers, and then a uniform point of the ball of radius R.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpjax.noise.compositions import Newton, below_from, differences, pick, points
from dpjax.noise.exact_choice import Bits
from dpjax.noise.norm_balls import Ball, Placed
from dpjax.noise.tables import exp_lower_bound

_BITS = 64  # of the denominator of the ratio
_MOST_WORDS = 1 << 20  # drawn at once
SMALLEST, LARGEST = Fraction(1, 1 << 20), Fraction(30)


@dataclass(frozen=True)
class NormLaw:
    """The distribution of the noise of one group; static and hashable.

    Args:
        parts: unit balls over disjoint numbers.
        steps: number of steps of a ball's radius in one unit of the norm: 2 if a
            record that is replaced changes a norm by one half twice, else 1.
        epsilon: the privacy loss of neighbours whose vectors differ by norm 1.

    Privacy:
        The ratio x is the least multiple of 2^-64 that is proved to be at least
        $e^{-ε}$, so the loss of two vectors that differ by norm 1 is at most ε.

    Raises:
        ValueError: if `epsilon` is not from 2^-20 to 30.
    """

    parts: tuple[Ball, ...]
    steps: tuple[int, ...]
    epsilon: Fraction

    def __post_init__(self):
        if not SMALLEST <= self.epsilon <= LARGEST:
            other = "larger" if self.epsilon < SMALLEST else "smaller"
            raise ValueError(
                "`epsilon` must give each group of numbers a budget from 2^-20 to 30, "
                f"got {float(self.epsilon):.3g} for one: use a {other} epsilon."
            )

    @cached_property
    def threshold(self) -> int:
        """The ratio x of the probabilities of neighbouring radii, times 2^64."""
        return math.ceil((1 << _BITS) / exp_lower_bound(self.epsilon))

    @cached_property
    def newton(self) -> Newton:
        """The coefficients m of the number of points of the group's balls."""
        return _newton(tuple(part.newton for part in self.parts), self.steps)

    def points(self, radius: int) -> int:
        """Return the number of integer points whose norm is at most `radius`."""
        return _points(tuple(x.newton for x in self.parts), self.steps, radius)

    @property
    def dimension(self) -> int:
        """The dimension of the group."""
        return len(self.newton) - 1

    @cached_property
    def _weights(self) -> list[int]:
        """Weights of the terms j, as integers."""
        powers, rest = [1], [1]
        for _ in self.newton[1:]:
            powers.append(powers[-1] * self.threshold)
            rest.append(rest[-1] * ((1 << _BITS) - self.threshold))
        pairs = zip(self.newton, powers, reversed(rest), strict=True)
        return [m * power * other for m, power, other in pairs]

    def norm(self, vector: Sequence[int]) -> Fraction:
        """Return the norm of the group's numbers in an integer vector."""
        pairs = zip(self.parts, self.steps, strict=True)
        return max(Fraction(part.norm(vector), step) for part, step in pairs)

    def probability(self, vector: Sequence[int]) -> Fraction:
        """Return the probability of the group's numbers in an integer vector."""
        radius = math.ceil(self.norm(vector))
        rest = (1 << _BITS) - self.threshold
        share = Fraction(rest**self.dimension, sum(self._weights))
        return Fraction(self.threshold, 1 << _BITS) ** radius * share

    def certify(self) -> None:
        """Prove what the draws use: raise `ValueError` unless it holds.

        No coefficient is negative, the ball of radius 0 is one point, and the formula
        has the number of points for a radius that did not determine it.
        """
        further = 2 * self.dimension + 3
        right = points(self.newton, further) == self.points(further)
        if min(self.newton) < 0 or self.newton[0] != 1 or not right:
            raise ValueError("`groups` must have the numbers of points of unit balls.")

    def draw(self, bits: Bits) -> Placed:
        """Draw the noise exactly; yields the numbers that are not 0."""
        below = below_from(bits)
        j = pick(self._weights, below)
        radius = j + self._failures(j + 1, bits)
        for part, step in zip(self.parts, self.steps, strict=True):
            yield from part.draw(step * radius, below)

    def _failures(self, successes: int, bits: Bits) -> int:
        """Draw how often an event of probability x happens until others are enough."""
        drawn, left = 0, successes
        mean = left / (1 - self.threshold / (1 << _BITS))
        while left:
            block = min(max(64, math.ceil(1.1 * mean)), _MOST_WORDS)
            words = bits(_BITS * block).to_bytes(8 * block, "little")
            ends = np.flatnonzero(
                np.frombuffer(words, "<u8") >= np.uint64(self.threshold)
            )
            if ends.size >= left:
                return drawn + int(ends[left - 1]) + 1 - left
            drawn, left = drawn + block - ends.size, left - ends.size
        return drawn


def _points(parts: Sequence[Newton], steps: Sequence[int], radius: int) -> int:
    pairs = zip(parts, steps, strict=True)
    return math.prod(points(newton, step * radius) for newton, step in pairs)


@functools.lru_cache(maxsize=64)  # many groups of a file may be alike
def _newton(parts: tuple[Newton, ...], steps: tuple[int, ...]) -> Newton:
    if steps == (1,):
        return parts[0]
    radii = range(sum(len(newton) - 1 for newton in parts) + 1)
    return differences([_points(parts, steps, radius) for radius in radii])
