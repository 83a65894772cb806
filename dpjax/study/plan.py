"""Expected error of each mechanism, by simulation without any data.

A repeat draws tables uniformly, unless a public guess of them is given, then records
from them, and a release by each mechanism.
"""

__all__ = ["Outlook", "Plan", "plan"]

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array

from dpjax._checks import one_of, typed_key, whole
from dpjax._types import Cells, Key
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import KNorm, Laplace, Mechanism, NetworkPosteriorSampler
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.posteriors.estimate.point_estimate import check_estimate, is_slow
from dpjax.posteriors.prediction import sample_records
from dpjax.posteriors.priors import flatten
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    PureDP,
    exact_epsilon,
    rows_of,
)
from dpjax.releases.released import Released
from dpjax.statistics import (
    Contrasts,
    FourierCoefficients,
    NetworkCounts,
    TableStatistic,
)
from dpjax.study.experiments.learners import (
    ReleasedTables,
    SampledTables,
    TableLearner,
    of_recipe,
)
from dpjax.study.metrics import table_errors
from dpjax.tables.counts import count

_ESTIMATES = {
    "": "plug-in",
    ", consistent": "projected",
    ", noise-aware": "noise-aware",
}
_FRESH = 1 << 14  # further records, from which the weights of rows are estimated
_AT_ONCE = 16  # repeats
_ROUNDING = 1e-3  # of the sum of a row


@dataclass(frozen=True)
class Outlook:
    """Expected errors of one mechanism's tables, and standard errors over repeats.

    The total variation and KL(true ‖ learned), in nats, are averaged over the rows of
    all tables. The divergence is KL(true ‖ learned) of the distribution of a record:
    the sum of the KL of all rows, each weighted by the probability of its parents'
    levels. All are averaged over tables, records and noise.
    """

    name: str  # the mechanism's name in `release`, or a method compared with it
    total_variation: float
    total_variation_se: float
    kl: float
    kl_se: float
    divergence: float
    divergence_se: float
    choices: dict[str, float | list[float]]  # noise scale, budgets, ω, temperature

    @classmethod
    def of(
        cls, name: str, mean: list[float], se: list[float], choices: dict
    ) -> "Outlook":
        """Make the outlook from means and standard errors, in this class's order."""
        (variation, kl, divergence), (variation_se, kl_se, divergence_se) = mean, se
        rows = variation, variation_se, kl, kl_se
        return cls(name, *rows, divergence, divergence_se, choices)


@dataclass(frozen=True)
class Plan:
    """Expected errors of all mechanisms, best first and the non-private method last."""

    epsilon: str
    adjacency: Adjacency
    n: int
    repeats: int
    outlooks: tuple[Outlook, ...]
    contributions: int = 1  # the most rows of a person, whose loss ε is

    @property
    def preferred(self) -> str:
        """The mechanism with the smallest expected divergence."""
        return self.outlooks[0].name


def plan(
    net: BayesNet,
    n: int,
    epsilon: Epsilon,
    adjacency: Adjacency,
    *,
    key: Key,
    contributions: int = 1,
    repeats: int = 32,
    prior: float = 1.0,
    mechanisms: Sequence[str | Recipe] = (),
    tables: Mapping[str, Any] | None = None,
) -> Plan:
    """Estimate the expected error of each mechanism.

    Noise on counts or coefficients is followed by the plug-in posterior mean, and by
    the point estimate that accounts for the noise ("laplace, noise-aware"), which is
    left out where it would be slow, and for coefficients of variables that are not
    binary.

    Args:
        net: the network.
        n: number of records; if it is private, a public guess and not the true number.
        epsilon: privacy loss, > 0.
        adjacency: "replace-one" or "add-remove".
        contributions: the most rows k of a person, whose privacy loss `epsilon` is. The
            mechanisms have ε / k for each of the n rows.
        key: typed key of the simulation.
        repeats: number of draws of tables, records and noise, at least 2.
        prior: Dirichlet parameter of every cell.
        mechanisms: further recipes to compare, or their names. All mechanisms except
            "map-cells", which is for networks with few rows, are compared anyway, and
            "k-norm" where it can be made for the tables and ε.
        tables: public guess of the table of each variable, by name, such as the mean
            of an earlier posterior. None: tables are drawn uniformly.

    Privacy:
        No data is used, so no privacy is lost.

    Raises:
        ValueError: if an argument is outside its range.
    """
    typed_key(key=key)
    whole(1, n=n)
    whole(2, repeats=repeats)
    one_of(ADJACENCIES, adjacency=adjacency)
    budget, rows = exact_epsilon(epsilon), rows_of(contributions)
    each = PureDP(budget, adjacency, contributions=rows).per_record()
    candidates = _candidates(net, n, each.epsilon, adjacency, prior)
    for recipe in map(recipe_of, mechanisms):
        recipe = recipe.per_record(rows) if rows > 1 else recipe
        learner = of_recipe(recipe, net, each, n, prior)
        candidates[str(recipe)] = learner, {}
    key_data, key_noise = jr.split(jr.clone(key))
    data = _simulated(key_data, net, n, repeats, _guess(net, tables))
    outlooks = []
    for name, (learner, choices) in candidates.items():
        same = jr.clone(key_noise)
        errors = np.asarray(_errors(same, net, learner, data))
        mean, se = errors.mean(axis=0), errors.std(axis=0, ddof=1) / repeats**0.5
        outlooks.append(Outlook.of(name, mean.tolist(), se.tolist(), choices))
    private = sorted(outlooks[1:], key=lambda outlook: outlook.divergence)
    found = (*private, outlooks[0])
    return Plan(str(budget), adjacency, n, repeats, found, rows)


