"""Pure and approximate differential privacy.

Divergences are computed from the exact distributions of an output's independent parts.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpjax._checks import brief
from dpjax.privacy.guarantee import GUARANTEES, Guarantee, Law, Probabilities
from dpjax.privacy.rounding import (
    Epsilon,
    exact_epsilon,
    exponential_above,
    rounded_up,
)
from dpjax.privacy.sensitivity import Adjacency

_LARGEST, _LEAST = 1000, Fraction(1, 10**30)  # exponents: e^1000 bounds nothing


@GUARANTEES.add
@dataclass(frozen=True)
class PureDP(Guarantee):
    """ε-differential privacy.

    Probabilities of an output under two neighbours differ by a factor of at most e^ε.

    Args:
        epsilon: the privacy loss ε, a Fraction ≥ 0.
        adjacency: "replace-one" or "add-remove".
        contributions: the most rows of a person, by keyword (default: 1).

    Raises:
        ValueError: if `epsilon` is not a Fraction ≥ 0, or `adjacency` is unknown.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Definition 1, with δ = 0.
    """

    kind: ClassVar[str] = "pure-dp"
    epsilon: Fraction
    adjacency: Adjacency

    @property
    def bound(self) -> Fraction:
        """The privacy loss ε."""
        return self.epsilon

    def numbers_of_group(self, k: int) -> dict[str, Fraction]:
        """Return kε, since each of k steps changes a probability by a factor ≤ e^ε."""
        return {"epsilon": k * self.epsilon}

    def numbers_per_record(self, k: int) -> dict[str, Fraction]:
        """Return ε / k, exactly."""
        return {"epsilon": self.epsilon / k}

    @property
    def pure_epsilon(self) -> Fraction:
        """The privacy loss ε."""
        return self.epsilon

    @property
    def choice_epsilon(self) -> Fraction:
        """The largest ε of a draw by the exponential mechanism, which is this ε."""
        return self.epsilon

    def of_choice(
        self,
        epsilon: Fraction,
        largest: Callable[[], Fraction] | None = None,
        share: Callable[[], Fraction] | None = None,
    ) -> "PureDP":
        """Return ε-DP, or less if the largest magnitude of a log-ratio is known."""
        return replace(self, epsilon=epsilon if largest is None else largest())

    def divergence(self, one: Law, other: Law) -> float:
        """Return the largest absolute log-ratio of an output's two probabilities."""
        return largest_log_ratio(one, other)

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """Return ln(p / q) for each event; -inf where p = 0."""
        with np.errstate(divide="ignore"):
            return np.log(p) - np.log(q)


