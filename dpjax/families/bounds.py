"""Public bounds of records, and families whose statistic is one bounded number."""

import abc
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._types import Flat, Scalar
from dpjax.families.base import Bound, Number
from dpjax.families.exact_totals import FamilyWithLaw

_NARROWEST, _WIDEST = 1e-12, 1e12  # so that squares and sums stay within float32
_STEPS = 1024  # least half-width of an interval, in spacings of floats


class SumFamily(FamilyWithLaw):
    """An exponential family whose statistic S(x) is one number, at least 0."""

    @property
    @abc.abstractmethod
    def span(self) -> tuple[float, float]:
        """The least and the largest S(x) of a record x within the bounds."""

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Least and largest value of the only column, equal to those of S(x)."""
        return (self.span,)

    def scales(self) -> tuple[float, ...]:
        """The largest S(x), as a tuple of one number."""
        return (self.span[1],)

    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Return the least S(x), divided by the largest one, and 1."""
        return ((self.span[0] / self.span[1], 1.0),)

    def diameter(self, scaled: bool = False) -> Bound:
        """Largest minus least S(x), divided by the largest S(x) if `scaled`."""
        least, most = self.span
        return Bound((most - least) / (most if scaled else 1))

    def radius(self, scaled: bool = False) -> Bound:
        """The largest S(x), or 1 if `scaled`."""
        return Bound(1.0 if scaled else self.span[1])

    def project(self, total: Flat, n: Scalar) -> tuple[Flat, Number]:
        """Clip the sum of n values of S(x) to n times `span`; n < 0 becomes 0."""
        n, (least, most) = jnp.maximum(jnp.asarray(n, float), 0), self.span
        return jnp.clip(total.astype(float), least * n, most * n), n


class ClippedFamily(SumFamily):
    """A family of one parameter and one statistic whose records may be clipped.

    `dpjax.posteriors.clipped_posterior` infers the parameter of the unclipped records.
    Conjugate posteriors of the family have a method `log_kernel(points)`: the
    log-density in double precision at values of the parameter, up to a constant.
    """

    @abc.abstractmethod
    def cdf(
        self, values: Float[np.ndarray, " v"], points: Float[np.ndarray, " j"]
    ) -> Float[np.ndarray, "j v"]:
        """Probability that S(x) of an unclipped record is at most each value.

        Args:
            values: values of S(x), divided by its largest value within the bounds.
            points: values of the family's parameter, one for each row of the result.
        """


def interval(lower: Any, upper: Any) -> tuple[float, float]:
    """Convert the bounds of one column to floats.

    Raises:
        ValueError: if a bound is missing, `lower` is not below `upper`, or float32
            cannot represent sums of squares for these bounds.
    """
    try:
        lower, upper = float(lower), float(upper)
    except (TypeError, ValueError):
        lower = upper = math.nan
    if not _NARROWEST <= upper - lower <= _WIDEST or max(-lower, upper) > _WIDEST:
        raise ValueError(
            "`lower` and `upper` must be public bounds, the lower below the upper, "
            f"within ±{_WIDEST:.0e} and at least {_NARROWEST:.0e} apart, got {lower} "
            f"and {upper}."
        )
    return lower, upper


def intervals(
    lower: tuple[float | int, ...], upper: tuple[float | int, ...]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Convert the bounds of several columns to floats.

    Raises:
        ValueError: if there is no column, `lower` and `upper` differ in length, or
            `interval` rejects the bounds of a column.
    """
    if not len(lower) == len(upper) > 0:
        raise ValueError(
            "`lower` and `upper` must be as long as each other, a bound a column, got "
            f"{len(lower)} and {len(upper)}."
        )
    low, high = zip(*map(interval, lower, upper), strict=True)
    return low, high


def standardise(
    records: Real[ArrayLike, "n d"], centres: Any, scales: Any
) -> Float[Array, "n d"]:
    """Return (x - centre) / scale by column, clipped to [-1, 1]; NaN becomes 0."""
    records = jnp.asarray(records).astype(float)
    centres, scales = np.asarray(centres), np.asarray(scales)
    spacing = np.finfo(records.dtype).eps * (np.abs(centres) + scales)
    if np.any(spacing * _STEPS > scales):
        raise ValueError(
            "`records` must be in double precision (jax_enable_x64) for bounds so near "
            "to each other and so far from 0: or subtract a public constant."
        )
    shifted = records - jnp.asarray(centres, records.dtype)[None, :]
    scaled = divided(shifted, scales)
    return jnp.where(jnp.isnan(scaled), 0, jnp.clip(scaled, -1, 1))


def divided(records: Float[Array, "n d"], divisors: Any) -> Float[Array, "n d"]:
    """Multiply every column by the reciprocal of its public divisor.

    XLA compiles a division to this multiplication or not, as the number of records may
    be. A record would then count differently with others than alone.
    """
    one = np.ones((), records.dtype)
    reciprocals = one / np.asarray(divisors, records.dtype).reshape(1, -1)
    return records * jnp.asarray(reciprocals)
