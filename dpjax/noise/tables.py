r"""Integer tables from which discrete Laplace noise is drawn, and their certificate.

The law is $P(Z = z) \propto \exp(-\rho |z|)$ on the integers, $\rho = \epsilon/\Delta$.
Write $Z = 0$, or $Z = \pm(1 + G)$ with $G$ geometric. Since a geometric variable has no
memory, its digits in base 16 are independent, so a few small categorical draws, each by
inversion against 128-bit integer thresholds, make one $G$ of any size. The top digit
has one more category, "overflow", after which it is drawn anew.

Tables are built on the host from an exact rational $\rho$. The certificate then takes
the integers of the finished table, and nothing else, and proves in exact arithmetic
that neighbouring probabilities differ by at most a factor $e^\rho$.
"""

__all__ = [
    "BASE_BITS",
    "LIMBS",
    "LONGEST",
    "SHORTEST",
    "Table",
    "build",
    "certify",
    "fingerprint",
    "lengths_needed",
    "lengths_shared",
    "probability",
    "trimmed",
]

import decimal
import hashlib
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int32, UInt32

SHORTEST, LONGEST = Fraction(1, 2**23), Fraction(30)  # of rho: the certified range
BASE_BITS = 4
BASE = 1 << BASE_BITS
LIMBS = 4  # of 32 bits, most significant first, in a threshold
MOST_TOP_VALUES = 32
OVERFLOW_EXPONENT = 20  # P(overflow) is about exp(-20) a draw
MARGIN = 1 - Fraction(1, 2**40)  # of rho, so that rounded thresholds still certify

_PRECISE = decimal.Context(prec=80, Emin=-(10**9), Emax=10**9)


class Table(NamedTuple):
    """Thresholds of a digit-wise inversion; arrays only, so that tables stack.

    A category is the number of thresholds that do not exceed a uniform 128-bit word
    (127-bit in `low`, whose last bit is the sign).

    Attributes:
        low: of the lowest digit; category 0 is "zero", c > 0 is the digit c - 1.
        high: of every further digit.
        redraw: of the top digit, after an overflow.
        largest: largest category of each digit; clips what padding adds.
        top: index of the top digit.
        top_values: number of values of the top digit; as a digit it is an overflow.
    """

    low: UInt32[Array | np.ndarray, "*batch k limbs"]
    high: tuple[UInt32[Array | np.ndarray, "*batch _ limbs"], ...]
    redraw: UInt32[Array | np.ndarray, "*batch _ limbs"]
    largest: Int32[Array | np.ndarray, "*batch digits"]
    top: Int32[Array | np.ndarray, "*batch"]
    top_values: Int32[Array | np.ndarray, "*batch"]


def lengths_needed(*rhos: Fraction) -> tuple[int, ...]:
    """Thresholds of each part (low, every high, redraw) that serve all of `rhos`.

    Tables built with the same lengths stack. There is one digit, and one random word a
    draw, for every entry but the last.

    Raises:
        ValueError: if one of `rhos` is outside the certified range.
    """
    needed = [_lengths(rho) for rho in rhos]
    *digits, redraw = itertools.zip_longest(
        *([*lengths[:-1], *[0] * (8 - len(lengths)), lengths[-1]] for lengths in needed)
    )
    kept = [max(x) for x in digits if max(x) > 0]
    return (*kept, max(redraw))


def _lengths(rho: Fraction) -> list[int]:
    """Thresholds of each digit of `rho` from the lowest up, and of the redrawn top."""
    places, top_values = _places(rho)
    digits = [BASE - 1] * (len(places) - 1) + [top_values]
    return [digits[0] + 1, *digits[1:], top_values]


def lengths_shared(rho: Fraction) -> tuple[int, ...]:
    """Lengths that serve `rho` and all rates with as many digits.

    Compiled programs are shared by tables of one shape.
    """
    *lower, _, _ = lengths_needed(rho)
    # The lowest digit has a category more: zero.
    return (*lower, MOST_TOP_VALUES + (0 if lower else 1), MOST_TOP_VALUES)


def build(rho: Fraction, lengths: tuple[int, ...] | None = None) -> Table:
    """The certified table of the rate `rho`.

    Args:
        rho: epsilon over sensitivity, a rational in [2^-23, 30].
        lengths: from `lengths_needed`, so that tables can stack; None: its own.

    Raises:
        ValueError: if `rho` is outside the range.
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
    """Prove from the table's integers that neighbouring probabilities are within e^rho.

    Returns:
        The largest ratio between the probabilities of neighbouring integers, exact.

    Raises:
        ValueError: if the table does not keep the promise, or is not of this form.
    """
    try:
        ratios = _neighbouring_ratios(table)
        worst = max(max(ratio, 1 / ratio) for ratio in ratios)
        positive = min(ratios) > 0  # not so if thresholds fall: that is no law
    except (ArithmeticError, IndexError, ValueError):
        worst, positive = None, False
    if worst is None or not positive or worst > _exp_lower_bound(rho):
        raise ValueError("the noise table must keep the ratio e^rho, and does not.")
    return worst


def probability(table: Table, z: int) -> Fraction:
    """Exact probability of `z` under the table, before any saturation."""
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
    """The table without what padding added: as `build` makes it alone."""
    top, top_values = int(table.top), int(table.top_values)
    largest = np.asarray(table.largest)[: top + 1]
    digits = zip((table.low, *table.high), largest.tolist(), strict=False)
    low, *high = (part[:length] for part, length in digits)
    redraw = table.redraw[:top_values]
    return table._replace(low=low, high=tuple(high), redraw=redraw, largest=largest)


def fingerprint(table: Table) -> str:
    """SHA-256 of the table's integers, the same on every machine."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(table):
        array = np.asarray(leaf)
        digest.update(repr((array.shape, array.dtype.str)).encode() + array.tobytes())
    return digest.hexdigest()


