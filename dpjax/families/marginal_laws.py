"""Laws of single parameters, and quantiles of their mixtures; on the host."""

__all__ = [
    "BetaLaw",
    "GammaLaw",
    "HostArray",
    "InverseGammaLaw",
    "Law",
    "StudentLaw",
    "mixture_quantile",
]

from typing import Any, NamedTuple

import numpy as np
from scipy import special

HostArray = np.ndarray | np.float64
"""An array of SciPy, in double precision."""


class StudentLaw(NamedTuple):
    """Student's t, or normal for None degrees of freedom."""

    location: Any
    scale: Any
    degrees: Any

    def cdf(self, x: HostArray) -> HostArray:
        """Probability of at most x."""
        off = (x - self.location) / self.scale
        if self.degrees is None:
            return special.ndtr(off)
        return special.stdtr(self.degrees, off)

    def ppf(self, q: float) -> HostArray:
        """The q-quantile."""
        if self.degrees is None:
            return self.location + special.ndtri(q) * self.scale
        return self.location + special.stdtrit(self.degrees, q) * self.scale


class InverseGammaLaw(NamedTuple):
    """One over a gamma variable."""

    shape: HostArray
    scale: HostArray

    def cdf(self, x: HostArray) -> HostArray:
        """Probability of at most x."""
        return special.gammaincc(self.shape, self.scale / x)

    def ppf(self, q: float) -> HostArray:
        """The q-quantile."""
        return self.scale / special.gammainccinv(self.shape, q)


class BetaLaw(NamedTuple):
    """Beta."""

    a: HostArray
    b: HostArray

    def cdf(self, x: HostArray) -> HostArray:
        """Probability of at most x."""
        return special.betainc(self.a, self.b, x)

    def ppf(self, q: float) -> HostArray:
        """The q-quantile."""
        return special.betaincinv(self.a, self.b, q)


class GammaLaw(NamedTuple):
    """Gamma."""

    shape: HostArray
    rate: HostArray

    def cdf(self, x: HostArray) -> HostArray:
        """Probability of at most x."""
        return special.gammainc(self.shape, self.rate * x)

    def ppf(self, q: float) -> HostArray:
        """The q-quantile."""
        return special.gammaincinv(self.shape, q) / self.rate


Law = StudentLaw | InverseGammaLaw | BetaLaw | GammaLaw
"""The law of one number; components of a mixture are on the first axis."""


def mixture_quantile(law: Law, q: float) -> HostArray:
    """Quantile of the mixture with equal weights, by bisection."""
    ends = law.ppf(q)
    low, high = ends.min(axis=0), ends.max(axis=0)
    for _ in range(60):
        middle = (low + high) / 2
        below = law.cdf(middle).mean(axis=0) < q
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
