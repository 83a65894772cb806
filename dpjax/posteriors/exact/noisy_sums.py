"""Likelihood of a noisy sum of clipped and rounded records, by Fourier series.

The law of one clipped and rounded record is known for every value of the parameter. The
characteristic function of the sum of n records is the n-th power of that of one record.
With the Fourier transform of the noise, it gives the likelihood of the released
numbers.
"""

__all__ = ["NoisySum", "log_likelihood"]

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from dpjax.families.bounds import ClippedFamily
from dpjax.posteriors.laws import laplace_law
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic

_BLOCK = 32  # points at a time, so that memory stays small
_TERMS = 1024  # most terms of the series
_ENOUGH = 12  # inverse sds of the sum: terms of higher frequency count as 0
_MANY = 60  # least expected number of records outside the largest atom for `_ENOUGH`
_FAR = 30  # scales of the noise beyond which its density counts as 0
_NUMBERS = 80  # most numbers of records that are summed over
_WIDE = 16  # scales of the noise between the most likely number and either end
_NONE = 1e-15  # a mass that counts as 0

_Grid = Float[np.ndarray, " j"]
_Frequencies = Float[np.ndarray, " k"]


class NoisySum(NamedTuple):
    """A released sum of S(x), and its noise, in units of the largest S(x).

    Args:
        total: the noisy sum.
        rest: the noisy sum of 1 - S(x), which is released if n is private, else None.
        scale: scale of the Laplace noise of each of the two.
        n: number of records, None if it is private.
        steps: number of rounding steps from 0 to the largest S(x).
    """

    total: float
    rest: float | None
    scale: float
    n: int | None
    steps: int

    @classmethod
    def of(cls, released: Released, statistic: FamilyStatistic) -> "NoisySum":
        """Make the noisy sum from a release of the statistic of a `ClippedFamily`."""
        values = np.asarray(released.values, float) / statistic.steps
        rate = np.ravel(np.asarray(laplace_law(released).rate, float))[0]  # all equal
        scale = 1 / float(rate) / statistic.steps
        n = None if released.n is None else int(released.n)
        rest = float(values[1]) if n is None else None
        return cls(float(values[0]), rest, scale, n, statistic.steps)

    def numbers(self) -> np.ndarray:
        """Return the numbers of records to sum over, in increasing order."""
        if self.rest is None:
            return np.array([self.n])
        middle, width = self.total + self.rest, _WIDE * self.scale
        first = max(1, math.floor(middle - width))
        last = max(first, math.ceil(middle + width))
        return np.arange(first, last + 1, math.ceil((last - first + 1) / _NUMBERS))

    def places(self, n: int, least: float) -> tuple[float, float, float]:
        """Return the sums at which the noise of either number is 0, given n.

        A sum that n records cannot have is moved to the nearest sum that is in range.
        This divides the noise's density by the same factor for every possible sum.

        Returns:
            The lower and the higher of the two sums, and the log of the factor.
        """
        wanted = [self.total, self.total if self.rest is None else n - self.rest]
        low, high = moved = np.clip(wanted, n * least, n)
        off = np.abs(moved - wanted)[: 1 if self.rest is None else 2].sum()
        return min(low, high), max(low, high), -off / self.scale

    def density(self, low: float, high: float, totals: Any) -> Any:
        """Return the density of the noise, up to a constant, for each exact sum."""
        off = np.abs(totals - low)
        if self.rest is not None:
            off = off + np.abs(totals - high)
        return np.exp(-off / self.scale)

    def transform(
        self, low: float, high: float, t: _Frequencies
    ) -> Complex[np.ndarray, " k"]:
        """Return the Fourier transform, the integral of `density` times e^(-its)."""
        start = np.exp(-1j * t * low)
        if self.rest is None:
            return 2 * self.scale * start / (1 + (self.scale * t) ** 2)
        end, rate = np.exp(-1j * t * high), 2 / self.scale
        between = np.full(t.shape, high - low, complex)
        np.divide(start - end, 1j * t, out=between, where=t > 0)
        whole = start / (rate - 1j * t) + between + end / (rate + 1j * t)
        return np.exp(-(high - low) / self.scale) * whole


def log_likelihood(
    family: ClippedFamily, noisy: NoisySum, points: _Grid, rough: bool = False
) -> _Grid:
    """Log-likelihood of the released numbers for each point, up to a constant.

    It is approximate with `rough`, and for points whose expected sum is further from
    the released sum than 8 standard deviations plus 15 scales of the noise.
    """
    blocks = np.split(points, range(_BLOCK, len(points), _BLOCK))
    each = [_of_block(family, noisy, block, rough) for block in blocks]
    return np.concatenate(each)


