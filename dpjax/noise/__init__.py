"""Laplace noise: continuous for studies, discrete and exact for releases."""

__all__ = ["LaplaceLaw", "NoiseLaw", "discrete_laplace", "keys", "laplace"]

from dpjax.noise import discrete_laplace, keys, laplace
from dpjax.noise.laws import LaplaceLaw, NoiseLaw
