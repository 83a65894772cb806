"""Distributions of single parameters with SciPy, and quantiles of their mixtures."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpjax._later import special

_MOST_STEPS, _SLACK = 60, 8  # at most `_SLACK` more than halving the interval
_PRECISION = 1e-13  # relative to the ends

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

    The quantile is between the least and the largest quantile of a component. The
    search takes at most a few steps more than halving this interval would, and far
    fewer where the mixture is smooth.

    Reference:
        Oliveira & Takahashi (ACM TOMS 47, 2020), the ITP method.
    """

    def excess(values: HostArray) -> HostArray:
        each = law.cdf(values)
        if weights is None:
            return each.mean(axis=0) - q
        return (each * weights).sum(axis=0) / weights.sum(axis=0) - q

    with np.errstate(all="ignore"):  # ends may be equal, or infinite
        ends = law.ppf(q)
        low, high = ends.min(axis=0), ends.max(axis=0)
        under, over, width = excess(low), excess(high), high - low
        least = _PRECISION * (np.abs(low) + np.abs(high) + width)
        for step in range(_MOST_STEPS):
            if np.all(high - low <= least):
                break
            middle = (low + high) / 2
            line = (over * low - under * high) / (over - under)
            line = np.where((line > low) & (line < high), line, middle)
            beyond = np.maximum(0.2 * (high - low) ** 2 / width, least / 4)
            far = ~(beyond <= np.abs(middle - line))  # also if these are NaN
            guess = np.where(far, middle, line + np.sign(middle - line) * beyond)
            room = np.fmax(width * 2.0 ** (_SLACK - step) - (high - low) / 2, 0)
            guess = np.clip(guess, middle - room, middle + room)
            found = excess(guess)
            below = found < 0
            under, over = np.where(below, found, under), np.where(below, over, found)
            low, high = np.where(below, guess, low), np.where(below, high, guess)
    return (low + high) / 2
