"""The recipe of Gaussian noise, with a table or, if it is too wide, without one."""

from dataclasses import dataclass
from typing import ClassVar

from dpjax.mechanisms.discrete_gaussian import DiscreteGaussian
from dpjax.mechanisms.gaussian_noise import GaussianNoise
from dpjax.mechanisms.recipe import RECIPES, Recipe
from dpjax.mechanisms.wide_gaussian import WideGaussian
from dpjax.noise.gaussian_tables import SHORTEST
from dpjax.privacy import ZCDP, ApproximateDP, Guarantee, zcdp_budget
from dpjax.statistics import Statistic


@RECIPES.add
@dataclass(frozen=True)
class Gaussian(Recipe):
    """Discrete Gaussian noise on any statistic, for a budget of kind zCDP.

    It is less noise than Laplace noise if one record changes many numbers, as the
    counts of a large network.
    """

    kind: ClassVar[str] = "gaussian"
    costs: ClassVar[tuple[type[Guarantee], ...]] = (ZCDP,)

    def paid_by(self, budget: Guarantee) -> tuple[Recipe, Guarantee]:
        """Return itself, and the budget or the ρ from which its (ε, δ) follows."""
        if budget.kind == ApproximateDP.kind and budget.numbers["delta"]:
            both = budget.per_record().numbers
            return self, zcdp_budget(
                budget.adjacency, epsilon=both["epsilon"], delta=both["delta"]
            )
        return super().paid_by(budget)

    def accepts(self, statistic: Statistic) -> bool:
        """Return True, since noise fits any statistic."""
        return True

    def mechanism(
        self, statistic: Statistic, budget: Guarantee, n: int | None
    ) -> GaussianNoise:
        """Make the mechanism for the statistic, at the cost `budget`."""
        cost = ZCDP.of(budget, "budget")
        squared = statistic.squared_sensitivity(cost.adjacency)
        wide = cost.rho < SHORTEST * int(squared.value)
        return (WideGaussian if wide else DiscreteGaussian).of(statistic, budget)
