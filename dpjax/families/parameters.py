"""Parameters of conjugate laws: what a prior is given by, and a posterior described by.

Any field may have leading axes. Each is a prior and a posterior, hence its own update.
"""

__all__ = [
    "BetaParameters",
    "DirichletParameters",
    "GammaParameters",
    "KnownNoiseParameters",
    "NormalInverseGammaParameters",
    "NormalInverseWishartParameters",
    "NormalParameters",
    "RegressionParameters",
]

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from dpjax._private import shapes_only

Number = Any  # of a prior usually a number, of a posterior an array


class BetaParameters(NamedTuple):
    """Of a probability: pseudo-counts of 1 and of 0, > 0."""

    successes: Number = 1.0
    failures: Number = 1.0
    __repr__ = shapes_only

    @property
    def concentration(self) -> Array:
        """As of a Dirichlet law: of 0 and of 1."""
        ends = self.failures, self.successes
        return jnp.stack([jnp.asarray(x, float) for x in ends])


class DirichletParameters(NamedTuple):
    """Of probabilities: a pseudo-count a level, > 0."""

    concentration: Number
    __repr__ = shapes_only


class GammaParameters(NamedTuple):
    """Of a rate: its mean is shape over rate, both > 0."""

    shape: Number
    rate: Number
    __repr__ = shapes_only


class NormalParameters(NamedTuple):
    """Of a mean: its expectation, and one over its variance, > 0."""

    mean: Number
    precision: Number
    __repr__ = shapes_only


class NormalInverseGammaParameters(NamedTuple):
    """Of mean m, variance v: v ~ InverseGamma(shape, scale), m ~ N(mean, v / strength).

    `strength` is how many records the mean is worth; 2 `shape` how many the variance
    is, their sum of squares 2 `scale`. All but the mean are > 0.
    """

    mean: Number
    strength: Number
    shape: Number
    scale: Number
    __repr__ = shapes_only


class NormalInverseWishartParameters(NamedTuple):
    """Of mean m and covariance C: C ~ InverseWishart, m ~ N(mean, C/strength).

    For d columns: `mean` (d,), `strength` > 0, `degrees` > d - 1, `scale` (d, d)
    positive definite; the expected covariance is scale / (degrees - d - 1).
    """

    mean: Number
    strength: Number
    degrees: Number
    scale: Number
    __repr__ = shapes_only


class RegressionParameters(NamedTuple):
    """Of weights w and noise variance v: v ~ InverseGamma, w ~ N(mean, v precision⁻¹).

    `mean` (p,), `precision` (p, p) positive definite, `shape` and `scale` > 0. The
    intercept, if any, comes first.
    """

    mean: Number
    precision: Number
    shape: Number
    scale: Number
    __repr__ = shapes_only


class KnownNoiseParameters(NamedTuple):
    """Of weights, for noise of variance 1 / noise_precision: N(mean, precision⁻¹).

    `mean` (p,) and `precision` (p, p); the intercept, if any, comes first.
    """

    mean: Number
    precision: Number
    noise_precision: Number
    __repr__ = shapes_only
