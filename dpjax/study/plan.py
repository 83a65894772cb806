"""Expected error of each mechanism, by simulation without any data.

A repeat draws tables uniformly, unless a public guess of them is given, then records
from them, and a release by each mechanism.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import jax.random as jr

from dpjax._checks import typed_key, whole
from dpjax._types import Cells, Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.mixed_net import MixedNet
from dpjax.data.schema import Schema
from dpjax.mechanisms import KNorm, Laplace, Mechanism, NetworkPosteriorSampler
from dpjax.mechanisms.recipes import Gaussian, Recipe, recipe_of
from dpjax.posteriors.estimate.point_estimate import check_estimate, is_slow
from dpjax.posteriors.priors import flatten
from dpjax.privacy import (
    REPLACE_ONE,
    ZCDP,
    Adjacency,
    Epsilon,
    Guarantee,
    PureDP,
    exact_epsilon,
    rows_of,
    zcdp_budget,
)
from dpjax.releases.released import Released
from dpjax.statistics import (
    Contrasts,
    FamilyStatistic,
    FourierCoefficients,
    MixedTotals,
    NetworkCounts,
    TableStatistic,
)
from dpjax.study.event_plan import event_outlooks
from dpjax.study.experiments.learners import (
    ReleasedTables,
    SampledTables,
    TableLearner,
    of_recipe,
)
from dpjax.study.family_plan import family_outlooks
from dpjax.study.mixed_plan import BINS, MixedData, leaf_outlooks
from dpjax.study.outlooks import NON_PRIVATE, Outlook, Plan
from dpjax.study.simulated import Simulated, errors_of_each, simulated

_ESTIMATES = {
    "": "plug-in",
    ", consistent": "projected",
    ", noise-aware": "noise-aware",
}
_ROUNDING = 1e-3  # of the sum of a row


def plan(
    what: BayesNet | MixedNet | FamilyStatistic,
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
    states: int | None = None,
    delta: Epsilon | None = None,
) -> Plan:
    """Estimate the expected error of each mechanism.

    Noise on counts or coefficients is followed by the plug-in posterior mean, and by
    the point estimate that accounts for the noise ("laplace, noise-aware"), which is
    left out where it would be slow, and for coefficients of variables that are not
    binary.

    For a family, noise on sums is followed by the most likely parameters, and data have
    the expected statistics of parameters within usual limits (`family_outlooks`).

    For a network with numeric leaves, each of which costs as much as two tables, noise
    is compared with that on counts of numbers in bins (`leaf_outlooks`).

    Args:
        what: the network, or the statistic of an exponential family.
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
        tables: public guess of the table of each variable of a network, by name, such
            as the mean of an earlier posterior. None: tables are drawn uniformly.
        states: number of hidden states of an event log (`event_outlooks`), for the
            network of one. The error is that of a hidden Markov model.
        delta: for a network, δ that would be acceptable. Gaussian noise and samples
            are then compared too, with the ρ from which (ε, δ) follows.

    Privacy:
        No data is used, so no privacy is lost.

    Raises:
        ValueError: if an argument is outside its range.
    """
    typed_key(key=key)
    whole(1, n=n)
    whole(2, repeats=repeats)
    n, repeats = int(n), int(repeats)
    budget, rows = exact_epsilon(epsilon), rows_of(contributions)
    pure = PureDP(budget, adjacency, contributions=rows)
    each = pure.per_record()
    recipes = [recipe_of(recipe).paid_by(pure)[0] for recipe in mechanisms]
    if isinstance(what, FamilyStatistic) and what.counts_levels:
        what = _one_variable(what)
    if delta is not None and (not isinstance(what, BayesNet) or states is not None):
        raise ValueError("`delta` must be left out, unless for a network of levels.")
    if states is not None:
        if not isinstance(what, BayesNet) or recipes or tables is not None:
            raise ValueError("`states` must be for an event log alone.")
        found = event_outlooks(key, what, states, n, each, repeats)
    elif isinstance(what, BayesNet):
        candidates = _candidates(what, n, each.epsilon, adjacency, prior)
        if delta is not None:
            cost = zcdp_budget(
                adjacency, epsilon=budget, delta=delta, contributions=rows
            )
            candidates |= _of_rho(what, n, cost.per_record(), prior)
        for x in recipes:
            candidates[str(x)] = of_recipe(x, what, each, n, prior), {}
        key_data, key_noise = jr.split(jr.clone(key))
        data = simulated(key_data, what, n, repeats, _guess(what, tables))
        found = _network_outlooks(key_noise, what, data, candidates)
    elif isinstance(what, MixedNet):
        if tables is not None:
            raise ValueError("`tables` must be left out for numeric leaves.")
        found = _mixed_outlooks(key, what, n, each, repeats, prior, recipes)
    else:
        found = family_outlooks(key, what, n, each, repeats, recipes)
    drawn = "drawn uniformly" if tables is None else "as given"
    return Plan(str(budget), adjacency, n, repeats, tuple(found), rows, drawn)


def _one_variable(statistic: FamilyStatistic) -> BayesNet:
    """The network of a categorical family's variable."""
    schema = Schema(statistic.variables)
    return BayesNet.from_parents(schema, {name: [] for name in schema})


