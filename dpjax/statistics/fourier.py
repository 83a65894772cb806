"""Fourier coefficients of records: marginal tables rebuilt from them always agree."""

__all__ = ["FourierCoefficients"]

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int32

from dpjax._checks import one_of, whole
from dpjax._types import Cells, Flat, Records, Scalar
from dpjax.data.bayes_net import BayesNet, maximal_groups
from dpjax.data.variables import Variable
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Sensitivity
from dpjax.statistics.base import STATISTICS, TableStatistic
from dpjax.statistics.fourier_sensitivity import (
    elementary,
    largest_change_of_order,
    largest_change_over_groups,
)
from dpjax.statistics.record_moments import FourierMoments
from dpjax.tables.counts import PackedRecords, count, odd_parities, parities
from dpjax.tables.counts.packed import check_packed
from dpjax.tables.fourier_basis import (
    DownwardClosure,
    denominators,
    from_coefficients,
    to_coefficients,
)
from dpjax.tables.layout import MOST_CELLS, TableLayout

_MOST_TABLES = 1 << 20
_MOST_BY_PARITY = 8  # variables: with more, a table and its transform are faster


@STATISTICS.add
@dataclass(frozen=True)
class FourierCoefficients(TableStatistic):
    r"""Coefficients $c_\gamma$ of all $\gamma$ in a downward closure, each once.

    Under replace-one n is public: $(n - c_\gamma) / 2$, the number of records of odd
    parity, is measured where all variables of $\gamma$ have two levels, and $c_\gamma$
    elsewhere; $c_\emptyset = n$ is not. Under add-remove all $c_\gamma$ are.

    Args:
        over: the columns of the records.
        adjacency: "replace-one" or "add-remove".
        net: the network whose families are wanted; or None, with
        order: the largest number of variables of a $\gamma$, from 1 to their number.

    Privacy:
        `sensitivity` says by how much one record can move the vector, in L1: exactly,
        by variable elimination over the network's moral graph or by symmetry, or, where
        neither is possible, as a bound (`tight` is False then).

    Raises:
        ValueError: if neither or both of `net` and `order` are given, or out of range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 2 (there for binary
        variables, with sensitivity 2|N| of the coefficients).
    """

    kind: ClassVar[str] = "fourier-coefficients"

    over: tuple[Variable, ...]
    adjacency: str
    net: BayesNet | None = None
    order: int | None = None

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        if (self.net is None) == (self.order is None):
            raise ValueError("`net` or `order` must be given, and not both.")
        if self.order is not None:
            whole(1, order=self.order)
            self._refuse_order(self.order, [x.size for x in self.variables])

    @staticmethod
    def _refuse_order(order: int, sizes: list[int]) -> None:
        """Raise if there are too many tables or cells, found without listing them."""
        number = len(sizes)
        if order > number:
            raise ValueError(
                f"`order` must be at most the number of variables, {number}, got "
                f"{order}."
            )
        # Binomials from the 21st on are above 2^20, and so are tables of 2^29 cells.
        few = min(order, number - order, 21)
        cells = order < 29 and math.comb(number, few) <= _MOST_TABLES
        if not cells or elementary(sizes, order)[order] > MOST_CELLS:
            raise ValueError(
                f"`order` must give at most {_MOST_TABLES} tables and {MOST_CELLS} "
                f"cells, got {order} of {number} variables: use fewer."
            )

    @classmethod
    def of_network(cls, net: BayesNet, adjacency: str) -> "FourierCoefficients":
        """What the families of `net` need."""
        return cls(net.variables, adjacency, net=net)

    @property
    def network(self) -> BayesNet | None:
        """The network, if it is one."""
        return self.net

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the records."""
        return self.over

    @property
    def layout(self) -> TableLayout:
        """The tables that can be rebuilt: families, or marginals of the full order."""
        return self.closure.layout if self.net is None else self.net.layout

    @cached_property
    def closure(self) -> DownwardClosure:
        """The index set; its length is the paper's |N|."""
        sizes = tuple(variable.size for variable in self.variables)
        if self.net is not None:
            return DownwardClosure(sizes, maximal_groups(self.net.families))
        groups = itertools.combinations(range(len(sizes)), self.order or 0)
        return DownwardClosure(sizes, tuple(groups))

    @property
    def _first(self) -> int:
        """Of the slots that are measured: under replace-one, the constant is not."""
        return 1 if self.adjacency == REPLACE_ONE else 0

    @property
    def length(self) -> int:
        """Number of coefficients that are measured."""
        return self._coefficients - self._first

    @cached_property
    def _coefficients(self) -> int:
        """Number of them, the constant included; of an order without a list of them."""
        if self.order is None:
            return len(self.closure)
        return sum(elementary([x.size - 1 for x in self.variables], self.order))

    @property
    def least_length(self) -> int:
        """At most `length`, and found at once, without a list of coefficients.

        Of a network at least half the cells of all families: coefficients of a child
        and of some of its parents belong to no child before it.
        """
        if self.net is None:
            return self.length
        layout, sizes = self.net.layout, self.net.sizes
        cells = zip(sizes, layout.offsets[:-1], layout.offsets[1:], strict=True)
        own = sum((stop - start) // size * (size - 1) for size, start, stop in cells)
        return own + 1 - self._first

    def measure(self, records: Records | PackedRecords) -> Int32[Array, " m"]:
        """The exact vector.

        Args:
            records: level indices; or, of binary variables, what `counts.pack` makes,
                of which coefficients of low order are counted without any table.

        Privacy:
            None: these are exact.
        """
        layout = self.counted
        packed = isinstance(records, PackedRecords)
        if packed and max(map(len, layout.groups), default=0) <= _MOST_BY_PARITY:
            check_packed(records, layout.sizes)
            count_each = odd_parities if self._first else parities
            return count_each(records, self._subsets[self._first :])
        n = records.n if packed else jnp.shape(records)[0]
        return self.of_counts(count(records, layout), n)

    @property
    def counted(self) -> TableLayout:
        """The groups of the closure."""
        return self.closure.layout

    def of_counts(self, counts: Int32[Array, " c"], n: Scalar) -> Int32[Array, " m"]:
        """The exact vector of n records whose tables of `counted` these are.

        Privacy:
            None: these are exact.
        """
        coefficients = to_coefficients(self.counted, counts)
        if len(self.counted.groups) > 1:
            coefficients = coefficients[self.closure.owners]
        measured = coefficients[self._first :]
        if self.adjacency != REPLACE_ONE:
            return measured
        return self._choose((n - measured) // 2, measured)

    @cached_property
    def _subsets(self) -> tuple[tuple[int, ...], ...]:
        """Of binary variables, those of each coefficient."""
        layout, subsets = self.closure.layout, []
        owners = self.closure.owners
        tables = np.searchsorted(layout.offsets, owners, "right") - 1
        for table, entry in zip(tables.tolist(), owners.tolist(), strict=True):
            cell, strides = entry - layout.offsets[table], layout.strides[table]
            subsets.append(tuple(i for i, step in strides.items() if cell & step))
        return tuple(subsets)

    def _choose(self, if_binary: Array, otherwise: Array) -> Array:
        """By coefficient; without a mask in the program where all are of one kind."""
        binary = self.closure.binary[self._first :]
        if binary.all():
            return if_binary
        return jnp.where(
            jnp.broadcast_to(binary, if_binary.shape), if_binary, otherwise
        )

    def sensitivity(self, adjacency: str) -> Sensitivity:
        """L1 sensitivity of `measure`; exact where `tight`.

        Raises:
            ValueError: if the statistic was made for the other adjacency.
        """
        one_of((self.adjacency,), adjacency=adjacency)
        if adjacency != REPLACE_ONE:
            return Sensitivity(self._coefficients, adjacency, tight=True)
        if self.order is not None:
            sizes = [variable.size for variable in self.variables]
            change, tight = largest_change_of_order(sizes, self.order)
        else:
            layout = self.closure.layout  # refused if it has too many cells
            change, tight = largest_change_over_groups(layout.sizes, layout.groups)
        return Sensitivity(round(change), adjacency, tight)

    def coefficients(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """All $c_\\gamma$ behind a measured or noisy vector, the constant first."""
        if self.adjacency != REPLACE_ONE:
            return vector
        if n is None:
            raise ValueError("`n` must be given under replace-one, where it is public.")
        n = jnp.asarray(n, vector.dtype)
        decoded = self._choose(n - 2 * vector, vector)
        constant = jnp.broadcast_to(n, (*vector.shape[:-1], 1))
        return jnp.concatenate([constant, decoded], axis=-1)

    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Counts of every table, mutually consistent to rounding, possibly negative."""
        coefficients = self.coefficients(vector, n).astype(float)
        numerators = from_coefficients(self.layout, self._spread(coefficients))
        scale = jnp.asarray(denominators(self.layout), numerators.dtype)
        return numerators / jnp.broadcast_to(scale, numerators.shape)

    def record_moments(self) -> FourierMoments:
        """Moments of a record's coefficients: see `TableStatistic.record_moments`."""
        return FourierMoments(self.layout, self.closure, bool(self._first))

    def exact_tables(
        self, vector: ArrayLike, n: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Numerators and denominators of every cell, in 64-bit integers on the host.

        Two tables agree on what they share to the last integer.
        """
        values = np.asarray(vector, np.int64)
        if self.adjacency == REPLACE_ONE:
            if n is None:
                raise ValueError("`n` must be given under replace-one.")
            binary = self.closure.binary[1:]
            values = np.where(binary, n - 2 * values, values)
            values = np.concatenate([np.array([n]), values])
        numerators = from_coefficients(self.layout, self._spread(values))
        return numerators, denominators(self.layout)

    def _spread(self, coefficients):
        places = self.closure.places(self.layout)
        if self.layout == self.closure.layout and len(self.layout.groups) == 1:
            return coefficients
        return coefficients[..., places]

    def describe(self) -> dict[str, object]:
        """Kind, basis and which coefficients."""
        which = {} if self.order is None else {"order": self.order}
        basis = "residual contrasts with level 0"
        return {"kind": self.kind, "basis": basis, **which}

    @classmethod
    def from_description(
        cls,
        described: Mapping[str, Any],
        variables: Any,
        net: BayesNet | None,
        adjacency: str,
    ) -> "FourierCoefficients":
        """The statistic that `describe` described."""
        return cls(variables, adjacency, net, described.get("order"))
