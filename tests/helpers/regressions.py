"""Coverage of a regression's intervals over data sets of many scales.

All columns have the bounds -1 and 1. Scales are log-uniform in a tenth to a third,
means within .2 of 0, and the features explain a share in .1 to .9 of the variance.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from dpjax.data.intervals import Interval
from dpjax.statistics import Sufficient

_NEW = 20  # further records of every data set


class DataSets(NamedTuple):
    """`sets` data sets on the first axis; the target is the last column."""

    records: np.ndarray
    features: np.ndarray  # of further records
    targets: np.ndarray
    weights: np.ndarray


def statistic_of(features: int) -> Sufficient:
    """Sums of products of columns between -1 and 1."""
    over = tuple(Interval(f"x{i}", -1, 1) for i in range(features + 1))
    return Sufficient.of("linear-regression", over, "replace-one")


def simulate(rng, sets, features, n, scales=(0.1, 1 / 3), shares=(0.1, 0.9)):
    """Normal data sets with independent features."""
    scale = np.exp(rng.uniform(*np.log(scales), (sets, features + 1)))
    share = rng.uniform(*shares, sets)
    middle = rng.uniform(-0.2, 0.2, (sets, 1, features + 1))
    weights = rng.normal(size=(sets, features))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    weights *= np.sqrt(share)[:, None] * scale[:, -1:] / scale[:, :-1]
    sd = scale[:, -1] * np.sqrt(1 - share)
    x = rng.normal(size=(sets, n + _NEW, features)) * scale[:, None, :-1]
    noise = rng.normal(size=(sets, n + _NEW)) * sd[:, None]
    y = middle[..., -1] + (x @ weights[..., None])[..., 0] + noise
    x = x + middle[..., :-1]
    records = np.concatenate([x, y[..., None]], axis=-1)[:, :n]
    return DataSets(records, x[:, n:], y[:, n:], weights)


def places(parameters, data):
    """P(target ≤ its value) of every further record, in a mixture for each data set.

    Parameters have an axis of drawn totals after the first.
    """
    mean, precision, shape, scale = (np.asarray(x, float) for x in parameters)
    ones = np.ones((*data.features.shape[:2], 1))
    rows = np.concatenate([ones, data.features], axis=-1)
    spread = np.einsum("sif,skfg,sig->ski", rows, np.linalg.inv(precision), rows)
    off = data.targets[:, None] - np.einsum("sif,skf->ski", rows, mean)
    squares = (scale / shape)[..., None] * (1 + spread)
    return special.stdtr(2 * shape[..., None], off / np.sqrt(squares)).mean(axis=1)


def coverage(parameters, data):
    """Mean coverage of 90 % prediction intervals, and its standard error."""
    cdf = places(parameters, data)
    shares = ((cdf > 0.05) & (cdf < 0.95)).mean(axis=1)
    return shares.mean(), shares.std(ddof=1) / np.sqrt(len(shares))
