"""Intervals from analyses of several synthetic tables."""

from typing import NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from dpjax._checks import at_least_zero, probability, whole
from dpjax._later import special


class Combined(NamedTuple):
    """Estimate from several synthetic tables, with its uncertainty."""

    mean: Float[np.ndarray, "*shape"]
    variance: Float[np.ndarray, "*shape"]
    degrees: Float[np.ndarray, "*shape"]  # of freedom of Student's distribution
    lower: Float[np.ndarray, "*shape"]
    upper: Float[np.ndarray, "*shape"]


def combine_synthetic(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    n: int,
    n_synthetic: int,
    level: float = 0.95,
) -> Combined:
    r"""Combine estimates from m synthetic tables by Rubin's rules.

    Each table must be drawn with its own parameters from a posterior distribution, as
    by `sample_records` with another key. If the posterior distribution accounts for the
    noise, so do the intervals. With $\bar q$ and b the mean and the variance of the
    estimates, and $\bar v$ the mean of their variances, the variance is $(1 + 1/m) b -
    \bar v$. If this is negative, it is $\bar v$ times `n_synthetic / n`, and the
    intervals are normal.

    Args:
        estimates: the estimates (m, …), with the tables on the first axis.
        variances: the variances of the estimates, computed from each table as if it
            were of real records.
        n: number of records of the original table, public or estimated.
        n_synthetic: number of records of each synthetic table.
        level: probability of the intervals, between 0 and 1.

    Privacy:
        Synthetic tables from a release, and what is computed from them, have no further
        privacy cost.

    Raises:
        ValueError: if there are fewer than two tables, shapes differ, variances are
            negative or infinite, or an argument is out of range.

    Reference:
        Raghunathan, Reiter & Rubin (Journal of Official Statistics 2003), for fully
        synthetic tables; Reiter (Journal of Official Statistics 2002), for negative
        variances; Räisä et al. (AISTATS 2023), for noise-aware ones.
    """
    whole(1, n=n, n_synthetic=n_synthetic)
    probability(level=level)
    at_least_zero(variances=variances)
    q, v = np.asarray(estimates, float), np.asarray(variances, float)
    if q.shape != v.shape or q.ndim == 0 or len(q) < 2:
        raise ValueError(
            "`estimates` and `variances` must have one shape, with at least 2 tables "
            f"on the first axis, got {q.shape} and {v.shape}."
        )
    m, mean, within = len(q), q.mean(axis=0), v.mean(axis=0)
    across = (1 + 1 / m) * q.var(axis=0, ddof=1)
    variance, known = across - within, across > within
    share = np.divide(within, across, out=np.zeros_like(within), where=known)
    degrees = np.where(known, (m - 1) * (1 - share) ** 2, np.inf)
    variance = np.where(known, variance, within * n_synthetic / n)
    half = special.stdtrit(degrees, (1 + level) / 2) * np.sqrt(variance)
    return Combined(mean, variance, degrees, mean - half, mean + half)
