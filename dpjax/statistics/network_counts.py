"""Contingency tables of a network's nodes with their parents."""

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int64

from dpjax._checks import one_of
from dpjax._types import Cells, Described, Flat, Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.encoding import encode_batches
from dpjax.data.grouping import Grouped, grouped_by_engine, weighted_counts
from dpjax.data.sources import Table
from dpjax.privacy import Adjacency
from dpjax.statistics.base import STATISTICS, Columns, NodeTableStatistic
from dpjax.statistics.cell_statistic import CellStatistic
from dpjax.tables.counts import count_batches
from dpjax.tables.gathers import Gather, add, cells_to_sum, take
from dpjax.tables.layout import TableLayout, maximal_groups

_MOST_SLICES = 8


@STATISTICS.add
@dataclass(frozen=True)
class NetworkCounts(CellStatistic, NodeTableStatistic):
    """Contingency tables of each variable of a network with its parents (node tables).

    Args:
        net: the network.
        families: "maximal" measures only the node tables whose variables no other node
            table contains, and derives the others by summation; "all" measures one
            table for each variable, as in Algorithm 1 of the reference.

    Privacy:
        For t measured tables, the L1 sensitivity is t under add-remove, where one cell
        of each table changes by 1, and 2t under replace-one, where two cells of each
        table change by 1 if the records differ in all variables. With "all", t is the
        number of variables.

    Raises:
        ValueError: if `families` is neither "maximal" nor "all".

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1 and Lemma 1 (there for
        binary variables and replacement, with all node tables measured).
    """

    kind: ClassVar[str] = "family-counts"

    net: BayesNet
    families: str = "maximal"

    def __post_init__(self):
        one_of(("maximal", "all"), families=self.families)

    @cached_property
    def measured(self) -> TableLayout:
        """Layout of the tables whose cells are the components of the statistic."""
        groups = self.net.families
        measured = maximal_groups(groups) if self.families == "maximal" else groups
        return TableLayout(self.net.sizes, measured)

    @cached_property
    def parts(self) -> dict[str, int]:
        """Number of cells of each measured table, by the name of its last variable."""
        names = [self.net.names[group[-1]] for group in self.measured.groups]
        cells = np.diff(self.measured.offsets).tolist()
        return dict(zip(names, cells, strict=True))

    def tables(self, vector: Flat, n: Scalar | None = None) -> Cells:
        """Return the tables of all variables with their parents, in one flat vector."""
        return vector if self._pieces[1] is None else self._joined(vector)

    @partial(jax.jit, static_argnums=0, inline=True)
    def _joined(self, vector: Flat) -> Cells:
        pieces, summed = self._pieces
        assert summed is not None
        both = jnp.concatenate([vector, summed(add, vector, 0)], axis=-1)
        if len(pieces) > _MOST_SLICES:  # slow to compile
            places = [np.arange(*x, dtype=np.uint32) for x in pieces]
            return take(both, np.concatenate(places))
        return jnp.concatenate([both[..., slice(*x)] for x in pieces], axis=-1)

    @cached_property
    def _pieces(self) -> tuple[list[tuple[int, int]], Gather | None]:
        """Slices of all node tables from the measured tables and the sums after them.

        The sums are those of cells of measured tables that give the other tables.
        """
        measured, end = self.measured, self.measured.length
        pieces: list[tuple[int, int]] = []
        places: list[np.ndarray] = []
        starts = dict(zip(measured.groups, measured.offsets[:-1], strict=True))
        for family in self.net.families:
            start, length = starts.get(family), math.prod(measured.shape(family))
            if start is None:
                places += cells_to_sum(measured, family)
                start, end = end, end + length
            follows = pieces and pieces[-1][1] == start
            pieces.append((pieces.pop()[0] if follows else start, start + length))
        return pieces, Gather.of(places, measured.length) if places else None

    def describe(self) -> dict[str, object]:
        """Return `kind` and `families`; a release file describes the network itself."""
        return {"kind": self.kind, "families": self.families}

    @classmethod
    def from_description(
        cls,
        described: Described,
        variables: Columns,
        net: BayesNet | None,
        adjacency: Adjacency,
    ) -> "NetworkCounts":
        """Make the statistic of a release file with network `net` from `describe`."""
        if net is None:
            raise ValueError("`parents` must be given for counts of a network.")
        return cls(net, families=described["families"])


def exact_counts(
    net: BayesNet,
    source: Table | Grouped,
    *,
    families: str = "maximal",
    ignore: str | Collection[str] = (),
    mesh: Mesh | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> Int64[np.ndarray, " m"]:
    """Count a network's node tables over a source of any length, in bounded memory.

    Args:
        net: the network, whose variables give the levels of the columns.
        source: any source of `Schema.encode_batches`: a Parquet, CSV or CSV.gz file, a
            folder or a list of files, an Arrow data set, table or reader, or an
            iterable of tables or of arrays of encoded records. It is read once. A lazy
            table is counted in its engine, as by `dpjax.release`.
        families: "maximal" or "all", as in `NetworkCounts`.
        ignore: columns outside the network to leave out; "*" for all.
        mesh: devices of this process to count on; None means the default device.
        progress: function that wraps the iterable of batches, such as `tqdm`.

    Returns:
        The vector `NetworkCounts(net, families).measure(records)` of all records, as
        64-bit integers, so that it is exact beyond 2^31 records.

    Privacy:
        The counts are exact, so they are not private. To publish, use `dpjax.release`.

    Raises:
        ValueError: if the source cannot be read or does not fit the network. The
            message names the file, and the row group or row if it is known, and never
            shows a value.
    """
    statistic = NetworkCounts(net, families)
    layout = statistic.measured
    grouped = grouped_by_engine(source, net.variables, layout, ignore)
    if grouped is not None:
        counts, _ = weighted_counts(grouped, net.variables, layout, ignore=ignore)
    else:
        batches = encode_batches(source, net.variables, ignore=ignore)
        counts = count_batches(progress(batches), layout, mesh=mesh)
    statistic.refuse_impossible(counts)
    return counts
