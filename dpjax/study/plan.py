"""Expected error of each mechanism, by simulation without any data.

A repeat draws tables uniformly, records from them, and a release by each mechanism.
"""

__all__ = ["Outlook", "Plan", "plan"]

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._checks import one_of, typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import KNorm, Laplace, NetworkPosteriorSampler
from dpjax.mechanisms.recipes import Recipe, recipe_of
from dpjax.posteriors.prediction import sample_records
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    PureDP,
    exact_epsilon,
    rows_of,
)
from dpjax.statistics import Contrasts, FourierCoefficients, NetworkCounts
from dpjax.study.experiments.learners import (
    ReleasedTables,
    SampledTables,
    TableLearner,
    of_recipe,
)
from dpjax.study.metrics import table_errors
from dpjax.tables.counts import count


@dataclass(frozen=True)
class Outlook:
    """Expected errors of one mechanism's tables, and standard errors over repeats.

    The total variation and KL(true ‖ learned), in nats, are averaged over the rows of
    all tables, and over random tables, records and noise.
    """

    name: str  # the mechanism's name in `release`, or a method compared with it
    total_variation: float
    total_variation_se: float
    kl: float
    kl_se: float
    choices: dict[str, float | list[float]]  # noise scale, budgets, ω, temperature


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
        """The mechanism with the smallest expected total variation."""
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
) -> Plan:
    """Estimate the expected error of each mechanism under uniformly drawn tables.

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
    outlooks = []
    for name, (learner, choices) in candidates.items():
        same = jr.clone(key)  # the same simulated records for all
        errors = np.asarray(_errors(same, net, n, learner, repeats))
        mean, se = errors.mean(axis=0), errors.std(axis=0, ddof=1) / repeats**0.5
        (variation, kl), (variation_se, kl_se) = mean.tolist(), se.tolist()
        outlooks.append(Outlook(name, variation, variation_se, kl, kl_se, choices))
    private = sorted(outlooks[1:], key=lambda outlook: outlook.total_variation)
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
    for name, statistic in (
        ("laplace", counts),
        ("laplace, consistent", counts),
        ("fourier", FourierCoefficients.of_network(net, adjacency)),
    ):
        sensitivity = statistic.sensitivity(adjacency)
        noise = Laplace(jnp.asarray(float(epsilon)), sensitivity)
        projected = name == "laplace, consistent"
        learner = ReleasedTables(statistic, noise, flat, public, projected)
        candidates[name] = learner, {"scale": float(noise.scale)}
    with contextlib.suppress(ValueError):  # for too large a table or budget
        shaped = Contrasts.of_network(net, adjacency)
        noise = KNorm.of(shaped, PureDP(epsilon, adjacency))
        learner = ReleasedTables(shaped, noise.for_studies(), flat, public)
        candidates["k-norm"] = learner, {"groups": [float(x) for x in noise.epsilons]}
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


@eqx.filter_jit  # learners that differ only in numbers share a program
def _errors(
    key: Key, net: BayesNet, n: int, learner: TableLearner, repeats: int
) -> Array:
    """Total variation and KL, averaged over rows, of shape (repeats, 2)."""
    layout, measured = net.layout, NetworkCounts(net).measured

    def one(key):
        key_tables, key_records, key_noise = jr.split(key, 3)
        truth = layout.normalise(jr.exponential(key_tables, (layout.length,)))
        records = sample_records(key_records, truth, net, n)
        learned = learner.fit(key_noise, count(records, measured))
        errors = table_errors(layout, truth, learned)
        return jnp.stack([errors["total_variation"], errors["kl"]])

    return jax.lax.map(one, jr.split(key, repeats))