def _exact_laws(rho: Fraction) -> list[list[Fraction]]:
    """The law of every digit from the lowest up, and last that of the redrawn top."""
    places, top_values = _places(rho)
    digits = [_digit_law(place, BASE) for place in places[:-1]]
    redraw = _digit_law(places[-1], top_values, overflow=True)
    low, *high = [*digits, redraw]
    zero = (1 - _exp(-places[0])) / (1 + _exp(-places[0]))
    return [[zero, *((1 - zero) * p for p in low)], *high, redraw]


def _places(rho: Fraction) -> tuple[list[Fraction], int]:
    """The rate of every digit from the lowest up, and how many values the top has."""
    if not SHORTEST <= rho <= LONGEST:
        raise ValueError(
            "`epsilon` over sensitivity must be between 2^-23 and 30, where the noise "
            f"is certified, got {float(rho):.3g}."
        )
    places = [rho * MARGIN]
    while places[-1] * MOST_TOP_VALUES < OVERFLOW_EXPONENT:
        places.append(places[-1] * BASE)
    return places, min(MOST_TOP_VALUES, math.ceil(OVERFLOW_EXPONENT / places[-1]))


def _digit_law(rate: Fraction, values: int, overflow: bool = False) -> list[Fraction]:
    """Probabilities of the values of one digit; of overflow too, if it is the top."""
    tail = _exp(-rate * values)
    within = 1 if overflow else 1 - tail
    first = (1 - _exp(-rate)) / within
    law = [first * _exp(-rate * value) for value in range(values)]
    return [*law, tail] if overflow else law


def _thresholds(law: list[Fraction], bits: int, length: int) -> np.ndarray:
    """Cumulative probabilities in units of 2^-bits, as limbs, padded to `length`."""
    sums = itertools.accumulate(law[:-1])
    integers = [math.floor(p * (1 << bits) + Fraction(1, 2)) for p in sums]
    last = (1 << bits) - 1
    padded = [min(x, last) for x in integers] + [last] * (length - len(integers))
    return _to_limbs(padded)


def _to_limbs(integers: list[int]) -> np.ndarray:
    """Integers as rows of `LIMBS` words, most significant first."""
    places = [32 * (LIMBS - 1 - i) for i in range(LIMBS)]
    return np.array(
        [[(x >> p) & 0xFFFFFFFF for p in places] for x in integers], np.uint32
    )


def _to_law(limbs: Array | np.ndarray, largest: int, bits: int) -> list[Fraction]:
    """The probabilities that a row of thresholds gives the categories 0..largest."""
    words = np.asarray(limbs)[:largest].tolist()
    integers = [sum(w << 32 * (LIMBS - 1 - i) for i, w in enumerate(x)) for x in words]
    edges = [0, *integers, 1 << bits]
    return [Fraction(b - a, 1 << bits) for a, b in itertools.pairwise(edges)]


def _laws(table: Table) -> tuple[Fraction, list[list[Fraction]], list[Fraction]]:
    """P(zero), the law of each digit (given not zero), and that of the redrawn top."""
    top, top_values = int(table.top), int(table.top_values)
    largest = [int(x) for x in np.asarray(table.largest)]
    zero, *low = _to_law(table.low, largest[0], 32 * LIMBS - 1)
    digits = [[p / (1 - zero) for p in low]] + [
        _to_law(table.high[j - 1], largest[j], 32 * LIMBS) for j in range(1, top + 1)
    ]
    return zero, digits, _to_law(table.redraw, top_values, 32 * LIMBS)


def _neighbouring_ratios(table: Table) -> list[Fraction]:
    """Every different value of P(z) / P(z + 1), z >= 0, of the table's own law.

    Adding one to a number raises one digit and turns those below it from 15 to 0: their
    part of the ratio, `carry`, does not depend on anything else.
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
    numerator, denominator = (
        decimal.Decimal(x.numerator),
        decimal.Decimal(x.denominator),
    )
    return Fraction(_PRECISE.exp(_PRECISE.divide(numerator, denominator)))


def _exp_lower_bound(x: Fraction) -> Fraction:
    """A rational below exp(x), by less than 1e-70 of it."""
    return _exp(x) * (1 - Fraction(1, 10**75))
