"""Density of the hidden exact totals of releases, and directions of Metropolis steps.

A step changes one measured number; if counts sum to a public n, it moves records from
one level to another. If a family has coordinates without limits for its totals, a step
changes all of them.
"""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.mechanisms import MechanismWithJointLaw, MechanismWithLaw
from dpjax.posteriors.hidden_totals.default_prior import DefaultPrior
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import FamilyStatistic

_Exact = Float[Array, " numbers"]
_Totals = Float[Array, "t k"]
_Numbers = Float[Array, " t"]
_Scalar = Float[Array, ""]


class Noisy(eqx.Module):
    """Numbers of a release, as floats, and the mechanism, for its distribution."""

    values: Float[Array, " m"]
    mechanism: MechanismWithJointLaw


class HiddenTotal(eqx.Module):
    """Posterior density of exact statistics, p(totals) p(releases | totals).

    There are t tables of records, each with one release or several. The family's
    parameters, which all tables share, are integrated out. The exact statistic of a
    table consists of the total of its m sufficient statistics, in integer units, and of
    the number of records if it is measured; those of all tables are in one vector.

    Args:
        releases: the releases of each table of records.
        n: number of records of each table; None if it is private.
        prior: conjugate parameters, as arrays, or the default prior, which has unknown
            hyperparameters.
        statistic: statistic of an exponential family; static.
        family: the exponential family; static.
    """

    releases: tuple[tuple[Noisy, ...], ...]
    n: _Numbers | None
    prior: Any
    statistic: FamilyStatistic = eqx.field(static=True)
    family: FamilyWithLaw = eqx.field(static=True)

    def decode(self, exact: _Exact) -> tuple[_Totals, _Numbers]:
        """Convert exact statistics to totals in the data's units, and to n."""
        return jax.vmap(self.statistic.decode)(self._by_table(exact), self.n)

    def encode(self, scaled: _Totals, n: _Numbers) -> _Exact:
        """Convert totals, divided by `family.scales()`, to exact statistics."""
        return jax.vmap(self.statistic.encode)(scaled, n).ravel()

    def _scaled(self, totals: _Totals) -> _Totals:
        return totals / jnp.asarray(self.family.scales())[None]

    def _by_table(self, numbers: _Exact) -> Float[Array, "t m"]:
        return numbers.reshape(len(self.releases), -1)

    @property
    def hyperparameters(self) -> int:
        """Number of unknown hyperparameters of the prior."""
        is_default = isinstance(self.prior, DefaultPrior)
        return self.family.hyperparameters if is_default else 0

    def conjugate(
        self, hyper: Float[Array, " h"], total: Float[Array, " k"], n: _Scalar
    ) -> Any:
        """Return the conjugate prior, given its hyperparameters and a total."""
        if isinstance(self.prior, DefaultPrior):
            return self.prior.given(self.family, hyper, total, n)
        return self.prior

    def log_prior(
        self, hyper: Float[Array, " h"], totals: _Totals, n: _Numbers
    ) -> _Scalar:
        """Return the prior log-density of hyperparameters and totals.

        The totals of several tables are dependent, since the tables share parameters.
        By Bayes' theorem, the joint density is the product of the densities of each,
        times a ratio of conjugate densities, at any value of the parameters.
        """
        family, sums = self.family, (totals.sum(axis=0), n.sum())
        prior, density = self.conjugate(hyper, *sums), jnp.zeros(())
        law = partial(family.log_total, prior)
        if isinstance(self.prior, DefaultPrior):
            law = partial(family.log_hierarchical, hyper, prior)
            density = self.prior.log_density(family, hyper, *sums)
        density = density + jax.vmap(law)(totals, n).sum()
        if len(self.releases) == 1:
            return density
        alone, together = family.posterior(prior), family.update(prior, *sums)
        value = jax.lax.stop_gradient(family.posterior(together).mean())

        def gain(total, n):
            updated = family.posterior(family.update(prior, total, n))
            return updated.log_prob(value) - alone.log_prob(value)

        return density + jax.vmap(gain)(totals, n).sum() - gain(*sums)

    def log_density(self, exact: _Exact, hyper: Float[Array, " h"]) -> _Scalar:
        """Return the log-density of exact statistics and of hyperparameters.

        It is the posterior density, up to a constant.
        """
        totals, n = self.decode(exact)
        rows, scaled = self._by_table(exact), self._scaled(totals)
        least, most = self._limits(n)
        possible = jnp.all((least <= scaled) & (scaled <= most))
        possible = possible & jnp.all(n >= self.family.fewest)
        law = self.log_prior(hyper, totals, n)
        law = jnp.where(jnp.isnan(law), -jnp.inf, law)
        for i, found in enumerate(self.releases):
            for one in found:
                law = law + one.mechanism.joint_log_prob(one.values, rows[i])
        return jnp.where(possible, law, -jnp.inf)

    def _limits(self, n: _Numbers) -> tuple[_Totals, _Totals]:
        """Least and largest scaled totals of n records within the family's bounds.

        The statistics of a record are rounded to whole units.
        """
        low, high = self.statistic.steps * np.array(self.family.ranges()).T
        ends = np.stack([np.floor(low), np.ceil(high)]) / self.statistic.steps
        slack = n[:, None] * 4 * float(jnp.finfo(n.dtype).eps)
        least, most = (n[:, None] * end[None] for end in ends.astype(n.dtype))
        return least - slack, most + slack

    def noise_scale(self) -> _Exact:
        """Scale of Laplace noise that is about as wide as each number's noise."""
        return jnp.concatenate([_scale(found) for found in self.releases])

    @property
    def noisy(self) -> _Exact:
        """Released numbers; of several releases of a table, a weighted average."""
        return jnp.concatenate([_average(found) for found in self.releases])

    @property
    def independent(self) -> bool:
        """Whether the noise of each number is independent of that of the others."""
        every = (one.mechanism for found in self.releases for one in found)
        return all(isinstance(x, MechanismWithLaw) for x in every)

    @property
    def kinds(self) -> int:
        """Number of steps in a sweep: one for each number and each hyperparameter."""
        return len(self.releases) * self.statistic.length + self.hyperparameters

    @property
    def paired(self) -> bool:
        """Whether the counts sum to a public n, so that a step changes two counts."""
        public = self.statistic.adjacency == REPLACE_ONE
        return self.family.complement is None and public

    @property
    def spacing(self) -> np.ndarray:
        """Distance between possible values of each measured number; 0 if continuous.

        The number of records, if it is measured (see `Sufficient`), has a lattice only
        if the total consists of whole units.
        """
        lattice, units = self.family.lattice, self.statistic.steps
        spacing = np.zeros(self.statistic.length)
        if lattice is not None:
            spacing[: self.family.dimension] = units // lattice
            spacing[spacing == 0] = units if lattice == 1 else 0
        return np.tile(spacing, len(self.releases))

    def along(self, kind: Int[Array, ""], shift: Int[Array, ""]) -> _Exact:
        """Return the direction of the step that changes the number at index `kind`.

        If `paired`, the number of the same table that is `shift` places further,
        cyclically, changes by the opposite amount.
        """
        length = self.statistic.length
        places = jnp.arange(len(self.releases) * length)
        direction = (places == kind).astype(float)
        if not self.paired:
            return direction
        other = kind - kind % length + (kind + shift) % length
        return direction - (places == other).astype(float)

    @property
    def coordinates(self) -> int:
        """Number of coordinates of totals, and of numbers of records if private."""
        return len(self.releases) * (self.family.dimension + (self.n is None))

    def noise_share(self) -> _Scalar:
        """Return the largest noise scale, relative to n units, but at most 1."""
        n = jnp.maximum(self.decode(self.noisy)[1], 1)
        widest = self._by_table(self.noise_scale()).max(axis=1)
        return jnp.minimum((widest / (self.statistic.steps * n)).max(), 1)

    def point(self, share: _Scalar) -> Float[Array, " k"]:
        """Return coordinates and hyperparameters of the start of a chain."""
        totals, n = self.decode(self.start(share))
        of_total = jax.vmap(self.family.coordinates)(self._scaled(totals), n).ravel()
        of_n = jnp.log(n - self.family.fewest) if self.n is None else n[:0]
        return jnp.concatenate([of_total, of_n, jnp.zeros(self.hyperparameters)])

    def at(
        self, point: Float[Array, " k"]
    ) -> tuple[_Exact, Float[Array, " h"], _Scalar]:
        """Return exact statistics, hyperparameters and log-Jacobian at coordinates."""
        size, last = self.family.dimension, self.coordinates
        of_total = self._by_table(point[: len(self.releases) * size])
        averages, volumes = jax.vmap(self.family.average_at)(of_total)
        if self.n is None:
            of_n = point[last - len(self.releases) : last]
            n = self.family.fewest + jnp.exp(of_n)
            volumes = volumes + size * jnp.log(n) + of_n
        else:
            n = jnp.asarray(self.n, point.dtype)
        exact = self.encode(averages * n[:, None], n)
        return exact, point[last:], volumes.sum()

    def log_density_at(self, point: Float[Array, " k"]) -> _Scalar:
        """Return the posterior log-density of coordinates and hyperparameters."""
        exact, hyper, volume = self.at(point)
        return self.log_density(exact, hyper) + volume

    def start(self, share: _Scalar) -> _Exact:
        """Return a chain's start, which is possible exact statistics near `noisy`.

        They are moved by the fraction `share` of the way to n times `family.middle`.
        """
        family = self.family
        totals, n = jax.vmap(family.project)(*self.decode(self.noisy))
        if self.statistic.adjacency != REPLACE_ONE:
            n = jnp.maximum(n, family.fewest + 1)
        totals, n = jax.vmap(family.project)(totals, n)
        middle = n[:, None] * jnp.asarray(family.middle)[None]
        scaled = (1 - share) * self._scaled(totals) + share * middle
        exact = self.encode(jnp.clip(scaled, *self._limits(n)), n)
        if not self.paired:
            return nearest(exact, jnp.asarray(self.spacing))
        # Round all numbers down, then round up those with the largest errors.
        step, rows = self.spacing[0], self._by_table(exact)
        low = jnp.floor(rows / step)
        missing = jnp.round(jnp.sum(rows / step - low, axis=1, keepdims=True))
        order = jnp.argsort(jnp.argsort(low - rows / step))
        return (low + (order.astype(float) < missing).astype(float)).ravel() * step


def _scale(found: tuple[Noisy, ...]) -> Float[Array, " m"]:
    """Scale of Laplace noise about as wide as that of an average of releases."""
    if len(found) == 1:
        return _width(found[0])
    return jnp.stack([_width(one) ** -2 for one in found]).sum(axis=0) ** -0.5


def _average(found: tuple[Noisy, ...]) -> Float[Array, " m"]:
    """Average of the numbers of releases, weighted by the precision of their noise."""
    if len(found) == 1:
        return found[0].values
    scale = _scale(found)
    shares = [(scale / _width(one)) ** 2 * one.values for one in found]
    return jnp.stack(shares).sum(axis=0)


def _width(one: Noisy) -> Float[Array, " m"]:
    return jnp.broadcast_to(one.mechanism.noise_scale(one.values), one.values.shape)


def nearest(values: Float[Array, "*s"], spacing: Float[Array, "*s"]) -> Array:
    """Round values to multiples of `spacing`; keep them where `spacing` is 0."""
    step = jnp.where(spacing > 0, spacing, 1)
    return jnp.where(spacing > 0, jnp.round(values / step) * step, values)
