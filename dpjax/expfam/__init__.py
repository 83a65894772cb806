"""Exponential families within public bounds: statistics, suprema, conjugate updates."""

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "BetaParameters",
    "Bound",
    "Categorical",
    "DirichletParameters",
    "Exponential",
    "Family",
    "GammaParameters",
    "Gaussian",
    "GaussianMean",
    "KnownNoiseParameters",
    "LinearRegression",
    "MultivariateGaussian",
    "NormalInverseGammaParameters",
    "NormalInverseWishartParameters",
    "NormalParameters",
    "Poisson",
    "RegressionParameters",
    "Truncation",
]

from dpjax.expfam.base import Bound, Family, Truncation
from dpjax.expfam.bernoulli import Bernoulli
from dpjax.expfam.categorical import Categorical
from dpjax.expfam.exponential import Exponential
from dpjax.expfam.gaussian import Gaussian
from dpjax.expfam.gaussian_mean import GaussianMean
from dpjax.expfam.linear_regression import LinearRegression
from dpjax.expfam.multivariate_gaussian import MultivariateGaussian
from dpjax.expfam.parameters import (
    BetaParameters,
    DirichletParameters,
    GammaParameters,
    KnownNoiseParameters,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
    NormalParameters,
    RegressionParameters,
)
from dpjax.expfam.poisson import Poisson

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (
        Bernoulli,
        Categorical,
        Poisson,
        Exponential,
        GaussianMean,
        Gaussian,
        MultivariateGaussian,
        LinearRegression,
    )
}
"""By the name that files use."""
