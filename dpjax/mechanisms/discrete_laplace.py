"""The discrete Laplace mechanism, whose integer noise is exact and certified."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real, UInt32

from dpjax._checks import of_type, whole
from dpjax._platforms import on_cpu
from dpjax._types import Key, Scalar
from dpjax.mechanisms import base
from dpjax.mechanisms.integer_noise import (
    IntegerNoise,
    drawn_length,
    stacked,
    suffices,
    words_of,
)
from dpjax.noise import LaplaceLaw, discrete_laplace, tables
from dpjax.noise.discrete_laplace import WIDEST
from dpjax.noise.keys import release_key
from dpjax.privacy import (
    Adjacency,
    Epsilon,
    Guarantee,
    PureDP,
    Sensitivity,
    exact_epsilon,
)
from dpjax.statistics import Statistic


@base.MECHANISMS.add
class DiscreteLaplace(IntegerNoise):
    r"""Release $T(D) + Z$ with $P(Z_i = z) \propto e^{-\epsilon |z| / \Delta}$ i.i.d.

    T is an integer statistic of the data D, with L1 sensitivity Δ. `calibrate` makes
    one mechanism; `calibrate_many` makes several, stacked on a leading axis for `vmap`.

    Privacy:
        Exactly ε-DP for the adjacency of the sensitivity, if the bits are random; with
        bits from a ChaCha20 key, the privacy is computational. There is no δ, and draws
        use no floating point. Side channels in time and memory are not covered.

    Reference:
        Ghosh, Roughgarden & Sundararajan (STOC 2009), section 2 (noise distribution).
    """

    kind: ClassVar[str] = "discrete-laplace"
    largest: ClassVar[int] = WIDEST

    table: tables.Table
    sensitivity: Sensitivity
    rho: Scalar
    fraction: UInt32[Array | np.ndarray, "*batch two words"]

    @classmethod
    def calibrate(cls, epsilon: Epsilon, sensitivity: Sensitivity) -> "DiscreteLaplace":
        r"""Make the certified mechanism that costs exactly `epsilon`; not under `jit`.

        Args:
            epsilon: privacy loss, > 0; a float means its shortest decimal.
            sensitivity: L1 sensitivity of an integer statistic, with its adjacency.

        Raises:
            ValueError: if `epsilon` is not a finite number > 0, or the ratio of epsilon
                to sensitivity is outside the certified range [2^-23, 30].
        """
        return cls._build(exact_epsilon(epsilon), sensitivity, None)

    @classmethod
    def of(cls, statistic: Statistic, budget: Guarantee) -> "DiscreteLaplace":
        """Make the mechanism for a statistic; it costs exactly the pure-DP `budget`."""
        cost = PureDP.of(budget, "budget")
        return cls.calibrate(cost.epsilon, statistic.sensitivity(cost.adjacency))

    @classmethod
    def calibrate_many(
        cls, epsilons: Sequence[Epsilon], sensitivity: Sensitivity
    ) -> "DiscreteLaplace":
        """Make a mechanism for each epsilon, stacked on a leading axis for `vmap`."""
        exact = [exact_epsilon(epsilon) for epsilon in epsilons]
        if not exact:
            raise ValueError("`epsilons` must hold at least one budget, got none.")
        rhos = [epsilon / int(sensitivity.value) for epsilon in exact]
        lengths = tables.lengths_needed(*rhos)
        return stacked(exact, lambda x: cls._build(x, sensitivity, lengths))

    @classmethod
    def _build(
        cls, epsilon: Fraction, sensitivity: Sensitivity, lengths: tuple | None
    ) -> "DiscreteLaplace":
        of_type(Sensitivity, "give that of the statistic", sensitivity=sensitivity)
        whole(1, sensitivity=sensitivity.value)
        rho = epsilon / int(sensitivity.value)
        return cls(
            tables.build(rho, lengths),
            sensitivity,
            float(rho),
            words_of(epsilon),
        )

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency for which the sensitivity holds."""
        return self.sensitivity.adjacency

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the noise is for a sensitivity that suffices."""
        return suffices(self.sensitivity, statistic.sensitivity(self.adjacency))

    def _noisy(self, key: Key, exact: Array) -> Array:
        return discrete_laplace.add(key, self.table, exact)

    def draw(self, exact: base.Integers) -> np.ndarray:
        """Add noise to `exact` from 256 random bits of the operating system."""
        counts = base.on_host(exact).astype(np.int64)
        drawn = drawn_length(counts.size)
        with on_cpu():
            noise = np.asarray(_limbs(release_key(), self.padded_table(), (drawn,)))
        return discrete_laplace.add_wide(counts, noise[:, : counts.size])

    @property
    def _scale(self) -> Fraction:
        return int(self.sensitivity.value) / self.guarantee().epsilon

    def describe(self) -> dict[str, Any]:
        """Return kind, noise scale and fingerprint of the noise table, for files."""
        table = tables.fingerprint(self.table)
        return {"kind": self.kind, "scale": str(self._scale), "table": table}

    def derived_facts(self) -> dict[str, Any]:
        """Return the sensitivity of the statistic, for software that reads the file."""
        value, tight = int(self.sensitivity.value), self.sensitivity.tight
        stated = {"value": value, "adjacency": self.adjacency, "tight": tight}
        return {"sensitivity": stated}

    def summary(self) -> dict[str, Any]:
        """Return sensitivity, noise scale, and what the certificate proves, as text."""
        return {
            "sensitivity": int(self.sensitivity.value),
            "scale": str(self._scale),
            "certificate": "every ratio of neighbouring probabilities ≤ exp(1 / scale)",
        }

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-probability of each released number, ignoring the clip."""
        return discrete_laplace.log_prob(
            released - exact.astype(released.dtype), jnp.asarray(self.rho)
        )

    def noise(self, shape: tuple[int, ...]) -> LaplaceLaw:
        """Return the discrete Laplace distribution of the noise, of shape `shape`."""
        rate = jnp.asarray(self.rho, float)[..., None]
        return LaplaceLaw(jnp.broadcast_to(rate, shape), discrete=True)

    def guarantee(self) -> PureDP:
        """Return the exact ε-DP guarantee; `ValueError` for a stack of mechanisms."""
        return PureDP(self._exact_budget(), self.sensitivity.adjacency)

    def padded_table(self) -> tables.Table:
        """Return the noise table, padded so that few shapes share compiled programs."""
        rho = self.guarantee().epsilon / int(self.sensitivity.value)
        return tables.build(rho, tables.lengths_shared(rho))

    def probability(self, z: int) -> Fraction:
        """Return the exact probability of noise `z`, if it is not clipped."""
        return tables.probability(self.table, z)

    def certify(self) -> Fraction:
        """Prove the guarantee again from the integers of the noise table.

        Returns:
            The largest probability ratio of noise z and z ± 1; at most e^(ε/Δ).

        Raises:
            ValueError: if the table does not satisfy the guarantee.
        """
        rho = self.guarantee().epsilon / int(self.sensitivity.value)
        return tables.certify(self.table, rho)


_limbs = jax.jit(discrete_laplace.limbs, static_argnums=2)
