"""The contract of experiments, and learners of a network's tables."""

__all__ = [
    "Experiment",
    "ReleasedTables",
    "SampledTables",
    "TableLearner",
    "of_recipe",
    "repeated",
    "stacked",
]

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32

from dpjax._types import Cells, Key, Scalars
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import Mechanism, ParameterMechanism, PosteriorSample
from dpjax.mechanisms.recipes import Recipe
from dpjax.privacy import REPLACE_ONE, Epsilon, Guarantee
from dpjax.statistics import NetworkCounts, TableStatistic
from dpjax.tables.projection import project


class Experiment(abc.ABC):
    """An experiment for sweeps, which prepares repeats and scores learners.

    Use: `dpjax.sweep(key, experiment, records, mechanisms=experiment.mechanisms(names,
    epsilons), epsilons=epsilons, prepare=experiment.prepare, repeats=1000)`.
    """

    def mechanisms(
        self, names: Sequence[str | Recipe], epsilons: Sequence[Epsilon]
    ) -> dict[str, Any]:
        """Return learners by name, stacked over budgets; calibrated on the host.

        Raises:
            ValueError: if there is no such mechanism, or a budget is not positive.
        """
        return {str(name): self.learner(name, epsilons) for name in names}

    @abc.abstractmethod
    def learner(self, name: Any, epsilons: Sequence[Epsilon]) -> Any:
        """Return one learner, stacked over budgets."""


class TableLearner(eqx.Module):
    """A method that estimates a network's tables from exact counts.

    A learner is stacked over budgets, so that one compiled program serves all of them.
    """

    @abc.abstractmethod
    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Estimate tables, in the network's layout.

        Args:
            key: typed JAX key.
            counts: exact counts of `NetworkCounts(net).measured`.

        Privacy:
            A simulation for those who may see the data.
        """


class ReleasedTables(TableLearner):
    """Learner of tables: mean of released parameters or of the plug-in posterior.

    Raises:
        ValueError: if the statistic is of neither all node tables nor the maximal ones.
    """

    statistic: TableStatistic = eqx.field(static=True)
    mechanism: Mechanism | None  # makes the statistic private; None: no privacy
    prior: Scalars  # Dirichlet parameter of every cell; one per budget if stacked
    n: int | None = eqx.field(static=True)  # number of records, if it is public
    # Whether noisy tables are first made consistent by least squares:
    projected: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        net = self.statistic.network
        if net is None or self.statistic.counted not in (
            NetworkCounts(net).measured,
            net.layout,
        ):
            raise ValueError(
                "`mechanism` must measure all tables of the network, or the maximal "
                f"ones, to be simulated here, got one of {self.statistic.kind}."
            )

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Draw a release, and estimate tables from it."""
        statistic, net = self.statistic, self.statistic.network
        assert net is not None  # checked at construction
        if statistic.counted == net.layout:
            counts = NetworkCounts(net).tables(counts)
        values = statistic.of_counts(counts, self.n or 0)
        if self.mechanism is not None:
            values = self.mechanism.sample(key, values)
        if isinstance(self.mechanism, ParameterMechanism):
            return self.mechanism.parameters(jnp.atleast_2d(values)).mean(axis=0)
        values = values.astype(float)
        if self.projected:
            values = project(statistic.counted, values, self.n)
        tables = jnp.clip(statistic.tables(values, self.n), 0, self.n)
        return statistic.layout.normalise(tables + jnp.asarray(self.prior, float))


class SampledTables(TableLearner):
    """Learner of tables: a sample from the tempered, truncated network posterior."""

    statistic: TableStatistic = eqx.field(static=True)
    law: PosteriorSample

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Return the sample."""
        return self.law.sample(key, self.statistic.tables(counts))


def of_recipe(
    recipe: Recipe, net: BayesNet, budget: Guarantee, n: int, prior: float
) -> ReleasedTables:
    """Make the learner that simulates releases by a recipe.

    Raises:
        ValueError: if the recipe is not for networks, or an option is out of range.
    """
    statistic = recipe.statistic(net, budget.adjacency)
    if not isinstance(statistic, TableStatistic):
        raise ValueError(f"`mechanism` must be one for networks, got {recipe}.")
    public = n if budget.adjacency == REPLACE_ONE else None
    made = recipe.mechanism(statistic, budget, public)
    return ReleasedTables(statistic, made, jnp.asarray(prior, float), public)


def repeated(value: float, times: int) -> Float[Array, " e"]:
    """Repeat a number for every budget."""
    return jnp.asarray(np.full(times, value), float)


def stacked(many: Sequence[Any]) -> Any:
    """Stack modules of one structure along a leading axis, on the host."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)
