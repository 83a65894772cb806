r"""An upper bound of the variance of a number over all exponential tilts of its law.

The tilted law at t has probabilities $P_t(j) \propto w_j e^{t x_j}$. Let A(t) be the
log of the sum of these weights, with the derivatives m(t), the mean, and V(t), the
variance. For any c, $E_t (x - c)^2 = e^{B(t) - A(t)}$ for a convex function B. On an
interval, B is at most its chord, and A is at least its tangent at the middle. With c =
m(middle), their difference bounds ln V. An interval whose bound is above the largest
variance found is halved. Beyond all intervals, V is bounded by $E_t (x - c)^2$, where c
is the largest or the smallest number.

The numbers are doubles. All sums are of positive terms, and a bound of the rounding
errors is added (`docs/proofs.md`, section 12).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

_TOLERANCE = 1 / 256  # the bound exceeds the largest variance by at most this share
_MARGIN = 2.0**-42  # of rounding errors, relative
_LEAST = 2.0**-55  # of rounding errors, in the units of variances
_DIGITS = 1 << 10  # steps of the result, from a power of two to the next
_FARTHEST = 1 << 30  # tilt, in units of the inverse of half the range
_BLOCK, _MOST = 1 << 20, 1 << 26  # exponentials at a time, and in all


class _Tilts(NamedTuple):
    """Tilts t, with the log A of the sum of weights, the mean m and the variance."""

    t: np.ndarray
    log: np.ndarray
    mean: np.ndarray
    variance: np.ndarray

    def take(self, index: np.ndarray) -> "_Tilts":
        return _Tilts(*(x[index] for x in self))

    def join(self, other: "_Tilts") -> "_Tilts":
        return _Tilts(*map(np.concatenate, zip(self, other, strict=True)))


def largest_share(
    numbers: Sequence[int], scores: Sequence[int], denominator: int
) -> Fraction:
    """Return the largest variance over all tilts, as a share of the largest possible.

    The largest possible variance is a quarter of the squared range of the numbers. The
    result is an upper bound, at most 1, and about half a percent above the variance,
    unless the weights are too steep for doubles.

    Args:
        numbers: the numbers x, not all equal, in any unit.
        scores: log of the weight of each number up to a constant, times `denominator`.
        denominator: of the scores.
    """
    least, most, top = min(numbers), max(numbers), max(scores)
    scaled = np.array([(2 * x - least - most) / (most - least) for x in numbers])
    logs = np.array([(score - top) / denominator for score in scores])
    reach, best = 1.0, _tilted(scaled, logs, np.zeros(1)).variance[0]
    while (tail := _tail(scaled, logs, reach)) > best and reach < _FARTHEST:
        ends = _tilted(scaled, logs, np.array([-reach, reach]))
        best = max(best, *ends.variance)
        reach *= 2
    bound = max(tail, _between(scaled, logs, reach, best))
    steepest = reach - logs.min()
    bound *= 1 + _MARGIN * (len(logs) + steepest) * math.sqrt(steepest)
    mantissa, exponent = math.frexp(min(bound + _LEAST, 1.0))
    share = Fraction(math.ceil(mantissa * _DIGITS), _DIGITS) * Fraction(2) ** exponent
    return min(share, Fraction(1))


def _tilted(scaled: np.ndarray, logs: np.ndarray, t: np.ndarray) -> _Tilts:
    """Return the tilted laws at the tilts `t`."""
    size = max(1, _BLOCK // len(scaled))
    parts = []
    for some in np.split(t, range(size, len(t), size)):
        scores = some[:, None] * scaled + logs
        top = scores.max(axis=1)
        weights = np.exp(scores - top[:, None])
        total = weights.sum(axis=1)
        mean = (weights * scaled).sum(axis=1) / total
        squares = weights * (scaled - mean[:, None]) ** 2
        parts.append((top + np.log(total), mean, squares.sum(axis=1) / total))
    return _Tilts(t, *map(np.concatenate, zip(*parts, strict=True)))


def _tail(scaled: np.ndarray, logs: np.ndarray, reach: float) -> float:
    """Bound the variance at all tilts beyond ±reach: it is near an end of the range."""
    bounds = []
    for end in (1.0, -1.0):
        last = logs[scaled == end].max()
        with np.errstate(over="ignore"):
            weights = np.exp(logs - last - reach * (1 - end * scaled))
            bounds.append(float((weights * (scaled - end) ** 2).sum()))
    return max(bounds)


def _between(scaled: np.ndarray, logs: np.ndarray, reach: float, best: float) -> float:
    """Bound the variance at all tilts from -reach to reach."""
    left, right = (_tilted(scaled, logs, np.array([x])) for x in (-reach, reach))
    settled, used = 0.0, 0
    while len(left.t):
        used += len(left.t) * len(scaled)
        if used > _MOST:
            return 1.0
        middle = _tilted(scaled, logs, (left.t + right.t) / 2)
        best = max(best, middle.variance.max())
        with np.errstate(divide="ignore", over="ignore"):
            bound = np.exp(np.maximum(*(_log_bound(x, middle) for x in (left, right))))
        open_ = np.flatnonzero(bound > best * (1 + _TOLERANCE) + _LEAST)
        settled = max(settled, np.delete(bound, open_).max(initial=0.0))
        middle, left, right = (x.take(open_) for x in (middle, left, right))
        left, right = left.join(middle), middle.join(right)
    return settled


def _log_bound(end: _Tilts, middle: _Tilts) -> np.ndarray:
    """Return the chord of B minus the tangent of A, at an end of an interval."""
    squares = end.variance + (end.mean - middle.mean) ** 2
    return np.log(squares) + end.log - middle.log - middle.mean * (end.t - middle.t)
