"""Recipes: a mechanism and its options, chosen before any data is seen.

A recipe becomes a mechanism when the statistic, the budget and the public number of
records are known. A string such as "laplace" stands for the recipe with its defaults.
"""

__all__ = [
    "RECIPES",
    "Fourier",
    "Laplace",
    "Map",
    "MapCells",
    "PosteriorSample",
    "Recipe",
    "recipe_of",
]

import abc
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dpjax._checks import one_of
from dpjax._registry import Registry
from dpjax.data.bayes_net import BayesNet
from dpjax.families import Truncation
from dpjax.mechanisms.base import ExactMechanism, all_tables, tables_of
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.mechanisms.discrete_laplace import DiscreteLaplace
from dpjax.mechanisms.family_posterior_sampler import FamilyPosteriorSampler
from dpjax.mechanisms.network_posterior_sampler import NetworkPosteriorSampler
from dpjax.mechanisms.parameter_grid import Prior
from dpjax.mechanisms.split_laplace import SplitLaplace
from dpjax.privacy import Adjacency, Epsilon, Guarantee, PureDP
from dpjax.statistics import (
    FamilyStatistic,
    FourierCoefficients,
    NetworkCounts,
    Statistic,
)


@dataclass(frozen=True)
class Recipe(abc.ABC):
    """A mechanism and its options; frozen, and typed.

    A new one is added to `RECIPES`, so that `release` takes its `kind`.
    """

    kind: ClassVar[str]
    """Its name in `release` and on the command line."""

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """The statistic to measure for a network."""
        return NetworkCounts(net)

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Whether this statistic can be released so."""

    @abc.abstractmethod
    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """The mechanism that spends at most the budget; n is None where it is private.

        Raises:
            ValueError: if an option is outside its range, or not for this statistic.
        """

    def __str__(self) -> str:
        return self.kind


RECIPES: Registry[Recipe] = Registry("recipe")
"""Recipes by name."""


@RECIPES.add
@dataclass(frozen=True)
class Laplace(Recipe):
    """Discrete Laplace noise on any statistic; of a network, on its counts.

    Args:
        split: the budget of each part of the statistic, such as {"kind": "1/4",
            "deaths": "3/4"}, adding up to ε; parts of a network's counts are the
            measured tables, by the name of the child. None: all numbers get the same
            noise.
    """

    kind: ClassVar[str] = "laplace"

    split: Mapping[str, Epsilon] | None = None

    def __post_init__(self):
        if not (self.split is None or isinstance(self.split, Mapping)):
            raise ValueError(
                "`split` must be a mapping from tables to budgets, such as {'kind': "
                f"'1/4', 'deaths': '3/4'}}, got {type(self.split).__name__}."
            )

    def accepts(self, statistic: Statistic) -> bool:
        """Any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> DiscreteLaplace | SplitLaplace:
        """Noise for the statistic's sensitivity, or for that of its parts."""
        if self.split is None:
            return DiscreteLaplace.of(statistic, budget)
        noise = SplitLaplace.of_tables(self.split, statistic, budget.adjacency)
        spent = noise.guarantee()
        if spent != budget:
            raise ValueError(
                f"`split` must add up to the budget, {budget}, exactly, got {spent}."
            )
        return noise


@RECIPES.add
@dataclass(frozen=True)
class Fourier(Recipe):
    """Discrete Laplace noise on Fourier coefficients, so that all tables agree."""

    kind: ClassVar[str] = "fourier"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> FourierCoefficients:
        """The coefficients that the tables of a network need."""
        return FourierCoefficients.of_network(net, adjacency)

    def accepts(self, statistic: Statistic) -> bool:
        """Fourier coefficients."""
        return statistic.kind == FourierCoefficients.kind

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> DiscreteLaplace:
        """Noise for the statistic's sensitivity."""
        return DiscreteLaplace.of(statistic, budget)


