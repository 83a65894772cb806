"""Recipes: the choice of a mechanism and its options, before any data is seen.

A recipe becomes a mechanism when the statistic, the budget and, if it is public, the
number of records are known. A string such as "laplace" means a recipe with defaults.
"""

__all__ = [
    "RECIPES",
    "Algorithm1",
    "Algorithm2",
    "Auto",
    "Fourier",
    "Gaussian",
    "HiddenMarkovSample",
    "KNorm",
    "Laplace",
    "Map",
    "MapCells",
    "PosteriorSample",
    "Recipe",
    "noise_for",
    "recipe_of",
]

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import k_norm
from dpjax.mechanisms.auto import Auto
from dpjax.mechanisms.base import ExactMechanism
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_k_norm import FamilyKNorm
from dpjax.mechanisms.gaussian_recipe import Gaussian
from dpjax.mechanisms.printed import Algorithm1, Algorithm2
from dpjax.mechanisms.recipe import RECIPES, Recipe, recipe_of, refuse_options
from dpjax.mechanisms.sampling_recipes import (
    HiddenMarkovSample,
    Map,
    MapCells,
    PosteriorSample,
)
from dpjax.mechanisms.split_laplace import SplitLaplace
from dpjax.privacy import (
    Adjacency,
    ApproximateDP,
    Epsilon,
    Guarantee,
    exact_epsilon,
)
from dpjax.statistics import (
    Contrasts,
    FamilyStatistic,
    FourierCoefficients,
    MarginalContrasts,
    Statistic,
    TableStatistic,
)
from dpjax.statistics.block_statistic import BlockStatistic
from dpjax.statistics.marginal_contrasts import Variables, variables_with_levels


@dataclass(frozen=True)
class _WithSplit(Recipe):
    """A recipe whose parts can have budgets of their own."""

    split: Mapping[Any, Epsilon] | None = None

    def __post_init__(self):
        if not (self.split is None or isinstance(self.split, Mapping)):
            raise ValueError(
                "`split` must be a mapping from tables to budgets, such as {'kind': "
                f"'1/4', 'deaths': '3/4'}}, got {type(self.split).__name__}."
            )

    def paid_by(self, budget: Guarantee) -> tuple[Recipe, Guarantee]:
        """Return the recipe with the budget of each part for one row, and the cost."""
        _, cost = super().paid_by(budget)
        k = budget.contributions
        if self.split is None or k == 1:
            return self, cost
        each = {x: exact_epsilon(e, "split") / k for x, e in self.split.items()}
        return replace(self, split=each), cost


def _of_cost(budget: Guarantee, noise: ExactMechanism) -> ExactMechanism:
    if noise.guarantee() != budget:
        raise ValueError(
            f"`split` must add up to the budget, {budget}, exactly, got "
            f"{noise.guarantee()}, for one row."
        )
    return noise


@RECIPES.add
@dataclass(frozen=True)
class Laplace(_WithSplit):
    """Discrete Laplace noise on any statistic; for a network, on its counts.

    Args:
        split: budget ε_f of each part f of the statistic, with sum ε, such as {"kind":
            "1/4", "deaths": "3/4"}. The parts of a network's counts are the measured
            tables, named by child variable. None: all numbers get the same noise.
    """

    kind: ClassVar[str] = "laplace"

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since noise fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic or, with `split`, for each part."""
        if self.split is None:
            return DiscreteLaplace.of(statistic, budget)
        noise = SplitLaplace.of_tables(self.split, statistic, budget.adjacency)
        return _of_cost(budget, noise)


@RECIPES.add
class Fourier(Recipe):
    """Discrete Laplace noise on Fourier coefficients, so that noisy tables agree."""

    kind: ClassVar[str] = "fourier"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the coefficients that determine the tables of a network."""
        return FourierCoefficients.of_network(net, adjacency)

    def marginals(
        self, schema: Variables, order: int, adjacency: Adjacency
    ) -> Statistic:
        """Return the coefficients of at most `order` variables."""
        levels = variables_with_levels(schema)
        return FourierCoefficients(levels, adjacency, order=order)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it is Fourier coefficients."""
        return statistic.kind == FourierCoefficients.kind

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for the statistic, at the cost `budget`."""
        return DiscreteLaplace.of(statistic, budget)


@RECIPES.add
@dataclass(frozen=True)
class KNorm(_WithSplit):
    """Noise with the shape of one record's changes, on all tables or on a family.

    Args:
        split: budgets with sum ε of groups of tables, which have one norm each, such
            as {"kind": "1/4", ("deaths", "harmed"): "3/4"}. Tables of a network are
            named by child variable, others as in "kind*deaths"; a text may name
            several, as "deaths,harmed". None: groups of small total variance.
    """

    kind: ClassVar[str] = "k-norm"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the contrasts that determine the tables of a network."""
        return Contrasts.of_network(net, adjacency)

    def marginals(
        self, schema: Variables, order: int, adjacency: Adjacency
    ) -> Statistic:
        """Return the contrasts of all tables of `order` variables."""
        return MarginalContrasts.of_order(schema, order, adjacency)

    def of_tables(
        self, schema: Variables, tables: Sequence[Sequence[str]], adjacency: Adjacency
    ) -> TableStatistic:
        """Return the contrasts of tables."""
        return MarginalContrasts.of_tables(schema, tables, adjacency)

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it is contrasts of tables or the sums of a family."""
        return isinstance(statistic, FamilyStatistic | BlockStatistic)

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism for a family, or for tables and groups of them."""
        if isinstance(statistic, FamilyStatistic):
            refuse_options("an exponential family", split=self.split)
            return FamilyKNorm.of(statistic, budget)
        if self.split is None:
            return k_norm.KNorm.of(statistic, budget)
        noise = k_norm.KNorm.of_tables(self.split, statistic, budget.adjacency)
        return _of_cost(budget, noise)


def noise_for(what: object, budget: Guarantee) -> Recipe:
    """Return the noise that `release` adds to a network or statistic by default.

    It is Gaussian noise for a ρ, and on counts for an (ε, δ), and otherwise Laplace
    noise.
    """
    if budget.kind == ApproximateDP.kind:
        counts = isinstance(what, BayesNet | TableStatistic)
        return Gaussian() if counts else Laplace()
    return Gaussian() if isinstance(budget, Gaussian.costs) else Laplace()
