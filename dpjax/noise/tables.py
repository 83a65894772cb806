r"""Integer tables for drawing discrete Laplace noise, and their privacy certificate.

The distribution is $P(Z = z) \propto \exp(-\rho |z|)$ on the integers, with $\rho =
\epsilon/\Delta$. Either $Z = 0$, or $Z = \pm(1 + G)$ with a geometric $G$, whose digits
in base 16 are independent. Each digit is drawn by inversion against 128-bit integer
thresholds. The top digit has one more category, "overflow", after which it is redrawn.

Tables are built on the host from an exact rational $\rho$. The certificate uses only
the integers of the finished table and proves in exact arithmetic that probabilities of
neighbouring integers differ by at most a factor $e^\rho$.
"""

import decimal
import hashlib
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int32, UInt32

SHORTEST, LONGEST = Fraction(1, 2**23), Fraction(30)  # certified range of rho
BASE_BITS = 4
BASE = 1 << BASE_BITS
LIMBS = 4  # 32-bit words of a threshold, most significant first
MOST_TOP_VALUES = 32
OVERFLOW_EXPONENT = 20  # P(overflow) is about exp(-20) for each draw
MARGIN = 1 - Fraction(1, 2**40)  # factor of rho; rounded thresholds are certified

_PRECISE = decimal.Context(prec=80, Emin=-(10**9), Emax=10**9)


class Table(NamedTuple):
    """Integer thresholds to draw discrete Laplace noise Z, digit by digit in base 16.

    A digit is the number of thresholds that do not exceed a uniform 128-bit word (127
    bits for `low`, where the last bit is the sign). |Z| - 1 has these digits.

    Attributes:
        low: thresholds of the lowest digit; 0 means Z = 0, and c > 0 the digit c - 1.
        high: thresholds of each further digit.
        redraw: thresholds of the top digit after an overflow.
        largest: largest value of each digit; larger values come from padding.
        top: index of the top digit.
        top_values: number of values of the top digit; the value `top_values` itself
            stands for overflow.
    """

    low: UInt32[Array | np.ndarray, "*batch k limbs"]
    high: tuple[UInt32[Array | np.ndarray, "*batch _ limbs"], ...]
    redraw: UInt32[Array | np.ndarray, "*batch _ limbs"]
    largest: Int32[Array | np.ndarray, "*batch digits"]
    top: Int32[Array | np.ndarray, "*batch"]
    top_values: Int32[Array | np.ndarray, "*batch"]


def lengths_needed(*rhos: Fraction) -> tuple[int, ...]:
    """Return numbers of thresholds for `build` that suffice for all rates `rhos`.

    Tables built with equal numbers can be stacked for `vmap`. There is one number for
    each digit, lowest first, and a last number for the redrawn top digit.

    Raises:
        ValueError: if one of `rhos` is not between 2^-23 and 30.
    """
    needed = [_lengths(rho) for rho in rhos]
    *digits, redraw = itertools.zip_longest(
        *([*lengths[:-1], *[0] * (8 - len(lengths)), lengths[-1]] for lengths in needed)
    )
    kept = [max(x) for x in digits if max(x) > 0]
    return (*kept, max(redraw))


def _lengths(rho: Fraction) -> list[int]:
    """Number of thresholds of each digit, lowest first, and of the redrawn top one."""
    places, top_values = _places(rho)
    digits = [BASE - 1] * (len(places) - 1) + [top_values]
    return [digits[0] + 1, *digits[1:], top_values]


def lengths_shared(rho: Fraction) -> tuple[int, ...]:
    """Return `lengths_needed` of all rates that have as many digits as `rho`."""
    *lower, _, _ = lengths_needed(rho)
    # The lowest digit has one more category: zero.
    return (*lower, MOST_TOP_VALUES + (0 if lower else 1), MOST_TOP_VALUES)


