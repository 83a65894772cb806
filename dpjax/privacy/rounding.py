"""Costs as exact fractions; irrational costs are rounded up.

`decimal` rounds exp, ln and sqrt to the nearest number of 100 digits, so that the next
number is above the true value. Since the functions are increasing, their arguments are
rounded up too. Results of `rounded_up` are short enough for a ledger's file.
"""

import decimal
import math
import numbers
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from dpjax._checks import brief

Epsilon = str | int | float | Fraction | np.number
"""A number as a user gives it; `exact_epsilon` converts it to an exact fraction."""

_DIGITS = 13  # relative excess below 1e-12, about 2^-40
_LARGEST_EXPONENT = 1000  # e^1000 is beyond any budget, e^-1000 below any
_LONGEST_TEXT = 60
_MOST_DIGITS = 30
_UP = decimal.Context(prec=100, rounding=decimal.ROUND_CEILING)
_SHORT = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_CEILING)


def exact_epsilon(epsilon: Epsilon, name: str = "epsilon") -> Fraction:
    """Convert a number, such as "0.1", "1/3", 1 or 0.1, to an exact fraction.

    A float means its shortest decimal: 0.1 is one tenth, not the nearest binary number.
    Error messages call the number `name`.

    Raises:
        ValueError: if the number is not finite and > 0, or not from 1e-30 to 1e30.
    """
    message = (
        f"`{name}` must be a finite number > 0, such as '0.5', got {brief(epsilon)}."
    )
    if isinstance(epsilon, bool | np.bool_):
        raise ValueError(message)
    if isinstance(epsilon, numbers.Rational):
        exact = Fraction(int(epsilon.numerator), int(epsilon.denominator))
        return _within_range(exact, message)
    text = str(epsilon).strip()
    if len(text) > _LONGEST_TEXT:
        raise ValueError(message)
    try:
        numerator, *denominator = [Decimal(part) for part in text.split("/")]
        if len(denominator) > 1 or any(
            not x.is_finite() or x == 0 or abs(x.adjusted()) > _MOST_DIGITS
            for x in (numerator, *denominator)
        ):
            raise ValueError(message)
    except InvalidOperation:
        raise ValueError(message) from None
    fraction = Fraction(numerator)
    for part in denominator:
        fraction /= Fraction(part)
    return _within_range(fraction, message)


def exact_or_none(value: Epsilon | None, name: str) -> Fraction | None:
    """Return the exact fraction of an optional number, or None; errors use `name`."""
    return None if value is None else exact_epsilon(value, name)


def rounded_up(value: Fraction | Decimal) -> Fraction:
    """Return the least number of 13 significant decimal digits that is ≥ `value`."""
    exact = Fraction(value)
    return Fraction(_SHORT.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def written(value: Fraction) -> Fraction:
    """Return `value`, or `rounded_up` of it if its text is too long for a file."""
    return value if len(str(value)) <= _LONGEST_TEXT else rounded_up(value)


def exponential_above(x: Fraction) -> Fraction:
    """Return an upper bound of e^x, x ≤ 1000; relative error < 1e-90 for x > -1000."""
    if x > _LARGEST_EXPONENT:
        raise ValueError(f"`x` must be at most {_LARGEST_EXPONENT}, got {float(x)}.")
    return Fraction(_next(_UP.exp(_decimal(max(x, Fraction(-_LARGEST_EXPONENT))))))


def logarithm_above(x: Fraction) -> Fraction:
    """Return an upper bound of ln x, x > 0; error < 1e-90 (1 + |ln x|), 0 at x = 1."""
    if x <= 0:
        raise ValueError(f"`x` must be positive, got {float(x)}.")
    return Fraction(0) if x == 1 else Fraction(_next(_UP.ln(_decimal(x))))


def root_above(x: Fraction) -> Fraction:
    """Return an upper bound of the square root of x ≥ 0; relative error < 1e-90."""
    if x < 0:
        raise ValueError(f"`x` must be at least 0, got {float(x)}.")
    return Fraction(_next(_UP.sqrt(_decimal(x)))) if x else Fraction(0)


def root_below(x: Fraction) -> Fraction:
    """Return a decimal number of 13 digits or more below √x, or √x if it is one."""
    scale, root = 1, math.isqrt(int(x))
    while root**2 < x * scale**2 and root < 10**_DIGITS:
        scale *= 10
        root = math.isqrt(int(x * scale**2))
    return Fraction(root, scale)


def _within_range(fraction: Fraction, message: str) -> Fraction:
    limit = 10**_MOST_DIGITS
    fits = Fraction(1, limit) <= fraction <= limit
    if not fits or len(str(fraction)) > _LONGEST_TEXT:  # files contain this text
        raise ValueError(message)
    return fraction


def _decimal(x: Fraction) -> Decimal:
    return _UP.divide(Decimal(x.numerator), Decimal(x.denominator))


def _next(nearest: Decimal) -> Decimal:
    return _UP.next_plus(nearest)
