"""The recipe that chooses the noise, from public facts alone."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.base import ExactMechanism
from dpjax.mechanisms.continuous_family_k_norm import parts_of, unit_variance
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_k_norm import FamilyKNorm
from dpjax.mechanisms.gaussian_recipe import Gaussian
from dpjax.mechanisms.k_norm import KNorm
from dpjax.mechanisms.norm_groups import MOST, are_small, choose_groups
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.privacy import Adjacency, Guarantee, PureDP
from dpjax.statistics import (
    Contrasts,
    FamilyStatistic,
    FourierCoefficients,
    MarginalContrasts,
    MarginalCounts,
    NetworkCounts,
    Statistic,
    TableStatistic,
)
from dpjax.statistics.block_statistic import BlockStatistic
from dpjax.statistics.marginal_contrasts import Variables, variables_with_levels

_LESS = 0.9  # Laplace noise is kept for gains below a tenth: it has more posteriors


@RECIPES.add
@dataclass(frozen=True)
class Auto(Recipe):
    """K-norm noise if it is better, else Laplace noise; Gaussian noise for zCDP.

    For a network, K-norm noise is chosen if the total variance of the cells of all
    measured tables is below nine tenths of half of that of Laplace noise: Laplace noise
    of scale b has the variance 2 b², but the Fisher information 1 / b² of normal noise
    with variance b², and K-norm noise is nearly normal in each cell. For a family, it
    is chosen if the total variance of all sums is below nine tenths of that of Laplace
    noise, since sums of many records vary more than by the noise. Marginal tables get
    K-norm noise or, if they are too many, Laplace noise on their Fourier coefficients.
    Laplace noise is kept for more than 1,024 numbers in a group, and for a schema with
    impossible combinations. None of this depends on records or ε.

    For a budget of kind zCDP it is Gaussian noise, which has at most half the variance
    of Laplace noise of the same ρ: the L2 norm of a change is at most its L1 norm.
    """

    kind: ClassVar[str] = "auto"
    costs: ClassVar[tuple[type[Guarantee], ...]] = (PureDP, *Gaussian.costs)

    def paid_by(self, budget: Guarantee) -> tuple[Recipe, Guarantee]:
        """Return itself for ε-DP, and another recipe for zCDP."""
        if isinstance(budget, Gaussian.costs):
            return Gaussian().paid_by(budget)
        return super().paid_by(budget)

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the contrasts of the network for K-norm noise, or else its counts."""
        counts = NetworkCounts(net)
        if net.impossible:
            return counts
        contrasts = Contrasts.of_network(net, adjacency)
        return contrasts if _is_better(contrasts, counts) else counts

    def marginals(
        self, schema: Variables, order: int, adjacency: Adjacency
    ) -> Statistic:
        """Return contrasts for K-norm noise or, of too many, Fourier coefficients."""
        over = variables_with_levels(schema)
        with contextlib.suppress(ValueError):  # for too many tables
            contrasts = MarginalContrasts.of_order(over, order, adjacency)
            groups, _ = choose_groups(contrasts)
            if are_small(contrasts, groups):
                return contrasts
        return FourierCoefficients(over, adjacency, order=order)

    def of_tables(
        self, schema: Variables, tables: Sequence[Sequence[str]], adjacency: Adjacency
    ) -> TableStatistic:
        """Return the contrasts of tables for K-norm noise, or else their counts."""
        counts = MarginalCounts.of_tables(schema, tables)
        contrasts = MarginalContrasts.of_tables(schema, tables, adjacency)
        return contrasts if _is_better(contrasts, counts) else counts

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since one of both fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        if isinstance(statistic, FamilyStatistic) and _gains(statistic):
            return FamilyKNorm.of(statistic, budget)
        shaped = isinstance(statistic, BlockStatistic)
        return (KNorm if shaped else DiscreteLaplace).of(statistic, budget)


def _is_better(contrasts: BlockStatistic, counts: TableStatistic) -> bool:
    """Return whether K-norm noise on contrasts is better than Laplace noise."""
    groups, variance = choose_groups(contrasts)
    scale = float(counts.sensitivity(contrasts.adjacency).value)
    better = variance < _LESS * scale**2 * counts.length
    return better and are_small(contrasts, groups)


def _gains(statistic: FamilyStatistic) -> bool:
    scale = float(statistic.sensitivity(statistic.adjacency).value)
    most = _LESS * 2 * scale**2 * statistic.length
    return statistic.length <= MOST and unit_variance(parts_of(statistic)) < most