def build(rho: Fraction, lengths: tuple[int, ...] | None = None) -> Table:
    """Build and certify the table of the distribution P(Z = z) ∝ exp(-rho |z|).

    Args:
        rho: epsilon / sensitivity, a rational number in [2^-23, 30].
        lengths: numbers of thresholds from `lengths_needed`, so that tables can be
            stacked; None: those for `rho`.

    Raises:
        ValueError: if `rho` is not between 2^-23 and 30.
    """
    *digits, redraw = _exact_laws(rho)
    *padded, redraw_length = lengths or lengths_needed(rho)
    largest = [len(law) - 1 for law in digits]
    unused = [[Fraction(1)]] * (len(padded) - len(digits))
    low, *high = (
        _thresholds(law, 32 * LIMBS - (j == 0), length)
        for j, (law, length) in enumerate(zip([*digits, *unused], padded, strict=True))
    )
    table = Table(
        low=low,
        high=tuple(high),
        redraw=_thresholds(redraw, 32 * LIMBS, redraw_length),
        largest=np.array([*largest, *[0] * len(unused)], np.int32),
        top=np.asarray(len(digits) - 1, np.int32),
        top_values=np.asarray(len(redraw) - 1, np.int32),
    )
    certify(table, rho)
    return table


def certify(table: Table, rho: Fraction) -> Fraction:
    """Prove that probabilities of neighbouring integers differ by a factor <= e^rho.

    Returns:
        The largest ratio of the probabilities of two neighbouring integers, exact.

    Raises:
        ValueError: if the ratio exceeds e^rho, or the table is malformed.
    """
    try:
        ratios = _neighbouring_ratios(table)
        worst = max(max(ratio, 1 / ratio) for ratio in ratios)
        positive = min(ratios) > 0  # false if thresholds decrease
    except (ArithmeticError, IndexError, ValueError):
        worst, positive = None, False
    if worst is None or not positive or worst > exp_lower_bound(rho):
        raise ValueError(
            "the noise table must keep the ratio e^rho of neighbouring probabilities."
        )
    return worst


def probability(table: Table, z: int) -> Fraction:
    """Return the exact probability that a draw with `table` is `z`, if not clipped."""
    zero, digits, redraw = _laws(table)
    if z == 0:
        return zero
    rest, result = abs(z) - 1, (1 - zero) / 2
    for law in digits[:-1]:
        rest, value = divmod(rest, BASE)
        result *= law[value]
    overflows, value = divmod(rest, len(redraw) - 1)
    if overflows == 0:
        return result * digits[-1][value]
    return result * digits[-1][-1] * redraw[-1] ** (overflows - 1) * redraw[value]


def trimmed(table: Table) -> Table:
    """Return the table without padding, as `build` makes it without `lengths`."""
    top, top_values = int(table.top), int(table.top_values)
    largest = np.asarray(table.largest)[: top + 1]
    digits = zip((table.low, *table.high), largest.tolist(), strict=False)
    low, *high = (part[:length] for part, length in digits)
    redraw = table.redraw[:top_values]
    return table._replace(low=low, high=tuple(high), redraw=redraw, largest=largest)


def fingerprint(table: Table) -> str:
    """Return the SHA-256 digest of the table's integers, equal on every machine."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(table):
        array = np.asarray(leaf)
        digest.update(repr((array.shape, array.dtype.str)).encode() + array.tobytes())
    return digest.hexdigest()


def _exact_laws(rho: Fraction) -> list[list[Fraction]]:
    """Probabilities of each digit, lowest first, and of the redrawn top digit."""
    places, top_values = _places(rho)
    digits = [_digit_law(place, BASE) for place in places[:-1]]
    redraw = _digit_law(places[-1], top_values, overflow=True)
    low, *high = [*digits, redraw]
    zero = (1 - _exp(-places[0])) / (1 + _exp(-places[0]))
    return [[zero, *((1 - zero) * p for p in low)], *high, redraw]


def _places(rho: Fraction) -> tuple[list[Fraction], int]:
    """Return each digit's rate, lowest first, and the top digit's number of values."""
    if not SHORTEST <= rho <= LONGEST:
        raise ValueError(
            "`epsilon` over sensitivity must be between 2^-23 and 30, the certified "
            f"range of the noise, got {float(rho):.3g}."
        )
    places = [rho * MARGIN]
    while places[-1] * MOST_TOP_VALUES < OVERFLOW_EXPONENT:
        places.append(places[-1] * BASE)
    return places, min(MOST_TOP_VALUES, math.ceil(OVERFLOW_EXPONENT / places[-1]))


def _digit_law(rate: Fraction, values: int, overflow: bool = False) -> list[Fraction]:
    """Probabilities of one digit's values, and of overflow if it is the top digit."""
    tail = _exp(-rate * values)
    within = 1 if overflow else 1 - tail
    first = (1 - _exp(-rate)) / within
    law = [first * _exp(-rate * value) for value in range(values)]
    return [*law, tail] if overflow else law


