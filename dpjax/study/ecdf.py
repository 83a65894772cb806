"""Simultaneous bands for empirical distribution functions (ECDFs) of uniform values."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Integer

from dpjax._checks import probability, whole
from dpjax._later import special

_HALVINGS = 40


class EcdfBand(NamedTuple):
    """Band that contains the ECDF of independent uniform values at all points at once.

    Attributes:
        points: the points, which divide [0, 1] into equal parts.
        lower, upper: smallest and largest ECDF inside the band at each point.
        level: probability that the ECDF is inside at all points, without rounding.
    """

    points: Float[np.ndarray, " k"]
    lower: Float[np.ndarray, " k"]
    upper: Float[np.ndarray, " k"]
    level: float

    def outside(self, ranks: Float[np.ndarray, " n"]) -> np.ndarray:
        """Return for each point whether the ECDF of `ranks` is outside of the band."""
        found, margin = ecdf(ranks, self.points), 0.5 / ranks.size
        return (found < self.lower - margin) | (found > self.upper + margin)


def ecdf(
    ranks: Float[np.ndarray, " n"], points: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Return the share of `ranks` that are at most each point."""
    return np.searchsorted(np.sort(ranks), points, side="right") / ranks.size


def ecdf_band(n: int, level: float = 0.95, parts: int = 100) -> EcdfBand:
    r"""Return the narrowest band of its form whose level is at least `level`.

    At the point z, the band is the central interval of the binomial distribution with n
    trials and probability z, of probability $1 - \gamma$ or more. The same $\gamma$
    serves all points: it is the largest one for which the ECDF is inside the band at
    all points with probability `level` or more. This probability is exact: numbers of
    values in the parts of [0, 1] are independent Poisson numbers, given that their sum
    is n.

    Args:
        n: number of values.
        level: least probability that the ECDF of uniform values is inside.
        parts: number of equal parts of [0, 1]; the band is at the points between them.

    Raises:
        ValueError: if `n` is below 1, `parts` below 2, or `level` not between 0 and 1.

    Reference:
        Säilynoja, Bürkner & Vehtari (Statistics and Computing 2022), for one sample.
    """
    whole(1, n=n)
    whole(2, parts=parts)
    probability(level=level)
    points = np.arange(1, parts) / parts
    # Wide enough by a union bound, and as narrow as at a single point.
    wide, narrow = math.log((1 - level) / (2 * parts)), math.log(1 - level)
    for _ in range(_HALVINGS):
        middle = (wide + narrow) / 2
        inside = _inside(n, *_counts(n, points, math.exp(middle)))
        wide, narrow = (middle, narrow) if inside >= level else (wide, middle)
    lower, upper = _counts(n, points, math.exp(wide))
    return EcdfBand(points, lower / n, upper / n, _inside(n, lower, upper))


def _counts(
    n: int, points: Float[np.ndarray, " k"], gamma: float
) -> tuple[Integer[np.ndarray, " k"], Integer[np.ndarray, " k"]]:
    """Return the smallest and the largest numbers of values up to each point."""
    return _quantile(gamma / 2, n, points), _quantile(1 - gamma / 2, n, points)


def _quantile(
    q: float, n: int, p: Float[np.ndarray, " k"]
) -> Integer[np.ndarray, " k"]:
    """Return q-quantiles of binomial distributions."""
    near = np.clip(np.ceil(np.nan_to_num(special.bdtrik(q, n, p))), 0, n)
    below = np.maximum(near - 1, 0)
    return np.where(special.bdtr(below, n, p) >= q, below, near).astype(np.int64)


def _inside(
    n: int, lower: Integer[np.ndarray, " k"], upper: Integer[np.ndarray, " k"]
) -> float:
    """Return the probability that all numbers up to the points are in their range."""
    expected = n / (len(lower) + 1)
    number = np.arange(n + 1.0)
    law = np.exp(
        special.xlogy(number, expected) - expected - special.gammaln(number + 1)
    )
    found, start = np.ones(1), 0  # probabilities of the numbers from `start` on
    for low, high in zip([*lower, n], [*upper, n], strict=True):
        moved = np.convolve(found, law[: high - start + 1])
        found, start = moved[low - start : high - start + 1], low
    total = math.exp(n * math.log(n) - n - math.lgamma(n + 1))
    return float(found[0] / total)
