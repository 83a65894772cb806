"""Noise laws: the continuous Laplace for studies, the exact discrete one to publish."""

__all__ = ["LaplaceLaw", "NoiseLaw", "discrete_laplace", "keys", "laplace"]

from dpjax.noise import discrete_laplace, keys, laplace
from dpjax.noise.laws import LaplaceLaw, NoiseLaw
