"""The base class of Gaussian noise on integers, however it is drawn."""

import abc
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real, UInt32

from dpjax._types import Scalar
from dpjax.mechanisms.integer_noise import IntegerNoise, suffices
from dpjax.noise import GaussianLaw
from dpjax.privacy import (
    ZCDP,
    Adjacency,
    Epsilon,
    Guarantee,
    Sensitivity,
    exact_epsilon,
)
from dpjax.privacy.unit import per_row
from dpjax.statistics import Statistic

Noise = TypeVar("Noise", bound="GaussianNoise")


class GaussianNoise(IntegerNoise):
    r"""Release $T(D) + Z$ with $P(Z_i = z) \propto e^{-h z^2}$ i.i.d.

    T is an integer statistic of the data D, with squared L2 sensitivity $\Delta^2$, and
    h is at most $\rho / \Delta^2$.
    """

    format_version: ClassVar[int] = 3
    certificate: ClassVar[str]
    """What is proved of the noise, in words."""

    squared: Sensitivity
    h: Scalar
    fraction: UInt32[Array | np.ndarray, "*batch two words"]

    @classmethod
    @abc.abstractmethod
    def _of_fraction(cls: type[Noise], rho: Fraction, squared: Sensitivity) -> Noise:
        """Make the mechanism that costs exactly the fraction `rho`."""

    @classmethod
    def calibrate(cls: type[Noise], rho: Epsilon, squared: Sensitivity) -> Noise:
        r"""Make the mechanism that costs exactly `rho`; not under `jit`.

        Args:
            rho: ρ > 0; a float means its shortest decimal.
            squared: squared L2 sensitivity of an integer statistic, with its adjacency.

        Raises:
            ValueError: if `rho` is not a finite number > 0, or the ratio of rho to the
                squared sensitivity is outside the range of the mechanism.
        """
        return cls._of_fraction(exact_epsilon(rho, "rho"), squared)

    @classmethod
    def of(cls: type[Noise], statistic: Statistic, budget: Guarantee) -> Noise:
        """Make the mechanism for a statistic; it costs exactly the zCDP `budget`.

        Raises:
            ValueError: if the budget is of another kind, or for several rows, or
                outside the range of the mechanism.
        """
        if budget.kind != ZCDP.kind:
            raise ValueError(
                "`mechanism` must be one for the budget: Gaussian noise needs one of "
                f"kind zcdp, such as `zcdp_budget`, got {budget.kind}."
            )
        cost = ZCDP.of(per_row(budget, "budget"), "budget")
        squared = statistic.squared_sensitivity(cost.adjacency)
        return cls.calibrate(cost.rho, squared)

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency for which the sensitivity holds."""
        return self.squared.adjacency

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the noise is for a squared sensitivity that suffices."""
        return suffices(self.squared, statistic.squared_sensitivity(self.adjacency))

    @property
    def _rate(self) -> Fraction:
        """The exact ratio of ρ to the squared sensitivity."""
        return self._exact_budget() / int(self.squared.value)

    def derived_facts(self) -> dict[str, Any]:
        """Return the sensitivity of the statistic, for software that reads the file."""
        value, tight = int(self.squared.value), self.squared.tight
        stated = {"squared_l2": value, "adjacency": self.adjacency, "tight": tight}
        return {"sensitivity": stated}

    def summary(self) -> dict[str, Any]:
        """Return sensitivity, σ², and what is proved of the noise, as text."""
        return {
            "squared_sensitivity": int(self.squared.value),
            "variance": float(0.5 / self.h),
            "certificate": self.certificate,
        }

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-probability of each number, without clip and long tails."""
        return GaussianLaw(self.h).log_prob(released, exact)

    def noise(self, shape: tuple[int, ...]) -> GaussianLaw:
        """Return the discrete Gaussian distribution of the noise, of shape `shape`."""
        h = jnp.asarray(self.h, float)[..., None]
        return GaussianLaw(jnp.broadcast_to(h, shape))

    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the scale of Laplace noise of equal variance."""
        return 0.5 / jnp.sqrt(jnp.asarray(self.h, float))

    def guarantee(self) -> ZCDP:
        """Return the exact ρ-zCDP guarantee; `ValueError` for stacked mechanisms."""
        return ZCDP(self._exact_budget(), self.adjacency)
