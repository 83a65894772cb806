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
    """A frozen, typed description of a mechanism and its options.

    To use a new recipe by its `kind` in `release`, add it to `RECIPES`.
    """

    kind: ClassVar[str]
    """Name of the recipe in `release` and on the command line."""

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """The statistic to measure for a network."""
        return NetworkCounts(net)

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Whether this recipe can release the statistic."""

    @abc.abstractmethod
    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """The mechanism that spends at most the budget; n is None if it is private.

        Raises:
            ValueError: if an option is out of range or does not fit the statistic.
        """

    def __str__(self) -> str:
        return self.kind


RECIPES: Registry[Recipe] = Registry("recipe")
"""Recipes by name."""


@RECIPES.add
@dataclass(frozen=True)
class Laplace(Recipe):
    """Discrete Laplace noise on any statistic; for a network, on its counts.

    Args:
        split: budget of each part of the statistic, with sum ε, such as {"kind": "1/4",
            "deaths": "3/4"}. The parts of a network's counts are the measured tables,
            by the name of the child. None: all numbers get the same noise.
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
        """Return True, for any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> DiscreteLaplace | SplitLaplace:
        """Noise for the statistic's sensitivity or, with `split`, for its parts'."""
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
    """Discrete Laplace noise on Fourier coefficients, for consistent tables."""

    kind: ClassVar[str] = "fourier"

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> FourierCoefficients:
        """The Fourier coefficients that determine the tables of a network."""
        return FourierCoefficients.of_network(net, adjacency)

    def accepts(self, statistic: Statistic) -> bool:
        """Whether the statistic is Fourier coefficients."""
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
        """Whether the statistic is the counts of all tables."""
        return tables_of(statistic) is not None


@RECIPES.add
@dataclass(frozen=True)
class PosteriorSample(_OfAllTables):
    """Draws from the truncated, tempered posterior of a network or a family.

    Args:
        temperature: T; the likelihood is taken to the power 1/T. None: the lowest T
            that the budget allows, but at least 1.
        samples: number of draws; together they cost the budget.
        prior: for a network, the Dirichlet parameter of every cell (None: 1); for a
            family, the mean of its scaled statistics and the number of records that the
            prior is worth (None: uniform on the grid).
        omega: for a network: smallest probability of a level. None: derived.
        units: for a network: probabilities are multiples of 1 / units (None: 1000).
        truncation: for a family: least and largest value of each parameter, by name.
        points: for a family: number of values of each parameter on the grid.
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
        """Whether it is the counts of all tables, or the statistic of a family."""
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
        omega: the smallest probability of a level. None: derived.
        temperature: T of the posterior. None: derived from the budget.
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
        temperature: T of the posterior whose mass is the score.
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
        """The exponential mechanism on enumerated cells."""
        if self.omega is None:
            raise ValueError("`omega` must be given for map-cells, such as '0.1'.")
        cost, layout = PureDP.of(budget, "budget"), all_tables(statistic)
        return CellMass.calibrate(layout, cost.epsilon, cost.adjacency, **vars(self))


def recipe_of(
    mechanism: str | Recipe, options: Mapping[str, Any] | None = None
) -> Recipe:
    """The recipe of this name with these options; `ValueError` for unknown ones."""
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
