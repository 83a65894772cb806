"""The recipe of K-norm noise on a network's tables."""

__all__ = ["KNormNoise"]

from dataclasses import dataclass
from typing import ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.k_norm import KNorm
from dpjax.mechanisms.recipes import RECIPES, Recipe
from dpjax.privacy import Adjacency, Guarantee
from dpjax.statistics import Contrasts, Statistic


@RECIPES.add
@dataclass(frozen=True)
class KNormNoise(Recipe):
    """K-norm noise on all tables of a network at once, the least noise for most."""

    kind: ClassVar[str] = "k-norm"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Contrasts:
        """Return the counts of the network's tables without known margins."""
        return Contrasts.of_network(net, adjacency)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic is one of contrasts."""
        return statistic.kind == Contrasts.kind

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> KNorm:
        """Make the mechanism for the statistic, at the cost `budget`."""
        return KNorm.of(statistic, budget)
