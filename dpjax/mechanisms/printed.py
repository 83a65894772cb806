"""Recipes of the noise that Zhang et al. print, to compare with and to reproduce."""

import abc
from typing import ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.base import ExactMechanism, tables_of
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.privacy import REPLACE_ONE, Adjacency, Guarantee
from dpjax.statistics import NetworkCounts, PrintedFourier, Statistic


class _Printed(Recipe):
    title: ClassVar[str]

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the statistic that the algorithm measures.

        Raises:
            ValueError: if the adjacency is not that of the paper, or the network has
                impossible combinations or variables that the algorithm is not for.
        """
        net.refuse_impossible(self.title)
        if adjacency != REPLACE_ONE:
            raise ValueError(
                f"`adjacency` must be {REPLACE_ONE} for {self.kind}, got {adjacency}: "
                "use the mechanism 'laplace', 'fourier' or 'k-norm'."
            )
        return self._measured(net)

    @abc.abstractmethod
    def _measured(self, net: BayesNet) -> Statistic:
        """Return the statistic of a network."""

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        return DiscreteLaplace.of(statistic, budget)


@RECIPES.add
class Algorithm1(_Printed):
    """Algorithm 1 of Zhang et al. as printed: noise on the tables of all nodes.

    "laplace" measures only the tables that no other contains, with less noise.
    """

    kind: ClassVar[str] = "zhang-algorithm-1"
    title = "Algorithm 1 of Zhang et al."

    def _measured(self, net: BayesNet) -> Statistic:
        return NetworkCounts(net, "all")

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic is the counts of all tables of a network."""
        return tables_of(statistic) is not None


@RECIPES.add
class Algorithm2(_Printed):
    """Algorithm 2 of Zhang et al. as printed: noise on all Fourier coefficients.

    "fourier" has the exact sensitivity, and hence less noise.
    """

    kind: ClassVar[str] = "zhang-algorithm-2"
    title = "Algorithm 2 of Zhang et al."

    def _measured(self, net: BayesNet) -> Statistic:
        return PrintedFourier(net.variables, REPLACE_ONE, net)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it is Fourier coefficients as printed."""
        return statistic.kind == PrintedFourier.kind