@dataclass(frozen=True)
class _OfAllTables(Recipe):
    def statistic(self, net: BayesNet, adjacency: Adjacency) -> NetworkCounts:
        """The counts of all tables."""
        return NetworkCounts(net, "all")

    def accepts(self, statistic: Statistic) -> bool:
        """Counts of all tables."""
        return tables_of(statistic) is not None


@RECIPES.add
@dataclass(frozen=True)
class PosteriorSample(_OfAllTables):
    """Draws from the truncated, tempered posterior of a network or a family.

    Args:
        temperature: the likelihood is raised to its inverse. None: the lowest that the
            budget allows, but at least 1.
        samples: number of draws; together they cost the budget.
        prior: of a network the Dirichlet parameter of every cell (None: 1); of a family
            the mean of its scaled statistics and the records that it is worth (None:
            uniform on the grid).
        omega: of a network: the smallest probability of a level. None: chosen.
        units: of a network: probabilities are multiples of 1 / units (None: 1000).
        truncation: of a family: the least and the most of each parameter, by name.
        points: of a family: points of the grid, for each parameter.
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
        """Counts of all tables, or the sufficient statistics of a family."""
        return isinstance(statistic, FamilyStatistic) or super().accepts(statistic)

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> NetworkPosteriorSampler | FamilyPosteriorSampler:
        """The sampler of the network or of the family."""
        cost = PureDP.of(budget, "budget")
        epsilon, adjacency = cost.epsilon, cost.adjacency
        common: Any = {"n": n, "temperature": self.temperature, "samples": self.samples}
        if isinstance(statistic, FamilyStatistic):
            _refuse("an exponential family", omega=self.omega, units=self.units)
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
        _refuse("a network", truncation=self.truncation, points=self.points)
        given = {"omega": self.omega, "prior": self.prior, "units": self.units}
        common |= {name: value for name, value in given.items() if value is not None}
        layout = all_tables(statistic)
        return NetworkPosteriorSampler.posterior(layout, epsilon, adjacency, **common)


@RECIPES.add
@dataclass(frozen=True)
class Map(_OfAllTables):
    """A draw near the posterior mode of a network, scored by the joint probability.

    Args:
        omega: the smallest probability of a level. None: chosen.
        temperature: None: from the budget.
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
        """The exponential mechanism on a grid."""
        cost, layout = PureDP.of(budget, "budget"), all_tables(statistic)
        make = NetworkPosteriorSampler.map
        return make(layout, cost.epsilon, cost.adjacency, n=n, **vars(self))


@RECIPES.add
@dataclass(frozen=True)
class MapCells(_OfAllTables):
    """A draw near the posterior mode of a few rows, scored by the mass of cells.

    Args:
        omega: the smallest probability of a level; required.
        temperature: of the posterior whose mass is the score.
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
        """The exponential mechanism on listed cells."""
        if self.omega is None:
            raise ValueError("`omega` must be given for map-cells, such as '0.1'.")
        cost, layout = PureDP.of(budget, "budget"), all_tables(statistic)
        return CellMass.calibrate(layout, cost.epsilon, cost.adjacency, **vars(self))


def recipe_of(
    mechanism: str | Recipe, options: Mapping[str, Any] | None = None
) -> Recipe:
    """A recipe by its name, with options; `ValueError` if it has none of that name."""
    if isinstance(mechanism, Recipe):
        return mechanism
    try:
        made = RECIPES[mechanism]
    except ValueError:
        one_of(tuple(RECIPES), mechanism=mechanism)
        raise
    names = [field.name for field in fields(made)]
    for name in options or {}:
        if name not in names:
            raise ValueError(
                f"`{name}` must be left out: the options of {mechanism} are "
                f"{', '.join(names) or 'none'}."
            )
    return made(**options or {})


def _refuse(what: str, **options: object) -> None:
    for name in (name for name, value in options.items() if value is not None):
        raise ValueError(f"`{name}` must be left out for {what}.")
