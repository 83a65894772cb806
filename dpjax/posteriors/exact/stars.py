"""Stars of a network, and what is released of one: the inputs of exact inference."""

__all__ = ["Component", "Leaves", "Star", "cells_of", "stars"]

from collections import defaultdict
from dataclasses import dataclass

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from dpjax._types import Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.noise import LaplaceLaw
from dpjax.tables.layout import TableLayout


class Leaves(eqx.Module):
    """Leaves with equally many levels: a row a leaf and level of the hub.

    Args:
        values: noisy counts.
        alpha: Dirichlet parameters.
        noise: the law of every leaf's table, with rates (leaves, 1).
    """

    values: Float[Array, "cells leaves levels"]
    alpha: Float[Array, "cells leaves levels"]
    noise: LaplaceLaw


class Star(eqx.Module):
    """What was released of a star, and the prior.

    Args:
        values: noisy counts of the hub's levels; what is not `seen` is ignored.
        alpha: Dirichlet parameters of the hub's probabilities.
        leaves: groups of leaves.
        n: the number of records, where it is public.
        noise: the law of `values`, with one rate.
        seen: which levels of the hub were measured on their own.
        step: by how much one record moves a number of the release.
        given: whether all `alpha` are probabilities, which are not to be inferred.
    """

    values: Float[Array, " levels"]
    alpha: Float[Array, " levels"]
    leaves: list[Leaves]
    n: Scalar | None
    noise: LaplaceLaw
    seen: tuple[bool, ...] = eqx.field(static=True)
    step: int = eqx.field(static=True, default=1)
    given: bool = eqx.field(static=True, default=False)


@dataclass(frozen=True)
class Component:
    """A variable without parents, and others whose only parent it is.

    Args:
        hub: index of the variable without parents.
        leaves: the others, in groups of those with equally many levels.
    """

    hub: int
    leaves: tuple[tuple[int, ...], ...]

    def places(self, layout: TableLayout) -> list[np.ndarray]:
        """Where hub and groups of leaves are in a vector: (cells, leaves, levels)."""
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
    """Where the cells of tables of one shape are: (levels, tables, rows)."""
    cells = np.arange(rows * levels).reshape(rows, levels)
    places = np.asarray(starts)[:, None, None] + cells[None]
    return places.transpose(2, 0, 1).astype(np.int32)
