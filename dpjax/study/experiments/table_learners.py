"""Learners: methods that estimate a network's tables from simulated releases.

A learner is stacked over budgets, so that one compiled program serves all of them.
"""

__all__ = [
    "MECHANISMS",
    "NoisyTables",
    "PlainTables",
    "ReleasedTables",
    "SampledTables",
    "Setting",
    "TableLearner",
    "learners",
    "of_recipe",
]

import abc
from collections.abc import Callable, Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from dpjax._checks import one_of
from dpjax._types import Cells, Key, Scalars
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import (
    DiscreteLaplace,
    ExactMechanism,
    Laplace,
    Mechanism,
    NetworkPosteriorSampler,
    ParameterMechanism,
    PosteriorSample,
)
from dpjax.mechanisms.recipes import Recipe
from dpjax.privacy import (
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    Guarantee,
    Sensitivity,
    budget_of,
    exact_epsilon,
)
from dpjax.statistics import FourierCoefficients, NetworkCounts, TableStatistic
from dpjax.study.experiments.stacks import repeated, stacked
from dpjax.tables.projection import project


class TableLearner(eqx.Module):
    """A method that estimates a network's tables from exact counts."""

    @abc.abstractmethod
    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Estimate tables, in the network's layout.

        Args:
            key: typed.
            counts: exact counts of `NetworkCounts(net).measured`.

        Privacy:
            A simulation for those who may see the data.
        """


class PlainTables(TableLearner):
    """Estimation without privacy, by the posterior mean.

    Args:
        statistic: statistic of the network.
        prior: Dirichlet parameter of every cell, > 0; one per budget if stacked.
    """

    statistic: TableStatistic = eqx.field(static=True)
    prior: Scalars

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Return the posterior mean; the key is not used."""
        tables = self.statistic.tables(counts.astype(float))
        return _posterior_mean(self.statistic, tables, self.prior)


class NoisyTables(TableLearner):
    """Estimation by the mean of the plug-in posterior given a noisy statistic.

    Args:
        statistic: the measured statistic.
        noise: the noise added to it.
        prior: Dirichlet parameter of every cell, > 0; one per budget if stacked.
        n: number of records, if it is public.
        projected: whether noisy tables are first made consistent by least squares.
    """

    statistic: TableStatistic = eqx.field(static=True)
    noise: Mechanism
    prior: Scalars
    n: int | None = eqx.field(static=True)
    projected: bool = eqx.field(static=True, default=False)

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Return the posterior mean given noisy counts."""
        exact = self.statistic.of_counts(counts, self.n or 0)
        values = self.noise.sample(key, exact).astype(float)
        if self.projected:
            values = project(self.statistic.counted, values, self.n)
        tables = jnp.clip(self.statistic.tables(values, self.n), 0, self.n)
        return _posterior_mean(self.statistic, tables, self.prior)


class SampledTables(TableLearner):
    """Estimation by one sample from the tempered, truncated posterior.

    Args:
        statistic: statistic of the network.
        law: distribution of the sample.
    """

    statistic: TableStatistic = eqx.field(static=True)
    law: PosteriorSample

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Return the sample."""
        return self.law.sample(key, self.statistic.tables(counts))


class ReleasedTables(TableLearner):
    """Plug-in estimation from a release by any exact mechanism.

    Args:
        statistic: the measured statistic, of all or of the maximal node tables.
        mechanism: the mechanism that makes it private.
        prior: Dirichlet parameter of every cell, > 0; one per budget if stacked.
        n: number of records, if it is public.

    Raises:
        ValueError: if the statistic depends on other tables.
    """

    statistic: TableStatistic = eqx.field(static=True)
    mechanism: ExactMechanism
    prior: Scalars
    n: int | None = eqx.field(static=True)

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
        """Return the mean of released parameters, or the posterior mean."""
        statistic, net = self.statistic, self.statistic.network
        assert net is not None  # checked at construction
        if statistic.counted == net.layout:
            counts = NetworkCounts(net).tables(counts)
        exact = statistic.of_counts(counts, self.n or 0)
        values = self.mechanism.sample(key, exact)
        if isinstance(self.mechanism, ParameterMechanism):
            drawn = self.mechanism.parameters(jnp.atleast_2d(values))
            return drawn.mean(axis=0)
        tables = jnp.clip(statistic.tables(values.astype(float), self.n), 0, self.n)
        return _posterior_mean(statistic, tables, self.prior)


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


