"""Exponential families of bounded records, and their conjugate posteriors."""

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

from dpjax.families.base import FAMILIES, Bound, Family, Truncation, conjugate_posterior
from dpjax.families.bernoulli import Bernoulli, BetaParameters
from dpjax.families.categorical import Categorical, DirichletParameters
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.families.conjugate_regression import (
    KnownNoiseParameters,
    RegressionParameters,
    RegressionPosterior,
)
from dpjax.families.exponential import Exponential
from dpjax.families.gamma_rate import GammaParameters
from dpjax.families.gaussian import Gaussian, NormalInverseGammaParameters
from dpjax.families.gaussian_mean import GaussianMean, NormalParameters
from dpjax.families.linear_regression import LinearRegression
from dpjax.families.multivariate_gaussian import (
    MultivariateGaussian,
    NormalInverseWishartParameters,
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
