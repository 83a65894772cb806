"""The base class of experiments, and simulated mechanisms that estimate tables."""

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
from dpjax.posteriors import point_estimate
from dpjax.privacy import REPLACE_ONE, Epsilon, Guarantee
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts, TableStatistic
from dpjax.tables.gathers import add, marginals
from dpjax.tables.projection import project


class Experiment(abc.ABC):
    """An experiment for `dpjax.sweep`: it prepares repeats and scores mechanisms.

    Call `dpjax.sweep(key, experiment, records, mechanisms=experiment.mechanisms(names,
    epsilons), epsilons=epsilons, prepare=experiment.prepare, repeats=1000)`.
    """

    def mechanisms(
        self, names: Sequence[str | Recipe], epsilons: Sequence[Epsilon]
    ) -> dict[str, Any]:
        """Return mechanisms by name, with parameters stacked over the budgets.

        Raises:
            ValueError: if a name is not that of a mechanism, or a budget is not > 0.
        """
        return {str(name): self.learner(name, epsilons) for name in names}

    @abc.abstractmethod
    def learner(self, name: Any, epsilons: Sequence[Epsilon]) -> Any:
        """Return the mechanism `name`, with parameters stacked over budgets."""


def refuse_unprepared(data: Any, kind: type) -> None:
    """Raise `ValueError` unless a repeat's data are what `prepare` returns."""
    if not isinstance(data, kind):
        raise ValueError(
            "`prepare` must be given to `dpjax.sweep` with this experiment: "
            "`prepare=experiment.prepare`."
        )


class TableLearner(eqx.Module):
    """A simulated mechanism, which estimates a network's tables from exact counts.

    Its parameters may be stacked over budgets, for one compiled program for all.
    """

    @property
    def sampled(self) -> bool:
        """Whether tables are drawn by a mechanism, which adds no noise to counts."""
        return False

    @abc.abstractmethod
    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Simulate a release, and estimate tables from it, laid out by `net.layout`.

        Args:
            key: typed JAX key.
            counts: exact counts of the tables of `NetworkCounts(net).measured`.

        Privacy:
            The result is not private: show it only to those who may see the data.
        """


class ReleasedTables(TableLearner):
    """Estimate tables by released parameters, or from released counts.

    From counts, the estimate is the mean of a plug-in posterior ("plug-in"), the same
    after the noisy tables are made consistent by least squares ("projected"), or
    `dpjax.posteriors.point_estimate` ("noise-aware").

    Raises:
        ValueError: if the statistic is not of tables that node tables determine.
    """

    statistic: TableStatistic = eqx.field(static=True)
    mechanism: Mechanism | None  # makes the statistic private; None: no privacy
    prior: Scalars  # Dirichlet parameter of each cell; one for each budget if stacked
    n: int | None = eqx.field(static=True)  # number of records, if it is public
    estimate: str = eqx.field(static=True, default="plug-in")

    def __check_init__(self):
        net = self.statistic.network
        known = () if net is None else map(set, NetworkCounts(net).measured.groups)
        sets, known = map(set, self.statistic.counted.groups), list(known)
        if any(not any(group <= other for other in known) for group in sets):
            raise ValueError(
                "`mechanism` must measure tables within those of the network to be "
                f"simulated here, got one of {self.statistic.kind}."
            )

    @property
    def sampled(self) -> bool:
        """Whether the mechanism releases tables."""
        return isinstance(self.mechanism, ParameterMechanism)

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Add noise to exact counts of node tables, and estimate the tables."""
        statistic, net = self.statistic, self.statistic.network
        assert net is not None  # checked at construction
        measured = NetworkCounts(net).measured
        if statistic.counted != measured:
            counts = marginals(measured, statistic.counted)(add, counts, 0)
        values = statistic.of_counts(counts, self.n or 0)
        mechanism = self.mechanism
        if mechanism is not None:
            values = mechanism.sample(key, values)
        if isinstance(mechanism, ParameterMechanism):
            return mechanism.parameters(jnp.atleast_2d(values)).mean(axis=0)
        values = values.astype(float)
        if mechanism is not None and self.estimate == "noise-aware":
            released = Released(values, statistic, mechanism, self.n)
            return point_estimate(released, jnp.asarray(self.prior, float)).theta
        if self.estimate == "projected":
            values = project(statistic.counted, values, self.n)
        tables = jnp.clip(statistic.tables(values, self.n), 0, self.n)
        return statistic.layout.normalise(tables + jnp.asarray(self.prior, float))


class SampledTables(TableLearner):
    """Estimate tables by a sample from the tempered, truncated network posterior."""

    statistic: TableStatistic = eqx.field(static=True)
    law: PosteriorSample

    @property
    def sampled(self) -> bool:
        """True, since the tables are a sample."""
        return True

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Draw tables from the posterior, given exact counts of node tables."""
        return self.law.sample(key, self.statistic.tables(counts))


def of_recipe(
    recipe: Recipe, net: BayesNet, budget: Guarantee, n: int, prior: float
) -> ReleasedTables:
    """Return the learner that simulates releases of n records by a recipe.

    Raises:
        ValueError: if the recipe is not for networks, or an option is out of range.
    """
    statistic = recipe.statistic(net, budget.adjacency)
    if not isinstance(statistic, TableStatistic):
        raise ValueError(f"`mechanism` must be one for networks, got {recipe}.")
    public = n if budget.adjacency == REPLACE_ONE else None
    made = recipe.mechanism(statistic, budget, public).for_studies()
    return ReleasedTables(statistic, made, jnp.asarray(prior, float), public)


def repeated(value: float, times: int) -> Float[Array, " e"]:
    """Return a vector with `value` repeated `times` times, in default precision."""
    return jnp.asarray(np.full(times, value), float)


def stacked(many: Sequence[Any]) -> Any:
    """Stack the arrays of modules with equal structure along a new leading axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *many)