@GUARANTEES.add
@dataclass(frozen=True)
class ApproximateDP(Guarantee):
    r"""(ε, δ)-differential privacy.

    $$P(M(D) \in S) \le e^\epsilon P(M(D') \in S) + \delta$$ for a release M, all sets
    of outputs S and all neighbours D, D'.

    Args:
        epsilon: the privacy loss ε, a Fraction ≥ 0.
        delta: δ, a Fraction of at least 0 and below 1; δ = 1 guarantees nothing.
        adjacency: "replace-one" or "add-remove".
        contributions: the most rows of a person, by keyword (default: 1).

    Raises:
        ValueError: if a number is no Fraction in its range, or `adjacency` is unknown.

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
        """Return the guarantee with δ = 0 if `other` is a `PureDP`, else None."""
        if isinstance(other, PureDP):
            return ApproximateDP(other.epsilon, Fraction(0), other.adjacency)
        return None

    def numbers_of_group(self, k: int) -> dict[str, Fraction]:
        r"""Return kε and $\delta \sum_{i<k} e^{i\epsilon}$, rounded up."""
        most = rounded_up(self.delta * _powers(self.epsilon, k)) if self.delta else 0
        return {"epsilon": k * self.epsilon, "delta": Fraction(most)}

    def numbers_per_record(self, k: int) -> dict[str, Fraction]:
        """Return ε / k and a δ, rounded down, whose δ of a group is at most this δ."""
        epsilon, short = self.epsilon / k, _rounded_down(self.delta)
        each = _rounded_down(short / _powers(epsilon, k)) if short else Fraction(0)
        return {"epsilon": epsilon, "delta": each}

    @property
    def pure_epsilon(self) -> Fraction:
        """The privacy loss ε, since ε-DP implies (ε, δ)-DP."""
        return self.epsilon

    @property
    def bound(self) -> Fraction:
        """The probability δ."""
        return self.delta

    def divergence(self, one: Law, other: Law) -> Fraction:
        """Return the hockey-stick divergence at ε, which must be at most δ."""
        return hockey_stick(
            one, other, exponential_above(min(self.epsilon, Fraction(1000)))
        )

    def divergence_of_events(self, p: Probabilities, q: Probabilities) -> Probabilities:
        """Return the difference p - e^ε q for each event."""
        return p - np.exp(min(float(self.epsilon), 700.0)) * q


def budget_of(
    epsilon: Epsilon,
    adjacency: Adjacency,
    name: str = "epsilon",
    contributions: int = 1,
) -> Guarantee:
    """Make the pure-DP guarantee of a privacy loss that a user gives.

    Args:
        epsilon: the loss ε > 0; a float means its shortest decimal.
        adjacency: "replace-one" or "add-remove".
        name: name of the argument in error messages.
        contributions: the most rows of a person, whose privacy loss it is.

    Raises:
        ValueError: if an argument is outside its range.
    """
    exact = exact_epsilon(epsilon, name)
    return PureDP(exact, adjacency, contributions=contributions)


def largest_log_ratio(one: Law, other: Law) -> float:
    """Return the largest |ln p(o) / q(o)| over outputs o of two distributions p, q."""
    forwards = backwards = 0.0
    for part, same in zip(one, other, strict=True):
        logs = [_log_ratio(p, q) for p, q in zip(part, same, strict=True) if p or q]
        forwards, backwards = forwards + max(logs), backwards - min(logs)
    return max(forwards, backwards)


def hockey_stick(one: Law, other: Law, factor: Fraction) -> Fraction:
    r"""Return the larger of $\sum_o (p(o) - f q(o))_+$ and $\sum_o (q(o) - f p(o))_+$.

    p and q are two distributions of outputs o; f = e^ε gives the divergence at ε.
    """
    pairs = joint(one, other)
    forwards, backwards = (
        sum((max(p - factor * q, Fraction(0)) for p, q in both), Fraction(0))
        for both in (pairs, [(q, p) for p, q in pairs])
    )
    return max(forwards, backwards)


def joint(one: Law, other: Law) -> list[tuple[Fraction, Fraction]]:
    """Return (p(o), q(o)) for outputs o of two laws p, q; equal ratios are merged."""
    pairs = [(Fraction(1), Fraction(1))]
    for part, same in zip(one, other, strict=True):
        merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        factors = list(zip(part, same, strict=True))
        for (a, b), (p, q) in itertools.product(pairs, factors):
            if a * p or b * q:
                ratio = a * p / (b * q) if b * q else None
                x, y = merged.get(ratio, (Fraction(0), Fraction(0)))
                merged[ratio] = (x + a * p, y + b * q)
        pairs = list(merged.values())
    return pairs


def _powers(epsilon: Fraction, k: int) -> Fraction:
    """Return an upper bound of 1 + e^ε + … + e^((k - 1) ε)."""
    each = max(epsilon, _LEAST)
    if k * each > _LARGEST:
        raise ValueError(
            f"`contributions` must be at most {_LARGEST} / ε with a δ > 0, got {k}."
        )
    least = 1 / exponential_above(-each)  # of e^ε
    return (exponential_above(k * each) - 1) / (least - 1)


def _rounded_down(number: Fraction) -> Fraction:
    return -rounded_up(-number)


def _log_ratio(p: Fraction, q: Fraction) -> float:
    if not p or not q:
        return math.inf if p else -math.inf
    ratio = p / q
    return math.log(ratio.numerator) - math.log(ratio.denominator)
