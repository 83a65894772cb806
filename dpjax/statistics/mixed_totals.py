"""Counts and sums of a network with numeric leaves, in one fixed-point unit."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, Real

from dpjax._checks import one_of
from dpjax._types import Described, Flat
from dpjax.data.bayes_net import BayesNet
from dpjax.data.kinds import AnyVariable
from dpjax.data.mixed_net import MixedNet
from dpjax.privacy import ADD_REMOVE, ADJACENCIES, REPLACE_ONE, Adjacency, Sensitivity
from dpjax.statistics.base import STATISTICS, Columns, Statistic
from dpjax.statistics.network_counts import NetworkCounts
from dpjax.statistics.sufficient import Sufficient

_SQUARES = " squared"


@STATISTICS.add
@dataclass(frozen=True)
class MixedTotals(Statistic):
    r"""Counts of a network's categorical variables, and totals of its numeric leaves.

    The tables are those of `NetworkCounts`, with each count multiplied by `units`. Then
    follow, for each leaf, three numbers for each row, a combination of its parents'
    levels. With $z = (x - c) / h$ for a value x, clipped to bounds of middle c and half
    width h, they are sums over the records of the row: of $u_1 = round(units \cdot z)$,
    of $u_2 = round(units \cdot z^2)$ and of $units - u_2$. The last two sums add up to
    the number of records of the row, which is thus measured at no further cost. These
    are the numbers of `Sufficient` for the Gaussian family. The vector has the sums of
    $u_1$ for all rows, then those of $u_2$, then the last sums.

    Args:
        net: the network.
        adjacency: "replace-one" or "add-remove".
        families: "maximal" or "all", as for `NetworkCounts`.
        units: number of steps of a count, and of the half width of the bounds, as for
            `Sufficient`. None means 1024.

    Privacy:
        One record adds `units` in absolute value to each table, at most `units` to the
        first sums of each leaf, and exactly `units` to its other sums. For t tables and
        l leaves, the L1 sensitivity is units (t + 2 l) under add-remove, and twice as
        much under replace-one. It is exact, but for replace-one where a leaf has only
        one row, and so no parents.

    Raises:
        ValueError: if the adjacency or `families` is unknown, or `units` is out of
            range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1, for the tables; Foulds,
        Geumlek, Welling & Chaudhuri (UAI-16), equations 16-17, for the leaves.
    """

    kind: ClassVar[str] = "mixed-totals"
    format_version: ClassVar[int] = 2

    net: MixedNet
    adjacency: Adjacency
    families: str = "maximal"
    units: int | None = None

    def __post_init__(self):
        one_of(ADJACENCIES, adjacency=self.adjacency)
        object.__setattr__(self, "units", self.rows[0].units)
        _ = self.counts  # checks `families`

    @cached_property
    def counts(self) -> NetworkCounts:
        """The counts of the categorical variables, which are not multiplied."""
        return NetworkCounts(self.net.discrete, self.families)

    @cached_property
    def rows(self) -> tuple[Sufficient, ...]:
        """For each leaf, the statistic of the records of one row."""
        return tuple(
            Sufficient.of("gaussian", (leaf,), ADD_REMOVE, self.units)
            for leaf in self.net.leaves
        )

    @property
    def variables(self) -> tuple[AnyVariable, ...]:
        """The variables of the network."""
        return self.net.variables

    @property
    def length(self) -> int:
        """Number of cells of the measured tables, and three for each row of a leaf."""
        return self.starts[-1]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Index of each leaf's first number, then the length."""
        shapes = (self.net.shape(leaf) for leaf in range(len(self.net.leaves)))
        lengths = [3 * math.prod(shape) for shape in shapes]
        return tuple(itertools.accumulate(lengths, initial=self.counts.length))

    @property
    def steps(self) -> int:
        """Number of steps of a count, and of the half width of the bounds."""
        return self.rows[0].steps

    @property
    def most_per_record(self) -> int:
        """Largest absolute value that a record adds to a number: `units`."""
        return self.steps

    def measure(self, records: Real[Array, "n d"]) -> Int32[Array, " m"]:
        """Compute the exact counts and totals, as one vector of integers.

        Args:
            records: level indices and numbers in columns of floats (`Schema.encode`).
                Numbers are clipped to the bounds; NaN becomes a variable's `missing`.

        Privacy:
            The result is exact, so it is not private.
        """
        codes, columns = self.split_records(records)
        parts = [self.counts.measure(codes) * self.steps]
        for leaf, row in enumerate(self.rows):
            values = columns[:, leaf, None, None]
            each = jax.vmap(row.measure)(values)  # of one record
            size = math.prod(self.net.shape(leaf))
            place = self.row_of(codes, leaf)
            sums = jnp.zeros((size, 3), jnp.int32).at[place].add(each)
            parts.append(sums.T.ravel())
        return jnp.concatenate(parts)

    def split_records(
        self, records: Real[Array, "n d"]
    ) -> tuple[Int32[Array, "n v"], Real[Array, "n l"]]:
        """Return the level indices and the numbers of records, as separate arrays."""
        records = jnp.asarray(records)
        net = self.net
        codes = records[:, np.array(net.columns(net.discrete.variables))]
        return codes.astype(jnp.int32), records[:, np.array(net.columns(net.leaves))]

    def row_of(self, codes: Int32[Array, "n v"], leaf: int) -> Int32[Array, " n"]:
        """Return the row of a leaf's parents for each record's level indices."""
        found = jnp.zeros(len(codes), jnp.int32)
        shape, parents = self.net.shape(leaf), self.net.leaf_parents[leaf]
        for size, parent in zip(shape, parents, strict=True):
            found = found * size + codes[:, parent]
        return found

    def sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of `measure`, given with the class.

        Raises:
            ValueError: if the statistic was made for another adjacency.
        """
        one = self.part_sensitivity(adjacency)
        tight = adjacency != REPLACE_ONE or all(self.net.leaf_parents)
        return Sensitivity(int(one.value) * self.price, adjacency, tight)

    def squared_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return an upper bound of the squared L2 sensitivity.

        In squares of `units`, it is 2 for a table and 6 for a leaf under replace-one: a
        row's first sum changes by at most 2 units, and the others by at most `units`
        each. Under add-remove it is 1 for a table, and 2 for a leaf.
        """
        one_of((self.adjacency,), adjacency=adjacency)
        table, leaf = (2, 6) if adjacency == REPLACE_ONE else (1, 2)
        tables = len(self.counts.measured.groups)
        squares = table * tables + leaf * len(self.rows)
        return Sensitivity(squares * self.steps**2, adjacency, tight=False)

    @property
    def price(self) -> int:
        """The number of tables that would have the same sensitivity: 2 for a leaf."""
        return len(self.counts.measured.groups) + 2 * len(self.rows)

    def part_sensitivity(self, adjacency: Adjacency) -> Sensitivity:
        """Return the L1 sensitivity of one of `parts`, equal and exact for all.

        Under replace-one it is 2 units. In one row, the first sum changes by at most
        2 units, and the others by at most `units` each, in opposite directions.
        """
        one_of((self.adjacency,), adjacency=adjacency)
        change = 2 if adjacency == REPLACE_ONE else 1
        return Sensitivity(change * self.steps, adjacency, tight=True)

    @cached_property
    def parts(self) -> dict[str, int]:
        """Lengths of the tables by their last variable, then of each leaf's sums.

        The first sums of a leaf have its name, and the others " squared" after it.
        """
        found = dict(self.counts.parts)
        for leaf, (start, end) in zip(
            self.net.leaves, itertools.pairwise(self.starts), strict=True
        ):
            rows = (end - start) // 3
            for name, length in ((leaf.name, rows), (leaf.name + _SQUARES, 2 * rows)):
                if name in found:
                    raise ValueError(
                        "`split` must have one part of each name, got two "
                        f"{name!r:.80}: rename one of the variables."
                    )
                found[name] = length
        return found

    def split(
        self, vector: Flat
    ) -> tuple[Float[Array, "*batch c"], list[Float[Array, "*batch r 3"]]]:
        """Split a vector, exact or noisy, into counts and the numbers of leaves' rows.

        Counts are divided by `units`; the numbers of a row are as in `rows`.
        """
        vector = jnp.asarray(vector, float)
        pieces = []
        for start, end in itertools.pairwise(self.starts):
            piece = vector[..., start:end].reshape(*vector.shape[:-1], 3, -1)
            pieces.append(jnp.swapaxes(piece, -1, -2))
        return vector[..., : self.starts[0]] / self.steps, pieces

    def describe(self) -> dict[str, object]:
        """Return kind, network and options as a JSON object for release files."""
        return {
            "kind": self.kind,
            "parents": self.net.parent_names(),
            "families": self.families,
            "units": self.units,
        }

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "MixedTotals":
        """Make the statistic of a release file from the result of `describe`."""
        by_name: Any = {variable.name: variable for variable in variables}
        mixed = MixedNet.from_parents(by_name, described["parents"])
        return cls(mixed, adjacency, described["families"], described["units"])
