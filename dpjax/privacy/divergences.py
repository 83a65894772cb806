"""How far apart two exact laws of an output are, in the measures of privacy.

A law is the probabilities of all outputs, part by part; parts are independent.
"""

__all__ = ["Law", "hockey_stick", "joint", "largest_log_ratio"]

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

Law = Sequence[Sequence[Fraction]]


def largest_log_ratio(one: Law, other: Law) -> float:
    """The largest log-ratio of the probabilities of an output, either way round."""
    forwards = backwards = 0.0
    for part, same in zip(one, other, strict=True):
        logs = [_log_ratio(p, q) for p, q in zip(part, same, strict=True) if p or q]
        forwards, backwards = forwards + max(logs), backwards - min(logs)
    return max(forwards, backwards)


def hockey_stick(one: Law, other: Law, factor: Fraction) -> Fraction:
    r"""The larger of $\sum_o (p(o) - f q(o))_+$ and $\sum_o (q(o) - f p(o))_+$."""
    pairs = joint(one, other)
    forwards, backwards = (
        sum((max(p - factor * q, Fraction(0)) for p, q in both), Fraction(0))
        for both in (pairs, [(q, p) for p, q in pairs])
    )
    return max(forwards, backwards)


def joint(one: Law, other: Law) -> list[tuple[Fraction, Fraction]]:
    """Probabilities of whole outputs under both laws, those of equal ratio together."""
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


def _log_ratio(p: Fraction, q: Fraction) -> float:
    if not p or not q:
        return math.inf if p else -math.inf
    ratio = p / q
    return math.log(ratio.numerator) - math.log(ratio.denominator)
