"""What each mechanism would cost in accuracy, before any data is touched.

By simulation: tables drawn uniformly, records drawn from them, each mechanism applied.
Nothing here sees a record; asking is free, and may be repeated.
"""

__all__ = ["Outlook", "Plan", "plan"]

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from dpjax._checks import one_of, typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.mechanisms import Laplace, NetworkPosteriorSampler, Recipe
from dpjax.mechanisms.recipes import recipe_of
from dpjax.posteriors.prediction import sample_records
from dpjax.privacy import (
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Epsilon,
    budget_of,
    exact_epsilon,
)
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.study.experiments.errors import table_errors
from dpjax.study.experiments.table_learners import (
    NoisyTables,
    PlainTables,
    SampledTables,
    TableLearner,
    of_recipe,
)
from dpjax.tables.counts import count


@dataclass(frozen=True)
class Outlook:
    """What to expect of one mechanism.

    Attributes:
        name: of the mechanism, as `release` knows it; or what else is compared.
        total_variation: between a row of the true tables and of those that are learned,
            mean over rows, tables and noise.
        total_variation_se: its standard error over repeats.
        kl: the same for KL(true ‖ learned), in nats.
        kl_se: its standard error.
        choices: noise scale, or truncation and temperature.
    """

    name: str
    total_variation: float
    total_variation_se: float
    kl: float
    kl_se: float
    choices: dict[str, float | list[float]]


@dataclass(frozen=True)
class Plan:
    """Outlooks for one network, n, ε and adjacency, the best private one first."""

    epsilon: str
    adjacency: Adjacency
    n: int
    repeats: int
    outlooks: tuple[Outlook, ...]

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
    repeats: int = 32,
    prior: float = 1.0,
    mechanisms: Sequence[str | Recipe] = (),
) -> Plan:
    """Expected error of the mechanisms, if all tables were equally likely.

    All but map-cells, which is for a few rows, unless it is named.

    Args:
        net: the network.
        n: number of records, or a public guess of it: never the true one where n is
            private.
        epsilon: privacy loss, > 0.
        adjacency: "replace-one" or "add-remove".
        key: of the simulation.
        repeats: of tables, records and noise, at least 2.
        prior: Dirichlet parameter of every cell.
        mechanisms: further recipes, or their names, to be compared with the others.

    Privacy:
        Touches no data: costs nothing.

    Raises:
        ValueError: if an argument is outside its range.
    """
    typed_key(key=key)
    whole(1, n=n)
    whole(2, repeats=repeats)
    one_of(ADJACENCIES, adjacency=adjacency)
    budget = exact_epsilon(epsilon)
    candidates = _candidates(net, n, budget, adjacency, prior)
    for recipe in map(recipe_of, mechanisms):
        learner = of_recipe(recipe, net, budget_of(budget, adjacency), n, prior)
        candidates[str(recipe)] = learner, {}
    outlooks = []
    for name, (learner, choices) in candidates.items():
        same = jr.clone(key)  # all learn from the same simulated records
        errors = np.asarray(_errors(same, net, n, learner, repeats))
        mean, se = errors.mean(axis=0), errors.std(axis=0, ddof=1) / repeats**0.5
        (variation, kl), (variation_se, kl_se) = mean.tolist(), se.tolist()
        outlooks.append(Outlook(name, variation, variation_se, kl, kl_se, choices))
    private = sorted(outlooks[1:], key=lambda outlook: outlook.total_variation)
    return Plan(str(budget), adjacency, n, repeats, (*private, outlooks[0]))


def _candidates(
    net, n, epsilon, adjacency, prior
) -> dict[str, tuple[TableLearner, dict]]:
    """By name, how tables are learned, and the choices that ε entails."""
    counts = NetworkCounts(net)
    plain = PlainTables(counts, jnp.asarray(prior, float))
    candidates: dict[str, tuple[TableLearner, dict]] = {"non-private": (plain, {})}
    public = n if adjacency == REPLACE_ONE else None  # as `release` has it
    for name, statistic, projected in (
        ("laplace", counts, False),
        ("laplace, consistent", counts, True),
        ("fourier", FourierCoefficients.of_network(net, adjacency), False),
    ):
        sensitivity = statistic.sensitivity(adjacency)
        noise = Laplace(jnp.asarray(float(epsilon)), sensitivity)
        flat = jnp.asarray(prior, float)
        learner = NoisyTables(statistic, noise, flat, public, projected)
        candidates[name] = learner, {"scale": float(noise.scale)}
    exact_prior = str(prior)
    for name, make in (
        ("posterior-sample", NetworkPosteriorSampler.posterior),
        ("map", NetworkPosteriorSampler.map),
    ):
        law = make(net.layout, epsilon, adjacency, n=public, prior=exact_prior)
        choices = {
            "temperature": float(law.temperature),
            "omega": sorted({float(omega) for omega in law.omegas()}),
        }
        candidates[name] = SampledTables(counts, law.in_reals()), choices
    return candidates


@eqx.filter_jit  # laws that differ in numbers alone share a program
def _errors(
    key: Key, net: BayesNet, n: int, learner: TableLearner, repeats: int
) -> Array:
    """Total variation and KL of a row, a line a repeat."""
    layout, measured = net.layout, NetworkCounts(net).measured

    def one(key):
        key_tables, key_records, key_noise = jr.split(key, 3)
        truth = layout.normalise(jr.exponential(key_tables, (layout.length,)))
        records = sample_records(key_records, truth, net, n)
        learned = learner.fit(key_noise, count(records, measured))
        errors = table_errors(layout, truth, learned)
        return jnp.stack([errors["total_variation"], errors["kl"]])

    return jax.lax.map(one, jr.split(key, repeats))
