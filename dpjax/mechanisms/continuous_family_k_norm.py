"""K-norm noise on sums of exponential families in floating point, for studies."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import positive
from dpjax._products import matmul
from dpjax._types import Key
from dpjax.mechanisms.continuous_k_norm import ContinuousNoise, refuse_length
from dpjax.mechanisms.row_draws import power
from dpjax.privacy import Epsilon, PureDP, exact_epsilon
from dpjax.statistics import FamilyStatistic, Statistic
from dpjax.statistics.family_statistic import Changes

_FINEST = Fraction(1, 32)  # loss of one step of the radius that is small enough


class ContinuousFamilyKNorm(ContinuousNoise):
    r"""Simulate $T(D) + Z$ with density $\propto \exp(-\epsilon \|z\|)$.

    The norm is $\max_p \|z_p\|_1 / b_p$ over disjoint parts p of the numbers.
    `FamilyKNorm` has nearly the same noise in whole numbers, exactly.

    Args:
        statistic: the statistic, with its adjacency.
        places: the places of the numbers of each part.
        sizes: the number b of each part, on the last axis; traced.
        epsilon: the privacy loss, > 0; traced. Leading axes of `epsilon` and `sizes`
            make a stack of mechanisms, for `vmap` and `sweep`.

    Privacy:
        ε-DP in real arithmetic, if one record changes no part by more than its b in L1
        norm. Floats leak the data in their low-order bits. To publish, use
        `FamilyKNorm`.

    Raises:
        ValueError: if `sizes` or `epsilon` are not positive and finite.

    Reference:
        Hardt & Talwar (STOC 2010), the K-norm mechanism.
    """

    statistic: FamilyStatistic = eqx.field(static=True)
    places: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    sizes: Float[Array | np.ndarray, "*stack p"]
    epsilon: Float[Array | np.ndarray, "*stack"]

    def __check_init__(self):
        positive(sizes=self.sizes, epsilon=self.epsilon)

    @classmethod
    def calibrate_many(
        cls, epsilons: Sequence[Epsilon], statistic: Statistic
    ) -> "ContinuousFamilyKNorm":
        """Make a stack of mechanisms for studies, one for each budget."""
        family, kind = family_of(statistic), jnp.result_type(float)
        budgets = [exact_epsilon(x, "epsilons") for x in epsilons]
        parts = [steps_and_parts(family, budget)[1] for budget in budgets]
        places = tuple(places for places, _ in parts[0])
        sizes = np.array([[size for _, size in one] for one in parts], kind)
        return cls(family, places, sizes, np.array([*map(float, budgets)], kind))

    @cached_property
    def _part_of(self) -> Int[np.ndarray, " m"]:
        part_of = np.zeros(self.statistic.length, np.int64)
        for part, places in enumerate(self.places):
            part_of[[*places]] = part
        return part_of

    def _sums(self, values: Float[Array, "*batch m"]) -> Float[Array, "*batch p"]:
        """Sum the absolute values of the numbers of each part."""
        member = self._part_of[:, None] == np.arange(len(self.places))
        return matmul(jnp.abs(values), jnp.asarray(member, values.dtype))

    def noise(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw noise of this shape, whose last axis has the statistic's numbers."""
        refuse_length(shape, self.statistic)
        key_point, key_norm = jr.split(key)
        point = jr.laplace(key_point, shape)
        # Sums of parts have Gamma distributions, and do not depend on directions.
        sums = jnp.maximum(self._sums(point), jnp.finfo(point.dtype).eps)
        counts = jnp.broadcast_to(jnp.asarray(self._counts, float), sums.shape)
        norms = power(jr.uniform(key_norm, sums.shape), counts)
        radius = sums.sum(axis=-1) / jnp.asarray(self.epsilon, float)
        sizes = jnp.broadcast_to(jnp.asarray(self.sizes, float), sums.shape)
        largest = norms.max(axis=-1)
        scales = (radius / largest)[..., None] * norms * sizes / sums
        return point * scales[..., self._part_of]

    def joint_log_prob(
        self, released: Real[Array, "*batch m"], exact: Real[Array, "*batch m"]
    ) -> Float[Array, "*batch"]:
        """Return the log-density of all numbers together.

        Its derivative is that of a smooth approximation (see `_largest`).
        """
        sums = self._sums(released.astype(float) - exact.astype(float))
        sizes, epsilon = (jnp.asarray(x, float) for x in (self.sizes, self.epsilon))
        loss = _largest(epsilon * sums / jnp.broadcast_to(sizes, sums.shape))
        counts, length = jnp.asarray(self._counts, float), self.statistic.length
        volumes = counts * jnp.log(2 * sizes) - gammaln(counts + 1)
        peak = length * jnp.log(epsilon) - math.lgamma(length + 1) - volumes.sum()
        return peak - loss

    @property
    def _counts(self) -> Int[np.ndarray, " p"]:
        return np.array([len(places) for places in self.places])

    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the scale of Laplace noise of the same variance, for each number."""
        counts, length = self._counts, len(self._part_of)
        share = (length + 1) * (length + 2) / ((counts + 1) * (counts + 2))
        scales = jnp.asarray(self.sizes, float) * jnp.asarray(np.sqrt(share), float)
        return scales[..., self._part_of] / jnp.asarray(self.epsilon, float)

    def guarantee(self) -> PureDP:
        """Return ε-DP; `epsilon` must not be traced or stacked."""
        return PureDP(exact_epsilon(float(self.epsilon)), self.adjacency)


@jax.custom_jvp
def _largest(values: Float[Array, "*batch p"]) -> Float[Array, "*batch"]:
    """Return the largest value on the last axis, with the derivative of log-sum-exp.

    Hamiltonian Monte Carlo accepts or rejects by values: its draws follow the density,
    whichever derivative its steps follow. A smooth one allows for longer steps.
    """
    return values.max(axis=-1)


@_largest.defjvp
def _tangent(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (values,), (moved,) = primals, tangents
    weights = jax.nn.softmax(values, axis=-1)
    return values.max(axis=-1), (weights * moved).sum(axis=-1)


def parts_of(statistic: FamilyStatistic) -> Changes:
    """Return the parts of least total variance: those of `changes`, or all as one."""
    most = int(statistic.sensitivity(statistic.adjacency).value)
    whole = ((tuple(range(statistic.length)), most),)
    return min(statistic.changes, whole, key=unit_variance)


def steps_and_parts(
    statistic: FamilyStatistic, epsilon: Fraction
) -> tuple[int, Changes]:
    r"""Return the steps q of the radius for one record, and parts of multiples of q.

    The discrete radius adds about $\epsilon^2 / (12 q^2)$ to the variance, as a share
    of it, and rounding the sizes of parts up to multiples of q adds the rest.
    """
    found = parts_of(statistic)

    def variance(q: int) -> Fraction:
        rounded = sum((-(-size // q)) ** 2 for _, size in found)
        return rounded * (12 * q**2 + epsilon**2)

    q = min(range(1, math.ceil(epsilon / _FINEST) + 1), key=variance)
    return q, tuple((places, q * -(-size // q)) for places, size in found)


def unit_variance(parts: Changes) -> float:
    """Return the total variance of continuous noise with these parts at ε = 1."""
    length = sum(len(places) for places, _ in parts)
    squares = sum(
        2 * len(places) * size**2 / ((len(places) + 1) * (len(places) + 2))
        for places, size in parts
    )
    return (length + 1) * (length + 2) * squares


def family_of(statistic: Statistic) -> FamilyStatistic:
    """Return the statistic if it is of a family; raise `ValueError` for others."""
    if not isinstance(statistic, FamilyStatistic):
        raise ValueError(
            "`statistic` must be of an exponential family for K-norm noise, got "
            f"{statistic.kind}."
        )
    return statistic