def _posterior_mean(statistic: TableStatistic, tables: Cells, prior: Scalars) -> Cells:
    return statistic.layout.normalise(tables + jnp.asarray(prior, float))


class Setting(NamedTuple):
    """Parameters that the learners of one experiment share.

    Attributes:
        net: the network.
        epsilons: the budgets.
        adjacency: "replace-one" or "add-remove".
        n: number of training records.
        prior: Dirichlet parameter of every cell.
        exact_noise: whether to draw the integer noise of a release instead of floats.
    """

    net: BayesNet
    epsilons: Sequence[Epsilon]
    adjacency: Adjacency
    n: int
    prior: float
    exact_noise: bool

    @property
    def public(self) -> int | None:
        """The number of records, if it is public."""
        return self.n if self.adjacency == REPLACE_ONE else None

    @property
    def priors(self) -> Float[Array, " e"]:
        """The prior, once per budget."""
        return repeated(self.prior, len(self.epsilons))


def _noisy(
    setting: Setting, statistic: TableStatistic, projected: bool = False
) -> NoisyTables:
    sensitivity = statistic.sensitivity(setting.adjacency)
    if setting.exact_noise:
        noise = DiscreteLaplace.calibrate_many(setting.epsilons, sensitivity)
    else:
        change = Sensitivity(float(sensitivity.value), setting.adjacency)
        exact = [exact_epsilon(epsilon) for epsilon in setting.epsilons]
        noise = stacked([Laplace(float(epsilon), change) for epsilon in exact])
    return NoisyTables(statistic, noise, setting.priors, setting.public, projected)


def _posterior_sample(setting: Setting) -> SampledTables:
    laws = [
        NetworkPosteriorSampler.posterior(
            setting.net.layout,
            epsilon,
            setting.adjacency,
            n=setting.public,
            prior=str(setting.prior),
        ).in_reals()
        for epsilon in setting.epsilons
    ]
    return SampledTables(NetworkCounts(setting.net), stacked(laws))


_MAKE: dict[str, Callable[[Setting], TableLearner]] = {
    "laplace": lambda s: _noisy(s, NetworkCounts(s.net)),
    "projected": lambda s: _noisy(s, NetworkCounts(s.net), projected=True),
    "fourier": lambda s: _noisy(s, FourierCoefficients.of_network(s.net, s.adjacency)),
    "posterior-sample": _posterior_sample,
    "non-private": lambda s: PlainTables(NetworkCounts(s.net), s.priors),
}
MECHANISMS = tuple(_MAKE)


def learners(
    setting: Setting, names: Sequence[str | Recipe]
) -> dict[str, TableLearner]:
    """Make one learner per mechanism, stacked over budgets; calibrated on the host.

    Args:
        setting: the shared parameters.
        names: names in `MECHANISMS`, or recipes whose mechanisms differ only in numbers
            over the budgets.

    Raises:
        ValueError: if there is no such mechanism, or a budget is not positive.
    """
    made = {}
    for name in names:
        if isinstance(name, Recipe):
            made[str(name)] = _of_budgets(name, setting)
        else:
            one_of(MECHANISMS, mechanism=name)
            made[name] = _MAKE[name](setting)
    return made


def _of_budgets(recipe: Recipe, setting: Setting) -> TableLearner:
    budgets = [budget_of(x, setting.adjacency) for x in setting.epsilons]
    facts = (setting.n, setting.prior)
    return stacked([of_recipe(recipe, setting.net, x, *facts) for x in budgets])
