"""The recipe that chooses between K-norm and Laplace noise, from the network alone."""

__all__ = ["Auto"]

from dataclasses import dataclass
from typing import ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.base import ExactMechanism
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.k_norm import KNorm
from dpjax.mechanisms.norm_groups import are_small, choose_groups
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.privacy import Adjacency, Guarantee
from dpjax.statistics import Contrasts, NetworkCounts, Statistic

_LESS = 0.9  # Laplace noise is kept for gains below a tenth: it has more posteriors


@RECIPES.add
@dataclass(frozen=True)
class Auto(Recipe):
    """K-norm noise on a network if it leaves more information, else Laplace noise.

    Laplace noise of scale b has the variance 2 b², but the Fisher information 1 / b² of
    normal noise with variance b². K-norm noise is nearly normal in each cell. It is
    chosen if the total variance of the cells of all measured tables is below nine
    tenths of the sum of b², no group of tables has more than 1,024 numbers, and the
    schema has no impossible combinations. None of this depends on records or ε.
    """

    kind: ClassVar[str] = "auto"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the contrasts of the network for K-norm noise, or else its counts."""
        counts = NetworkCounts(net)
        if net.impossible:
            return counts
        contrasts = Contrasts.of_network(net, adjacency)
        groups, variance = choose_groups(contrasts)
        scale = float(counts.sensitivity(adjacency).value)
        better = variance < _LESS * scale**2 * counts.length
        return contrasts if better and are_small(contrasts, groups) else counts

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since one of both fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        shaped = statistic.kind == Contrasts.kind
        return (KNorm if shaped else DiscreteLaplace).of(statistic, budget)
