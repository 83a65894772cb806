"""How each mechanism learns a network's tables, from exact counts to estimates.

A learner is stacked over budgets, so that one compiled program serves them all.
"""

__all__ = [
    "MECHANISMS",
    "NoisyTables",
    "PlainTables",
    "SampledTables",
    "TableLearner",
    "learners",
]

import abc
from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32

from dpjax._checks import one_of
from dpjax._types import Cells, Key, Scalars
from dpjax.experiments.stacks import stacked
from dpjax.graph import BayesNet
from dpjax.mechanisms import DiscreteLaplace, GridPosterior, Mechanism, PosteriorSample
from dpjax.privacy import REPLACE_ONE, Epsilon
from dpjax.projection import project
from dpjax.statistics import FamilyCounts, FourierCoefficients, TableStatistic


class TableLearner(eqx.Module):
    """From the exact counts of a network's maximal families to all its tables."""

    @abc.abstractmethod
    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """Estimated tables, laid out as the network's.

        Args:
            key: typed.
            counts: exact, of `FamilyCounts(net).measured`.

        Privacy:
            A simulation on data that the caller may see.
        """


class PlainTables(TableLearner):
    """Without privacy: the posterior mean given exact counts.

    Args:
        statistic: of the network.
        prior: Dirichlet parameter of every cell, > 0; one a budget if stacked.
    """

    statistic: TableStatistic = eqx.field(static=True)
    prior: Scalars

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """The posterior mean; the key is not used."""
        tables = self.statistic.tables(counts.astype(float))
        return _posterior_mean(self.statistic, tables, self.prior)


class NoisyTables(TableLearner):
    """Noise on a statistic, clamped to what is possible and taken at its word.

    What `dpjax.models.dirichlet_posterior` makes of a release: its mean.

    Args:
        statistic: what is measured.
        noise: what is added to it.
        prior: Dirichlet parameter of every cell, > 0; one a budget if stacked.
        n: number of records, where it is public.
        projected: whether noisy tables are made to agree first, by least squares.
    """

    statistic: TableStatistic = eqx.field(static=True)
    noise: Mechanism
    prior: Scalars
    n: int | None = eqx.field(static=True)
    projected: bool = eqx.field(static=True, default=False)

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """The posterior mean given noisy counts."""
        exact = self.statistic.of_counts(counts, self.n or 0)
        values = self.noise.sample(key, exact).astype(float)
        if self.projected:
            values = project(self.statistic.counted, values, self.n)
        tables = jnp.clip(self.statistic.tables(values, self.n), 0, self.n)
        return _posterior_mean(self.statistic, tables, self.prior)


class SampledTables(TableLearner):
    """One sample from the tempered posterior, its tables truncated.

    Args:
        statistic: of the network.
        law: of the sample.
    """

    statistic: TableStatistic = eqx.field(static=True)
    law: PosteriorSample

    def fit(self, key: Key, counts: Int32[Array, " m"]) -> Cells:
        """The sample."""
        return self.law.sample(key, self.statistic.tables(counts))


def _posterior_mean(statistic: TableStatistic, tables: Cells, prior: Scalars) -> Cells:
    return statistic.layout.normalise(tables + jnp.asarray(prior, float))


def _noisy(statistic, epsilons, adjacency, n, prior, projected=False) -> NoisyTables:
    noise = DiscreteLaplace.calibrate_many(epsilons, statistic.sensitivity(adjacency))
    public = n if adjacency == REPLACE_ONE else None
    every = np.full(len(epsilons), prior, float)
    return NoisyTables(statistic, noise, every, public, projected)


def _laplace(net, epsilons, adjacency, n, prior) -> NoisyTables:
    return _noisy(FamilyCounts(net), epsilons, adjacency, n, prior)


def _projected(net, epsilons, adjacency, n, prior) -> NoisyTables:
    return _noisy(FamilyCounts(net), epsilons, adjacency, n, prior, projected=True)


def _fourier(net, epsilons, adjacency, n, prior) -> NoisyTables:
    statistic = FourierCoefficients.of_network(net, adjacency)
    return _noisy(statistic, epsilons, adjacency, n, prior)


def _posterior_sample(net, epsilons, adjacency, n, prior) -> SampledTables:
    public = n if adjacency == REPLACE_ONE else None
    laws = [
        GridPosterior.posterior(
            net.layout, epsilon, adjacency, n=public, prior=str(prior)
        ).in_reals()
        for epsilon in epsilons
    ]
    return SampledTables(FamilyCounts(net), stacked(laws))


def _non_private(net, epsilons, adjacency, n, prior) -> PlainTables:
    return PlainTables(FamilyCounts(net), np.full(len(epsilons), prior, float))


_Make = Callable[[BayesNet, Sequence[Epsilon], str, int, float], TableLearner]
_MAKE: dict[str, _Make] = {
    "laplace": _laplace,
    "projected": _projected,
    "fourier": _fourier,
    "posterior-sample": _posterior_sample,
    "non-private": _non_private,
}
MECHANISMS = tuple(_MAKE)


def learners(
    net: BayesNet,
    names: Sequence[str],
    epsilons: Sequence[Epsilon],
    adjacency: str,
    n: int,
    prior: float,
) -> dict[str, TableLearner]:
    """A stack of learners a mechanism, an entry a budget; calibrated on the host."""
    for name in names:
        one_of(MECHANISMS, mechanism=name)
    return {name: _MAKE[name](net, epsilons, adjacency, n, prior) for name in names}
