"""Limits and grids of regressions and multivariate Gaussians, in scaled columns.

A scaled column is divided by its half width, after its centre is subtracted.
"""

import math
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from dpjax.families.base import Bound
from dpjax.families.grids import (
    Natural,
    Points,
    Truncation,
    all_of,
    at_most,
    ball,
    spaced,
)
from dpjax.families.likelihood import (
    largest_normal_range,
    normal_likelihood_radius,
)
from dpjax.families.moments import MomentFamily

_SLACK = 1e-12  # of an eigenvalue, for rounding errors
_LARGEST_RATIO = 1e6  # of eigenvalues: the inverse is then exact to nine digits


class RegressionGrid(MomentFamily):
    """The part of a linear regression that concerns limits and grids of parameters.

    A point is (u, v): scaled weights u, after an intercept u_0 if there is one, and the
    noise variance v, in units of the squared half width of the target. The weights are
    integers times a step, such that predictions stay within their limits for all
    features within their bounds.
    """

    grid_parameters: ClassVar[Truncation] = {
        "prediction": (-math.inf, math.inf),
        "variance": (0.0, math.inf),
    }

    def truncation(self, share: float) -> Truncation:
        """Limit predictions to the target's bounds, and the noise variance.

        With half width h of the target, its sd is in [share · h, h].
        """
        half, centre = self.half_widths[-1], self.centre[-1]
        prediction = (centre - half, centre + half)
        return {"prediction": prediction, "variance": ((share * half) ** 2, half**2)}

    def axes(self, limits: Truncation, points: int) -> tuple[int, ...]:
        """Return the numbers of vectors of weights and of noise variances."""
        least, most = limits["variance"]
        weights = at_most(self.columns - 1 + self.linear, points // 2)
        return weights, 1 if least == most else points

    def grid(self, limits: Truncation, points: int) -> Points:
        """Return all weights with each noise variance, as in `RegressionGrid`."""
        half, (least, most) = self.half_widths[-1], limits["prediction"]
        radius = points // 2
        weights = ball(self.columns - 1 + self.linear, radius).astype(float)
        weights *= (most - least) / (2 * half * radius)
        if self.linear:
            weights[:, 0] += ((most + least) / 2 - self.centre[-1]) / half
        low, high = (end / half**2 for end in limits["variance"])
        noise = spaced("variance", low, high, self.axes(limits, points)[1])
        return all_of([weights, noise])

    def shown(self, points: Points) -> dict[str, np.ndarray]:
        """Return "intercept", if there is one, "weights" and "variance"."""
        half, centre = np.array(self.half_widths), np.array(self.centre)
        scaled = points[:, 1 if self.linear else 0 : -1] * half[-1]
        weights = scaled / half[None, :-1]
        found = {"weights": weights, "variance": points[:, -1] * half[-1] ** 2}
        if not self.linear:
            return found
        first = points[:, 0] * half[-1] + centre[-1] - weights @ centre[:-1]
        return {"intercept": first, **found}

    def natural(self, points: Points) -> Natural:
        """Return θ and log g(θ) of y = u_0 + uᵀx + noise at each point."""
        first, u, noise = self._parts(points)
        residual = np.concatenate([-u, np.ones((len(u), 1))], axis=1)
        root = residual / np.sqrt(noise)[:, None]
        linear = residual * (first / noise)[:, None]
        precision = root[:, :, None] * root[:, None, :]
        log_g = -(first**2 / noise + np.log(noise)) / 2
        return self._per_unit(linear, precision), log_g

    def expected(self, points: Points) -> Float[np.ndarray, "j m"]:
        """Return expectations of moments if features are uniform in their bounds."""
        first, u, noise = self._parts(points)
        half, centre = np.array(self.half_widths), np.array(self.centre)
        lower, upper = (
            (np.array(x) - centre) / half for x in zip(*self.bounds, strict=True)
        )
        middle, spread = (lower + upper)[:-1] / 2, (upper - lower)[:-1] ** 2 / 12
        mean = np.column_stack([np.tile(middle, (len(u), 1)), first + u @ middle])
        covariance = np.zeros((len(u), self.columns, self.columns))
        covariance[:, :-1, :-1] = np.diag(spread)
        covariance[:, :-1, -1] = covariance[:, -1, :-1] = u * spread[None, :]
        covariance[:, -1, -1] = u**2 @ spread + noise
        return self._moments(mean, covariance)

    def _limits(self, truncation: Truncation) -> Truncation:
        limits = super()._limits(truncation)
        if "norm" in limits and limits["norm"][0] != 0:
            raise ValueError(
                f"`truncation` must let the norm start at 0, got {limits['norm'][0]}."
            )
        least, most = limits.get("prediction", (-1, 1))
        if not self.linear and least != -most:
            raise ValueError(
                "`truncation` must have predictions from -x to x without an intercept, "
                f"got {least} to {most}."
            )
        return limits

    @property
    def _reach(self) -> float:
        """The largest norm of a record's features (with 1 for an intercept)."""
        return math.hypot(*self.half_widths[:-1], 1.0 if self.linear else 0.0)

    def _likelihood_diameter(self, limits: Truncation) -> Bound:
        """The smaller of τR²/2, since residuals are in ±R, and `_likelihood_radius`."""
        if "prediction" in limits:
            (lower, upper), (least, most) = self.bounds[-1], limits["prediction"]
            residual = max(upper - least, most - lower)
            precision = 1 / limits["variance"][0]
        else:
            residual = self.half_widths[-1] + limits["norm"][1] * self._reach
            precision = limits["precision"][1]
        widest = precision * residual**2 / 2
        return Bound(min(widest, self._likelihood_radius(limits).value), tight=False)

    def _likelihood_radius(self, limits: Truncation) -> Bound:
        """The range is largest for features at the bounds, parallel to the weights."""
        target, centre = self.bounds[-1], self.centre[-1]
        if "prediction" in limits:
            box = limits["prediction"], limits["variance"]
            return normal_likelihood_radius(target, *box)
        least, most = limits["precision"]
        ends = [end - centre for end in target]
        nearest = 0.0 if ends[0] <= 0 <= ends[1] else min(map(abs, ends))
        distances = nearest, self.half_widths[-1]
        reach = limits["norm"][1] * self._reach
        return largest_normal_range(distances, reach, (1 / most, 1 / least))

    def _parts(self, points: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first = points[:, 0] if self.linear else np.zeros(len(points))
        return first, points[:, 1 if self.linear else 0 : -1], points[:, -1]


class GaussianGrid(MomentFamily):
    """The part of a multivariate Gaussian that concerns grids of its parameters.

    A point is (m, C): the mean and the upper triangle of the covariance of the scaled
    columns. Eigenvalues of C are limited. Values of the means, standard deviations and
    correlations are equally spaced, of standard deviations in their logarithm.
    """

    grid_parameters: ClassVar[Truncation] = {"eigenvalue": (0.0, math.inf)}

    def truncation(self, share: float) -> Truncation:
        """Limit eigenvalues of the scaled columns' covariance to [share², columns]."""
        return {"eigenvalue": (share**2, float(self.columns))}

    def axes(self, limits: Truncation, points: int) -> tuple[int, ...]:
        """Return the numbers of means, variances and correlations."""
        d = self.columns
        return (points,) * (2 * d) + (_odd(points),) * (d * (d - 1) // 2)

    def grid(self, limits: Truncation, points: int) -> Points:
        """Return the points whose covariance has eigenvalues within the limits."""
        (least, most), d = limits["eigenvalue"], self.columns
        if most > _LARGEST_RATIO * least:
            raise ValueError(
                "`truncation` must have a largest eigenvalue of at most "
                f"{_LARGEST_RATIO:g} times the least, got {least} and {most}."
            )
        means = all_of([np.linspace(-1, 1, points)] * d)
        highest = min(most, 1.0) if least < 1 else most
        variances = all_of([spaced("variance", least, highest, points)] * d)
        step = 2 / (_odd(points) + 1)  # correlations are above -1 and below 1
        pairs = [np.linspace(step - 1, 1 - step, _odd(points))] * (d * (d - 1) // 2)
        correlations = all_of(pairs) if pairs else np.zeros((1, 0))
        rows, columns = np.triu_indices(d)
        kept, slack = [], least * _SLACK
        for variance in variances:
            sds = np.sqrt(variance)
            matrices = np.tile(np.eye(d), (len(correlations), 1, 1))
            above = np.triu_indices(d, 1)
            matrices[:, above[0], above[1]] = correlations
            matrices[:, above[1], above[0]] = correlations
            matrices *= sds[:, None] * sds[None, :]
            values = np.linalg.eigvalsh(matrices)
            inside = (values[:, 0] >= least - slack) & (values[:, -1] <= most + slack)
            kept.append(matrices[inside][:, rows, columns])
        found = np.concatenate(kept)
        if not len(found):
            raise ValueError(
                "`points` must be more, or `truncation` wider: no covariance of the "
                f"grid has eigenvalues from {least} to {most}."
            )
        return all_of([means, found])

    def shown(self, points: Points) -> dict[str, np.ndarray]:
        """Return "mean" and "covariance"."""
        half, (mean, covariance) = np.array(self.half_widths), self._parts(points)
        return {
            "mean": np.array(self.centre) + mean * half,
            "covariance": covariance * (half[:, None] * half[None, :]),
        }

    def natural(self, points: Points) -> Natural:
        """Return θ and log g(θ) at each point."""
        mean, covariance = self._parts(points)
        precision = np.linalg.inv(covariance)
        linear = (precision @ mean[:, :, None])[..., 0]
        _, log_volume = np.linalg.slogdet(covariance)
        log_g = -((linear * mean).sum(axis=1) + log_volume) / 2
        return self._per_unit(linear, precision), log_g

    def expected(self, points: Points) -> Float[np.ndarray, "j m"]:
        """Return expectations of the moments of the scaled columns."""
        return self._moments(*self._parts(points))

    def _parts(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        d = self.columns
        rows, columns = np.triu_indices(d)
        covariance = np.zeros((len(points), d, d))
        covariance[:, rows, columns] = covariance[:, columns, rows] = points[:, d:]
        return points[:, :d], covariance


def _odd(points: int) -> int:
    """The number of correlations, so that one of them is 0."""
    return points - 1 + points % 2
