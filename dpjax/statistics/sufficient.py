"""Sufficient statistics of an exponential family, as integers on a public grid."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int32, Real

from dpjax._checks import one_of, rows_of, whole
from dpjax._types import Described, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.data.intervals import Interval
from dpjax.data.kinds import all_declared
from dpjax.families import FAMILIES, Family
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import STATISTICS, Columns
from dpjax.statistics.family_statistic import Changes, FamilyStatistic

_UNITS = 1 << 10
_MOST_UNITS = 1 << 16


@STATISTICS.add
@dataclass(frozen=True)
class Sufficient(FamilyStatistic):
    r"""Integer totals of the sufficient statistics of an exponential family.

    Component k is $T_k = \sum_x \mathrm{round}(units \, S_k(x) / scale_k)$, summed over
    the records x; $S_k(x)$ is statistic k of the record after clipping to the bounds,
    and $scale_k$ the largest $|S_k|$. All components are scaled, since they get the
    same noise. Under replace-one, the number of records n is public. Under add-remove,
    $units \cdot n - T_c$ is measured too, for a component c that is never negative, so
    that n is known up to noise. This does not increase the sensitivity: a record adds
    `units` to the sum of $T_c$ and this number. The counts of a categorical variable
    sum to n already.

    Args:
        family: the exponential family; its bounds are those of the variables.
        over: the variables of the records' columns.
        adjacency: "replace-one" or "add-remove".
        units: number of steps from 0 to the largest value of a component, at most
            65536, and a multiple of `family.lattice`, if the family has one. None means
            `family.lattice`, for which rounding is exact, or else 1024.

    Privacy:
        `sensitivity` holds for all records, after clipping and rounding. One record
        adds at most `units` in absolute value to a component.

    Raises:
        ValueError: if the variables do not fit the family, or `units` is out of range.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), equations 16-17.
    """

    kind: ClassVar[str] = "sufficient-statistics"

    family: Family
    over: Columns
    adjacency: Adjacency
    units: int | None = None

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        self._check_variables()
        lattice = self.family.lattice
        units = (lattice or _UNITS) if self.units is None else self.units
        whole(1, units=units)
        if units > _MOST_UNITS or units % (lattice or 1):
            raise ValueError(
                f"`units` must be at most {_MOST_UNITS} and a multiple of "
                f"{lattice or 1}, got {units}."
            )
        object.__setattr__(self, "units", int(units))

    def _check_variables(self) -> None:
        kind = Categorical if self.family.categorical else Interval
        if not all(isinstance(variable, kind) for variable in self.over):
            raise ValueError(
                f"`over` must be of type {kind.__name__} for a {self.family.name} "
                f"family, got {[type(variable).__name__ for variable in self.over]}."
            )
        bounds = tuple(zip(*_bounds(self.over), strict=True))
        if bounds != self.family.bounds:
            raise ValueError(
                f"`over` must have the bounds of the family, {self.family.bounds}, got "
                f"{bounds}: `Sufficient.of` takes them from the variables."
            )

    @classmethod
    def of(
        cls,
        family: str,
        variables: Columns,
        adjacency: Adjacency,
        units: int | None = None,
        **options: Any,
    ) -> "Sufficient":
        """Make the statistic of the family with a given name and the variables' bounds.

        Args:
            family: a key of `dpjax.families.FAMILIES`.
            variables: the variables of the columns; a regression's target is last.
            adjacency: "replace-one" or "add-remove".
            units: see `Sufficient`.
            **options: further parameters of the family, such as `variance`.

        Raises:
            ValueError: if there is no such family, or it does not fit the variables or
                have the options.
        """
        one_of(tuple(FAMILIES), family=family)
        variables = tuple(all_declared(variables))
        lower, upper = _bounds(variables)
        try:
            made = FAMILIES[family].from_bounds(lower, upper, **options)
        except TypeError:
            if not options:
                raise
            raise ValueError(
                f"`options` must be parameters of the family {family}, got "
                f"{', '.join(options)}: a regression's target is the last variable."
            ) from None
        return cls(made, variables, adjacency, units)

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "Sufficient":
        """Make the statistic of a release file from the result of `describe`."""
        family, units = described["family"], described["units"]
        return cls.of(family, variables, adjacency, units, **described["options"])

    @property
    def variables(self) -> Columns:
        """The variables of the records' columns, in order."""
        return self.over

    @property
    def steps(self) -> int:
        """Number of rounding steps from 0 to the largest value of a component."""
        return self.units or _UNITS

    @property
    def lowest(self) -> int:
        """Smallest value of the first component of one record's rounded statistic."""
        one = Sufficient(self.family, self.over, REPLACE_ONE, self.units)
        return self.steps - int(one.sensitivity(REPLACE_ONE).value)

    @property
    def _measures_complement(self) -> bool:
        return self.adjacency != REPLACE_ONE and self.family.complement is not None

    @property
    def length(self) -> int:
        """Number of the family's statistics, plus 1 if n is measured too."""
        return self.family.dimension + self._measures_complement

    @property
    def most_per_record(self) -> int:
        """Largest absolute value that a record adds to a component: `units`."""
        return self.steps

    def measure(self, records: Real[ArrayLike, "n d"]) -> Int32[Array, " m"]:
        """Compute the exact totals, as a vector of integers.

        Args:
            records: numbers, or indices of levels. Numbers are clipped to the bounds of
                their variables; NaN becomes the variable's `missing`.

        Privacy:
            The result is exact, so it is not private.
        """
        rows = self._round(rows_of(len(self.over), records=records))
        return rows.sum(axis=0, dtype=jnp.int32)

    def _round(self, records: Real[Array, "n d"]) -> Int32[Array, "n m"]:
        records = records.astype(float)
        missing = [x.missing for x in self.over if isinstance(x, Interval)]
        if missing:
            default = jnp.asarray(missing, records.dtype)[None, :]
            records = jnp.where(jnp.isnan(records), default, records)
        scaled = self.family.scaled_statistics(records)
        rounded = jnp.round(scaled * self.steps).astype(jnp.int32)
        if not self._measures_complement:
            return rounded
        carrier = rounded[:, self.family.complement, None]
        return jnp.concatenate([rounded, self.steps - carrier], axis=1)

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        r"""Return the L1 sensitivity of `measure`; it is exact if its `tight` is True.

        Under add-remove it is `units` times the largest L1 norm of scaled statistics,
        attained where all are largest; the number added for n is then 0.
        Under replace-one it is $units \cdot Δ$ on a lattice, with the largest L1 change
        Δ of scaled statistics, and exact in one dimension, since rounding is monotone.
        Otherwise each of K components is rounded by at most ½ + η, with the float32
        error η, and the bound is $units \cdot Δ + K (1 + 2η)$.

        Raises:
            ValueError: for another adjacency, or if all records have equal numbers.
        """
        one_of((self.adjacency,), adjacency=adjacency)
        units, family = self.steps, self.family
        if adjacency != REPLACE_ONE:
            radius = round(family.radius(scaled=True).value)
            return Sensitivity(units * radius, adjacency, tight=True)
        change, tight = family.diameter(scaled=True)
        error = units * 2.0**-21  # a few roundings, each of 2^-24 at most
        if family.lattice is not None:
            most = round(units * change)
        elif family.dimension == 1:
            most = math.floor(units * change + 0.5 + error)
            tight = most == math.ceil(units * change - 0.5 - error)
        else:
            slack = family.dimension * (1 + 2 * error)
            most, tight = math.floor(units * change + slack), False
        if not most:
            remedy = "or the bounds farther apart, so that rounded records differ"
            raise ValueError(f"`units` must be more, {remedy}.")
        return Sensitivity(most, adjacency, tight)

    @property
    def changes(self) -> Changes:
        """Sets of places, and the most by which one record changes their L1 norm.

        Each number has a set of its own, by the range of its statistic after rounding,
        except for the number added for n and component c: together they are `units`.
        Counts of levels form one set.
        """
        family, units = self.family, self.steps
        if family.complement is None:
            return super().changes
        far = 0.5 + units * 2.0**-20  # rounding, and the error of float32
        ends = [
            (math.ceil(units * low - far), math.floor(units * high + far))
            for low, high in family.ranges()
        ]
        if self.adjacency == REPLACE_ONE:
            return tuple(((k,), max(b - a, 1)) for k, (a, b) in enumerate(ends))
        both = family.complement, self.length - 1
        others = (((k,), max(-a, b, 1)) for k, (a, b) in enumerate(ends))
        return ((both, units), *(x for x in others if x[0] != both[:1]))

    def decode(
        self, vector: Flat, n: Scalar | None = None
    ) -> tuple[Float[Array, "*batch s"], Float[Array, "*batch"]]:
        """Recover the sum over records of `family.statistics`, and n, from a vector.

        Args:
            vector: result of `measure`, exact or noisy, with any leading axes.
            n: number of records under replace-one, where it is public; else ignored.

        Returns:
            The sum, in the family's units, and n. With noise there may be no records
            with such a sum; `family.project` finds the nearest possible sum.

        Raises:
            ValueError: if n is None under replace-one.
        """
        scaled = vector.astype(float) / self.steps
        if self.adjacency == REPLACE_ONE:
            if n is None:
                raise ValueError("`n` must be given under replace-one: it is public.")
            n = jnp.broadcast_to(jnp.asarray(n, float), scaled.shape[:-1])
        elif self.family.complement is None:
            n = scaled.sum(axis=-1)
        else:
            n = scaled[..., self.family.complement] + scaled[..., -1]
        scales = np.reshape(self.family.scales(), (1,) * (scaled.ndim - 1) + (-1,))
        return scaled[..., : scales.shape[-1]] * jnp.asarray(scales, scaled.dtype), n

    def describe(self) -> dict[str, object]:
        """Return kind, family, options and units as a JSON object for release files."""
        return {
            "kind": self.kind,
            "family": self.family.name,
            "options": self.family.options(),
            "units": self.units,
        }


def _bounds(variables: Columns) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return lower and upper bounds of numbers, or of categorical level indices."""
    pairs = [
        (x.lower, x.upper) if isinstance(x, Interval) else (0.0, x.size - 1.0)
        for x in variables
    ]
    lower, upper = zip(*pairs, strict=True) if pairs else ((), ())
    return lower, upper
