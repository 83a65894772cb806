"""Recipes whose mechanisms draw parameters instead of adding noise to statistics."""

from dataclasses import dataclass
from typing import Any, ClassVar

from dpjax.data.bayes_net import BayesNet
from dpjax.families import Truncation
from dpjax.mechanisms.base import all_tables, tables_of
from dpjax.mechanisms.cell_choice import choose_cells
from dpjax.mechanisms.cell_mass import CellMass
from dpjax.mechanisms.family_posterior_sampler import FamilyPosteriorSampler
from dpjax.mechanisms.hidden_markov_sampler import HiddenMarkovSampler
from dpjax.mechanisms.network_posterior_sampler import NetworkPosteriorSampler
from dpjax.mechanisms.parameter_grid import Prior
from dpjax.mechanisms.recipe import RECIPES, Recipe, refuse_options
from dpjax.privacy import ZCDP, Adjacency, Epsilon, Guarantee, PureDP
from dpjax.statistics import FamilyStatistic, NetworkCounts, Statistic


@dataclass(frozen=True)
class _OfAllTables(Recipe):
    costs: ClassVar[tuple[type[Guarantee], ...]] = (PureDP, ZCDP)

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> NetworkCounts:
        """Return the counts of all tables of the network."""
        return NetworkCounts(net, "all")

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it is all counts of a network or of one variable's levels."""
        return tables_of(statistic) is not None


@dataclass(frozen=True)
class _FromPosterior(_OfAllTables):
    """A draw from a posterior on a grid, of tables or of a family's parameters."""

    tempered_prior: ClassVar[bool] = False
    temperature: Epsilon | None = None
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
        """Make the posterior sampler of the tables or of the family."""
        samples = getattr(self, "samples", 1)
        common: Any = {"n": n, "temperature": self.temperature, "samples": samples}
        common["tempered_prior"] = self.tempered_prior
        of_family = {"truncation": self.truncation, "points": self.points}
        of_tables = {"omega": self.omega, "units": self.units}
        layout = tables_of(statistic)
        if isinstance(statistic, FamilyStatistic) and layout is None:
            refuse_options("an exponential family", **of_tables)
            common |= {**of_family, "prior": self.prior}
            scale = statistic.family, statistic.steps, statistic.lowest
            return FamilyPosteriorSampler.of(*scale, budget, **common)
        refuse_options("counts of levels", **of_family)
        given = {**of_tables, "prior": self.prior}
        common |= {name: value for name, value in given.items() if value is not None}
        return NetworkPosteriorSampler.of(all_tables(statistic), budget, **common)


@RECIPES.add
@dataclass(frozen=True)
class PosteriorSample(_FromPosterior):
    """Draws from the truncated, tempered posterior of a network or exponential family.

    A categorical family is like a network of one variable.

    Args:
        temperature: T; the likelihood is taken to the power 1/T. None: the lowest T
            that the budget allows, but at least 1.
        prior: for a network, the Dirichlet parameter of every cell (None: 1); for a
            family, the mean of its scaled statistics and the number of records that the
            prior is worth (None: uniform on the grid).
        omega: for a network, the smallest probability of a level (None: derived).
        units: for a network, the denominator of all probabilities (None: 1000).
        truncation: for a family, least and largest value of each parameter, by name
            (None: the limits of least expected error).
        points: for a family, the number of grid values of each parameter.
        samples: number of draws; together they cost the budget.
    """

    kind: ClassVar[str] = "posterior-sample"
    samples: int = 1


@RECIPES.add
@dataclass(frozen=True)
class Map(_FromPosterior):
    """The exponential mechanism for tables or parameters of largest posterior density.

    The score is the log of prior times likelihood. A draw is one from the posterior at
    a temperature that also applies to the prior.

    Args:
        temperature: temperature T of the posterior. None: derived from the budget.
        prior: as for `PosteriorSample`.
        omega: as for `PosteriorSample`.
        units: as for `PosteriorSample`.
        truncation: as for `PosteriorSample`.
        points: as for `PosteriorSample`.
    """

    kind: ClassVar[str] = "map"
    tempered_prior: ClassVar[bool] = True


@RECIPES.add
@dataclass(frozen=True)
class MapCells(_OfAllTables):
    """The exponential mechanism for the most probable tables, if they have few rows.

    What is not given follows from the budget and the public number of records, or 1000,
    such that the expected error is least. If ω and the units are given, T is 1.

    Args:
        omega: the smallest probability of a level.
        temperature: temperature T of the posterior whose mass is the score.
        prior: Dirichlet parameter of every level.
        units: probabilities are multiples of 1 / units.
    """

    kind: ClassVar[str] = "map-cells"
    omega: Epsilon | None = None
    temperature: Epsilon | None = None
    prior: Epsilon = 1
    units: int | None = None

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> CellMass:
        """Make the exponential mechanism, `CellMass`."""
        layout = all_tables(statistic)
        options = {name: x for name, x in vars(self).items() if x is not None}
        if "omega" in options and "units" in options:
            return CellMass.of(layout, budget, **options)
        return choose_cells(layout, budget, n, **options)


@RECIPES.add
@dataclass(frozen=True)
class HiddenMarkovSample(Recipe):
    """Draws of a hidden Markov model's parameters, among public candidates.

    Args:
        states: number of hidden states.
        points: number of candidates, which are drawn from the prior.
        omega: smallest probability of a level (None: a tenth of equal probabilities).
        units: denominator of all probabilities.
        temperature: T; the likelihood is taken to the power 1/T. None: the lowest T
            that the budget allows, but at least 1.
        samples: number of draws; together they cost the budget.
        seed: public integer, from which the candidates are drawn.
    """

    kind: ClassVar[str] = "hidden-markov-sample"
    costs: ClassVar[tuple[type[Guarantee], ...]] = (PureDP, ZCDP)
    states: int = 2
    points: int = 256
    omega: Epsilon | None = None
    units: int = 1000
    temperature: Epsilon | None = None
    samples: int = 1
    seed: int = 0

    def accepts(self, statistic: Statistic) -> bool:
        """Return whether it is counts of a network; `mechanism` refuses most."""
        return statistic.kind == NetworkCounts.kind

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> HiddenMarkovSampler:
        """Make the sampler of a hidden Markov model."""
        if statistic.network is not None:
            statistic.network.refuse_impossible(f"the mechanism {self.kind!r}")
        return HiddenMarkovSampler.of(statistic, budget, **vars(self))
