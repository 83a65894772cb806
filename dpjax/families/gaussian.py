"""Gaussian of unknown mean and variance, with a normal-inverse-gamma prior on both."""

__all__ = ["Gaussian"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Family, Truncation, interval, standardise
from dpjax.families.likelihood import (
    normal_likelihood_diameter,
    normal_likelihood_radius,
)
from dpjax.families.moments import largest_change, largest_norm, moments, over
from dpjax.families.parameters import NormalInverseGammaParameters


@dataclass(frozen=True)
class Gaussian(Family):
    r"""$S(x) = (z, z^2)$ with z = x - c, c the middle of the bounds.

    F's (x, x²) up to an affine map; centred, it neither needs more noise the farther
    the bounds are from 0, nor loses the variance to rounding. With h half the width, ΔS
    is $h + h^2 + 1/4$ under replace-one (for h ≥ ½: the supremum is inside, not at
    corners) and $h + h^2$ under add-remove. Sampling needs the mean and the variance
    within a box; a variance that may approach 0 makes Δ infinite.

    Args:
        lower: smallest record.
        upper: largest record.

    Raises:
        ValueError: if the bounds are missing or crossed.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    lower: float | int
    upper: float | int

    name: ClassVar[str] = "gaussian"
    on_grid: ClassVar[bool] = True
    priors: ClassVar[tuple[type, ...]] = (NormalInverseGammaParameters,)
    parameters: ClassVar[Truncation] = {
        "mean": (-math.inf, math.inf),
        "variance": (0.0, math.inf),
    }

    def __post_init__(self):
        lower, upper = interval(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def from_bounds(cls, lower: Ends, upper: Ends, **options: Any) -> "Gaussian":
        """The family, for one column."""
        if len(upper) != 1:
            raise ValueError(
                f"`upper` must be of one column, got {len(upper)}: "
                "`MultivariateGaussian` takes more."
            )
        return cls(lower[0], upper[0], **options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper."""
        return ((self.lower, self.upper),)

    @property
    def half_width(self) -> float:
        """Half of what is between the bounds."""
        return (self.upper - self.lower) / 2

    @property
    def centre(self) -> float:
        """The middle of the bounds, where the statistic is 0."""
        return self.lower + self.half_width

    @property
    def complement(self) -> int:
        """The square."""
        return 1

    def scales(self) -> tuple[float, ...]:
        """Half the width, and its square."""
        return (self.half_width, self.half_width**2)

    def scaled_statistics(self, records: Real[Array, "n 1"]) -> Float[Array, "n 2"]:
        """(t, t²) with t from -1 to 1."""
        t = standardise(records, [self.centre], [self.half_width])
        return moments(t, linear=True)

    def diameter(self, scaled: bool = False) -> Bound:
        """9/4 when scaled; exact."""
        return Bound(largest_change([1.0 if scaled else self.half_width], linear=True))

    def radius(self, scaled: bool = False) -> Bound:
        """2 when scaled; exact."""
        return Bound(largest_norm([1.0 if scaled else self.half_width], linear=True))

    def project(
        self, total: Real[Array, "*batch m"], n: Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, ""]]:
        """A sum within ±hn, and a sum of squares from its square over n to h²n."""
        n = jnp.maximum(jnp.asarray(n, float), 0)
        scales = jnp.asarray(self.scales())
        scaled = total.astype(float) / scales.reshape((1,) * (total.ndim - 1) + (2,))
        first = jnp.clip(scaled[..., 0], -n, n)
        second = jnp.clip(scaled[..., 1], first**2 * over(n), n)
        return jnp.stack([first * scales[0], second * scales[1]], axis=-1), n

    def prior(self) -> NormalInverseGammaParameters:
        """At the middle, worth one record; expected variance (half width / 2)²."""
        return NormalInverseGammaParameters(
            self.centre, 1.0, 1.5, self.half_width**2 / 8
        )

    def vague_prior(self) -> NormalInverseGammaParameters:
        """Standard deviation (half width / 10) / |normal|, a mean from anywhere."""
        return NormalInverseGammaParameters(
            self.centre, 0.01, 0.5, self.half_width**2 / 200
        )

    def update(
        self, prior: NormalInverseGammaParameters, total: Real[Array, " m"], n: Scalar
    ) -> NormalInverseGammaParameters:
        """Counts and sums of squares add; the mean is weighted by the counts."""
        n, total = jnp.asarray(n, float), total.astype(float)
        average = total[..., 0] * over(n)
        start = prior.mean - self.centre
        strength = prior.strength + n
        scatter = jnp.maximum(total[..., 1] - total[..., 0] * average, 0)
        between = prior.strength * n / strength * (average - start) ** 2
        return NormalInverseGammaParameters(
            self.centre + (prior.strength * start + total[..., 0]) / strength,
            strength,
            prior.shape + n / 2,
            prior.scale + (scatter + between) / 2,
        )

    def natural(
        self, points: Float[np.ndarray, "j p"]
    ) -> tuple[Float[np.ndarray, "j m"], Float[np.ndarray, " j"]]:
        """For z = x - c: (m - c) / v and -1 / 2v; log g is -(m - c)² / 2v - ½ log v."""
        mean, variance = points[:, 0] - self.centre, points[:, 1]
        natural = np.stack([mean / variance, -1 / (2 * variance)], axis=1)
        return natural, -(mean**2) / (2 * variance) - np.log(variance) / 2

    def truncation(self, share: float) -> Truncation:
        """The mean within the bounds; the sd from a share of half the width to it."""
        least, most = share * self.half_width, self.half_width
        return {"mean": (self.lower, self.upper), "variance": (least**2, most**2)}

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        return Bound(
            normal_likelihood_diameter(
                self.bounds[0], limits["mean"], limits["variance"]
            )
        )

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        return Bound(
            normal_likelihood_radius(self.bounds[0], limits["mean"], limits["variance"])
        )
