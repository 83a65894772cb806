"""The base class of recipes, and their registry."""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from dpjax._checks import one_of
from dpjax._registry import Registry
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms.base import ExactMechanism
from dpjax.privacy import Adjacency, Guarantee, PureDP
from dpjax.statistics import (
    MarginalCounts,
    NetworkCounts,
    Statistic,
    TableStatistic,
)
from dpjax.statistics.marginal_contrasts import Variables


@dataclass(frozen=True)
class Recipe(abc.ABC):
    """The choice of a mechanism and its options, before data and budget are known.

    To add a recipe, define a subclass with a `kind`, a frozen dataclass whose fields
    are the options, and add it to `RECIPES`.
    """

    kind: ClassVar[str]
    """Name of the recipe in `dpjax.release` and on the command line."""

    costs: ClassVar[tuple[type[Guarantee], ...]] = (PureDP,)
    """Classes of the guarantees that its mechanisms have."""

    def statistic(self, net: BayesNet, adjacency: Adjacency) -> Statistic:
        """Return the statistic to measure for a network: its counts."""
        return NetworkCounts(net)

    def marginals(
        self, schema: Variables, order: int, adjacency: Adjacency
    ) -> Statistic:
        """Return the statistic for all tables of `order` variables, if it has one."""
        raise ValueError(
            f"`mechanism` must be auto, k-norm or fourier for marginals, got {self}."
        )

    def of_tables(
        self, schema: Variables, tables: Sequence[Sequence[str]], adjacency: Adjacency
    ) -> TableStatistic:
        """Return the statistic to measure for tables without a network: counts."""
        return MarginalCounts.of_tables(schema, tables)

    @abc.abstractmethod
    def accepts(self, statistic: Statistic) -> bool:
        """Return whether this recipe can release the statistic."""

    def paid_by(self, budget: Guarantee) -> "tuple[Recipe, Guarantee]":
        """Return the recipe to use for a budget, and what a row may cost.

        Raises:
            ValueError: if no cost of a class in `costs` is known to imply the budget.
        """
        row = budget.per_record()
        if isinstance(row, self.costs):
            return self, row
        if row.pure_epsilon and PureDP in self.costs:
            return self, PureDP(row.pure_epsilon, row.adjacency)
        kinds = " or ".join(kind.kind for kind in self.costs)
        raise ValueError(
            f"`budget` must be one that the mechanism {self} can spend, of kind "
            f"{kinds}, got {row.kind}: see `dpjax.privacy.zcdp_budget`."
        )

    @abc.abstractmethod
    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> ExactMechanism:
        """Make the mechanism of cost ≤ `budget` for n records; n is None if private.

        Args:
            statistic: the statistic to release.
            budget: the most that a release may cost a row, as from `paid_by`.
            n: the number of records if it is public, else None.

        Raises:
            ValueError: if an option is out of range or does not fit the statistic.
        """

    def __str__(self) -> str:
        return self.kind


RECIPES: Registry[Recipe] = Registry(Recipe, "recipe")
"""Classes of recipes, by their `kind`; `release` knows a recipe that is added."""


def recipe_of(
    mechanism: str | Recipe, options: Mapping[str, Any] | None = None
) -> Recipe:
    """Return the recipe with this name and these options, or a given recipe itself.

    Raises:
        ValueError: if the name or an option is unknown.
    """
    if isinstance(mechanism, Recipe):
        return mechanism
    if isinstance(mechanism, type) and issubclass(mechanism, Recipe):
        name = mechanism.__name__
        raise ValueError(
            f"`mechanism` must be a recipe, got the class {name}: make one, `{name}()`."
        )
    try:
        made = RECIPES[mechanism]
    except ValueError:
        one_of(tuple(RECIPES), mechanism=mechanism)
        raise
    names = [field.name for field in fields(made)]
    for name in (name for name in options or {} if name not in names):
        raise ValueError(
            f"`{name}` must be left out: the options of {mechanism} are "
            f"{', '.join(names) or 'none'}."
        )
    return made(**options or {})


def refuse_options(what: str, **options: object) -> None:
    """Raise `ValueError` if an option, which does not fit `what`, is not None."""
    for name in [name for name, value in options.items() if value is not None]:
        raise ValueError(f"`{name}` must be left out for {what}.")
