"""The discrete Gaussian mechanism, whose integer noise is exact and certified."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array

from dpjax._checks import whole
from dpjax._platforms import on_cpu
from dpjax._types import Key
from dpjax.mechanisms import base
from dpjax.mechanisms.gaussian_noise import GaussianNoise
from dpjax.mechanisms.integer_noise import drawn_length, stacked, words_of
from dpjax.noise import discrete_gaussian, gaussian_tables
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.keys import release_key
from dpjax.privacy import Epsilon, Sensitivity, exact_epsilon


@base.MECHANISMS.add
class DiscreteGaussian(GaussianNoise):
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
    certificate: ClassVar[str] = "every Rényi divergence of order α ≤ ρα"

    table: gaussian_tables.Table

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
        return stacked(exact, lambda x: cls._of_fraction(x, squared, columns))

    @classmethod
    def _of_fraction(
        cls, rho: Fraction, squared: Sensitivity, columns: int | None = None
    ) -> "DiscreteGaussian":
        whole(1, sensitivity=squared.value)
        rate = rho / int(squared.value)
        h = float(gaussian_tables.half_precision(rate))
        return cls(squared, h, words_of(rho), gaussian_tables.build(rate, columns))

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

    def describe(self) -> dict[str, Any]:
        """Return kind, σ² and fingerprint of the noise table, for files."""
        variance = 1 / (2 * gaussian_tables.half_precision(self._rate))
        table = gaussian_tables.fingerprint(self.table)
        return {"kind": self.kind, "variance": str(variance), "table": table}

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


_noise = jax.jit(discrete_gaussian.sample, static_argnums=2)
