"""Steps between possible exact statistics, for a Metropolis walk over hidden totals.

A step changes one measured number, or, of counts that sum to n, moves some from one
level to another. Totals of products have others too: as if a column were stretched, or
some of one, or a constant, were added to another. Those keep to what is possible.
"""

__all__ = ["TotalMoves", "nearest"]

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._types import Scalar
from dpjax.families import Categorical, Gaussian, LinearRegression, MultivariateGaussian
from dpjax.families.moments import split
from dpjax.privacy import REPLACE_ONE
from dpjax.statistics import FamilyStatistic

_Exact = Float[Array, " m"]
_Scalar = Float[Array, ""]


@dataclass(frozen=True)
class TotalMoves:
    """All steps for one statistic; static and hashable.

    Args:
        statistic: of an exponential family.
    """

    statistic: FamilyStatistic

    @property
    def number(self) -> int:
        """Of kinds of steps: numbers measured, then maps of columns."""
        return self.statistic.length + len(self._maps)

    @property
    def has_products(self) -> bool:
        """Whether totals are of first and second moments."""
        kinds = (Gaussian, MultivariateGaussian, LinearRegression)
        return isinstance(self.statistic.family, kinds)

    @property
    def paired(self) -> bool:
        """Whether counts sum to a public n, so that only two at once can change."""
        family = self.statistic.family
        return isinstance(family, Categorical) and (
            self.statistic.adjacency == REPLACE_ONE
        )

    @property
    def fewest(self) -> int:
        """The least n whose totals have a density."""
        return self.statistic.family.columns + 1 if self.has_products else 1

    @cached_property
    def spacing(self) -> np.ndarray:
        """By measured number: how far apart its possible values are, 0 if no matter.

        n times the units, less a total, is not on the total's lattice unless that is of
        whole units; so n need not be whole in between.
        """
        lattice, units = self.statistic.family.lattice, self.statistic.steps
        spacing = np.zeros(self.statistic.length)
        if lattice is not None:
            spacing[: self.statistic.family.dimension] = units // lattice
            spacing[spacing == 0] = units if lattice == 1 else 0
        return spacing

    @property
    def _linear(self) -> bool:
        family = self.statistic.family
        return not isinstance(family, LinearRegression) or family.intercept

    @property
    def _maps(self) -> list[tuple[int, int]]:
        """Pairs of columns, what is added and to which; the constant one comes first.

        The constant never changes. A column added to itself is stretched.
        """
        if not self.has_products:
            return []
        size = self.statistic.family.columns + self._linear
        return [(i, j) for i in range(size) for j in range(self._linear, size)]

    def along(self, kind: Int[Array, ""], shift: Int[Array, ""]) -> _Exact:
        """The direction in which a step of this kind goes, if it is no shear."""
        places = jnp.arange(self.statistic.length)
        direction = (places == kind).astype(float)
        if not self.paired:
            return direction
        other = (kind + shift) % self.statistic.length
        return direction - (places == other).astype(float)

    def mapped(
        self, kind: Int[Array, ""], amount: _Scalar, exact: _Exact, n: _Scalar
    ) -> tuple[_Exact, _Scalar]:
        """The statistic with one column changed, and the log of the map's Jacobian.

        Args:
            kind: a kind of step, beyond those of measured numbers.
            amount: of what is added, columns being from -1 to 1; of a stretch its log.
            exact: the statistic.
            n: number of records.
        """
        pairs = np.array([(0, 0)] * self.statistic.length + self._maps)
        source, target = jnp.asarray(pairs)[kind]
        stretch = source == target
        added = jnp.where(stretch, jnp.expm1(amount), amount)
        matrix = self._matrix(exact, n)
        size = len(matrix)
        added = added * (jnp.arange(size) == target).astype(float)
        matrix = matrix + added[:, None] * matrix[source][None, :]
        matrix = matrix + matrix[:, source][:, None] * added[None, :]
        rows, columns = np.triu_indices(size)
        kept = slice(1, None) if self._linear else slice(None)  # all but n itself
        exact = self.encode(matrix[rows, columns][kept], n)
        return exact, jnp.where(stretch, (size + 1) * amount, 0)

    def _matrix(self, exact: _Exact, n: _Scalar) -> Float[Array, "d d"]:
        """Sums of products, those with the constant column included."""
        scaled = exact[: self.statistic.family.dimension] / self.statistic.steps
        first, second = split(scaled, self.statistic.family.columns, self._linear)
        if not self._linear:
            return second
        top = jnp.concatenate([n[None], first])[None, :]
        return jnp.concatenate([top, jnp.column_stack([first, second])])

    def encode(self, scaled: Float[Array, " k"], n: _Scalar) -> _Exact:
        """The exact numbers for a scaled total of n records."""
        statistic = self.statistic
        if statistic.length > len(scaled):
            rest = n - scaled[statistic.family.complement]
            scaled = jnp.concatenate([scaled, rest[None]])
        return scaled * statistic.steps

    def start(
        self, noisy: _Exact, n: Scalar | None, share: _Scalar
    ) -> Float[Array, " m"]:
        """Something possible near a release, a share of the way to the middle."""
        family = self.statistic.family
        total, n = family.project(*self.statistic.decode(noisy, n))
        n = jnp.maximum(n, self.fewest + 1) if self.adds_records else n
        total, n = family.project(total, n)
        scaled = total / jnp.asarray(family.scales())
        mixed = (1 - share) * scaled + share * n * jnp.asarray(self._middle)
        return self._to_lattice(self.encode(mixed, n))

    @property
    def adds_records(self) -> bool:
        """Whether n is hidden."""
        return self.statistic.adjacency != REPLACE_ONE

    @property
    def _middle(self) -> np.ndarray:
        """What a record is, scaled, in a data set that is far from all limits."""
        family = self.statistic.family
        if isinstance(family, Categorical):
            return np.full(family.levels, 1 / family.levels)
        if not self.has_products:
            return np.array([0.5])
        d = family.columns
        squares = np.diag(np.full(d, 0.25))[np.triu_indices(d)]
        return np.concatenate([np.zeros(d), squares]) if self._linear else squares

    def _to_lattice(self, exact: _Exact) -> _Exact:
        if not self.paired:
            return nearest(exact, jnp.asarray(self.spacing))
        # All rounded down; what is missing goes to those that lost most
        step = self.spacing[0]
        low = jnp.floor(exact / step)
        missing = jnp.round(jnp.sum(exact / step - low))
        order = jnp.argsort(jnp.argsort(low - exact / step))
        return (low + (order.astype(float) < missing).astype(float)) * step


def nearest(values: Float[Array, "*s"], spacing: Float[Array, "*s"]) -> Array:
    """The nearest multiples of `spacing`; values as they are where that is 0."""
    step = jnp.where(spacing > 0, spacing, 1)
    return jnp.where(spacing > 0, jnp.round(values / step) * step, values)
