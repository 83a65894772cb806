"""Exponential families of bounded records, and their conjugate posteriors."""

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "BetaParameters",
    "BetaPosterior",
    "Bound",
    "Categorical",
    "ClippedFamily",
    "ConjugatePosterior",
    "DirichletParameters",
    "Exponential",
    "Family",
    "FamilyWithLaw",
    "GammaParameters",
    "GammaPosterior",
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
    "SumFamily",
    "Truncation",
    "conjugate_posterior",
]

from dpjax.families.base import FAMILIES, Bound, Family, Truncation, conjugate_posterior
from dpjax.families.bernoulli import Bernoulli, BetaParameters, BetaPosterior
from dpjax.families.bounds import ClippedFamily, SumFamily
from dpjax.families.categorical import Categorical, DirichletParameters
from dpjax.families.conjugate_base import ConjugatePosterior
from dpjax.families.conjugate_regression import (
    KnownNoiseParameters,
    RegressionParameters,
    RegressionPosterior,
)
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.families.exponential import Exponential
from dpjax.families.gamma_rate import GammaParameters, GammaPosterior
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
    FAMILIES.add(_family)
