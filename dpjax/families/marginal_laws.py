"""Distributions of single parameters with SciPy, and quantiles of their mixtures."""

__all__ = [
    "HostArray",
    "HostLaw",
    "Law",
    "StudentLaw",
    "beta_law",
    "gamma_law",
    "inverse_gamma_law",
    "mixture_quantile",
]

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpjax._later import special

HostArray = np.ndarray | np.float64
"""A NumPy array or number in double precision, as SciPy returns it."""


class StudentLaw(NamedTuple):
    """Student's t distribution, or a normal distribution if `degrees` is None."""

    location: Any
    scale: Any
    degrees: Any

    def cdf(self, x: HostArray) -> HostArray:
        """Return the probability of values up to x."""
        off = (x - self.location) / self.scale
        if self.degrees is None:
            return special.ndtr(off)
        return special.stdtr(self.degrees, off)

    def ppf(self, q: float) -> HostArray:
        """Return the q-quantile."""
        if self.degrees is None:
            return self.location + special.ndtri(q) * self.scale
        return self.location + special.stdtrit(self.degrees, q) * self.scale


class HostLaw(NamedTuple):
    """A distribution of one number, defined by its cdf and its quantile function."""

    cdf: Callable[[HostArray], HostArray]  # probability of at most x
    ppf: Callable[[float], HostArray]  # the q-quantile


Law = StudentLaw | HostLaw
"""A distribution of one number; a mixture has its components on the first axis."""


def beta_law(a: HostArray, b: HostArray) -> HostLaw:
    """Return the distribution Beta(a, b), computed with SciPy."""
    return HostLaw(partial(special.betainc, a, b), partial(special.betaincinv, a, b))


def gamma_law(shape: HostArray, rate: HostArray) -> HostLaw:
    """Return the distribution Gamma(shape, rate), computed with SciPy."""
    return HostLaw(
        lambda x: special.gammainc(shape, rate * x),
        lambda q: special.gammaincinv(shape, q) / rate,
    )


def inverse_gamma_law(shape: HostArray, scale: HostArray) -> HostLaw:
    """Return the distribution of 1 / X for X ~ Gamma(shape, rate=scale)."""
    return HostLaw(
        lambda x: special.gammaincc(shape, scale / x),
        lambda q: scale / special.gammainccinv(shape, q),
    )


def mixture_quantile(law: Law, q: float, weights: HostArray | None = None) -> HostArray:
    """Return the q-quantile of the mixture of components of `law`.

    The weights have the components on the first axis, and may be different for the
    entries of further axes. None means equal weights.
    """
    ends = law.ppf(q)
    low, high = ends.min(axis=0), ends.max(axis=0)
    for _ in range(60):
        middle = (low + high) / 2
        each = law.cdf(middle)
        if weights is None:
            below = each.mean(axis=0) < q
        else:
            below = (each * weights).sum(axis=0) < q * weights.sum(axis=0)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
