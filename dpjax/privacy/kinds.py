"""The kinds of guarantee of the library: pure and approximate differential privacy."""

__all__ = ["ApproximateDP", "PureDP", "budget_of"]

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpjax._checks import brief
from dpjax.privacy.adjacency import Adjacency
from dpjax.privacy.divergences import Law, hockey_stick, largest_log_ratio
from dpjax.privacy.guarantee import GUARANTEES, Guarantee, Probabilities
from dpjax.privacy.rounding import Epsilon, exact_epsilon, exponential_above


@GUARANTEES.add
@dataclass(frozen=True)
class PureDP(Guarantee):
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

    kind: ClassVar[str] = "pure-dp"
    epsilon: Fraction
    adjacency: Adjacency

    @property
    def bound(self) -> Fraction:
        """ε."""
        return self.epsilon

    def divergence(self, one: Law, other: Law) -> float:
        """The largest log-ratio of the probabilities of an output."""
        return largest_log_ratio(one, other)

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """Log-ratios of the probabilities of events: -inf where nothing is known."""
        with np.errstate(divide="ignore"):
            return np.log(p) - np.log(q)


@GUARANTEES.add
@dataclass(frozen=True)
class ApproximateDP(Guarantee):
    r"""(ε, δ)-differential privacy: ε up to a probability δ about which it is silent.

    $$P(M(D) \in S) \le e^\epsilon P(M(D') \in S) + \delta$$ for all outputs S and all
    neighbours D, D'.

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

    kind: ClassVar[str] = "approximate-dp"
    epsilon: Fraction
    delta: Fraction
    adjacency: Adjacency

    def __post_init__(self) -> None:
        Guarantee.__post_init__(self)
        if self.delta >= 1:
            raise ValueError(
                "`delta` must be a Fraction of at least 0 and below 1 (1 promises "
                f"nothing), got {brief(self.delta)}."
            )

    @classmethod
    def implied_by(cls, other: object) -> "ApproximateDP | None":
        """That of a pure guarantee, with δ = 0."""
        if isinstance(other, PureDP):
            return ApproximateDP(other.epsilon, Fraction(0), other.adjacency)
        return None

    @property
    def bound(self) -> Fraction:
        """δ."""
        return self.delta

    def divergence(self, one: Law, other: Law) -> Fraction:
        """The hockey-stick divergence at ε: δ where the promise is tight."""
        return hockey_stick(
            one, other, exponential_above(min(self.epsilon, Fraction(1000)))
        )

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """How much likelier events are than e^ε times as likely."""
        return p - np.exp(min(float(self.epsilon), 700.0)) * q


def budget_of(
    epsilon: Epsilon, adjacency: Adjacency, name: str = "epsilon"
) -> Guarantee:
    """The guarantee of a loss that a user wrote: pure.

    Args:
        epsilon: the loss, as for `exact_epsilon`.
        adjacency: "replace-one" or "add-remove".
        name: what errors call the loss.

    Raises:
        ValueError: if an argument is outside its range.
    """
    return PureDP(exact_epsilon(epsilon, name), adjacency)
