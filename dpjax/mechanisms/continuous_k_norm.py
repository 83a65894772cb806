"""K-norm noise in floating point: for studies under `jit` and `vmap`."""

import abc
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from dpjax._checks import positive, typed_key
from dpjax._types import Key, Scalar
from dpjax.mechanisms import base
from dpjax.mechanisms.norm_groups import (
    Groups,
    choose_groups,
    shares,
    unit_variances,
)
from dpjax.mechanisms.norm_simulation import NormSimulation
from dpjax.mechanisms.row_draws import log_factorial
from dpjax.privacy import Adjacency, Epsilon, PureDP, exact_epsilon
from dpjax.statistics import Statistic
from dpjax.statistics.block_statistic import BlockStatistic
from dpjax.statistics.contrast_moments import CellsBeyondMargins


class ContinuousNoise(base.MechanismWithJointLaw):
    """K-norm noise on a statistic, in floating point."""

    statistic: eqx.AbstractVar[Any]

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency of the statistic."""
        return self.statistic.adjacency

    @abc.abstractmethod
    def noise(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw noise of this shape, whose last axis has the statistic's numbers."""

    def sample(self, key: Key, exact: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Add noise to `exact`, independently for each vector on the last axis."""
        typed_key(key=key)
        return exact.astype(float) + self.noise(key, exact.shape)


class ContinuousKNorm(ContinuousNoise):
    r"""Simulate $T(D) + Z$ with density $\propto \exp(-\sum_g \epsilon_g \|z\|_g)$.

    `KNorm` has the same noise in whole numbers, exactly.

    Args:
        statistic: the contrasts, with their adjacency.
        groups: for each group its stars, and for each star the places of its blocks.
        epsilons: the budget of each group, > 0, on the last axis. Traced, for `vmap`;
            leading axes make a stack of mechanisms, for `sweep`.

    Privacy:
        $\sum_g \epsilon_g$-DP in real arithmetic. Floats leak the data in their
        low-order bits. To publish, use `KNorm`.

    Raises:
        ValueError: if a budget is not positive and finite.

    Reference:
        Hardt & Talwar (STOC 2010), the K-norm mechanism.
    """

    statistic: BlockStatistic = eqx.field(static=True)
    groups: Groups = eqx.field(static=True)
    epsilons: Float[Array | np.ndarray, "*stack g"]

    def __check_init__(self):
        positive(epsilons=self.epsilons)

    @classmethod
    def calibrate_many(
        cls, epsilons: Sequence[Epsilon], statistic: Statistic
    ) -> "ContinuousKNorm":
        """Make a stack of mechanisms, one for each budget, with `KNorm.of`'s groups."""
        contrasts = contrasts_of(statistic)
        groups, _ = choose_groups(contrasts)
        parts = [float(share) for share in shares(contrasts, groups)]
        budgets = [float(exact_epsilon(x, "epsilons")) for x in epsilons]
        each = np.outer(budgets, parts).astype(jnp.result_type(float))
        return cls(contrasts, groups, each)

    def noise(self, key: Key, shape: tuple[int, ...]) -> Float[Array, "..."]:
        """Draw noise of this shape, whose last axis has the statistic's numbers."""
        refuse_length(shape, self.statistic)
        budgets = jnp.asarray(self.epsilons).astype(float)
        draws = self._simulation.draw(key, shape[:-1], budgets)
        return draws.reshape(shape)

    @cached_property
    def _simulation(self) -> NormSimulation:
        return NormSimulation(self.statistic, self.groups)

    def joint_log_prob(
        self, released: Real[Array, "*batch m"], exact: Real[Array, "*batch m"]
    ) -> Float[Array, "*batch"]:
        """Return the log-density of all numbers together.

        If `released` are integers, norms are rounded up, as in the law of `KNorm`; the
        result is then the logarithm of its probabilities up to a constant.
        """
        noise = released.astype(float) - exact.astype(float)
        norms, simulation = self._simulation.norms(noise), self._simulation
        if jnp.issubdtype(released.dtype, jnp.integer):
            norms = jnp.ceil(norms)
        budgets = jnp.broadcast_to(jnp.asarray(self.epsilons, float), norms.shape)
        size, volume = simulation.dimensions, simulation.log_volumes
        peak = jnp.asarray(size, float) * jnp.log(jnp.asarray(self.epsilons, float))
        peak = peak - jnp.asarray(log_factorial(size) + volume, float)
        return peak.sum(axis=-1) - jnp.sum(budgets * norms, axis=-1)

    def noise_scale(self, released: Real[Array, "*batch m"]) -> Float[Array, "..."]:
        """Return the scale of Laplace noise that is about as wide, for each number."""
        statistic = self.statistic
        variances, group_of = unit_variances(statistic, self.groups)
        each = np.repeat(np.arange(len(variances)), np.diff(statistic.starts))
        units = jnp.asarray(np.sqrt(variances / 2)[each], float)
        return units / jnp.asarray(self.epsilons, float)[..., group_of[each]]

    def normal_numbers(
        self, values: Real[Array, "*batch m"], n: Scalar | None
    ) -> base.NormalNumbers:
        """Return the cells of all blocks without the means of rows.

        Given the radius, the noise of a cell is a sum of many; only the correlations
        within a row, of cells whose sum is known, are accounted for, by the weights.
        """
        statistic = self.statistic
        variances, group_of = unit_variances(statistic, self.groups)
        cells = np.diff(statistic.counted.offsets)
        whole = [statistic.is_whole(place) for place in range(len(cells))]
        weights = 1 - ~np.repeat(whole, cells) / statistic.row_widths
        units = jnp.asarray(np.repeat(np.sqrt(variances), cells), float)
        epsilons = jnp.asarray(self.epsilons)[..., np.repeat(group_of, cells)]
        return base.NormalNumbers(
            CellsBeyondMargins(statistic),
            statistic.beyond_margins(values, n),
            units / epsilons,
            jnp.asarray(weights, float),
        )

    def guarantee(self) -> PureDP:
        """Return the sum of the budgets, which must not be traced or stacked."""
        budgets = (exact_epsilon(float(x)) for x in self.epsilons)
        return PureDP(sum(budgets, Fraction(0)), self.adjacency)


def contrasts_of(statistic: Statistic) -> BlockStatistic:
    """Return a statistic of blocks of tables; raise `ValueError` for others."""
    if not isinstance(statistic, BlockStatistic):
        raise ValueError(
            "`statistic` must be contrasts of tables for K-norm noise, got "
            f"{statistic.kind}."
        )
    return statistic


def refuse_length(shape: tuple[int, ...], statistic: Statistic) -> None:
    """Raise `ValueError` unless the last axis has the numbers of the statistic."""
    if shape[-1:] != (statistic.length,):
        raise ValueError(
            f"`exact` must have the {statistic.length} numbers of the statistic on "
            f"the last axis, got shape {shape}."
        )
