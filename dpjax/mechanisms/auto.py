"""The recipe that chooses between K-norm and Laplace noise, from public facts alone."""

__all__ = ["Auto"]

from dataclasses import dataclass
from typing import ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.base import ExactMechanism
from dpjax.mechanisms.continuous_family_k_norm import parts_of, unit_variance
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_k_norm import FamilyKNorm
from dpjax.mechanisms.k_norm import KNorm
from dpjax.mechanisms.norm_groups import MOST, are_small, choose_groups
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.privacy import Adjacency, Guarantee
from dpjax.statistics import Contrasts, FamilyStatistic, NetworkCounts, Statistic

_LESS = 0.9  # Laplace noise is kept for gains below a tenth: it has more posteriors


@RECIPES.add
@dataclass(frozen=True)
class Auto(Recipe):
    """K-norm noise on a network or a family if it is smaller, otherwise Laplace noise.

    K-norm noise is chosen if the total variance of the cells of all measured tables, or
    of all sums of a family, is below nine tenths of that of Laplace noise, no group of
    numbers has more than 1,024, and the schema has no impossible combinations. None of
    this depends on records or ε.
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
        smaller = variance < _LESS * 2 * scale**2 * counts.length
        return contrasts if smaller and are_small(contrasts, groups) else counts

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since one of both fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        if isinstance(statistic, FamilyStatistic) and _gains(statistic):
            return FamilyKNorm.of(statistic, budget)
        shaped = statistic.kind == Contrasts.kind
        return (KNorm if shaped else DiscreteLaplace).of(statistic, budget)


def _gains(statistic: FamilyStatistic) -> bool:
    scale = float(statistic.sensitivity(statistic.adjacency).value)
    most = _LESS * 2 * scale**2 * statistic.length
    return statistic.length <= MOST and unit_variance(parts_of(statistic)) < most
