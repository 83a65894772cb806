"""Contingency tables of a network's families: the posterior updates themselves."""

__all__ = ["FamilyCounts"]

import functools
import math
from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32

from dpjax._checks import one_of
from dpjax._types import Cells, Flat, Records
from dpjax.counts import count
from dpjax.graph import BayesNet, maximal_groups
from dpjax.layout import TableLayout
from dpjax.privacy import ADJACENCIES, REPLACE_ONE, Sensitivity
from dpjax.statistics.base import Statistic


@dataclass(frozen=True)
class FamilyCounts(Statistic):
    r"""Counts $N_i[j, v]$ of a network's families, the updates of its Dirichlet priors.

    Args:
        net: the network.
        families: "maximal" measures only families that no other one contains, and
            derives the others by summation; "all" measures one table per variable,
            Algorithm 1 as printed.

    Privacy:
        Replacing one record moves one unit from a cell to another in each measured
        table, so the sensitivity is twice their number; adding or removing one record
        changes one cell in each, so it is their number. Both are attained, by two
        records that differ everywhere. With "all" they are 2d and d for d variables.

    Raises:
        ValueError: if `families` is neither of the two.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Algorithm 1 and Lemma 1 (there for
        binary variables and replacement, with all families measured).
    """

    net: BayesNet
    families: str = "maximal"

    def __post_init__(self):
        one_of(("maximal", "all"), families=self.families)

    @cached_property
    def layout(self) -> TableLayout:
        """Layout of the measured tables."""
        groups = self.net.families
        measured = maximal_groups(groups) if self.families == "maximal" else groups
        return TableLayout(self.net.sizes, measured)

    @property
    def length(self) -> int:
        """Number of measured cells."""
        return self.layout.length

    def measure(self, records: Records) -> Int32[Array, " m"]:
        """The measured tables in one flat vector.

        Privacy:
            None: these are the exact counts.
        """
        return count(records, self.layout)

    def sensitivity(self, adjacency: str) -> Sensitivity:
        """Exact L1 sensitivity of `measure` under `adjacency`, in records."""
        one_of(ADJACENCIES, adjacency=adjacency)
        cells_a_table = 2 if adjacency == REPLACE_ONE else 1
        return Sensitivity(
            cells_a_table * len(self.layout.groups), adjacency, tight=True
        )

    def tables(self, vector: Flat) -> Cells:
        """One table per variable: measured, or summed from the smallest around it."""
        sources, targets = self._summation
        shape = (*vector.shape[:-1], self.net.layout.length)
        return jnp.zeros(shape, vector.dtype).at[..., targets].add(vector[..., sources])

    def describe(self) -> dict[str, object]:
        """Kind and which families are measured; the network is described on its own."""
        return {"kind": "family-counts", "families": self.families}

    @cached_property
    def _summation(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (cell of the vector, cell of the network's tables) to be added up."""
        layout, wanted = self.layout, self.net.layout
        members = [set(group) for group in layout.groups]
        cells = [math.prod(layout.shape(group)) for group in layout.groups]
        sources, targets = [], []
        for i, family in enumerate(self.net.families):
            holding = [t for t, group in enumerate(members) if group.issuperset(family)]
            table = i if self.families == "all" else min(holding, key=cells.__getitem__)
            steps = [
                wanted.strides[i].get(variable, 0) * np.arange(wanted.sizes[variable])
                for variable in layout.groups[table]
            ]
            sources.append(layout.offsets[table] + np.arange(cells[table]))
            targets.append(
                wanted.offsets[i] + functools.reduce(np.add.outer, steps).ravel()
            )
        return (
            np.concatenate(sources).astype(np.int32),
            np.concatenate(targets).astype(np.int32),
        )
