"""The discrete Gaussian mechanism, whose integer noise is exact and certified."""

__all__ = ["DiscreteGaussian", "Gaussian"]

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real, UInt32

from dpjax._checks import whole
from dpjax._platforms import on_cpu
from dpjax._types import Described, Key, Scalar
from dpjax.mechanisms import base
from dpjax.mechanisms.integer_noise import (
    IntegerNoise,
    drawn_length,
    stacked,
    words_of,
)
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.noise import GaussianLaw, discrete_gaussian, gaussian_tables
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.keys import release_key
from dpjax.privacy import (
    ZCDP,
    Adjacency,
    ApproximateDP,
    Epsilon,
    Guarantee,
    Sensitivity,
    exact_epsilon,
    zcdp_budget,
)
from dpjax.statistics import Statistic


@base.MECHANISMS.add
class DiscreteGaussian(IntegerNoise):
    r"""Release $T(D) + Z$ with $P(Z_i = z) \propto e^{-\rho z^2 / \Delta^2}$ i.i.d.

    T is an integer statistic of the data D, with squared L2 sensitivity $\Delta^2$. The
    tails beyond seven standard deviations are geometric, and σ² is larger by one part
    in 2^20, which pays for the tails and for rounding. `calibrate` makes one mechanism;
    `calibrate_many` makes several, stacked on a leading axis for `vmap`.

    Privacy:
        Exactly ρ-zCDP for the adjacency of the sensitivity, if the bits are random
        (`docs/proofs.md`, section 23); with bits from a ChaCha20 key, the privacy is
        computational. Draws use no floating point. Side channels in time and memory are
        not covered.

    Reference:
        Canonne, Kamath & Steinke (NeurIPS 2020), section 2 (noise distribution).
    """

    kind: ClassVar[str] = "discrete-gaussian"
    format_version: ClassVar[int] = 3

    table: gaussian_tables.Table
    squared: Sensitivity
    h: Scalar
    fraction: UInt32[Array | np.ndarray, "*batch two words"]

    @classmethod
    def calibrate(cls, rho: Epsilon, squared: Sensitivity) -> "DiscreteGaussian":
        r"""Make the certified mechanism that costs exactly `rho`; not under `jit`.

        Args:
            rho: ρ > 0; a float means its shortest decimal.
            squared: squared L2 sensitivity of an integer statistic, with its adjacency.

        Raises:
            ValueError: if `rho` is not a finite number > 0, or the ratio of rho to the
                squared sensitivity is outside the certified range [2^-25, 2].
        """
        return cls._build(exact_epsilon(rho, "rho"), squared, None)

    @classmethod
    def of(cls, statistic: Statistic, budget: Guarantee) -> "DiscreteGaussian":
        """Make the mechanism for a statistic; it costs exactly the zCDP `budget`."""
        if budget.kind != ZCDP.kind:
            raise ValueError(
                "`mechanism` must be one for the budget: Gaussian noise needs one of "
                f"kind zcdp, such as `zcdp_budget`, got {budget.kind}."
            )
        cost = ZCDP.of(budget, "budget")
        squared = statistic.squared_sensitivity(cost.adjacency)
        return cls.calibrate(cost.rho, squared)

    @classmethod
    def calibrate_many(
        cls, rhos: Sequence[Epsilon], squared: Sensitivity
    ) -> "DiscreteGaussian":
        """Make a mechanism for each ρ, stacked on a leading axis for `vmap`."""
        exact = [exact_epsilon(rho, "rho") for rho in rhos]
        if not exact:
            raise ValueError("`rhos` must hold at least one budget, got none.")
        rates = [rho / int(squared.value) for rho in exact]
        columns = gaussian_tables.columns_needed(*rates)
        return stacked(exact, lambda x: cls._build(x, squared, columns))

    @classmethod
    def _build(
        cls, rho: Fraction, squared: Sensitivity, columns: int | None
    ) -> "DiscreteGaussian":
        whole(1, sensitivity=squared.value)
        rate = rho / int(squared.value)
        return cls(
            gaussian_tables.build(rate, columns),
            squared,
            float(gaussian_tables.half_precision(rate)),
            words_of(rho),
        )

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency for which the sensitivity holds."""
        return self.squared.adjacency

    def _noisy(self, key: Key, exact: Array) -> Array:
        return discrete_gaussian.add(key, self.table, exact)

    def draw(self, exact: base.Integers) -> np.ndarray:
        """Add noise to `exact` from 256 random bits of the operating system."""
        counts = base.on_host(exact).astype(np.int64)
        drawn = drawn_length(counts.size)
        shared = gaussian_tables.columns_shared(self._rate)
        table = gaussian_tables.build(self._rate, shared)
        with on_cpu():
            noise = np.asarray(_noise(release_key(), table, (drawn,)), np.int64)
        return np.clip(counts + noise[: counts.size], -LARGEST, LARGEST)

    @property
    def _rate(self) -> Fraction:
        return self.guarantee().rho / int(self.squared.value)

    def describe(self) -> dict[str, Any]:
        """Return kind, σ² and fingerprint of the noise table, for files."""
        variance = 1 / (2 * gaussian_tables.half_precision(self._rate))
        table = gaussian_tables.fingerprint(self.table)
        return {"kind": self.kind, "variance": str(variance), "table": table}

    @classmethod
    def from_description(
        cls, described: Described, statistic: Statistic, cost: Guarantee, n: int | None
    ) -> "DiscreteGaussian":
        """Make the mechanism again from the statistic and `cost`, the budget."""
        return cls.of(statistic, cost)

    def derived_facts(self) -> dict[str, Any]:
        """Return the sensitivity of the statistic, for software that reads the file."""
        value, tight = int(self.squared.value), self.squared.tight
        stated = {"squared_l2": value, "adjacency": self.adjacency, "tight": tight}
        return {"sensitivity": stated}

    def summary(self) -> dict[str, Any]:
        """Return sensitivity, σ², and what the certificate proves, as text."""
        return {
            "squared_sensitivity": int(self.squared.value),
            "variance": float(0.5 / self.h),
            "certificate": "every Rényi divergence of order α ≤ ρα",
        }

    def is_possible_output(self, values: np.ndarray, length: int) -> bool:
        """Return whether `values` are `length` integers from -2^29 to 2^29."""
        return values.shape == (length,) and bool(np.all(np.abs(values) <= LARGEST))

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

    def probability(self, z: int) -> Fraction:
        """Return the exact probability of noise `z`, if it is not clipped."""
        return gaussian_tables.probability(self.table, z)

    def certify(self) -> Fraction:
        """Prove the guarantee again from the integers of the noise table.

        Returns:
            A bound of all Rényi divergences, over their order and the squared change of
            the statistic; at most ρ/Δ².

        Raises:
            ValueError: if the table does not satisfy the guarantee.
        """
        return gaussian_tables.certify(self.table, self._rate)


@RECIPES.add
@dataclass(frozen=True)
class Gaussian(Recipe):
    """Discrete Gaussian noise on any statistic, for a budget of kind zCDP.

    It is less noise than Laplace noise if one record changes many numbers, as the
    counts of a large network.
    """

    kind: ClassVar[str] = "gaussian"
    costs: ClassVar[tuple[type[Guarantee], ...]] = (ZCDP,)

    def paid_by(self, budget: Guarantee) -> tuple[Recipe, Guarantee]:
        """Return itself, and the budget or the ρ from which its (ε, δ) follows."""
        if budget.kind == ApproximateDP.kind and budget.numbers["delta"]:
            both = budget.per_record().numbers
            return self, zcdp_budget(
                budget.adjacency, epsilon=both["epsilon"], delta=both["delta"]
            )
        return super().paid_by(budget)

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since noise fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> base.ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        return DiscreteGaussian.of(statistic, budget)


_noise = jax.jit(discrete_gaussian.sample, static_argnums=2)
