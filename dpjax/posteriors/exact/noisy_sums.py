"""Likelihood of a noisy sum of clipped and rounded records, by Fourier series.

The law of one clipped and rounded record is known for every value of the parameter. The
characteristic function of the sum of n records is the n-th power of that of one record.
With the Fourier transform of the noise, it gives the likelihood of the released
numbers.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from dpjax.families.bounds import ClippedFamily
from dpjax.posteriors.laws import laplace_scale, normal_deviation
from dpjax.releases.released import Released
from dpjax.statistics import FamilyStatistic

_BLOCK = 32  # points at a time, so that memory stays small
_TERMS = 1024  # most terms of the series
_ENOUGH = 12  # inverse sds of the sum: terms of higher frequency count as 0
_MANY = 60  # least expected number of records outside the largest atom for `_ENOUGH`
_FAR = 30  # fall of the logarithm of the noise's density to what counts as 0
_NUMBERS = 80  # most numbers of records that are summed over
_WIDE = 16  # least scales of the noise from the most likely number to either end
_NONE = 1e-15  # a mass that counts as 0
_FLAT = 1e-8  # an exponent that counts as 0

_Grid = Float[np.ndarray, " j"]
_Frequencies = Float[np.ndarray, " k"]


class NoisySum(NamedTuple):
    """Released sums of S(x) of the same records, in units of the largest S(x).

    Args:
        totals: the noisy sums, one for each release.
        rests: the noisy sums of 1 - S(x), which are released if n is private, else
            None.
        scales: scales of the Laplace noise of each release, or standard deviations of
            its normal noise.
        normal: whether the noise is normal.
        n: number of records, None if it is private.
        steps: number of rounding steps from 0 to the largest S(x).
    """

    totals: Float[np.ndarray, " r"]
    rests: Float[np.ndarray, " r"] | None
    scales: Float[np.ndarray, " r"]
    normal: bool
    n: int | None
    steps: int

    @classmethod
    def of(cls, releases: Sequence[Released], statistic: FamilyStatistic) -> "NoisySum":
        """Make the noisy sum from releases of the statistic of a `ClippedFamily`."""
        steps, n = statistic.steps, releases[0].n
        values = np.array([np.asarray(x.values, float) for x in releases]) / steps
        normal = normal_deviation(releases[0]) is not None
        scales = [normal_deviation(x) if normal else laplace_scale(x) for x in releases]
        firsts = [float(np.ravel(np.asarray(x, float))[0]) / steps for x in scales]
        rests = values[:, 1] if n is None else None
        public = None if n is None else int(n)
        return cls(values[:, 0], rests, np.array(firsts), normal, public, steps)

    def numbers(self) -> np.ndarray:
        """Return the numbers of records to sum over, in increasing order."""
        if self.rests is None:
            return np.array([self.n])
        weights = self.scales**-2.0
        middle = weights @ (self.totals + self.rests) / weights.sum()
        width = _WIDE * self.scales.min()
        first = max(1, math.floor(middle - width))
        last = max(first, math.ceil(middle + width))
        return np.arange(first, last + 1, math.ceil((last - first + 1) / _NUMBERS))

    def law(self, n: int, least: float) -> "_Kinks | _Bell":
        """Return the density of the noise as a function of the exact sum, given n.

        A sum that n records cannot have is moved to the nearest sum that is in range.
        This divides the density of Laplace noise by the same factor for every possible
        sum.
        """
        wanted, scales = self.totals, self.scales
        if self.rests is not None:
            wanted = np.concatenate([wanted, n - self.rests])
            scales = np.concatenate([scales, scales])
        if self.normal:
            weights = scales**-2.0
            center = weights @ wanted / weights.sum()
            factor = -(weights @ (wanted - center) ** 2) / 2
            return _Bell(center, 1 / weights.sum(), factor)
        moved = np.clip(wanted, n * least, n)
        order = np.argsort(moved)
        factor = -(np.abs(moved - wanted) / scales).sum()
        return _Kinks(moved[order], 1 / scales[order], factor)


class _Kinks(NamedTuple):
    """Product of Laplace densities, whose logarithm is linear between `places`.

    Its logarithm is `factor` larger than `log_density`.
    """

    places: Float[np.ndarray, " k"]
    rates: Float[np.ndarray, " k"]
    factor: float

    def log_density(self, sums: Any) -> Any:
        return -np.abs(np.subtract.outer(sums, self.places)) @ self.rates

    def slopes(self) -> Float[np.ndarray, " m"]:
        """Return the slopes before the first place, and after each one."""
        return self.rates.sum() - 2 * np.cumsum(np.append(0.0, self.rates))

    def reach(self) -> tuple[float, float]:
        """Return sums outside of which the density counts as 0."""
        height = self.log_density(self.places)
        height += _FAR - height.max()
        high, slopes = np.flatnonzero(height > 0), self.slopes()
        first, last = high[0], high[-1]
        low = self.places[first] - height[first] / slopes[first]
        return low, self.places[last] - height[last] / slopes[last + 1]

    def roughly(self, middle: _Grid, spread: _Grid) -> _Grid:
        """Return about the log-likelihood of sums with this mean and variance.

        It is the largest log-density, less (sum - middle)² / (2 spread), over sums:
        at a place, or between two places where the slopes of both terms are equal.
        """
        ends = np.concatenate([[-np.inf], self.places, [np.inf]])
        between = middle[:, None] + spread[:, None] * self.slopes()
        between = np.clip(between, ends[:-1], ends[1:])
        places = np.broadcast_to(self.places, (len(middle), len(self.places)))
        sums = np.concatenate([between, places], axis=1)
        off = (sums - middle[:, None]) ** 2 / (2 * np.maximum(spread, _NONE)[:, None])
        return (self.log_density(sums) - off).max(axis=1)

    def transform(self, t: _Frequencies) -> Complex[np.ndarray, " k"]:
        """Return the Fourier transform, the integral of the density times e^(-its)."""
        height, slopes = self.log_density(self.places), self.slopes()
        ends = np.exp(height[:, None] - 1j * np.outer(self.places, t))
        found = ends[0] / (slopes[0] - 1j * t) - ends[-1] / (slopes[-1] - 1j * t)
        for i, length in enumerate(np.diff(self.places)):
            rate = slopes[i + 1] - 1j * t
            part = length * ends[i]
            steep = np.abs(rate) * length > _FLAT
            np.divide(ends[i + 1] - ends[i], rate, out=part, where=steep)
            found = found + part
        return found


class _Bell(NamedTuple):
    """Product of normal densities; its logarithm is `factor` larger."""

    center: float
    variance: float
    factor: float

    def log_density(self, sums: Any) -> Any:
        return -((sums - self.center) ** 2) / (2 * self.variance)

    def reach(self) -> tuple[float, float]:
        off = math.sqrt(2 * _FAR * self.variance)
        return self.center - off, self.center + off

    def roughly(self, middle: _Grid, spread: _Grid) -> _Grid:
        return -((middle - self.center) ** 2) / (2 * (self.variance + spread))

    def transform(self, t: _Frequencies) -> Complex[np.ndarray, " k"]:
        size = math.sqrt(2 * math.pi * self.variance)
        return size * np.exp(-1j * self.center * t - self.variance * t * t / 2)


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
    middle = int(numbers[len(numbers) // 2])
    law = noisy.law(middle, places[0])
    far = law.factor + law.roughly(middle * mean, middle * variance)
    if rough:
        return far
    found = _series(noisy, places, masses, 16 * np.sqrt(numbers[-1] * variance.max()))
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
    apart: float,
) -> _Grid:
    """Return the likelihood of each point, by a Fourier series on a circle.

    The law of the sum is wrapped around a circle, whose length is that of the noise and
    `apart`. The series is finite if few rounding steps fit on the circle. Otherwise it
    is truncated; it converges slowly for sums of records that are all at the same
    bound, which are therefore computed without the series. The likelihood is 0 if the
    expected sum is too far from the released sum.
    """
    mean, numbers = masses @ places, noisy.numbers()
    laws = [noisy.law(int(n), places[0]) for n in numbers]
    circle = apart + max(high - low for low, high in (law.reach() for law in laws))
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
    for n, law in zip(numbers, laws, strict=True):
        power, last = power if n == last else power * steps[n - last], n
        center = sum(law.reach()) / 2
        if finite:
            waves = _all_waves(noisy.steps, law, center, t, size)
            value = (power @ waves).real
        else:
            waves = law.transform(t) / circle
            waves[1:] *= 2  # the series is real
            value = (power @ waves).real
            for i in (0, -1):
                total = n * places[i]
                series = (np.exp(1j * total * t) @ waves).real
                missing = np.exp(law.log_density(total)) - series
                value += masses[:, i] ** n * missing
        near = np.abs(center - n * mean) < circle / 2
        found += np.where(near, np.maximum(value, 0), 0) * np.exp(law.factor)
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
    steps: int, law: _Kinks | _Bell, center: float, t: _Frequencies, size: int
) -> Complex[np.ndarray, " k"]:
    """Return Fourier coefficients of the noise's density at `size` rounding steps."""
    start = round(center * steps) - size // 2
    totals = (start + np.arange(size)) / steps
    waves = np.fft.rfft(np.exp(law.log_density(totals)))[: len(t)] / size
    waves[1:] *= 2
    return waves * np.exp(-1j * t * totals[0])