def _network_outlooks(
    key: Key,
    net: BayesNet,
    data: Simulated,
    candidates: dict[str, tuple[TableLearner, dict]],
) -> list[Outlook]:
    found = errors_of_each(key, net, [x for x, _ in candidates.values()], data)
    errors = dict(zip(candidates, found, strict=True))
    return _ordered(
        Outlook.of(name, errors[name], net.names, choices, learner.sampled)
        for name, (learner, choices) in candidates.items()
    )


def _mixed_outlooks(
    key: Key,
    net: MixedNet,
    n: int,
    budget: PureDP,
    repeats: int,
    prior: float,
    recipes: Sequence[Recipe],
) -> list[Outlook]:
    """Return outlooks of numeric leaves, and of Laplace noise on counts in bins."""
    key_data, key_noise = jr.split(jr.clone(key))
    statistic = MixedTotals(net, budget.adjacency)
    for recipe in recipes:
        if not recipe.accepts(statistic):
            raise ValueError(f"`mechanisms` must be for numeric leaves, got {recipe}.")
    data = MixedData.of(key_data, statistic, n, repeats)
    binned = _candidates(data.binned, n, budget.epsilon, budget.adjacency, prior)
    price = {"tables": float(len(NetworkCounts(data.binned).measured.groups))}
    in_bins = {
        name.replace("laplace", f"{BINS} bins"): (learner, choices | price)
        for name, (learner, choices) in binned.items()
        if name.startswith("laplace")
    }
    found = _network_outlooks(key_noise, data.binned, data.tables, in_bins)
    leaves = leaf_outlooks(jr.clone(key_noise), data, budget, prior, recipes)
    return _ordered([*leaves, *found])


def _ordered(outlooks: Iterable[Outlook]) -> list[Outlook]:
    """Sort outlooks by expected divergence, with the non-private one last."""
    return sorted(outlooks, key=lambda x: (x.name == NON_PRIVATE, x.divergence))


def _candidates(
    net: BayesNet, n: int, epsilon: Fraction, adjacency: Adjacency, prior: float
) -> dict[str, tuple[TableLearner, dict]]:
    """Return, by name, learners with the choices that follow from ε."""
    counts, flat = NetworkCounts(net), jnp.asarray(prior, float)
    public = n if adjacency == REPLACE_ONE else None
    plain = ReleasedTables(counts, None, flat, public)
    candidates: dict[str, tuple[TableLearner, dict]] = {NON_PRIVATE: (plain, {})}

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
    return candidates | _samples(net, n, PureDP(epsilon, adjacency), prior)


def _samples(
    net: BayesNet, n: int, cost: Guarantee, prior: float, suffix: str = ""
) -> dict[str, tuple[TableLearner, dict]]:
    """Return learners that draw tables at this cost for one row."""
    public = n if cost.adjacency == REPLACE_ONE else None
    candidates = {}
    for name, tempered in (("posterior-sample", False), ("map", True)):
        options = {"n": public, "prior": str(prior), "tempered_prior": tempered}
        law = NetworkPosteriorSampler.of(net.layout, cost, **options)
        choices = {
            "temperature": float(law.temperature),
            "omega": sorted({float(omega) for omega in law.omegas()}),
        }
        learner = SampledTables(NetworkCounts(net), law.in_reals())
        candidates[name + suffix] = learner, choices
    return candidates


def _of_rho(
    net: BayesNet, n: int, cost: ZCDP, prior: float
) -> dict[str, tuple[TableLearner, dict]]:
    """Return learners by Gaussian noise and by samples, of this cost for one row."""
    counts, flat = NetworkCounts(net), jnp.asarray(prior, float)
    public = n if cost.adjacency == REPLACE_ONE else None
    noise = Gaussian().mechanism(counts, cost, public)
    candidates = _samples(net, n, cost, prior, ", ρ")
    for suffix, estimate in _ESTIMATES.items():
        if _is_of_interest(estimate, counts, noise, public):
            learner = ReleasedTables(counts, noise, flat, public, estimate)
            candidates["gaussian" + suffix] = learner, {"rho": float(cost.rho)}
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