def _thresholds(law: list[Fraction], bits: int, length: int) -> np.ndarray:
    """Cumulative probabilities in units of 2^-bits as limbs, padded to `length`."""
    sums = itertools.accumulate(law[:-1])
    integers = [math.floor(p * (1 << bits) + Fraction(1, 2)) for p in sums]
    last = (1 << bits) - 1
    padded = [min(x, last) for x in integers] + [last] * (length - len(integers))
    return to_limbs(padded)


def to_limbs(integers: list[int]) -> UInt32[np.ndarray, "_ limbs"]:
    """Write each integer as words of 32 bits, the most significant first."""
    places = [32 * (LIMBS - 1 - i) for i in range(LIMBS)]
    return np.array(
        [[(x >> p) & 0xFFFFFFFF for p in places] for x in integers], np.uint32
    )


def from_limbs(limbs: Array | np.ndarray) -> list[int]:
    """Return the integers that `to_limbs` wrote."""
    rows = np.asarray(limbs).tolist()
    return [sum(w << 32 * (LIMBS - 1 - i) for i, w in enumerate(x)) for x in rows]


def _to_law(limbs: Array | np.ndarray, largest: int, bits: int) -> list[Fraction]:
    """Probabilities of the categories 0..largest under a list of thresholds."""
    edges = [0, *from_limbs(limbs)[:largest], 1 << bits]
    return [Fraction(b - a, 1 << bits) for a, b in itertools.pairwise(edges)]


def _laws(table: Table) -> tuple[Fraction, list[list[Fraction]], list[Fraction]]:
    """P(Z = 0), probabilities of each digit given Z != 0, and of the redrawn top."""
    top, top_values = int(table.top), int(table.top_values)
    largest = [int(x) for x in np.asarray(table.largest)]
    zero, *low = _to_law(table.low, largest[0], 32 * LIMBS - 1)
    digits = [[p / (1 - zero) for p in low]] + [
        _to_law(table.high[j - 1], largest[j], 32 * LIMBS) for j in range(1, top + 1)
    ]
    return zero, digits, _to_law(table.redraw, top_values, 32 * LIMBS)


def _neighbouring_ratios(table: Table) -> list[Fraction]:
    """Every value that P(z) / P(z + 1), z >= 0, takes under the table.

    Adding 1 to a number increments one digit and resets all lower digits from 15 to 0.
    The lower digits contribute the constant factor `carry`.
    """
    zero, digits, redraw = _laws(table)
    ratios = [zero / ((1 - zero) / 2 * math.prod(law[0] for law in digits))]
    carry = Fraction(1)
    for law in digits[:-1]:
        ratios += [carry * p / q for p, q in itertools.pairwise(law)]
        carry *= law[-1] / law[0]
    top, overflow = digits[-1][:-1], digits[-1][-1]
    ratios += [carry * p / q for p, q in itertools.pairwise(top)]
    ratios.append(carry * top[-1] / (overflow * redraw[0]))
    ratios += [carry * p / q for p, q in itertools.pairwise(redraw[:-1])]
    ratios.append(carry * redraw[-2] / (redraw[-1] * redraw[0]))
    return ratios


def _exp(x: Fraction) -> Fraction:
    """exp(x), correct to 80 significant digits."""
    numerator, denominator = map(decimal.Decimal, x.as_integer_ratio())
    return Fraction(_PRECISE.exp(_PRECISE.divide(numerator, denominator)))


def exp_lower_bound(x: Fraction) -> Fraction:
    """A rational lower bound of exp(x), with relative error below 1e-70."""
    return _exp(x) * (1 - Fraction(1, 10**75))