def _candidates(
    net: BayesNet, n: int, epsilon: Fraction, adjacency: Adjacency, prior: float
) -> dict[str, tuple[TableLearner, dict]]:
    """Return, by name, learners with the choices that follow from ε."""
    counts, flat = NetworkCounts(net), jnp.asarray(prior, float)
    public = n if adjacency == REPLACE_ONE else None
    plain = ReleasedTables(counts, None, flat, public)
    candidates: dict[str, tuple[TableLearner, dict]] = {"non-private": (plain, {})}

    def add(name: str, statistic: TableStatistic, noise: Mechanism, **choices) -> None:
        for suffix, estimate in _ESTIMATES.items():
            if _is_of_interest(estimate, statistic, noise, public):
                learner = ReleasedTables(statistic, noise, flat, public, estimate)
                candidates[name + suffix] = learner, choices

    fourier = FourierCoefficients.of_network(net, adjacency)
    for name, statistic in (("laplace", counts), ("fourier", fourier)):
        sensitivity = statistic.sensitivity(adjacency)
        noise = Laplace(jnp.asarray(float(epsilon)), sensitivity)
        add(name, statistic, noise, scale=float(noise.scale))
    with contextlib.suppress(ValueError):  # for too large a table or budget
        shaped = Contrasts.of_network(net, adjacency)
        noise = KNorm.of(shaped, PureDP(epsilon, adjacency))
        groups = [float(x) for x in noise.epsilons]
        add("k-norm", shaped, noise.for_studies(), groups=groups)
    for name, make in (
        ("posterior-sample", NetworkPosteriorSampler.posterior),
        ("map", NetworkPosteriorSampler.map),
    ):
        law = make(net.layout, epsilon, adjacency, n=public, prior=str(prior))
        choices = {
            "temperature": float(law.temperature),
            "omega": sorted({float(omega) for omega in law.omegas()}),
        }
        candidates[name] = SampledTables(counts, law.in_reals()), choices
    return candidates


def _is_of_interest(
    estimate: str, statistic: TableStatistic, noise: Mechanism, n: int | None
) -> bool:
    """Return whether a way to estimate tables differs from others and is quick."""
    if estimate == "projected":
        return statistic.measured is not None  # other tables agree as released
    if estimate == "plug-in":
        return True
    coefficients = statistic.kind == FourierCoefficients.kind
    if coefficients and any(variable.size > 2 for variable in statistic.variables):
        return False  # known to be much less accurate than counts
    released = Released(jnp.zeros(statistic.length), statistic, noise, n)
    if is_slow(released):
        return False
    with contextlib.suppress(ValueError):
        check_estimate(released)
        return True
    return False


def _guess(net: BayesNet, tables: Mapping[str, Any] | None) -> Cells | None:
    """Return a guess of all tables in one vector, or None if there is none."""
    if tables is None:
        return None
    flat = flatten(net, tables, "tables")
    sums = net.layout.row_sums(flat)
    if not bool(jnp.all((flat >= 0) & (jnp.abs(sums - 1) < _ROUNDING))):
        raise ValueError("`tables` must have rows of probabilities with sum 1.")
    return flat / sums


@eqx.filter_jit
def _simulated(
    key: Key, net: BayesNet, n: int, repeats: int, tables: Cells | None
) -> tuple[Array, Array, Array]:
    """True tables, exact counts, and the weight of each cell's row, by repeat."""
    layout, measured = net.layout, NetworkCounts(net).measured

    def one(key):
        key_tables, key_records, key_fresh = jr.split(key, 3)
        truth = tables
        if truth is None:
            truth = layout.normalise(jr.exponential(key_tables, (layout.length,)))
        counts = count(sample_records(key_records, truth, net, n), measured)
        fresh = count(sample_records(key_fresh, truth, net, _FRESH), layout)
        return truth, counts, layout.row_sums(fresh.astype(float)) / _FRESH

    return jax.lax.map(one, jr.split(key, repeats))


@eqx.filter_jit  # learners that differ only in numbers share a program
def _errors(
    key: Key, net: BayesNet, learner: TableLearner, data: tuple[Array, Array, Array]
) -> Array:
    """Total variation and KL, averaged over rows, and divergence, (repeats, 3)."""

    def one(each):
        key, truth, counts, weights = each
        learned = learner.fit(key, counts)
        errors = table_errors(net.layout, truth, learned)
        divergence = jnp.sum(weights * (xlogy(truth, truth) - xlogy(truth, learned)))
        return jnp.stack([errors["total_variation"], errors["kl"], divergence])

    keys = jr.split(key, len(data[0]))
    return jax.lax.map(one, (keys, *data), batch_size=_AT_ONCE)
