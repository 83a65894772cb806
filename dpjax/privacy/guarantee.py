"""What a release costs, as plain data: exact numbers and the adjacency they are for."""

__all__ = ["ApproximateDP", "Epsilon", "PureDP", "converged_within", "exact_epsilon"]

import numbers
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from dpjax._checks import brief, one_of
from dpjax.privacy.adjacency import ADJACENCIES
from dpjax.privacy.rounding import exponential_above, rounded_up

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
        _exact_loss(self.epsilon)


@dataclass(frozen=True)
class ApproximateDP:
    r"""(ε, δ)-differential privacy: ε up to a probability δ about which it is silent.

    $$P(M(D) \in S) \le e^\epsilon P(M(D') \in S) + \delta$$ for all outputs S and all
    neighbours D, D'. For planning and reporting: a `Ledger` accepts pure losses only.

    Args:
        epsilon: the loss, a Fraction ≥ 0.
        delta: the probability, a Fraction of at least 0 and below 1; 1 is no promise.
        adjacency: "replace-one" or "add-remove".

    Raises:
        ValueError: if a number is not exact or outside its range, or the adjacency
            unknown.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Definition 1.
    """

    epsilon: Fraction
    delta: Fraction
    adjacency: str

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        _exact_loss(self.epsilon)
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1:
            raise ValueError(
                "`delta` must be a Fraction of at least 0 and below 1 (1 promises "
                f"nothing), got {brief(self.delta)}."
            )


def converged_within(cost: PureDP, total_variation: Epsilon) -> ApproximateDP:
    r"""What a sampler costs that is only close to one of known cost.

    $$(\epsilon, (1 + e^\epsilon)\delta)$$ if its law is, on every data set, within δ of
    the exact one in total variation, $\sup_S |P(S) - P'(S)| = \frac{1}{2}\|P - P'\|_1$.
    That is attained. The paper writes $\|P - P'\|_1 \le \delta$, which is true too, but
    twice as dear as need be: pass half of an L1 distance here.

    Args:
        cost: of one exact sample.
        total_variation: δ, which the caller states. Nobody can observe it: no
            diagnostic of a chain bounds it, and it must hold for all data sets alike.

    Returns:
        The guarantee; its δ is rounded up, by less than one part in 10^12.

    Raises:
        ValueError: if the distance is not a finite number > 0, or so large that the
            guarantee would be empty.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Proposition 3.
    """
    distance = exact_epsilon(total_variation, "total_variation")
    factor = 1 + exponential_above(min(cost.epsilon, Fraction(100)))  # beyond: empty
    delta = rounded_up(factor * distance)
    if delta >= 1:
        raise ValueError(
            "`total_variation` must be below 1 / (1 + exp(ε)), here "
            f"{float(1 / factor):.3g}, to promise anything, got {total_variation}."
        )
    return ApproximateDP(cost.epsilon, delta, cost.adjacency)


def exact_epsilon(epsilon: Epsilon, name: str = "epsilon") -> Fraction:
    """The exact rational that `epsilon` shows: "0.1", "1/3", 1, Fraction(1, 10), 0.1.

    A float means its shortest decimal: 0.1 is one tenth, not the binary number nearby.
    `name` is what errors call it.

    Raises:
        ValueError: if it is not a finite number > 0, or not between 1e-30 and 1e30.
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


def _exact_loss(epsilon: object) -> None:
    if not isinstance(epsilon, Fraction) or epsilon < 0:
        raise ValueError(
            f"`epsilon` must be a Fraction of at least 0, got {brief(epsilon)}."
        )


def _within_range(fraction: Fraction, message: str) -> Fraction:
    limit = 10**_LARGEST_EXPONENT
    fits = Fraction(1, limit) <= fraction <= limit
    if not fits or len(str(fraction)) > _LONGEST_TEXT:  # files hold that text
        raise ValueError(message)
    return fraction
