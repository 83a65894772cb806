r"""Ranges of normal log-likelihoods over intervals of the mean and the variance.

They determine the privacy loss of one sample from a truncated posterior. They are
exact: the maximum of a piecewise smooth function is found among a few candidates.
"""

import math

from dpjax.families.base import Bound

Pair = tuple[float | int, float | int]


def normal_likelihood_radius(records: Pair, mean: Pair, variance: Pair) -> Bound:
    """Return the largest range over m and v of the log-density of N(m, v) at x.

    Args:
        records: least and largest record x.
        mean: least and largest mean m.
        variance: least and largest variance v.
    """
    middle = (mean[0] + mean[1]) / 2
    ends = [abs(x - middle) for x in records]
    nearest = 0.0 if records[0] <= middle <= records[1] else min(ends)
    reach = (mean[1] - mean[0]) / 2
    return largest_normal_range((nearest, max(ends)), reach, variance)


def largest_normal_range(distances: Pair, reach: float, variance: Pair) -> Bound:
    r"""Return the largest range of $-\frac12 \log v - \frac{d^2}{2v}$ over d and v.

    It is a normal log-density at distance d from the mean, with variance v. For a
    record at distance r from the middle of the means, d is in $[(r - w)_+, r +
    w]$. The range is half of $A(r + w) - B((r - w)_+)$, where A(d) and B(d) are the
    maximum and the minimum of $\log v + d^2/v$ over v. A is convex and B is smooth. The
    slope of the range decreases with r only where A is attained at the largest v and B
    at the least v. So the maximum is at an end, or where these slopes are equal.

    Args:
        distances: least and largest distance r of a record from the middle mean.
        reach: w, half of the range of the mean.
        variance: least and largest variance v.
    """
    least, most = variance
    (start, end), candidates = distances, [*distances]
    if most > least:
        candidates.append(reach * (most + least) / (most - least))

    def energy(distance: float, v: float) -> float:
        return math.log(v / least) + distance**2 / v

    def range_at(r: float) -> float:
        far, near = r + reach, max(r - reach, 0.0)
        best = min(max(near**2, least), most)
        return (max(energy(far, v) for v in variance) - energy(near, best)) / 2

    return Bound(max(range_at(min(max(r, start), end)) for r in candidates))


def normal_likelihood_diameter(records: Pair, mean: Pair, variance: Pair) -> Bound:
    r"""Return half the largest range of $\log p(x) - \log p(x')$ over m and v.

    Here p is the density of N(m, v), and x and x' are records. For $\delta = x' - x$
    and $s = (x + x')/2$ the difference is $\delta (s - m)/v$. For a given δ, the range
    is largest at one end of the possible values of s.

    Args:
        records: least and largest record x.
        mean: least and largest mean m.
        variance: least and largest variance v.
    """
    right = _largest_range_on_the_right(records, mean, variance)
    left = _largest_range_on_the_right(_mirror(records), _mirror(mean), variance)
    return Bound(max(right, left) / 2)


def _largest_range_on_the_right(records: Pair, mean: Pair, variance: Pair) -> float:
    """Largest range with x' at the upper end; it is piecewise quadratic in δ."""
    lower, upper = records
    steep, flat = (1 / v for v in variance)

    def range_at(delta: float) -> float:
        middle = upper - delta / 2
        gaps = middle - mean[0], mean[1] - middle
        return delta * sum(gap * (steep if gap > 0 else flat) for gap in gaps)

    candidates = [upper - lower, *(2 * (upper - m) for m in mean)]
    if steep > flat:  # the vertex where the middle is beyond all means
        candidates.append(upper - (mean[0] * steep - mean[1] * flat) / (steep - flat))
    return max(range_at(min(max(d, 0.0), upper - lower)) for d in candidates)


def _mirror(pair: Pair) -> Pair:
    return -pair[1], -pair[0]
