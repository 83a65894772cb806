"""The stars of a network, and the places of their cells in its layout."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32

from dpjax.data.bayes_net import BayesNet
from dpjax.tables.layout import TableLayout

_MOST_PADDING = 8  # ratio of levels in a group: fewer groups are compiled faster


@dataclass(frozen=True)
class Component:
    """A star, made of a hub without parents and leaves whose only parent is the hub."""

    hub: int
    leaves: tuple[tuple[int, ...], ...]  # in groups, each padded to its first's levels

    def places(self, layout: TableLayout) -> list[np.ndarray]:
        """Indices of the cells of the hub and of each group of leaves in `layout`.

        Each array has the axes (own levels, leaves, levels of the hub). The index of
        padding is the length of the layout.
        """
        sizes, size = layout.sizes, layout.sizes[self.hub]
        hub = cells_of([layout.offsets[self.hub]], 1, [size], layout.length)
        return [hub] + [
            cells_of(
                [layout.offsets[i] for i in group],
                size,
                [sizes[i] for i in group],
                layout.length,
            )
            for group in self.leaves
        ]


def stars(net: BayesNet | None) -> tuple[Component, ...] | None:
    """Return the stars of a network, or None if a connected component is not a star."""
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
        groups: list[list[int]] = []
        for leaf in sorted(children[hub], key=lambda i: -net.sizes[i]):
            if not groups or net.sizes[groups[-1][0]] > _MOST_PADDING * net.sizes[leaf]:
                groups.append([])
            groups[-1].append(leaf)
        found.append(Component(hub, tuple(map(tuple, groups))))
    return tuple(found)


def cells_of(
    starts: list[int], rows: int, sizes: list[int], padding: int
) -> Int32[np.ndarray, "cells tables rows"]:
    """Indices of the cells of tables that are padded to one number of levels."""
    shape = max(sizes), len(sizes), rows
    level, table, row = np.ix_(*map(np.arange, shape))
    size = np.array(sizes)[table]
    places = np.array(starts)[table] + row * size + level
    return np.where(level < size, places, padding).astype(np.int32)
