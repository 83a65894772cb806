"""Posteriors: what a release, or data of one's own, says about a model."""

__all__ = [
    "BayesNetPosterior",
    "ConjugatePosterior",
    "GaussianSample",
    "RegressionPosterior",
    "RegressionSample",
    "SampledParameters",
    "SampledPosterior",
    "conjugate_posterior",
    "dirichlet_posterior",
]

from dpjax.models.bayes_net import BayesNetPosterior, dirichlet_posterior
from dpjax.models.conjugate import (
    ConjugatePosterior,
    RegressionPosterior,
    conjugate_posterior,
)
from dpjax.models.gaussian_sample import GaussianSample
from dpjax.models.regression_sample import RegressionSample
from dpjax.models.sampled import SampledPosterior
from dpjax.models.sampled_parameters import SampledParameters
