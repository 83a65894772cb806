"""What a release costs, as plain data: an exact ε and the adjacency it is for."""

__all__ = ["Epsilon", "PureDP", "exact_epsilon"]

import numbers
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from dpjax._checks import one_of
from dpjax.privacy.adjacency import ADJACENCIES

Epsilon = str | int | float | Fraction | np.number  # as a user gives it

_LONGEST_TEXT = 60
_LARGEST_EXPONENT = 30


@dataclass(frozen=True)
class PureDP:
    """ε-differential privacy.

    Whatever the output, its probability under two neighbouring data sets differs by a
    factor of at most e^ε.

    Args:
        epsilon: the exact loss, a Fraction ≥ 0.
        adjacency: "replace-one" or "add-remove".

    Raises:
        ValueError: if the loss is not exact, or negative, or the adjacency unknown.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Definition 1, with δ = 0.
    """

    epsilon: Fraction
    adjacency: str

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        if not isinstance(self.epsilon, Fraction) or self.epsilon < 0:
            raise ValueError(
                f"`epsilon` must be a Fraction of at least 0, got {self.epsilon!r}."
            )


def exact_epsilon(epsilon: Epsilon, name: str = "epsilon") -> Fraction:
    """The exact rational that `epsilon` shows: "0.1", "1/3", 1, Fraction(1, 10), 0.1.

    A float means its shortest decimal: 0.1 is one tenth, not the binary number nearby.
    `name` is what errors call it.

    Raises:
        ValueError: if it is not a finite number > 0, or not between 1e-30 and 1e30.
    """
    message = (
        f"`{name}` must be a finite number > 0, such as '0.5', got {epsilon!r:.80}."
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
            not x.is_finite() or x == 0 or abs(x.adjusted()) > _LARGEST_EXPONENT
            for x in (numerator, *denominator)
        ):
            raise ValueError(message)
    except InvalidOperation:
        raise ValueError(message) from None
    fraction = Fraction(numerator)
    for part in denominator:
        fraction /= Fraction(part)
    return _within_range(fraction, message)


def _within_range(fraction: Fraction, message: str) -> Fraction:
    limit = 10**_LARGEST_EXPONENT
    fits = Fraction(1, limit) <= fraction <= limit
    if not fits or len(str(fraction)) > _LONGEST_TEXT:  # files hold that text
        raise ValueError(message)
    return fraction
