"""Truncated and tempered posterior distributions for NumPyro."""

__all__ = [
    "Dirichlet",
    "GaussianInBall",
    "TemperedSamples",
    "TruncatedBeta",
    "TruncatedDirichlet",
    "dirichlet_rows",
    "tempered",
    "tempered_posterior",
]

from dpjax.distributions.tempered import TemperedSamples, tempered, tempered_posterior
from dpjax.distributions.truncated_beta import TruncatedBeta
from dpjax.distributions.truncated_dirichlet import (
    Dirichlet,
    TruncatedDirichlet,
    dirichlet_rows,
)
from dpjax.distributions.truncated_gaussian import GaussianInBall
