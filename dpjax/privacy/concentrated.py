"""Zero-concentrated differential privacy, the guarantee of Gaussian noise."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpjax._checks import brief
from dpjax.privacy.guarantee import GUARANTEES, Guarantee, Law
from dpjax.privacy.kinds import ApproximateDP, PureDP
from dpjax.privacy.rounding import (
    Epsilon,
    exact_epsilon,
    logarithm_above,
    root_below,
    rounded_up,
    written,
)
from dpjax.privacy.sensitivity import Adjacency

_ORDERS = 1 + np.geomspace(1e-4, 1e5, 400)  # of Rényi divergences
_LEAST_DELTA = Fraction(1, 10**30)
_ROUNDS = 60  # of a search by halves
_DIGITS = 10**6  # of a chosen order, which need not be exact


@GUARANTEES.add
@dataclass(frozen=True)
class ZCDP(Guarantee):
    r"""ρ-zero-concentrated differential privacy.

    For every order α > 1, the Rényi divergence of a release's distributions under two
    neighbours is at most ρα:
    $$\frac{1}{\alpha - 1} \ln \sum_o p(o)^\alpha q(o)^{1 - \alpha} \le \rho \alpha.$$

    Args:
        rho: ρ, a Fraction ≥ 0.
        adjacency: "replace-one" or "add-remove".
        contributions: the most rows of a person, by keyword (default: 1).

    Raises:
        ValueError: if `rho` is not a Fraction ≥ 0, or `adjacency` is unknown.

    Reference:
        Bun & Steinke (TCC 2016).
    """

    kind: ClassVar[str] = "zcdp"
    format_version: ClassVar[int] = 3
    rho: Fraction
    adjacency: Adjacency

    @classmethod
    def implied_by(cls, other: object) -> "ZCDP | None":
        """Return the guarantee with ρ = ε² / 2 if `other` is a `PureDP`, else None.

        Reference:
            Bun & Steinke (TCC 2016).
        """
        if isinstance(other, PureDP):
            return ZCDP(other.epsilon**2 / 2, other.adjacency)
        return None

    def numbers_of_group(self, k: int) -> dict[str, Fraction]:
        """Return k²ρ (Bun & Steinke, TCC 2016), rounded up if too long for a file."""
        return {"rho": written(k**2 * self.rho)}

    def numbers_per_record(self, k: int) -> dict[str, Fraction]:
        """Return ρ / k², exactly."""
        return {"rho": self.rho / k**2}

    @property
    def pure_epsilon(self) -> Fraction:
        """√(2ρ), rounded down to a decimal number, since ε-DP implies ε²/2-zCDP.

        Reference:
            Bun & Steinke (TCC 2016).
        """
        return root_below(2 * self.rho)

    @property
    def choice_epsilon(self) -> Fraction:
        """The largest ε of a draw by the exponential mechanism: √(8ρ), rounded down."""
        return root_below(8 * self.rho)

    def of_choice(
        self,
        epsilon: Fraction,
        largest: Callable[[], Fraction] | None = None,
        share: Callable[[], Fraction] | None = None,
    ) -> "ZCDP":
        """Return ρ = ε² / 8, or that times the share of the variance if it is known.

        For two neighbours, the log-ratios of the probabilities of all outputs are in an
        interval of length ε. Every Rényi divergence of order α is α / 2 times a mean of
        variances of the log-ratio, which are at most ε² / 4 (`docs/proofs.md`, section
        0, L5). The largest magnitude is at least ε / 2 and bounds ρ by no less.

        Reference:
            Cesar & Rogers (ALT 2021), for mechanisms of bounded range; Geumlek, Song &
            Chaudhuri (NeurIPS 2017), for divergences of posterior samples.
        """
        part = Fraction(1) if share is None else share()
        return replace(self, rho=epsilon**2 / 8 * part)

    @property
    def bound(self) -> Fraction:
        """The bound ρ of divergences."""
        return self.rho

    def divergence(self, one: Law, other: Law) -> float:
        """Return the largest Rényi divergence of order α over α, of orders α ≥ 1.

        It is computed in floating point, at 401 orders, and is a lower bound of the
        supremum up to rounding.
        """
        both = [_logs(one, other), _logs(other, one)]
        return max(_largest(pairs) for pairs in both)

    def approximate(self, delta: Epsilon) -> ApproximateDP:
        r"""Return an (ε, δ) guarantee that this guarantee implies.

        For any α > 1, $\epsilon = \rho\alpha + \ln(1 - 1/\alpha) + (\ln(1/\delta) -
        \ln\alpha) / (\alpha - 1)$, here with the best α and rounded up.

        Args:
            delta: δ, at least 1e-30 and below 1.

        Raises:
            ValueError: if `delta` is outside its range.

        Reference:
            Canonne, Kamath & Steinke (NeurIPS 2020), section 2.3.
        """
        chance = _chance(delta)
        epsilon = min(_epsilon_at(self.rho, chance, x) for x in _orders(self, chance))
        k = self.contributions
        return ApproximateDP(
            max(epsilon, Fraction(0)), chance, self.adjacency, contributions=k
        )


def zcdp_budget(
    adjacency: Adjacency,
    *,
    rho: Epsilon | None = None,
    epsilon: Epsilon | None = None,
    delta: Epsilon | None = None,
    contributions: int = 1,
) -> ZCDP:
    """Make a ρ-zCDP guarantee to spend, from ρ or from an (ε, δ) that it implies.

    Args:
        adjacency: "replace-one" or "add-remove".
        rho: ρ > 0; a float means its shortest decimal.
        epsilon: instead of `rho`, the ε of the result's `approximate(delta)`, to within
            one part in 10^9 below.
        delta: the δ that belongs to `epsilon`, at least 1e-30 and below 1.
        contributions: the most rows of a person, whom the guarantee protects.

    Raises:
        ValueError: if an argument is outside its range, or not one of `rho` and
            `epsilon` with `delta` is given.
    """
    if rho is not None and epsilon is delta is None:
        exact = exact_epsilon(rho, "rho")
        return ZCDP(exact, adjacency, contributions=contributions)
    if rho is not None or epsilon is None or delta is None:
        raise ValueError(
            "`rho` must be given, such as '0.1', or both `epsilon` and `delta`, such "
            "as 1 and 1e-9."
        )
    wanted, chance = exact_epsilon(epsilon), _chance(delta)
    low, high = Fraction(0), wanted
    while ZCDP(high, adjacency).approximate(chance).epsilon <= wanted:
        high *= 2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        middle = -rounded_up(-middle)
        made = ZCDP(middle, adjacency)
        if made.approximate(chance).epsilon <= wanted:
            low = middle
        else:
            high = middle
        if high - low <= high / 10**10:
            break
    if low == 0:
        raise ValueError(
            "`delta` must be smaller, or `epsilon` larger, to be the (ε, δ) of a ρ."
        )
    return ZCDP(low, adjacency, contributions=contributions)


def _chance(delta: Epsilon) -> Fraction:
    with contextlib.suppress(ValueError):
        chance = exact_epsilon(delta, "delta")
        if _LEAST_DELTA <= chance < 1:
            return chance
    raise ValueError(f"`delta` must be from 1e-30 to below 1, got {brief(delta)}.")


def _epsilon_at(rho: Fraction, chance: Fraction, order: Fraction) -> Fraction:
    """Return the ε of δ by the Rényi divergence of one order, rounded up."""
    rest = logarithm_above(1 / chance) + logarithm_above(1 / order)
    share = logarithm_above(1 - 1 / order)
    return rounded_up(rho * order + share + rest / (order - 1))


def _orders(cost: ZCDP, chance: Fraction) -> list[Fraction]:
    """Return orders near the best one, which minimises a function of one bend."""
    if cost.rho == 0:
        return [Fraction(10**12)]
    rho, log = float(cost.rho), -math.log(chance)

    def epsilon(x: float) -> float:  # of the order 1 + e^x
        order = 1 + math.exp(x)
        rest = (log - math.log(order)) / (order - 1)
        return rho * order + x - math.log(order) + rest

    low, high = -30.0, 60.0
    for _ in range(2 * _ROUNDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if epsilon(left) < epsilon(right):
            high = right
        else:
            low = left
    best = math.exp((low + high) / 2)
    return [1 + Fraction(best).limit_denominator(_DIGITS) + Fraction(1, 10**12)]


def _logs(one: Law, other: Law) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return log p and log p / q for the possible values of each part."""
    pairs = []
    for part, same in zip(one, other, strict=True):
        kept = [(p, q) for p, q in zip(part, same, strict=True) if p]
        logs = np.array([_log(p) for p, _ in kept])
        others = np.array([_log(q) for _, q in kept])
        pairs.append((logs, logs - others))
    return pairs


def _log(p: Fraction) -> float:
    return math.log(p.numerator) - math.log(p.denominator) if p else -math.inf


def _largest(pairs: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the largest Rényi divergence over its order, of independent parts."""
    first = sum(float(np.exp(logs) @ ratio) for logs, ratio in pairs)
    total = np.zeros_like(_ORDERS)
    for logs, ratio in pairs:
        powers = logs + (_ORDERS - 1)[:, None] * ratio
        rounding = np.logaddexp.reduce(logs)  # of probabilities that sum to 1
        total += np.logaddexp.reduce(powers, axis=1) - rounding
    return max(first, float(np.max(total / (_ORDERS - 1) / _ORDERS)))
