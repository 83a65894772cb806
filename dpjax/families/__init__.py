"""Exponential families within public bounds: statistics, suprema, conjugate updates."""

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "BetaParameters",
    "Bound",
    "Categorical",
    "ConjugatePosterior",
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
    "RegressionPosterior",
    "Truncation",
    "conjugate_posterior",
]

from dpjax.families.base import FAMILIES, Bound, Family, Truncation
from dpjax.families.bernoulli import Bernoulli
from dpjax.families.categorical import Categorical
from dpjax.families.conjugate import (
    ConjugatePosterior,
    RegressionPosterior,
    conjugate_posterior,
)
from dpjax.families.exponential import Exponential
from dpjax.families.gaussian import Gaussian
from dpjax.families.gaussian_mean import GaussianMean
from dpjax.families.linear_regression import LinearRegression
from dpjax.families.multivariate_gaussian import MultivariateGaussian
from dpjax.families.parameters import (
    BetaParameters,
    DirichletParameters,
    GammaParameters,
    KnownNoiseParameters,
    NormalInverseGammaParameters,
    NormalInverseWishartParameters,
    NormalParameters,
    RegressionParameters,
)
from dpjax.families.poisson import Poisson

for _family in (
    Bernoulli,
    Categorical,
    Poisson,
    Exponential,
    GaussianMean,
    Gaussian,
    MultivariateGaussian,
    LinearRegression,
):
    FAMILIES.add_as(_family.name, _family)
