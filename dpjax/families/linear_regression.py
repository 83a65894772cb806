"""Linear regression: y = wᵀx plus normal noise, all columns within public bounds.

The type of the prior decides whether the noise is known or has an inverse-gamma prior.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, ArrayLike, Float, Real

from dpjax._products import matmul
from dpjax._types import Scalar
from dpjax.families.base import Bound, Ends, Number, Total, Truncation
from dpjax.families.bounds import interval, intervals
from dpjax.families.conjugate_regression import (
    KnownNoiseParameters,
    KnownNoisePosterior,
    RegressionParameters,
    RegressionPosterior,
)
from dpjax.families.moment_grids import RegressionGrid
from dpjax.families.moments import split
from dpjax.families.regression_totals import (
    column_sds,
    hierarchical_prior,
    log_features,
    log_normaliser,
    log_targets,
    mean_strength,
)

_Parameters = RegressionParameters | KnownNoiseParameters


@dataclass(frozen=True)
class LinearRegression(RegressionGrid):
    r"""Linear regression of the last column y on the other columns x.

    The statistic consists of the products of every two columns. With an intercept, all
    columns are first centred at the middle of their bounds, and the statistic also
    contains the columns themselves. The sensitivity is exact, except under replace-one
    without intercept: then it is an upper bound for bounds not symmetric about 0.

    Posterior sampling needs ‖w‖₂ ≤ B for the weights w (including the intercept of the
    centred columns) and the noise precision τ in [least, most]. With R = max|y| +
    B max‖x‖₂, the privacy loss of a sample is at most τR² under replace-one.

    Args:
        lower: smallest value of every feature.
        upper: largest value of every feature.
        target: smallest and largest value of the target.
        intercept: whether there is an intercept.

    Raises:
        ValueError: if bounds are missing or in the wrong order, or `lower` and `upper`
            differ in length.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), section 5.2, for the model with
        known noise; Foulds et al. (UAI-16), equations 16-17, for the statistic.
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
        """Construct the family for features and, as the last column, the target."""
        if len(upper) < 2:
            raise ValueError(
                "`variables` must be at least two columns, the target is the last, got "
                f"{len(upper)}."
            )
        return cls(lower[:-1], upper[:-1], (lower[-1], upper[-1]), **options)

    def options(self) -> dict[str, Any]:
        """Return whether there is an intercept, by the name "intercept"."""
        return {"intercept": self.intercept}

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper bound of every feature and, last, of the target."""
        return (*zip(self.lower, self.upper, strict=True), self.target)

    @property
    def linear(self) -> bool:
        """Whether sums of columns are measured, which is so with an intercept."""
        return self.intercept

    @property
    def centre(self) -> tuple[float, ...]:
        """The number subtracted from each column: mid-bounds, or 0 if no intercept."""
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
        """Return S(x) / `scales` of clipped records; NaN becomes mid-bounds."""
        records = records.astype(float)
        lower, upper = (
            jnp.asarray(ends)[None, :] for ends in zip(*self.bounds, strict=True)
        )
        records = jnp.where(jnp.isnan(records), (lower + upper) / 2, records)
        records = jnp.clip(records, lower, upper)
        return super().scaled_statistics(records)

    def diameter(self, scaled: bool = False) -> Bound:
        """Return a sensitivity bound, tight for bounds symmetric about `centre`."""
        symmetric = all(
            math.isclose(upper - c, c - lower)
            for (lower, upper), c in zip(self.bounds, self.centre, strict=True)
        )
        return super().diameter(scaled)._replace(tight=symmetric)

    def prior(self) -> RegressionParameters:
        """Return a prior with mean weights 0 that weighs as much as one record.

        That record has features at an end of their bounds. The expected noise variance
        is (half width of the target / 2)².
        """
        widths = jnp.asarray(self.half_widths[:-1])
        if self.intercept:
            widths = jnp.concatenate([jnp.ones(1), widths])
        scale = self.half_widths[-1] ** 2 / 8
        return RegressionParameters(
            jnp.zeros(widths.shape), jnp.diag(widths**2), 1.5, scale
        )

    def update(self, prior: _Parameters, total: Total, n: Scalar) -> _Parameters:
        """Return the posterior's parameters; the weights solve the normal equations.

        Args:
            prior: parameters of a prior with unknown or known noise.
            total: sum of the statistic over the records, as `project` returns it.
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
        mean = cho_solve(factor, matmul(weight, start) + products)
        if isinstance(prior, KnownNoiseParameters):
            return KnownNoiseParameters(mean, precision, prior.noise_precision)
        # As a sum of squares about `mean`, so that nothing large is subtracted
        change = mean - start
        residual = squares - 2 * matmul(mean, products)
        residual = residual + matmul(matmul(mean, gram), mean)
        spread = jnp.maximum(residual, 0) + matmul(matmul(change, weight), change)
        return RegressionParameters(
            mean, precision, prior.shape + n / 2, prior.scale + spread / 2
        )

    def log_total(self, prior: _Parameters, total: Total, n: Number) -> Number:
        """Log-density of the sum of the statistic over n records, up to a constant.

        It is the log-density of the sums with the target, given the features' moments
        (see `log_targets`), plus that of these moments. The regression model has no
        distribution of the features: here they are assumed to be normal, under a prior
        that has the weight of one record and little influence.
        """
        targets = log_targets(prior, self.products(total, n), n)
        moments = split(total, self.columns, self.intercept)
        sds = jnp.asarray(self.half_widths[:-1]) / 2
        strength = 1.0 if self.intercept else None
        return targets + log_features(moments, n, sds, self.columns + 1.0, strength)

    @property
    def hyperparameters(self) -> int:
        """Number of hyperparameters: the explained share and every column's scale."""
        return 1 + self.columns

    def default_prior(
        self, hyper: Float[Array, " h"], total: Total, n: Number
    ) -> RegressionParameters:
        """Return a prior given the scales of the data, which are unknown.

        Column j has the scale s_j = 0.165 exp(0.3 z_j), in half widths, so that most
        scales are between a tenth and a third. The features explain a share R² of the
        target's variance, with log-odds 1.5 z. Given these, the noise variance is
        inverse gamma with shape 5 and mean (1 - R²) s_y². The f weights are independent
        normal variables. They explain a variance that is R² s_y² times a chi-square
        variable of f degrees, divided by its median, so that the median of the product
        does not depend on f. The expected target at the features' average is
        N(0, 0.08²), in half widths from mid-bounds.

        Args:
            hyper: z of R², of the target's scale and of every feature's scale; these
                f + 2 numbers are independent N(0, 1) variables.
            total: sum of the statistic over the records, for the features' average.
            n: number of records.

        Reference:
            Huang & Wand (Bayesian Analysis 2013), for covariances of unknown scales.
        """
        first, _ = split(total, self.columns, self.intercept)
        average = first[:-1] / n if self.intercept else None
        return hierarchical_prior(hyper, self.half_widths, average)

    def log_hierarchical(
        self,
        hyper: Float[Array, " h"],
        prior: RegressionParameters,
        total: Total,
        n: Number,
    ) -> Number:
        """Log-density of the sum of the statistic, given the scales of the data.

        Features are normal. Their covariance is inverse Wishart with f + 9 degrees of
        freedom and mean diag(s_j²), and their means have standard deviation 0.08, in
        half widths, if all scales are equal.
        """
        targets = log_targets(prior, self.products(total, n), n)
        moments = split(total, self.columns, self.intercept)
        sds = column_sds(hyper[1:], self.half_widths)[1:]
        strength = mean_strength(hyper[2:]) if self.intercept else None
        features = log_features(moments, n, sds, self.columns + 8.0, strength)
        return targets + log_normaliser(prior) + features

    def design(self, features: Real[ArrayLike, "n f"]) -> Float[Array, "n p"]:
        """Return centred features, after a column of ones if there is an intercept."""
        rows = self.features(features)
        rows = rows - jnp.asarray(self.centre[:-1])[None, :]
        if not self.intercept:
            return rows
        return jnp.concatenate([jnp.ones((rows.shape[0], 1)), rows], axis=1)
