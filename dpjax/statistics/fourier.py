"""Fourier coefficients of records, which give mutually consistent marginal tables."""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int32

from dpjax._checks import one_of, whole
from dpjax._types import Cells, Described, Flat, Records, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import STATISTICS, TableStatistic
from dpjax.statistics.fourier_sensitivity import (
    CHANGES,
    SQUARES,
    Measured,
    elementary,
    largest_change_of_order,
    largest_change_over_groups,
    refuse_order,
)
from dpjax.statistics.record_moments import FourierMoments
from dpjax.tables.counts import PackedRecords, count, odd_parities, parities
from dpjax.tables.counts.packed import check_packed, is_packed
from dpjax.tables.fourier_basis import (
    DownwardClosure,
    denominators,
    from_coefficients,
    to_coefficients,
)
from dpjax.tables.layout import TableLayout, maximal_groups

_MOST_BY_PARITY = 8  # variables of a group; with more, transforming tables is faster


@STATISTICS.add
@dataclass(frozen=True)
class FourierCoefficients(TableStatistic):
    r"""Fourier coefficients $c_\gamma$ of records, which determine marginal tables.

    An index $\gamma$ has one entry for each variable, and its variables are those with
    entry > 0; the module fourier_basis.py defines $c_\gamma$. Under add-remove, all
    $c_\gamma$ are measured. Under replace-one, the number of records n is public, so
    $c_0 = n$ is not measured; if all variables of $\gamma$ have two levels, the number
    of records of odd parity, $(n - c_\gamma) / 2$, is measured instead of $c_\gamma$.

    Args:
        over: the variables of the records' columns.
        adjacency: "replace-one" or "add-remove".
        net: the network whose node tables (each node with its parents) are wanted.
        order: instead of `net`, the largest number of variables of an index.

    Privacy:
        `sensitivity` is exact, by variable elimination over the network's moral graph
        or by symmetry; if that is too expensive, it is a bound (`tight` is False).

    Raises:
        ValueError: if both or neither of `net` and `order` are given, `order` is out of
            range, or the network has impossible combinations.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 2 (there for binary
        variables, with sensitivity twice the number of coefficients).
    """

    kind: ClassVar[str] = "fourier-coefficients"

    over: tuple[Categorical, ...]
    adjacency: Adjacency
    net: BayesNet | None = None
    order: int | None = None

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        if (self.net is None) == (self.order is None):
            raise ValueError("`net` or `order` must be given, and not both.")
        if self.net is not None:
            self.net.refuse_impossible("Fourier coefficients")
        if self.order is not None:
            whole(1, order=self.order)
            refuse_order(self.order, [x.size for x in self.variables])

    @classmethod
    def of_network(cls, net: BayesNet, adjacency: Adjacency) -> "FourierCoefficients":
        """Make the statistic that determines the tables of `net` (its `layout`)."""
        return cls(net.variables, adjacency, net=net)

    @property
    def network(self) -> BayesNet | None:
        """The network, or None if the statistic was made with `order`."""
        return self.net

    @property
    def variables(self) -> tuple[Categorical, ...]:
        """The variables of the records' columns, in order."""
        return self.over

    @property
    def layout(self) -> TableLayout:
        """Layout of the network's tables, or of all tables of `order` variables."""
        return self.closure.layout if self.net is None else self.net.layout

    @cached_property
    def closure(self) -> DownwardClosure:
        """Indices of the coefficients that determine the tables."""
        sizes = tuple(variable.size for variable in self.variables)
        if self.net is not None:
            return DownwardClosure(sizes, maximal_groups(self.net.families))
        groups = itertools.combinations(range(len(sizes)), self.order or 0)
        return DownwardClosure(sizes, tuple(groups))

    @property
    def _first(self) -> int:
        """Number of the first measured coefficient; coefficient 0 is n."""
        return 1 if self.adjacency == REPLACE_ONE else 0

    @property
    def length(self) -> int:
        """Number of measured coefficients."""
        return self._coefficients - self._first

    @cached_property
    def _coefficients(self) -> int:
        """Number of coefficients, including n, without listing them under `order`."""
        if self.order is None:
            return len(self.closure)
        return sum(elementary([x.size - 1 for x in self.variables], self.order))

    @property
    def least_length(self) -> int:
        """Lower bound of `length`, without listing coefficients.

        For a network, the bound is at least half the number of cells of all node
        tables, since coefficients of a node and some of its parents are distinct.
        """
        if self.net is None:
            return self.length
        layout, sizes = self.net.layout, self.net.sizes
        cells = zip(sizes, layout.offsets[:-1], layout.offsets[1:], strict=True)
        own = sum((stop - start) // size * (size - 1) for size, start, stop in cells)
        return own + 1 - self._first

    def measure(self, records: Records | PackedRecords) -> Int32[Array, " m"]:
        """Compute the exact statistic of the records.

        Args:
            records: level indices; or, for binary variables, the result of
                `dpjax.tables.counts.pack`, which is faster for small groups.

        Privacy:
            The result is exact, so it is not private.
        """
        layout = self.counted
        if not is_packed(records):
            n = jnp.shape(cast(Array, records))[0]
            return self.of_counts(count(records, layout), n)
        if max(map(len, layout.groups), default=0) > _MOST_BY_PARITY:
            return self.of_counts(count(records, layout), records.n)
        check_packed(records, layout.sizes)
        count_each = odd_parities if self._first else parities
        return count_each(records, self._subsets[self._first :])

    @property
    def counted(self) -> TableLayout:
        """Layout of the tables whose exact counts determine the statistic."""
        return self.closure.layout

    def of_counts(self, counts: Any, n: Any) -> Any:
        """Compute the statistic of n records from their counts, laid out by `counted`.

        Privacy:
            The result is exact, so it is not private.
        """
        coefficients = to_coefficients(self.counted, counts)
        if len(self.counted.groups) > 1:
            coefficients = coefficients[self.closure.owners]
        measured = coefficients[self._first :]
        if not self._first:
            return measured
        return self._choose((n - measured) // 2, measured)

    @cached_property
    def _subsets(self) -> tuple[tuple[int, ...], ...]:
        """The variables of each coefficient, if all variables are binary."""
        layout, subsets = self.closure.layout, []
        owners = self.closure.owners
        tables = np.searchsorted(layout.offsets, owners, "right") - 1
        for table, entry in zip(tables.tolist(), owners.tolist(), strict=True):
            cell, strides = entry - layout.offsets[table], layout.strides[table]
            subsets.append(tuple(i for i, step in strides.items() if cell & step))
        return tuple(subsets)

    def _choose(self, if_binary: Any, otherwise: Any) -> Any:
        """Select `if_binary` for each coefficient whose variables are all binary."""
        binary = self.closure.binary[self._first :]
        if binary.all():
            return if_binary
        if isinstance(if_binary, np.ndarray):
            return np.where(binary, if_binary, otherwise)
        return jnp.where(
            jnp.broadcast_to(binary, if_binary.shape), if_binary, otherwise
        )

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of `measure`; it is exact if its `tight` is True.

        Raises:
            ValueError: if the statistic was made for another adjacency.
        """
        return self._largest(adjacency, CHANGES)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the squared L2 sensitivity; it is exact if its `tight` is True."""
        return self._largest(adjacency, SQUARES)

    def _largest(self, adjacency: Adjacency, measured: Measured) -> Sensitivity:
        one_of((self.adjacency,), adjacency=adjacency)
        if adjacency != REPLACE_ONE:  # a record adds -1, 0 or 1 to each coefficient
            return Sensitivity(self._coefficients, adjacency, tight=True)
        if self.order is not None:
            sizes = [variable.size for variable in self.variables]
            change, tight = largest_change_of_order(sizes, self.order, measured)
        else:
            layout = self.closure.layout  # raises if it has too many cells
            found = layout.sizes, layout.groups, measured
            change, tight = largest_change_over_groups(*found)
        return Sensitivity(round(change), adjacency, tight)

    def coefficients(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Recover all coefficients from `vector`: the number of records comes first."""
        if not self._first:
            return vector
        if n is None:
            raise ValueError("`n` must be given under replace-one, where it is public.")
        n = jnp.asarray(n, vector.dtype)
        decoded = self._choose(n - 2 * vector, vector)
        constant = jnp.broadcast_to(n, (*vector.shape[:-1], 1))
        return jnp.concatenate([constant, decoded], axis=-1)

    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Compute consistent tables from a vector; noisy cells may be negative."""
        coefficients = self.coefficients(vector, n).astype(float)
        numerators = from_coefficients(self.layout, self._spread(coefficients))
        scale = jnp.asarray(denominators(self.layout), numerators.dtype)
        return numerators / jnp.broadcast_to(scale, numerators.shape)

    def record_moments(self) -> FourierMoments:
        """Return the moments of one record: see `TableStatistic.record_moments`."""
        return FourierMoments(self.layout, self.closure, bool(self._first))

    def exact_tables(
        self, vector: ArrayLike, n: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables exactly, as 64-bit numerators and denominators of cells."""
        values = np.asarray(vector, np.int64)
        if self._first:
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
        """Return the kind, the basis and, if given, the order for release files."""
        which = {} if self.order is None else {"order": self.order}
        return {"kind": self.kind, "basis": "residual contrasts with level 0", **which}

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Any,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "FourierCoefficients":
        """Make the statistic of a release file from the result of `describe`."""
        return cls(variables, adjacency, net, described.get("order"))
