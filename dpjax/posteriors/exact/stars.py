"""Stars of a network, and the released numbers of each: inputs of exact inference."""

__all__ = ["Component", "Leaves", "Star", "cells_of", "stars"]

from collections import defaultdict
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int32

from dpjax.data.bayes_net import BayesNet
from dpjax.noise import LaplaceLaw
from dpjax.tables.layout import TableLayout


class Leaves(eqx.Module):
    """Leaves with equally many levels: a row for each leaf and level of the hub."""

    values: Float[Array, "cells leaves levels"]  # noisy counts
    alpha: Float[Array, "cells leaves levels"]  # Dirichlet parameters
    noise: LaplaceLaw  # with rates (leaves, 1)


class Star(eqx.Module):
    """The released numbers of a star, and the prior."""

    values: Float[Array, " levels"]  # noisy counts of the hub's levels, where `seen`
    alpha: Float[Array, " levels"]  # Dirichlet parameters of the hub
    leaves: list[Leaves]
    n: Int32[Array, ""] | None  # where it is public
    noise: LaplaceLaw  # the law of `values`, with one rate
    seen: tuple[bool, ...] = eqx.field(static=True)  # measured on their own
    step: int = eqx.field(static=True, default=1)  # change of a number by one record
    given: bool = eqx.field(static=True, default=False)  # `alpha` are probabilities


@dataclass(frozen=True)
class Component:
    """A variable without parents, and others whose only parent it is."""

    hub: int
    leaves: tuple[tuple[int, ...], ...]  # in groups of equally many levels

    def places(self, layout: TableLayout) -> list[np.ndarray]:
        """Indices of hub and groups of leaves in a vector: (cells, leaves, levels)."""
        size = layout.sizes[self.hub]
        hub = cells_of([layout.offsets[self.hub]], 1, size)
        return [hub] + [
            cells_of([layout.offsets[i] for i in group], size, layout.sizes[group[0]])
            for group in self.leaves
        ]


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


def cells_of(starts: list[int], rows: int, levels: int) -> np.ndarray:
    """Indices of the cells of tables of one shape: (levels, tables, rows)."""
    cells = np.arange(rows * levels).reshape(rows, levels)
    places = np.asarray(starts)[:, None, None] + cells[None]
    return places.transpose(2, 0, 1).astype(np.int32)
