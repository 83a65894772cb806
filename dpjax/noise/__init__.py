"""Noise laws: the continuous Laplace for studies, the exact discrete one to publish."""

from dpjax.noise import discrete_laplace as discrete_laplace, laplace as laplace
