"""The Laplace mechanism in floating point: for studies, not for release."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import of_type, positive, typed_key
from dpjax._types import Key, Scalars
from dpjax.mechanisms.base import MechanismWithLaw
from dpjax.noise import LaplaceLaw, laplace
from dpjax.privacy import Adjacency, PureDP, Sensitivity, exact_epsilon


class Laplace(MechanismWithLaw):
    r"""Simulate $T(D) + \eta$ with $\eta_i \sim \mathrm{Lap}(\Delta / \epsilon)$ i.i.d.

    Args:
        epsilon: privacy loss in nats, > 0. Traced, for `vmap`; an array with leading
            axes makes a stack of mechanisms, for `sweep`.
        sensitivity: L1 sensitivity $\Delta$ of the statistic T, with its adjacency.

    Privacy:
        ε-DP in real arithmetic. Floats leak the data in their low-order bits: at ε = 1,
        nine of ten draws are possible under only one of two neighbouring counts
        (`tests/test_attacks.py`). To publish, use `DiscreteLaplace`.

    Raises:
        ValueError: if `epsilon` is not positive and finite.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, line 3.
    """

    epsilon: Scalars
    sensitivity: Sensitivity

    def __check_init__(self):
        of_type(Sensitivity, "give that of the statistic", sensitivity=self.sensitivity)
        positive(epsilon=self.epsilon)

    @property
    def scale(self) -> Scalars:
        """Noise scale Δ/ε, in the units of the statistic."""
        return self.sensitivity.value / self.epsilon

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency for which the sensitivity holds."""
        return self.sensitivity.adjacency

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Add an independent draw of noise to each number of `exact`."""
        typed_key(key=key)
        return exact.astype(float) + laplace.sample(key, self.scale, exact.shape)

    def log_prob(
        self, released: Real[Array, "*shape"], exact: Real[Array, "*shape"]
    ) -> Float[Array, "*shape"]:
        """Return the log-density of each released number, given the exact numbers."""
        return laplace.log_prob(released - exact.astype(released.dtype), self.scale)

    def noise(self, shape: tuple[int, ...]) -> LaplaceLaw:
        """Return the continuous Laplace distribution of the noise, of shape `shape`."""
        rate = 1 / jnp.asarray(self.scale, float)[..., None]
        return LaplaceLaw(jnp.broadcast_to(rate, shape), discrete=False)

    def guarantee(self) -> PureDP:
        """Return ε-DP for the sensitivity's adjacency; `epsilon` must not be traced."""
        return PureDP(exact_epsilon(float(self.epsilon)), self.sensitivity.adjacency)
