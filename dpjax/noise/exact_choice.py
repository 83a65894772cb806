"""Draws of indices with probabilities exactly proportional to exponentials.

Python integers bound the irrational weights. A draw compares random bits with the
bounds and refines both until the index is certain, so that nothing is rounded.
"""

import decimal
import functools
import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

Bits = Callable[[int], int]
"""A function from k to an integer of k uniform random bits."""

_FIRST_PRECISION = 96  # bits of the weights
_POINT = 128  # fractional bits in a sum of exponentials
_PLACES = (120, 112, 104)  # positions of the first three digits of 8 bits
_REST = (1 << 104) - 1
_ERROR_BITS = 5  # the error of an exponential in the sum is less than 2^5 units
_SPARE = 32  # bits by which weights exceed the random bits, so that ties are rare


class Bounds(NamedTuple):
    """Lower and upper bounds of weights times a common factor, as Python integers."""

    lower: np.ndarray
    upper: np.ndarray


def system_bits(k: int) -> int:
    """Return k random bits from the operating system, for releases."""
    return secrets.randbits(k)


def drawn_below(bits: Bits, bound: int) -> int:
    """Draw a uniform integer from 0 to bound - 1."""
    width = (bound - 1).bit_length()
    while (drawn := bits(width) if width else 0) >= bound:
        pass
    return drawn


def choose(bounds_at: Callable[[int], Bounds], bits: Bits) -> int:
    r"""Draw an index $j$ with probability $w_j / \sum_i w_i$, exactly.

    Args:
        bounds_at: function from a precision in bits to bounds of the weights $w_i$,
            times a common factor. Bounds converge as the precision increases.
        bits: source of random bits.
    """
    precision, random, drawn = _FIRST_PRECISION, 0, 0
    while True:
        wanted = precision - _SPARE
        random, drawn = (random << (wanted - drawn)) | bits(wanted - drawn), wanted
        index = _index_without_doubt(bounds_at(precision), random, drawn)
        if index is not None:
            return index
        precision *= 2


def _index_without_doubt(bounds: Bounds, random: int, drawn: int) -> int | None:
    """The index of all points in [random, random + 1) / 2^drawn; None if uncertain.

    The upper edge of index j is A / (A + B), where A is the sum of the weights up to j
    and B the sum of the other weights. The edge is smallest with lower bounds of A and
    upper bounds of B, and largest conversely.
    """
    lower, upper = np.cumsum(bounds.lower), np.cumsum(bounds.upper)
    if lower[-1] == 0:
        return None
    index = int(np.searchsorted(lower, (random * lower[-1] >> drawn) + 1))
    index = min(index, len(lower) - 1)
    below, above = random, random + 1
    if index > 0:
        edge, rest = upper[index - 1], lower[-1] - lower[index - 1]
        if below * (edge + rest) < edge << drawn:
            return None
    edge, rest = lower[index], upper[-1] - upper[index]
    return None if above * (edge + rest) > edge << drawn else index


def exponentials(scores: Sequence[int], unit: Fraction, precision: int) -> Bounds:
    """Return integer bounds of exp(unit · score) for each score.

    They are in units of the largest exponential times 2^-precision.

    Args:
        scores: integers of any size.
        unit: rational factor of the scores, > 0.
        precision: number of bits.
    """
    context = decimal.Context(
        prec=8 + math.ceil(precision * math.log10(2)), Emin=-(10**9), Emax=10**9
    )
    one = decimal.Decimal(1 << precision)
    numerator, denominator = map(decimal.Decimal, unit.as_integer_ratio())
    largest = max(scores)
    negligible = -math.ceil((precision + 1) / unit)  # the weight is below a unit there
    known: dict[int, int] = {}
    for score in {*scores}:
        if score - largest > negligible:
            exact = context.multiply(decimal.Decimal(score - largest), numerator)
            power = context.exp(context.divide(exact, denominator))
            known[score] = int(context.multiply(power, one))  # off by less than 2
    lower = [max(known.get(score, 0) - 1, 0) for score in scores]
    upper = [known.get(score, 0) + 2 for score in scores]
    return Bounds(np.array(lower, object), np.array(upper, object))


def softmax(
    scores: Sequence[int],
    unit: Fraction,
    bits: Bits,
    base: Sequence[int] | None = None,
    draws: int = 1,
) -> list[int]:
    r"""Draw indices with probability $\propto b_j \exp(u \cdot s_j)$, exactly.

    Args:
        scores: integers $s_j$ of any size, one for each index.
        unit: rational factor $u > 0$ of the scores.
        bits: source of random bits.
        base: integer weights $b_j \ge 0$, not all 0; None: all 1.
        draws: number of independent draws.
    """
    factors = np.array([1] * len(scores) if base is None else base, object)
    kept: dict[int, Bounds] = {}

    def bounds_at(precision: int) -> Bounds:
        if precision not in kept:
            lower, upper = exponentials(scores, unit, precision)
            kept[precision] = Bounds(lower * factors, upper * factors)
        return kept[precision]

    return [choose(bounds_at, bits) for _ in range(draws)]


def log_of_sum(scores: Sequence[int], unit: Fraction) -> tuple[Fraction, Fraction]:
    r"""Return rational bounds, 1e-25 apart, of the log of the sum of exp(unit · score).

    The function is fast, since it is called whenever a release file is read. Each
    exponent is split, in units of $2^{-128}$, into a multiple of ln 2, three digits of
    8 bits and a rest $t < 2^{-24}$. The exponential is the product of tabulated values
    and $1 - t + t^2/2 - t^3/6 + t^4/24$, with an error below 32 units.
    """
    numerator, denominator = unit.as_integer_ratio()
    half, *digits = _exponentials_of_digits()
    largest, total = max(scores), 0
    for score in scores:
        power = ((largest - score) * numerator << _POINT) // denominator
        halvings, power = divmod(power, half)
        if halvings > _POINT:
            continue  # less than a unit
        rest = power & _REST
        squared = rest * rest >> _POINT
        weight = (1 << _POINT) - rest + (squared >> 1)
        weight += -(squared * rest >> _POINT) // 6 + (squared * squared >> _POINT) // 24
        for place, known in zip(_PLACES, digits, strict=True):
            weight = weight * known[power >> place & 255] >> _POINT
        total += weight >> halvings
    error = len(scores) << _ERROR_BITS
    shift = unit * largest - _log(1 << _POINT)
    lower, upper = _log(total - error), _log(total + error)
    return lower + shift - _SLACK, upper + shift + _SLACK


@functools.cache
def _exponentials_of_digits() -> tuple:
    """Return ln 2, and exp(-x) for the value x of every digit at every place.

    All numbers are integers in units of 2^-128.
    """
    context = decimal.Context(prec=60)
    one = decimal.Decimal(1 << _POINT)
    tables = (
        [
            int(context.multiply(context.exp(decimal.Decimal(-digit) / scale), one))
            for digit in range(256)
        ]
        for scale in (1 << (_POINT - place) for place in _PLACES)
    )
    return int(context.multiply(context.ln(decimal.Decimal(2)), one)), *tables


def _log(integer: int) -> Fraction:
    """Natural logarithm to 60 digits."""
    return Fraction(decimal.Context(prec=60).ln(decimal.Decimal(integer)))


_SLACK = Fraction(1, 10**30)  # far above the error of `_log`
