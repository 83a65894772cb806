"""The private choice of a network from an earlier release, as part of a release."""

__all__ = ["Learned"]

from fractions import Fraction
from typing import Any

import equinox as eqx

from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import Guarantee


class Learned(eqx.Module):
    """How the network of a release was chosen: by draws that cost privacy.

    The first network has no edges. Each later one gives most variables one more parent,
    or none, by one draw of the exponential mechanism for each of these variables. The
    scores compare the records with the tables that the earlier release determines.

    Args:
        earlier: the release of the tables of the earlier network.
        epsilon: ε > 0 of each draw, for one record.
    """

    earlier: Any  # a `Released`, whose module imports this one
    epsilon: Fraction = eqx.field(static=True)

    @property
    def depth(self) -> int:
        """Number of earlier releases, which is the largest number of parents."""
        before = self.earlier.learned
        return 1 if before is None else 1 + before.depth

    @property
    def choices(self) -> int:
        """Number of draws: the first `depth` variables in order have no choice."""
        return len(self.earlier.net.names) - self.depth

    def selection(self, kind: Guarantee) -> Guarantee:
        """Return the cost of all draws for one record, of the class of `kind`."""
        return kind.of_choice(self.epsilon).repeated(self.choices)

    def cost_of_tables(self, cost: Guarantee) -> Guarantee:
        """Return what the last tables cost for one row, if `cost` is that of all."""
        own = cost.minus(self.earlier.guarantee()).per_record()
        return own.minus(self.selection(own))

    def check(self, net: BayesNet | None, n: Any, adjacency: str, rows: int) -> None:
        """Raise `ValueError` unless a release continues the earlier one."""
        before = self.earlier
        one = before.n, before.adjacency, before.contributions
        if net is None or net.variables != before.net.variables:
            raise ValueError("`learned` must be a release of the same variables.")
        if one != (n, adjacency, rows):
            raise ValueError(
                "`learned` must be a release of the same records, adjacency and unit."
            )
        if before.about or before.hidden_states is not None:
            raise ValueError("`learned` must be a release without facts of its own.")
        if self.choices < 1:
            raise ValueError("`learned` must leave a variable that gets a parent.")
        if before.learned is None and any(before.net.parents):
            raise ValueError("`learned` must begin with a network without edges.")
        for old, new in zip(before.net.parents, net.parents, strict=True):
            if old != new[: len(old)] or len(new) > len(old) + 1:
                raise ValueError("`learned` must add at most one parent a variable.")
