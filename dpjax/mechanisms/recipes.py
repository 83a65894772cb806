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
    "KNorm",
    "Laplace",
    "Map",
    "MapCells",
    "PosteriorSample",
    "Recipe",
    "recipe_of",
]

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.families import Truncation
from dpjax.mechanisms import k_norm
from dpjax.mechanisms.auto import Auto
from dpjax.mechanisms.base import ExactMechanism, all_tables, tables_of
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_k_norm import FamilyKNorm
from dpjax.mechanisms.family_posterior_sampler import FamilyPosteriorSampler
from dpjax.mechanisms.network_posterior_sampler import NetworkPosteriorSampler
from dpjax.mechanisms.parameter_grid import Prior
from dpjax.mechanisms.printed import Algorithm1, Algorithm2
from dpjax.mechanisms.recipe import RECIPES, Recipe, recipe_of, refuse_options
from dpjax.mechanisms.split_laplace import SplitLaplace
from dpjax.privacy import Adjacency, Epsilon, Guarantee, PureDP, exact_epsilon
from dpjax.statistics import (
    Contrasts,
    FamilyStatistic,
    FourierCoefficients,
    MarginalContrasts,
    NetworkCounts,
    Statistic,
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

    def per_record(self, contributions: int) -> Recipe:
        """Return the recipe with 1 / `contributions` of the budget of each part."""
        parts = (self.split or {}).items()
        each = {x: exact_epsilon(e, "split") / contributions for x, e in parts}
        return replace(self, split=each or self.split)


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


@dataclass(frozen=True)
class _OfAllTables(Recipe):
    def statistic(self, net: BayesNet, adjacency: Adjacency) -> NetworkCounts:
        """Return the counts of all tables of the network."""
        return NetworkCounts(net, "all")

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether the statistic is the counts of all tables of a network."""
        return tables_of(statistic) is not None


@RECIPES.add
@dataclass(frozen=True)
class PosteriorSample(_OfAllTables):
    """Draws from the truncated, tempered posterior of a network or exponential family.

    Args:
        temperature: T; the likelihood is taken to the power 1/T. None: the lowest T
            that the budget allows, but at least 1.
        samples: number of draws; together they cost the budget.
        prior: for a network, the Dirichlet parameter of every cell (None: 1); for a
            family, the mean of its scaled statistics and the number of records that the
            prior is worth (None: uniform on the grid).
        omega: for a network, the smallest probability of a level (None: derived).
        units: for a network, the denominator of all probabilities (None: 1000).
        truncation: for a family, least and largest value of each parameter, by name.
        points: for a family, the number of grid values of each parameter.
    """

    kind: ClassVar[str] = "posterior-sample"
    temperature: Epsilon | None = None
    samples: int = 1
    prior: Epsilon | Prior | None = None
    omega: Epsilon | None = None
    units: int | None = None
    truncation: Truncation | None = None
    points: int | None = None

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it counts all tables or is the statistic of a family."""
        return isinstance(statistic, FamilyStatistic) or super().accepts(statistic)

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> NetworkPosteriorSampler | FamilyPosteriorSampler:
        """Make the posterior sampler of the network or of the family."""
        cost = PureDP.of(budget, "budget")
        epsilon, adjacency = cost.epsilon, cost.adjacency
        common: Any = {"n": n, "temperature": self.temperature, "samples": self.samples}
        if isinstance(statistic, FamilyStatistic):
            refuse_options("an exponential family", omega=self.omega, units=self.units)
            common |= {"truncation": self.truncation, "points": self.points}
            common["prior"] = self.prior
            return FamilyPosteriorSampler.calibrate(
                statistic.family,
                statistic.steps,
                statistic.lowest,
                epsilon,
                adjacency,
                **common,
            )
        refuse_options("a network", truncation=self.truncation, points=self.points)
        given = {"omega": self.omega, "prior": self.prior, "units": self.units}
        common |= {name: value for name, value in given.items() if value is not None}
        layout = all_tables(statistic)
        return NetworkPosteriorSampler.posterior(layout, epsilon, adjacency, **common)


@RECIPES.add
@dataclass(frozen=True)
class Map(_OfAllTables):
    """The exponential mechanism for the tables of largest posterior density.

    Args:
        omega: the smallest probability of a level. None: derived from the budget.
        temperature: temperature T of the posterior. None: derived from the budget.
        prior: Dirichlet parameter of every cell.
        units: probabilities are multiples of 1 / units.
    """

    kind: ClassVar[str] = "map"
    omega: Epsilon | None = None
    temperature: Epsilon | None = None
    prior: Epsilon = 1
    units: int = 1000

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> NetworkPosteriorSampler:
        """Make the exponential mechanism, `NetworkPosteriorSampler.map`."""
        cost, layout = PureDP.of(budget, "budget"), all_tables(statistic)
        make = NetworkPosteriorSampler.map
        return make(layout, cost.epsilon, cost.adjacency, n=n, **vars(self))


@RECIPES.add
@dataclass(frozen=True)
class MapCells(_OfAllTables):
    """The exponential mechanism for the most probable tables, if they have few rows.

    Args:
        omega: the smallest probability of a level; required.
        temperature: temperature T of the posterior whose mass is the score.
        prior: Dirichlet parameter of every level.
        units: probabilities are multiples of 1 / units.
    """

    kind: ClassVar[str] = "map-cells"
    omega: Epsilon | None = None
    temperature: Epsilon = 1
    prior: Epsilon = 1
    units: int = 16

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> CellMass:
        """Make the exponential mechanism, `CellMass`."""
        if self.omega is None:
            raise ValueError("`omega` must be given for map-cells, such as '0.1'.")
        cost, layout = PureDP.of(budget, "budget"), all_tables(statistic)
        return CellMass.calibrate(layout, cost.epsilon, cost.adjacency, **vars(self))
