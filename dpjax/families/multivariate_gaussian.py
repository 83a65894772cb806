"""Multivariate Gaussian, with a normal-inverse-Wishart prior on mean and covariance."""

__all__ = ["MultivariateGaussian"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Family, Truncation, interval, standardise
from dpjax.families.moments import (
    largest_change,
    largest_norm,
    moments,
    over,
    project_moments,
    split,
)
from dpjax.families.parameters import NormalInverseWishartParameters


@dataclass(frozen=True)
class MultivariateGaussian(Family):
    r"""$S(x) = (z_i, z_i z_j)_{i \le j}$ with z = x - c, c the middle of the bounds.

    In units of half the widths ΔS is $d(d + 2)^2/(2(d + 1))$ under replace-one, inside,
    and $d + d(d + 1)/2$ under add-remove; exact in natural units too. Sampling needs
    the mean within the records' bounds (implied) and every eigenvalue of the covariance
    in [least, most]: with D² the squared diagonal of the bounds, Δ is
    $D^2/(2\,least)$ under replace-one.

    Args:
        lower: smallest value of every column.
        upper: largest value of every column.

    Raises:
        ValueError: if bounds are missing or crossed, or not as many below as above.

    Reference:
        Foulds et al. (UAI-16), section 3, in general form.
    """

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]

    name: ClassVar[str] = "multivariate-gaussian"
    priors: ClassVar[tuple[type, ...]] = (NormalInverseWishartParameters,)
    parameters: ClassVar[Truncation] = {"variance": (0.0, math.inf)}

    def __post_init__(self):
        if not len(self.lower) == len(self.upper) > 0:
            raise ValueError(
                f"`lower` and `upper` must be as long as each other, a bound a column, "
                f"got {len(self.lower)} and {len(self.upper)}."
            )
        pairs = [interval(*pair) for pair in zip(self.lower, self.upper, strict=True)]
        object.__setattr__(self, "lower", tuple(lower for lower, _ in pairs))
        object.__setattr__(self, "upper", tuple(upper for _, upper in pairs))

    @classmethod
    def from_bounds(
        cls, lower: Ends, upper: Ends, **options: Any
    ) -> "MultivariateGaussian":
        """The family, for any number of columns."""
        return cls(lower, upper, **options)

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper, a pair a column."""
        return tuple(zip(self.lower, self.upper, strict=True))

    @property
    def half_widths(self) -> tuple[float, ...]:
        """Half of what is between the bounds."""
        return tuple((upper - lower) / 2 for lower, upper in self.bounds)

    @property
    def centre(self) -> tuple[float, ...]:
        """The middle of the bounds, where the statistic is 0."""
        return tuple(lower + (upper - lower) / 2 for lower, upper in self.bounds)

    @property
    def complement(self) -> int:
        """The square of the first column."""
        return self.columns

    @property
    def dimension(self) -> int:
        """Columns and their products."""
        return self.columns * (self.columns + 3) // 2

    def scales(self) -> tuple[float, ...]:
        """Half the widths, and their products."""
        h = np.array(self.half_widths)
        rows, columns = np.triu_indices(len(h))
        return (*h.tolist(), *(h[rows] * h[columns]).tolist())

    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Moments of columns that go from -1 to 1."""
        t = standardise(records, self.centre, self.half_widths)
        return moments(t, linear=True)

    def diameter(self, scaled: bool = False) -> Bound:
        """Exact; see `moments.largest_change`."""
        return Bound(largest_change(self._widths(scaled), linear=True))

    def radius(self, scaled: bool = False) -> Bound:
        """Exact, at the corners."""
        return Bound(largest_norm(self._widths(scaled), linear=True))

    def project(
        self, total: Real[Array, "*batch m"], n: Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, ""]]:
        """A positive semidefinite scatter; see `moments.project_moments`."""
        n = jnp.maximum(jnp.asarray(n, float), 0)
        scales = jnp.asarray(self.scales()).reshape((1,) * (total.ndim - 1) + (-1,))
        scaled = total.astype(float) / scales
        return project_moments(scaled, n, self.columns, linear=True) * scales, n

    def prior(self) -> NormalInverseWishartParameters:
        """At the middle, worth one record; expected variances (half width / 2)²."""
        d = self.columns
        scale = jnp.diag(jnp.asarray(self.half_widths) ** 2 / 4)
        return NormalInverseWishartParameters(
            jnp.asarray(self.centre), 1.0, d + 2.0, scale
        )

    def vague_prior(self) -> NormalInverseWishartParameters:
        """Standard deviations of (half width / 10) / |normal|, means from anywhere."""
        scale = jnp.diag(jnp.asarray(self.half_widths) ** 2 / 100)
        return NormalInverseWishartParameters(
            jnp.asarray(self.centre), 0.01, float(self.columns), scale
        )

    def update(
        self, prior: NormalInverseWishartParameters, total: Real[Array, " m"], n: Scalar
    ) -> NormalInverseWishartParameters:
        """Counts and scatters add; the mean is weighted by the counts."""
        n, centre = jnp.asarray(n, float), jnp.asarray(self.centre)
        first, second = split(total, self.columns, linear=True)
        average = first * over(n)
        start = prior.mean - centre
        strength = prior.strength + n
        between = prior.strength * n / strength * _outer(average - start)
        return NormalInverseWishartParameters(
            centre + (prior.strength * start + first) / strength,
            strength,
            prior.degrees + n,
            prior.scale + second - n * _outer(average) + between,
        )

    def _widths(self, scaled: bool) -> tuple[float, ...]:
        return (1.0,) * self.columns if scaled else self.half_widths

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """Means at x' and at x, the least variance along x' - x."""
        return Bound(self._diagonal / (2 * limits["variance"][0]))

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """At a corner: the mean there, or at the opposite one, across one direction."""
        least, most = limits["variance"]
        worst = max(math.log(v / least) + self._diagonal / v for v in (least, most))
        others = (self.columns - 1) * math.log(most / least)
        return Bound((worst + others) / 2)

    @property
    def _diagonal(self) -> float:
        """Squared, of the box of records."""
        return sum((upper - lower) ** 2 for lower, upper in self.bounds)


def _outer(vector: Array) -> Array:
    return vector[:, None] * vector[None, :]
