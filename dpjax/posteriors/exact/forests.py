"""Networks whose components are stars, and what a release says of each star."""

__all__ = ["Component", "Sums", "stars"]

from collections import defaultdict
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32

from dpjax.data.bayes_net import BayesNet
from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.star_inputs import Leaves, Star, Windows
from dpjax.statistics import TableStatistic
from dpjax.tables.layout import TableLayout


@dataclass(frozen=True)
class Component:
    """A variable without parents, and others whose only parent it is.

    Args:
        hub: index of the variable without parents.
        leaves: the others, in groups of those with equally many levels.
    """

    hub: int
    leaves: tuple[tuple[int, ...], ...]

    def star(self, sums: "Sums", given: Array | None = None) -> Star:
        """The part of a release and its prior, or given tables, on this component."""
        statistic, values, noise = sums.statistic, sums.values, sums.law
        prior = sums.prior if given is None else given
        layout = statistic.measured
        assert layout is not None  # as `family_counts` has it
        tables = {group: table for table, group in enumerate(layout.groups)}
        hub, *places = self.places(statistic.layout)
        hub = hub[:, 0, 0]
        seen = (self.hub,) in tables
        start, own = 0, jnp.zeros(len(hub), values.dtype)
        if seen:
            start = layout.offsets[tables[self.hub,]]
            own = values[start : start + len(hub)]
        groups = []
        for leaves, alpha in zip(self.leaves, places, strict=True):
            starts = [layout.offsets[tables[self.hub, leaf]] for leaf in leaves]
            noisy = _cells(starts, alpha.shape[2], alpha.shape[0])
            law = noise.of(np.array(starts, np.int32)[:, None])
            groups.append(Leaves(values[noisy].astype(float), prior[alpha], law))
        seen, law = (seen,) * len(hub), noise.of(start)
        known = given is not None
        return Star(
            own.astype(float), prior[hub], groups, sums.n, law, seen, given=known
        )

    def places(self, layout: TableLayout) -> list[np.ndarray]:
        """Where hub and groups of leaves are in a vector: (cells, leaves, levels)."""
        size = layout.sizes[self.hub]
        places = [_cells([layout.offsets[self.hub]], 1, size)]
        for leaves in self.leaves:
            starts = [layout.offsets[leaf] for leaf in leaves]
            places.append(_cells(starts, size, layout.sizes[leaves[0]]))
        return places


class Sums(eqx.Module):
    """What is summed over: a release, its law and a prior.

    Args:
        values: of the release.
        law: of every number of it.
        prior: laid out as the network's tables; or probabilities that are `given`.
        n: the number of records, where it is public.
        statistic: what was measured.
        windows: of hidden counts.
    """

    values: Float[Array, "*batch m"]
    law: LaplaceLaw
    prior: Float[Array, " c"]
    n: Int32[Array, "*batch"] | None
    statistic: TableStatistic = eqx.field(static=True)
    windows: Windows = eqx.field(static=True)

    @property
    def layout(self) -> TableLayout:
        """Of the network's tables."""
        return self.statistic.layout

    @property
    def components(self) -> tuple[Component, ...]:
        """The network's stars."""
        return stars(self.statistic.network) or ()


def stars(net: BayesNet | None) -> tuple[Component, ...] | None:
    """The network's components, or None if some component is not a star."""
    if net is None:
        return None
    children = defaultdict(list)
    for i, parents in enumerate(net.parents):
        if len(parents) > 1 or any(net.parents[parent] for parent in parents):
            return None
        for parent in parents:
            children[parent].append(i)
    found = []
    for hub in (i for i, parents in enumerate(net.parents) if not parents):
        groups = defaultdict(list)
        for leaf in children[hub]:
            groups[net.sizes[leaf]].append(leaf)
        found.append(Component(hub, tuple(map(tuple, groups.values()))))
    return tuple(found)


def _cells(starts: list[int], rows: int, levels: int) -> np.ndarray:
    """Where the cells of tables of one shape are: (levels, tables, rows)."""
    cells = np.arange(rows * levels).reshape(rows, levels)
    places = np.asarray(starts)[:, None, None] + cells[None]
    return places.transpose(2, 0, 1).astype(np.int32)
