"""Linear regression: y = wᵀx plus normal noise, all columns within public bounds.

The noise is known, or has an inverse-gamma prior; the prior's type says which.
"""

__all__ = ["LinearRegression"]

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._checks import array_of
from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Number, Total, Truncation
from dpjax.families.bounds import interval, intervals
from dpjax.families.conjugate_regression import (
    KnownNoiseParameters,
    KnownNoisePosterior,
    RegressionParameters,
    RegressionPosterior,
)
from dpjax.families.likelihood import largest_normal_range
from dpjax.families.log_densities import gamma_log_density, log_gamma_ratio
from dpjax.families.moment_totals import (
    log_determinants,
    log_normal_moments,
    pivots,
    solve,
)
from dpjax.families.moments import MomentFamily, split
from dpjax.families.multivariate_gaussian import MultivariateGaussian

_Parameters = RegressionParameters | KnownNoiseParameters


@dataclass(frozen=True)
class LinearRegression(MomentFamily):
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
    predicts: ClassVar[bool] = True
    priors: ClassVar = {
        RegressionParameters: RegressionPosterior,
        KnownNoiseParameters: KnownNoisePosterior,
    }
    parameters: ClassVar[Truncation] = {
        "norm": (-math.inf, math.inf),
        "precision": (0.0, math.inf),
    }

    def __post_init__(self):
        if len(self.target) != 2:
            raise ValueError(f"`target` must be two bounds, got {len(self.target)}.")
        if not isinstance(self.intercept, bool):
            raise ValueError("`intercept` must be True or False.")
        lower, upper = intervals(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
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
    def linear(self) -> bool:
        """Whether there is an intercept."""
        return self.intercept

    @property
    def centre(self) -> tuple[float, ...]:
        """What is subtracted from every column: 0 without an intercept."""
        if not self.intercept:
            return (0.0,) * self.columns
        return super().centre

    @property
    def half_widths(self) -> tuple[float, ...]:
        """The largest distance of every column from `centre`."""
        return tuple(
            max(upper - c, c - lower)
            for (lower, upper), c in zip(self.bounds, self.centre, strict=True)
        )

    def scaled_statistics(self, records: Real[Array, "n d"]) -> Float[Array, "n m"]:
        """Moments of columns, clipped first: without an intercept 0 is no middle."""
        records = records.astype(float)
        lower, upper = (
            jnp.asarray(ends)[None, :] for ends in zip(*self.bounds, strict=True)
        )
        records = jnp.where(jnp.isnan(records), (lower + upper) / 2, records)
        records = jnp.clip(records, lower, upper)
        return super().scaled_statistics(records)

    def diameter(self, scaled: bool = False) -> Bound:
        """See `moments.largest_change`; attained by bounds symmetric about `centre`."""
        symmetric = all(
            math.isclose(upper - c, c - lower)
            for (lower, upper), c in zip(self.bounds, self.centre, strict=True)
        )
        return super().diameter(scaled)._replace(tight=symmetric)

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

    def update(self, prior: _Parameters, total: Total, n: Scalar) -> _Parameters:
        """Precisions add; the mean solves the normal equations.

        Args:
            prior: of weights and noise variance, or of weights with known noise.
            total: of the statistic; possible.
            n: number of records.
        """
        n = jnp.asarray(n, float)
        sums = self.products(total, n)  # of XᵀX, Xᵀy and yᵀy
        gram, products, squares = sums[:-1, :-1], sums[:-1, -1], sums[-1, -1]
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

    def log_total(self, prior: _Parameters, total: Total, n: Number) -> Number:
        """Of targets given the features' moments, exactly; times a weak law of those.

        Given those, the totals are a normal vector and a chi-square number. Features
        are no part of the model: their moments need some law, here that of normal
        features under a prior worth one record; it matters as little as that does.
        """
        sums = self.products(total, n)
        gram, products, residual = sums[:-1, :-1], sums[:-1, -1], pivots(sums)[-1]
        p = gram.shape[0]
        change = solve(gram, products) - prior.mean
        known = isinstance(prior, KnownNoiseParameters)
        if known:
            gram = gram * prior.noise_precision
        log_gram, log_ratio = log_determinants(gram, prior.precision)
        weighted = prior.precision @ change
        excess = (gram @ change) @ solve(gram + prior.precision, weighted)
        of_gram = -log_gram - log_ratio / 2
        if known:
            noise = gamma_log_density(residual, (n - p) / 2, prior.noise_precision / 2)
            targets = of_gram + noise - excess / 2
        else:
            targets = (
                of_gram
                - (prior.shape + p / 2 + 1) * jnp.log(residual)
                - (prior.shape + n / 2)
                * jnp.log1p((2 * prior.scale + excess) / residual)
                + log_gamma_ratio(n / 2, prior.shape, jnp.asarray(-p / 2))
            )
        return self._log_features(total, n) + targets

    def _log_features(self, total: Total, n: Number) -> Number:
        """Normal features, their mean known to be 0 where no means are measured."""
        f = self.columns - 1
        first, second = split(total, self.columns, self.intercept)
        first, second = first[:f], second[:f, :f]
        prior = MultivariateGaussian(self.lower, self.upper).prior()
        if self.intercept:
            return log_normal_moments(first, second, n, jnp.zeros(f), *prior[1:])
        scale = jnp.diag(jnp.asarray(self.half_widths[:-1]) ** 2 / 4)
        log_second, log_ratio = log_determinants(second, scale)
        lag = jnp.arange(f).astype(n.dtype)
        gammas = log_gamma_ratio(n / 2, (f + 2 - lag) / 2, -lag / 2).sum()
        return gammas - (2 * f + 3) / 2 * log_second - (f + 2 + n) / 2 * log_ratio

    def design(self, features: Real[ArrayLike, "n f"]) -> Float[Array, "n p"]:
        """Features as weights multiply them: centred, after ones for an intercept."""
        rows = array_of(features, "features").astype(float)
        rows = rows - jnp.asarray(self.centre[:-1])[None, :]
        if not self.intercept:
            return rows
        return jnp.concatenate([jnp.ones((rows.shape[0], 1)), rows], axis=1)

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
        return largest_normal_range(distances, reach, (1 / most, 1 / least))
