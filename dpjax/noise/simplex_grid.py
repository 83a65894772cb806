"""Exact draws of vectors of probabilities from a public grid of the simplex.

The entries of a vector are multiples of 1/units, not below a minimum, with sum 1. The
probability of a vector is proportional to a product of powers of its entries. Entries
are drawn one by one; a convolution of integers sums the weights of later entries.
"""

import decimal
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpjax._checks import whole
from dpjax.noise.exact_choice import Bits, Bounds, choose, exponentials

_MOST_UNITS = 1 << 12  # with more, deriving the cost of a file takes too long
LOG_BITS = 40  # logarithms are integers in units of 2^-40


@dataclass(frozen=True)
class SimplexGrid:
    r"""A grid of probabilities $g_v / G$ with integers $g_v \ge a$ that sum to $G$.

    Logarithms come from a public table of integers, so that log-likelihoods on the
    grid, and their changes if one record changes, are exact rational numbers.

    Args:
        levels: number of probabilities in a vector, at least 2.
        units: common denominator $G$ of the probabilities, from 1 to 4096.
        least: smallest numerator $a$, at least 1; probabilities are at least $a / G$.

    Raises:
        ValueError: if an argument is outside its range, or the grid has only 1 vector.
    """

    levels: int
    units: int
    least: int

    def __post_init__(self):
        whole(2, levels=self.levels)
        whole(1, units=self.units, least=self.least)
        if self.units > _MOST_UNITS:
            raise ValueError(
                f"`units` must be at most {_MOST_UNITS}, got {self.units}."
            )
        if self.most <= self.least:
            raise ValueError(
                f"`omega` must be below 1/{self.levels} for {self.levels} levels, got "
                f"{self.least}/{self.units}: reduce `omega` or increase `units`."
            )

    @property
    def most(self) -> int:
        """The largest numerator of a probability."""
        return self.units - (self.levels - 1) * self.least

    @property
    def log_range(self) -> Fraction:
        """Largest minus smallest logarithm of a probability on the grid."""
        table = log_table(self.units)
        return Fraction(table[self.most] - table[self.least], 1 << LOG_BITS)

    def draw(
        self, exponents: Sequence[Fraction], bits: Bits, draws: int = 1
    ) -> list[list[int]]:
        r"""Draw vectors with probability $\propto \prod_v (g_v / G)^{e_v}$, exactly.

        Args:
            exponents: exponent $e_v$ of each entry.
            bits: source of random bits.
            draws: number of independent vectors.

        Returns:
            The numerators $g_v$ of each vector.
        """
        law = _Law(self, tuple(exponents))
        return [law.draw(bits) for _ in range(draws)]

    def weights(self, exponents: Sequence[Fraction]) -> list[int]:
        """Return integer weights of all vectors, with error 2^-95 of the largest."""
        common = math.lcm(*(e.denominator for e in exponents))
        logs, powers = log_table(self.units), [int(e * common) for e in exponents]
        scores = [
            sum(power * logs[g] for power, g in zip(powers, row, strict=True))
            for row in self._rows()
        ]
        bounds = exponentials(scores, Fraction(1, common << LOG_BITS), 96)
        return bounds.lower.tolist()

    def _rows(self) -> Iterator[tuple[int, ...]]:
        entries = range(self.least, self.most + 1)
        for head in itertools.product(entries, repeat=self.levels - 1):
            if self.units - sum(head) >= self.least:
                yield (*head, self.units - sum(head))


@functools.lru_cache(maxsize=8)
def log_table(units: int) -> list[int]:
    """Return ln(g / units) · 2^LOG_BITS, rounded to integers, for g = 0 … units."""
    context = decimal.Context(prec=50)
    scale = decimal.Decimal(1 << LOG_BITS)
    whole_log = context.ln(decimal.Decimal(units))
    logs = [context.ln(decimal.Decimal(g)) - whole_log for g in range(1, units + 1)]
    return [0, *(round(context.multiply(x, scale)) for x in logs)]  # g = 0 is not used


