"""Noise: continuous for studies; discrete and exact for releases."""

__all__ = [
    "GaussianLaw",
    "LaplaceLaw",
    "NoiseLaw",
    "discrete_gaussian",
    "discrete_laplace",
    "exact_choice",
    "keys",
    "laplace",
]

from dpjax.noise import (
    discrete_gaussian,
    discrete_laplace,
    exact_choice,
    keys,
    laplace,
)
from dpjax.noise.laws import GaussianLaw, LaplaceLaw, NoiseLaw
