"""A small family of every kind, with a prior that is nobody's default."""

import jax.numpy as jnp
import numpy as np

from dpjax.families import (
    Bernoulli,
    BetaParameters,
    Categorical,
    DirichletParameters,
    Exponential,
    GammaParameters,
    Gaussian,
    GaussianMean,
    KnownNoiseParameters,
    LinearRegression,
    MultivariateGaussian,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
    NormalParameters,
    Poisson,
    RegressionParameters,
)

SPD = np.array([[2.0, 0.4], [0.4, 1.0]])
FAMILIES = {
    "bernoulli": (Bernoulli(), BetaParameters(2.0, 3.0)),
    "categorical": (Categorical(3), DirichletParameters(np.array([2.0, 1.5, 0.7]))),
    "poisson": (Poisson(20), GammaParameters(3.0, 1.5)),
    "exponential": (Exponential(9.0), GammaParameters(4.0, 2.5)),
    "gaussian-mean": (GaussianMean(-3, 5, 2.0), NormalParameters(0.5, 0.7)),
    "gaussian": (
        Gaussian(-3, 5),
        NormalInverseGammaParameters(0.3, 2.0, 4.0, 3.0),
    ),
    "multivariate-gaussian": (
        MultivariateGaussian((-3, -6), (5, 2)),
        NormalInverseWishartParameters(np.array([0.3, -1.0]), 2.0, 5.0, SPD),
    ),
    "linear-regression": (
        LinearRegression((-3,), (5,), (-6, 2)),
        RegressionParameters(np.array([0.2, 0.6]), SPD, 4.0, 3.0),
    ),
    "known-noise": (
        LinearRegression((-3,), (5,), (-6, 2)),
        KnownNoiseParameters(np.array([0.2, 0.6]), SPD, 1.7),
    ),
}


def arrays(prior):
    return type(prior)(*(jnp.asarray(x, float) for x in prior))