def _of_block(
    family: ClippedFamily, noisy: NoisySum, points: _Grid, rough: bool
) -> _Grid:
    places, masses = _record_law(family, noisy.steps, points)
    mean = masses @ places
    variance = np.maximum(masses @ places**2 - mean**2, 0)
    numbers = noisy.numbers()
    middle = numbers[len(numbers) // 2]
    low, high, _ = noisy.places(int(middle), places[0])
    off = np.abs((low + high) / 2 - middle * mean)
    spread, rate = middle * variance, 1 / noisy.scale
    with np.errstate(divide="ignore", invalid="ignore"):
        normal, laplace = off**2 / (2 * spread), off * rate - spread * rate**2 / 2
    far = -np.where(off < spread * rate, normal, laplace)
    if rough:
        return far
    circle = 2 * _FAR * noisy.scale + 16 * np.sqrt(numbers[-1] * variance.max())
    found = _series(noisy, places, masses, circle)
    with np.errstate(divide="ignore"):
        return np.where(found > 0, np.log(found), far)


def _record_law(
    family: ClippedFamily, steps: int, points: _Grid
) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, "j c"]]:
    """Return a record's possible clipped, rounded S(x), and their probabilities."""
    least = round(family.span[0] / family.span[1] * steps)
    places = np.arange(least, steps + 1) / steps
    cdf = family.cdf(places[1:] - 1 / (2 * steps), points)
    masses = np.diff(cdf, prepend=0.0, append=1.0)
    kept = masses.max(axis=0) > _NONE
    kept[0] = True  # the least possible value
    return places[kept], masses[:, kept]


def _series(
    noisy: NoisySum,
    places: Float[np.ndarray, " c"],
    masses: Float[np.ndarray, "j c"],
    circle: float,
) -> _Grid:
    """Return the likelihood of each point, by a Fourier series on a circle.

    The law of the sum is wrapped around a circle of length `circle`. The series is
    finite if few rounding steps fit on the circle. Otherwise it is truncated; it
    converges slowly for sums of records that are all at the same bound, which are
    therefore computed without the series. The likelihood is 0 if the expected sum is
    too far from the released sum.
    """
    mean, numbers = masses @ places, noisy.numbers()
    spread = np.sqrt(numbers[0] * (masses @ places**2 - mean**2).clip(0).min())
    size = 2 * math.ceil(circle * noisy.steps / 2) + 1  # rounding steps on the circle
    finite = size <= 2 * _TERMS
    circle = size / noisy.steps if finite else circle
    terms = size // 2 + 1 if finite else _TERMS
    others = numbers[0] * (1 - masses.max(axis=1)).min()
    if spread * noisy.steps > _ENOUGH and others > _MANY:
        terms = min(terms, 2 + int(_ENOUGH / spread * circle / (2 * np.pi)))
    t = 2 * np.pi / circle * np.arange(terms)
    one = (masses @ _waves(places, t).view(float)).view(complex)
    steps = {step: one**step for step in np.unique(np.diff(numbers))}
    power, last = one ** numbers[0], numbers[0]
    found = np.zeros(len(masses))
    for n in numbers:
        power, last = power if n == last else power * steps[n - last], n
        low, high, factor = noisy.places(int(n), places[0])
        if finite:
            waves = _all_waves(noisy, low, high, t, size)
            value = (power @ waves).real
        else:
            waves = noisy.transform(low, high, t) / circle
            waves[1:] *= 2  # the series is real
            value = (power @ waves).real
            for i in (0, -1):
                total = n * places[i]
                series = (np.exp(1j * total * t) @ waves).real
                missing = noisy.density(low, high, total) - series
                value += masses[:, i] ** n * missing
        near = np.abs((low + high) / 2 - n * mean) < circle / 2
        found += np.where(near, np.maximum(value, 0), 0) * np.exp(factor)
    return found


def _waves(
    places: Float[np.ndarray, " c"], t: _Frequencies
) -> Complex[np.ndarray, "c k"]:
    """Return e^(i places t) for multiples t of t[1], as products of exponentials."""
    width = math.isqrt(len(t)) + 1
    fine = np.exp(1j * np.outer(places, t[:width]))
    coarse = np.exp(1j * np.outer(places, t[::width]))
    powers = coarse[:, :, None] * fine[:, None, :]
    return np.ascontiguousarray(powers.reshape(len(places), -1)[:, : len(t)])


def _all_waves(
    noisy: NoisySum, low: float, high: float, t: _Frequencies, size: int
) -> Complex[np.ndarray, " k"]:
    """Return Fourier coefficients of the noise's density at `size` rounding steps."""
    start = round((low + high) / 2 * noisy.steps) - size // 2
    totals = (start + np.arange(size)) / noisy.steps
    waves = np.fft.rfft(noisy.density(low, high, totals))[: len(t)] / size
    waves[1:] *= 2
    return waves * np.exp(-1j * t * totals[0])
