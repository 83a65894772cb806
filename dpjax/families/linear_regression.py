"""Linear regression: y = wᵀx plus normal noise, all columns within public bounds.

The noise is known, or has an inverse-gamma prior; the prior's type says which.
"""

__all__ = ["LinearRegression"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Float, Real

from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Family, Truncation, interval, standardise
from dpjax.families.likelihood import largest_normal_range
from dpjax.families.moments import (
    largest_change,
    largest_norm,
    moments,
    project_moments,
    split,
)
from dpjax.families.parameters import KnownNoiseParameters, RegressionParameters

_Parameters = RegressionParameters | KnownNoiseParameters


@dataclass(frozen=True)
class LinearRegression(Family):
    r"""S(x, y): XᵀX, Xᵀy and yᵀy, the target being the last column.

    With an intercept all columns are centred at the middle of their bounds and
    $S = (z_i, z_i z_j)_{i \le j}$ as of a multivariate Gaussian; without, they are as
    they are and there are no linear terms. ΔS is exact; without an intercept only for
    bounds that are symmetric about 0, and else a bound (under replace-one).

    Sampling needs ‖w‖₂ ≤ B, w with the intercept of the centred columns if there is
    one, and the noise precision τ in [least, most]; if it is known, both are τ. With
    R = max|y| + B max‖x‖₂ one sample costs at most τR² under replace-one.

    Args:
        lower: smallest value of every feature.
        upper: largest value of every feature.
        target: smallest and largest value of the target.
        intercept: whether there is one.

    Raises:
        ValueError: if bounds are missing or crossed, or not as many below as above.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2, for the model with
        known noise; Foulds et al. (UAI-16), equations 16-17, for the statistic's use.
    """

    lower: tuple[float | int, ...]
    upper: tuple[float | int, ...]
    target: tuple[float | int, float | int]
    intercept: bool = True

    name: ClassVar[str] = "linear-regression"
    priors: ClassVar[tuple[type, ...]] = (RegressionParameters, KnownNoiseParameters)
    parameters: ClassVar[Truncation] = {
        "norm": (-math.inf, math.inf),
        "precision": (0.0, math.inf),
    }

    def __post_init__(self):
        if not len(self.lower) == len(self.upper) > 0 or len(self.target) != 2:
            raise ValueError(
                "`lower` and `upper` must be as long as each other, a bound a feature, "
                f"and `target` two bounds, got {len(self.lower)}, {len(self.upper)} "
                f"and {len(self.target)}."
            )
        if not isinstance(self.intercept, bool):
            raise ValueError("`intercept` must be True or False.")
        pairs = [interval(*pair) for pair in zip(self.lower, self.upper, strict=True)]
        object.__setattr__(self, "lower", tuple(lower for lower, _ in pairs))
        object.__setattr__(self, "upper", tuple(upper for _, upper in pairs))
        object.__setattr__(self, "target", interval(*self.target))

    @classmethod
    def from_bounds(
        cls, lower: Ends, upper: Ends, **options: Any
    ) -> "LinearRegression":
        """The family, for at least two columns, the target last."""
        if len(upper) < 2:
            raise ValueError(
                "`upper` must be of at least two columns, features and the target, got "
                f"{len(upper)}."
            )
        return cls(lower[:-1], upper[:-1], (lower[-1], upper[-1]), **options)

    def options(self) -> dict[str, Any]:
        """Whether there is an intercept."""
        return {"intercept": self.intercept}

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Of every feature, then of the target."""
        return (*zip(self.lower, self.upper, strict=True), self.target)

    @property
    def centre(self) -> tuple[float, ...]:
        """What is subtracted from every column: 0 without an intercept."""
        if not self.intercept:
            return (0.0,) * self.columns
        return tuple(lower + (upper - lower) / 2 for lower, upper in self.bounds)

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The largest distance of every column from `centre`."""
        return tuple(
            max(upper - c, c - lower)
            for (lower, upper), c in zip(self.bounds, self.centre, strict=True)
        )

    @property
    def complement(self) -> int:
        """The square of the first feature."""
        return self.columns if self.intercept else 0

    @property
    def dimension(self) -> int:
        """Products of two columns, and the columns if there is an intercept."""
        d = self.columns
        return d * (d + 1) // 2 + (d if self.intercept else 0)

    def scales(self) -> tuple[float, ...]:
        """Of linear terms, if any, and of products."""
        h = np.array(self.half_widths)
        rows, columns = np.triu_indices(len(h))
        linear = h.tolist() if self.intercept else []
        return (*linear, *(h[rows] * h[columns]).tolist())

    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Moments of columns that are within -1 and 1."""
        records = records.astype(float)
        lower, upper = (
            jnp.asarray(ends)[None, :] for ends in zip(*self.bounds, strict=True)
        )
        records = jnp.where(jnp.isnan(records), (lower + upper) / 2, records)
        records = jnp.clip(records, lower, upper)
        return moments(
            standardise(records, self.centre, self.half_widths), self.intercept
        )

    def diameter(self, scaled: bool = False) -> Bound:
        """See `moments.largest_change`; attained by bounds symmetric about `centre`."""
        symmetric = all(
            math.isclose(upper - c, c - lower)
            for (lower, upper), c in zip(self.bounds, self.centre, strict=True)
        )
        return Bound(largest_change(self._widths(scaled), self.intercept), symmetric)

    def radius(self, scaled: bool = False) -> Bound:
        """Exact, at the corner farthest from `centre`."""
        return Bound(largest_norm(self._widths(scaled), self.intercept))

    def project(
        self, total: Real[Array, "*batch m"], n: Scalar
    ) -> tuple[Float[Array, "*batch m"], Float[Array, ""]]:
        """A positive semidefinite scatter; see `moments.project_moments`."""
        n = jnp.maximum(jnp.asarray(n, float), 0)
        scales = jnp.asarray(self.scales()).reshape((1,) * (total.ndim - 1) + (-1,))
        scaled = total.astype(float) / scales
        return project_moments(scaled, n, self.columns, self.intercept) * scales, n

    def prior(self) -> RegressionParameters:
        """Weights at 0, worth one record at the end of each feature's bounds.

        The expected noise variance is (half width of the target / 2)².
        """
        return self._prior(1.0, 1.5, self.half_widths[-1] ** 2 / 8)

    def vague_prior(self) -> RegressionParameters:
        """Weights worth a hundredth of a record at the end of each feature's bounds.

        The noise's standard deviation is (half width of the target / 10) / |normal|.
        """
        return self._prior(0.01, 0.5, self.half_widths[-1] ** 2 / 200)

    def _prior(self, records: float, shape: float, scale: float):
        widths = jnp.asarray(self.half_widths[:-1])
        if self.intercept:
            widths = jnp.concatenate([jnp.ones(1), widths])
        return RegressionParameters(
            jnp.zeros(widths.shape), records * jnp.diag(widths**2), shape, scale
        )

    def update(
        self, prior: _Parameters, total: Real[Array, " m"], n: Scalar
    ) -> _Parameters:
        """Precisions add; the mean solves the normal equations.

        Args:
            prior: of weights and noise variance, or of weights with known noise.
            total: of the statistic; possible.
            n: number of records.
        """
        n = jnp.asarray(n, float)
        gram, products, squares = self.normal_equations(total, n)
        start, weight = jnp.asarray(prior.mean, float), jnp.asarray(prior.precision)
        if isinstance(prior, KnownNoiseParameters):
            gram, products = (prior.noise_precision * x for x in (gram, products))
        precision = weight + gram
        factor = (jnp.linalg.cholesky(precision), True)
        mean = cho_solve(factor, weight @ start + products)
        if isinstance(prior, KnownNoiseParameters):
            return KnownNoiseParameters(mean, precision, prior.noise_precision)
        # As a sum of squares about `mean`, so that nothing large is subtracted
        change = mean - start
        residual = squares - 2 * mean @ products + mean @ gram @ mean
        spread = jnp.maximum(residual, 0) + change @ weight @ change
        return RegressionParameters(
            mean, precision, prior.shape + n / 2, prior.scale + spread / 2
        )

    def normal_equations(
        self, total: Real[Array, " m"], n: Scalar
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]:
        """XᵀX, Xᵀy and yᵀy, with a first column of ones if there is an intercept."""
        first, second = split(total, self.columns, self.intercept)
        if self.intercept:
            n = jnp.asarray(n, float)[None]
            top = jnp.concatenate([n, first])[None, :]
            second = jnp.concatenate([top, jnp.column_stack([first, second])])
        return second[:-1, :-1], second[:-1, -1], second[-1, -1]

    def _widths(self, scaled: bool) -> tuple[float, ...]:
        return (1.0,) * self.columns if scaled else self.half_widths

    def _limits(self, truncation: Truncation) -> Truncation:
        limits = super()._limits(truncation)
        if limits["norm"][0] != 0:
            raise ValueError(
                f"`truncation` must let the norm start at 0, got {limits['norm'][0]}."
            )
        return limits

    @property
    def _reach(self) -> float:
        """The largest norm of a record's features."""
        return math.hypot(*self.half_widths[:-1], 1.0 if self.intercept else 0.0)

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """Residuals are within ±R; nor is it more than the sum of two radii, halved."""
        residual = self.half_widths[-1] + limits["norm"][1] * self._reach
        most = limits["precision"][1] * residual**2 / 2
        return Bound(min(most, self._likelihood_radius(limits).value), tight=False)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """At a corner, the weights along its features: as for a mean that far off."""
        least, most = limits["precision"]
        ends = [target - self.centre[-1] for target in self.target]
        nearest = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
        distances = nearest, self.half_widths[-1]
        reach = limits["norm"][1] * self._reach
        return Bound(largest_normal_range(distances, reach, (1 / most, 1 / least)))
