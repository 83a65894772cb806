"""Mechanisms, which make statistics private."""

__all__ = [
    "MECHANISMS",
    "CellMass",
    "ContinuousFamilyKNorm",
    "ContinuousKNorm",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExactMechanism",
    "FamilyKNorm",
    "FamilyPosteriorSampler",
    "GaussianSample",
    "HiddenMarkovSampler",
    "KNorm",
    "Laplace",
    "Mechanism",
    "MechanismWithJointLaw",
    "MechanismWithLaw",
    "NetworkPosteriorSampler",
    "ParameterMechanism",
    "PosteriorSample",
    "RegressionSample",
    "SplitLaplace",
    "WideGaussian",
    "recipes",
]

from dpjax.mechanisms import recipes
from dpjax.mechanisms.base import (
    MECHANISMS,
    ExactMechanism,
    Mechanism,
    MechanismWithJointLaw,
    MechanismWithLaw,
    ParameterMechanism,
)
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.mechanisms.continuous_family_k_norm import ContinuousFamilyKNorm
from dpjax.mechanisms.continuous_k_norm import ContinuousKNorm
from dpjax.mechanisms.discrete_gaussian import DiscreteGaussian
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_k_norm import FamilyKNorm
from dpjax.mechanisms.family_posterior_sampler import FamilyPosteriorSampler
from dpjax.mechanisms.family_samples import GaussianSample, RegressionSample
from dpjax.mechanisms.hidden_markov_sampler import HiddenMarkovSampler
from dpjax.mechanisms.k_norm import KNorm
from dpjax.mechanisms.laplace import Laplace
from dpjax.mechanisms.network_posterior_sampler import NetworkPosteriorSampler
from dpjax.mechanisms.posterior_sample import PosteriorSample
from dpjax.mechanisms.split_laplace import SplitLaplace
from dpjax.mechanisms.wide_gaussian import WideGaussian