class _Law:
    """The distribution of one vector, from scores of its entries and weights of sums.

    A score is the log-weight of a value of an entry, minus a multiple of the value (the
    tilt). The tilt does not change the distribution, since the sum of entries is fixed.
    """

    def __init__(self, grid: SimplexGrid, exponents: tuple[Fraction, ...]) -> None:
        self.grid = grid
        common = math.lcm(*(e.denominator for e in exponents))
        self.unit = Fraction(1, common << LOG_BITS)
        powers = [int(e * common) for e in exponents]
        tilt = round(_balance(powers, grid) * (1 << LOG_BITS))
        logs = log_table(grid.units)
        self.scores = [
            [p * logs[g] - tilt * g for g in range(grid.least, grid.most + 1)]
            for p in powers
        ]
        self.sums = functools.cache(self._sums)

    def draw(self, bits: Bits) -> list[int]:
        """Draw each entry given the previous ones; the last entry is the remainder."""
        row, left = [], self.grid.units
        for level in range(self.grid.levels - 1):
            later = self.grid.levels - 1 - level
            spare = left - (later + 1) * self.grid.least  # excess over the minimum
            bounds_at = functools.partial(self._conditional, level, spare)
            entry = self.grid.least + choose(bounds_at, bits)
            row.append(entry)
            left -= entry
        return [*row, left]

    def _conditional(self, level: int, spare: int, precision: int) -> Bounds:
        """Weights of 0 … spare units above the minimum, given the previous levels."""
        here, rest = self.sums(precision)[0][level], self.sums(precision)[1][level + 1]
        return Bounds(
            here.lower[: spare + 1] * rest.lower[spare::-1],
            here.upper[: spare + 1] * rest.upper[spare::-1],
        )

    def _sums(self, precision: int) -> tuple[list[Bounds], list[Bounds]]:
        """Weights of each level's entries, and of the sums over each level onwards."""
        weights = [exponentials(s, self.unit, precision) for s in self.scores]
        sums = [weights[-1]]
        for here in weights[-2:0:-1]:
            sums.insert(0, _convolve(here, sums[0], precision))
        return weights, [sums[0], *sums]  # the first element is not used


def _balance(powers: list[int], grid: SimplexGrid) -> float:
    """The tilt at which the modes of the levels sum to about `units`.

    Any tilt is correct, since it multiplies the weights of all rows by the same factor.
    With this tilt, the relevant weights are not small relative to the other weights.
    """
    highest = max(powers)
    if highest <= 0:
        return 0.0
    low, high = highest / grid.units / 2, max(sum(p for p in powers if p > 0), 1) * 2.0
    for _ in range(60):
        middle = (low * high) ** 0.5
        modes = sum(max(grid.least, p / middle) for p in powers)
        low, high = (middle, high) if modes > grid.units else (low, middle)
    return low


def _convolve(a: Bounds, b: Bounds, precision: int) -> Bounds:
    """Bounds of the weights of sums, truncated to the grid and `precision` bits."""
    lower, upper = (_polynomial_product(x, y) for x, y in zip(a, b, strict=True))
    down = (lower >> precision).astype(object)
    return Bounds(down, (upper >> precision) + 1)


def _polynomial_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Coefficients 0 … len(a) - 1 of a polynomial product, by one integer product."""
    largest = int(max(a)) * int(max(b)) * len(a)
    width = largest.bit_length() // 8 + 1
    one, other = (
        int.from_bytes(b"".join(int(x).to_bytes(width, "little") for x in c), "little")
        for c in (a, b)
    )
    product = (one * other).to_bytes(width * 2 * len(a), "little")
    parts = (product[i * width : (i + 1) * width] for i in range(len(a)))
    return np.array([int.from_bytes(part, "little") for part in parts], object)
