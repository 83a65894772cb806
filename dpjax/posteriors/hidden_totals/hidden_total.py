"""Density of the hidden exact total of a release, and directions of Metropolis steps.

A step changes one measured number; if counts sum to a public n, it moves records from
one level to another. If a family has coordinates without limits for its totals, a step
changes all of them.
"""

__all__ = ["HiddenTotal", "nearest"]

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Scalar
from dpjax.families.exact_totals import FamilyWithLaw
from dpjax.mechanisms import MechanismWithJointLaw, MechanismWithLaw
from dpjax.posteriors.hidden_totals.default_prior import DefaultPrior
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import FamilyStatistic

_Exact = Float[Array, " m"]
_Scalar = Float[Array, ""]


class HiddenTotal(eqx.Module):
    """Posterior density of a release's exact statistic, p(total) p(release | total).

    The family's parameters are integrated out. The exact statistic consists of the
    total of the sufficient statistics, in integer units, and of the number of records
    if it is measured.

    Args:
        noisy: released numbers, as floats.
        mechanism: the mechanism, of which only the distribution is used.
        n: number of records; None if it is private.
        prior: conjugate parameters, as arrays, or the default prior, which has unknown
            hyperparameters.
        statistic: statistic of an exponential family; static.
        family: the exponential family; static.
    """

    noisy: _Exact
    mechanism: MechanismWithJointLaw
    n: Scalar | None
    prior: Any
    statistic: FamilyStatistic = eqx.field(static=True)
    family: FamilyWithLaw = eqx.field(static=True)

    def decode(self, exact: _Exact) -> tuple[Float[Array, " k"], _Scalar]:
        """Convert an exact statistic to the total in the data's units, and to n."""
        return self.statistic.decode(exact, self.n)

    def encode(self, scaled: Float[Array, " k"], n: _Scalar) -> _Exact:
        """Convert a total, divided by `family.scales()`, to an exact statistic."""
        return self.statistic.encode(scaled, n)

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
        self, hyper: Float[Array, " h"], total: Float[Array, " k"], n: _Scalar
    ) -> _Scalar:
        """Return the prior log-density of hyperparameters and a total."""
        if not isinstance(self.prior, DefaultPrior):
            return self.family.log_total(self.prior, total, n)
        prior = self.conjugate(hyper, total, n)
        law = self.family.log_hierarchical(hyper, prior, total, n)
        return law + self.prior.log_density(self.family, hyper, total, n)

    def log_density(self, exact: _Exact, hyper: Float[Array, " h"]) -> _Scalar:
        """Return the log-density of an exact statistic and of hyperparameters.

        It is the posterior density, up to a constant.
        """
        total, n = self.decode(exact)
        in_units = exact / self.statistic.steps
        slack = 1 + 4 * float(jnp.finfo(exact.dtype).eps)
        possible = jnp.all(jnp.abs(in_units) <= n * slack) & (n >= self.family.fewest)
        law = self.log_prior(hyper, total, n)
        law = jnp.where(jnp.isnan(law), -jnp.inf, law)
        noise = self.mechanism.joint_log_prob(self.noisy, exact)
        return jnp.where(possible, law + noise, -jnp.inf)

    def noise_scale(self) -> _Exact:
        """Scale of Laplace noise that is about as wide as each number's noise."""
        return self.mechanism.noise_scale(self.noisy)

    @property
    def independent(self) -> bool:
        """Whether the noise of each number is independent of that of the others."""
        return isinstance(self.mechanism, MechanismWithLaw)

    @property
    def kinds(self) -> int:
        """Number of steps in a sweep: one for each number and each hyperparameter."""
        return self.statistic.length + self.hyperparameters

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
        return spacing

    def along(self, kind: Int[Array, ""], shift: Int[Array, ""]) -> _Exact:
        """Return the direction of the step that changes the number at index `kind`.

        If `paired`, the number that is `shift` places further, cyclically, changes by
        the opposite amount.
        """
        places = jnp.arange(self.statistic.length)
        direction = (places == kind).astype(float)
        if not self.paired:
            return direction
        other = (kind + shift) % self.statistic.length
        return direction - (places == other).astype(float)

    @property
    def coordinates(self) -> int:
        """Number of coordinates of a total, and of the number of records if private."""
        return self.family.dimension + (self.n is None)

    def noise_share(self) -> _Scalar:
        """Return the largest noise scale, relative to n units, but at most 1."""
        n = jnp.maximum(self.decode(self.noisy)[1], 1)
        return jnp.minimum(self.noise_scale().max() / (self.statistic.steps * n), 1)

    def point(self, share: _Scalar) -> Float[Array, " k"]:
        """Return coordinates and hyperparameters of the start of a chain."""
        total, n = self.decode(self.start(share))
        of_total = self.family.coordinates(total / jnp.asarray(self.family.scales()), n)
        of_n = jnp.log(n - self.family.fewest)[None] if self.n is None else n[None][:0]
        return jnp.concatenate([of_total, of_n, jnp.zeros(self.hyperparameters)])

    def at(
        self, point: Float[Array, " k"]
    ) -> tuple[_Exact, Float[Array, " h"], _Scalar]:
        """Return exact statistic, hyperparameters and log-Jacobian at coordinates."""
        size = self.family.dimension
        average, volume = self.family.average_at(point[:size])
        if self.n is None:
            n = self.family.fewest + jnp.exp(point[size])
            volume = volume + size * jnp.log(n) + point[size]
        else:
            n = jnp.asarray(self.n, point.dtype)
        return self.encode(average * n, n), point[self.coordinates :], volume

    def log_density_at(self, point: Float[Array, " k"]) -> _Scalar:
        """Return the posterior log-density of coordinates and hyperparameters."""
        exact, hyper, volume = self.at(point)
        return self.log_density(exact, hyper) + volume

    def start(self, share: _Scalar) -> _Exact:
        """Return a chain's start, which is a possible exact statistic near `noisy`.

        It is moved by the fraction `share` of the way to n times `family.middle`.
        """
        family = self.family
        total, n = family.project(*self.decode(self.noisy))
        if self.statistic.adjacency != REPLACE_ONE:
            n = jnp.maximum(n, family.fewest + 1)
        total, n = family.project(total, n)
        scaled = total / jnp.asarray(family.scales())
        mixed = (1 - share) * scaled + share * n * jnp.asarray(family.middle)
        exact = self.encode(mixed, n)
        if not self.paired:
            return nearest(exact, jnp.asarray(self.spacing))
        # Round all numbers down, then round up those with the largest errors.
        step = self.spacing[0]
        low = jnp.floor(exact / step)
        missing = jnp.round(jnp.sum(exact / step - low))
        order = jnp.argsort(jnp.argsort(low - exact / step))
        return (low + (order.astype(float) < missing).astype(float)) * step


def nearest(values: Float[Array, "*s"], spacing: Float[Array, "*s"]) -> Array:
    """Round values to multiples of `spacing`; keep them where `spacing` is 0."""
    step = jnp.where(spacing > 0, spacing, 1)
    return jnp.where(spacing > 0, jnp.round(values / step) * step, values)
