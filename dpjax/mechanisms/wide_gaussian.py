"""Discrete Gaussian noise that is too wide for a table, drawn by exact rejection."""

from fractions import Fraction
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from dpjax._checks import whole
from dpjax._types import Key
from dpjax.mechanisms import base
from dpjax.mechanisms.gaussian_noise import GaussianNoise
from dpjax.mechanisms.integer_noise import words_of
from dpjax.noise import GaussianLaw, wide_gaussian
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.noise.exact_choice import system_bits
from dpjax.noise.gaussian_tables import SHORTEST
from dpjax.privacy import Sensitivity


@base.MECHANISMS.add
class WideGaussian(GaussianNoise):
    r"""Release $T(D) + Z$ with $P(Z_i = z) \propto e^{-\rho z^2 / \Delta^2}$ i.i.d.

    T is an integer statistic of the data D, with squared L2 sensitivity $\Delta^2$. The
    ratio of ρ to it is below $2^{-25}$, that is σ above 4096, as for sums of numbers.
    `draw` draws one number after another on the host. `sample` is for studies: it adds
    rounded normal noise.

    Privacy:
        Exactly ρ-zCDP for the adjacency of the sensitivity, if the bits are random
        (`docs/proofs.md`, section 23). Draws use no floating point. Side channels in
        time and memory are not covered: the time of a draw depends on its noise.

    Reference:
        Canonne, Kamath & Steinke (NeurIPS 2020), section 2 (privacy) and
        Algorithm 3 (draws).
    """

    kind: ClassVar[str] = "wide-gaussian"
    certificate: ClassVar[str] = (
        "exact distribution: every Rényi divergence of order α ≤ ρα"
    )

    @classmethod
    def _of_fraction(cls, rho: Fraction, squared: Sensitivity) -> "WideGaussian":
        whole(1, sensitivity=squared.value)
        rate = rho / int(squared.value)
        if not wide_gaussian.LEAST <= rate < SHORTEST:
            raise ValueError(
                "`rho` over the squared sensitivity must be between 2^-47 and 2^-25 "
                f"for noise without a table, got {float(rate):.3g}: take another `rho`."
            )
        return cls(squared, float(rate), words_of(rho))

    def _noisy(self, key: Key, exact: Array) -> Array:
        noise = jnp.round(GaussianLaw(self.h).simulate(key, exact.shape))
        return jnp.clip(exact + noise.astype(jnp.int32), -LARGEST, LARGEST)

    def draw(self, exact: base.Integers) -> np.ndarray:
        """Add noise to `exact` from random bits of the operating system."""
        counts, variance = base.on_host(exact), 1 / (2 * self._rate)
        noise = [wide_gaussian.draw(variance, system_bits) for _ in range(counts.size)]
        wide = np.array(noise, np.int64).reshape(counts.shape)
        return np.clip(counts.astype(np.int64) + wide, -LARGEST, LARGEST)

    def describe(self) -> dict[str, Any]:
        """Return kind and exact σ² of the noise, for files."""
        return {"kind": self.kind, "variance": str(1 / (2 * self._rate))}
