"""Families and records within their bounds that several tests share."""

import functools
import itertools

import jax
import numpy as np

from dpjax.families import (
    Bernoulli,
    Categorical,
    Exponential,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
    conjugate_posterior,
)

FAMILIES = {
    "bernoulli": Bernoulli(),
    "categorical": Categorical(4),
    "poisson": Poisson(7),
    "exponential": Exponential(5.0),
    "exponential from 1": Exponential(5.0, lower=1.0),
    "gaussian mean": GaussianMean(-1.0, 3.0, 0.5),
    "gaussian": Gaussian(10.0, 13.0),
    "narrow gaussian": Gaussian(-0.1, 0.5),
    "one column": MultivariateGaussian((-1.0,), (1.0,)),
    "two columns": MultivariateGaussian((-1.0, 0.0), (1.0, 5.0)),
    "three columns": MultivariateGaussian((0.0, 0.0, -1.0), (0.5, 2.0, 1.0)),
    "regression": LinearRegression((0.0,), (4.0,), (-1.0, 2.0)),
    "two features": LinearRegression((0.0, 1.0), (4.0, 2.0), (-1.0, 2.0)),
    "no intercept": LinearRegression((-2.0,), (2.0,), (-0.5, 0.5), intercept=False),
    "one side": LinearRegression((1.0,), (3.0,), (0.0, 2.0), intercept=False),
}
# Points a column in grids: those of the scaled optimum are among them
POINTS = {1: 1201, 2: 49, 3: 17}


def records_on_grid(family, points=None):
    """All records whose columns lie on even grids, bounds included."""
    if family.lattice:
        points = family.lattice + 1 if family.dimension == 1 else family.dimension
    points = points or POINTS[family.columns]
    columns = [np.linspace(*bounds, points) for bounds in family.bounds]
    return np.array(list(itertools.product(*columns)), np.float32)


def random_records(rng, family, n):
    """Records inside of the bounds, whole numbers where the family wants them."""
    lower, upper = np.array(family.bounds).T
    records = rng.uniform(lower, upper, (n, family.columns))
    return (np.round(records) if family.lattice else records).astype(np.float32)


def statistics(family, records):
    """Of every record, in double precision."""
    return np.asarray(jax.jit(family.statistics)(records), np.float64)


@functools.cache
def total_of(family):
    """The total of the statistic; compiled once a number of records."""
    return jax.jit(lambda records: family.statistics(records).sum(axis=0))


@functools.cache
def _posterior_of(family):
    return jax.jit(lambda total, n, prior: conjugate_posterior(family, total, n, prior))


def fit(family, records, prior=None):
    """From the exact statistics of records."""
    records = np.asarray(records, np.float32).reshape(-1, family.columns)
    return _posterior_of(family)(total_of(family)(records), len(records), prior)
