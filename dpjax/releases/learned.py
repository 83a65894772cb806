"""The private choice of a network from an earlier release, as part of a release."""

from fractions import Fraction
from typing import Any

import equinox as eqx

from dpjax._checks import whole
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import Guarantee
from dpjax.statistics import Statistic, TableStatistic


class Learned(eqx.Module):
    """How the network of a release was chosen: by draws that cost privacy.

    The first network has no edges. Each later one gives most variables one more parent,
    or none, by one draw of the exponential mechanism for each of these variables. The
    scores compare the records with the tables that the earlier release determines. If
    the number of draws is given, each draw is of one new edge, or none, among all.

    Args:
        earlier: the release of the tables of the earlier network.
        epsilon: ε > 0 of each draw, for one record.
        draws: number of draws; None for one draw for each variable that has a choice.
        net: the network, if the release is of the tables of each variable with its new
            parent alone, and not of all tables of the network; else None.
    """

    earlier: Any  # a `Released`, whose module imports this one
    epsilon: Fraction = eqx.field(static=True)
    draws: int | None = eqx.field(static=True, default=None)
    net: BayesNet | None = eqx.field(static=True, default=None)

    @property
    def depth(self) -> int:
        """Number of earlier releases; no variable has more parents."""
        before = self.earlier.learned
        return 1 if before is None else 1 + before.depth

    @property
    def choices(self) -> int:
        """Number of draws; by default the first `depth` variables have no choice."""
        if self.draws is not None:
            return self.draws
        return len(self.earlier.net.names) - self.depth

    def selection(self, kind: Guarantee) -> Guarantee:
        """Return the cost of all draws for one record, of the class of `kind`."""
        return kind.of_choice(self.epsilon).repeated(self.choices)

    def cost_of_tables(self, cost: Guarantee) -> Guarantee:
        """Return what the last tables cost for one row, if `cost` is that of all."""
        own = cost.minus(self.earlier.guarantee()).per_record()
        return own.minus(self.selection(own))

    def check(self, released: Any) -> None:
        """Raise `ValueError` unless a release continues the earlier one."""
        before, net = self.earlier, released.network
        if net is None or net.variables != before.net.variables:
            raise ValueError("`learned` must be a release of the same variables.")
        one, other = ((x.n, x.adjacency, x.contributions) for x in (before, released))
        if one != other:
            raise ValueError(
                "`learned` must be a release of the same records, adjacency and unit."
            )
        if before.about or before.hidden_states is not None:
            raise ValueError("`learned` must be a release without facts of its own.")
        if before.learned is None and any(before.net.parents):
            raise ValueError("`learned` must begin with a network without edges.")
        if before.sampled is not None:
            raise ValueError("`learned` must not continue a release of a sample.")
        if before.statistic.network is None:
            raise ValueError("`learned` must not continue a release of pairs.")
        self._check_edges(released.statistic, net)

    def _check_edges(self, statistic: Statistic, net: BayesNet) -> None:
        """Raise `ValueError` unless new edges fit the draws and the tables."""
        if self.draws is not None:
            whole(1, draws=self.draws)
        if self.choices < 1:
            raise ValueError("`learned` must leave a variable that gets a parent.")
        pairs: list[set[int]] = []
        for i, old in enumerate(self.earlier.net.parents):
            new = net.parents[i][len(old) :]
            if net.parents[i] != old + new or len(new) > 1:
                raise ValueError("`learned` must add at most one parent a variable.")
            pairs += [{i, *new}] if new else []
        if len(pairs) > self.choices:
            raise ValueError("`learned` must add at most one parent for each draw.")
        if self.net is None:
            return
        is_other = self.draws is None or statistic.network is not None
        if is_other or not isinstance(statistic, TableStatistic):
            raise ValueError("`learned` must have a network if tables have none.")
        measured = map(frozenset, statistic.layout.groups)
        if {*measured} != {*map(frozenset, pairs)}:
            raise ValueError("`learned` must be a release of the new edges' tables.")
