"""The recipe "auto": the noise that leaves more information."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.data.intervals import Interval
from dpjax.mechanisms import recipes
from dpjax.mechanisms.norm_groups import choose_groups
from dpjax.privacy import budget_of
from dpjax.statistics import Contrasts, Sufficient
from tests.helpers.networks import random_records

BOTH = ["replace-one", "add-remove"]
TWO = [0, 1]
STAR = dp.BayesNet.naive_bayes({"t": TWO, "a": TWO, "b": TWO, "c": TWO}, "t")
WIDE = [*range(30)]
ONE_TABLE = dp.BayesNet.from_parents({"a": WIDE, "b": TWO}, {"a": [], "b": ["a"]})


def released(net, rng, adjacency="replace-one"):
    records = random_records(rng, net, 20)
    return dp.release(net, records, epsilon=1, adjacency=adjacency, mechanism="auto")


@pytest.mark.parametrize("adjacency", BOTH)
def test_tables_that_share_variables_get_k_norm_noise(adjacency, rng):
    one = released(STAR, rng, adjacency)
    assert one.mechanism.kind == "k-norm"
    assert one.guarantee() == budget_of(1, adjacency)


@pytest.mark.parametrize("adjacency", BOTH)
def test_one_table_gets_laplace_noise(adjacency, rng):
    one = released(ONE_TABLE, rng, adjacency)
    assert one.mechanism.kind == "discrete-laplace"
    assert one.guarantee() == budget_of(1, adjacency)


def test_tables_that_are_too_large_for_k_norm_noise_get_laplace_noise(rng):
    levels = {"a": WIDE, "b": WIDE, "c": WIDE, "d": [*range(40)]}
    net = dp.BayesNet.from_parents(
        levels, {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]}
    )
    assert released(net, rng).mechanism.kind == "discrete-laplace"


def test_less_noise_that_leaves_less_information_is_not_taken(rng):
    """Its variance is about .55 of that of Laplace noise, whose information counts."""
    levels = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1, 2]}
    net = dp.BayesNet.from_parents(levels, {"a": [], "b": ["a"], "c": ["b"]})
    _, variance = choose_groups(Contrasts.of_network(net, "replace-one"))
    laplace = 2 * 4**2 * 18
    assert laplace / 2 < variance < 0.6 * laplace
    assert released(net, rng).mechanism.kind == "discrete-laplace"


@pytest.mark.parametrize(
    ("family", "columns", "adjacency", "kind"),
    [
        ("gaussian", 1, "add-remove", "family-k-norm"),
        ("gaussian", 1, "replace-one", "discrete-laplace"),
        ("exponential", 1, "add-remove", "discrete-laplace"),
        ("multivariate-gaussian", 3, "replace-one", "family-k-norm"),
        ("linear-regression", 3, "add-remove", "family-k-norm"),
        ("multivariate-gaussian", 45, "replace-one", "discrete-laplace"),
    ],
)
def test_a_model_gets_the_noise_of_less_variance(family, columns, adjacency, kind):
    """Laplace noise for one number, for gains below a tenth and for many numbers."""
    variables = tuple(Interval(f"x{i}", 0.0, 100.0) for i in range(columns))
    what = Sufficient.of(family, variables, adjacency)
    recipe = recipes.Auto()
    assert recipe.accepts(what)
    assert recipe.mechanism(what, budget_of(1, adjacency), None).kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_choice_leaves_more_information(adjacency, key):
    """Total variance of the measured cells, of simulated noise on the star's tables."""
    chosen, other = recipes.Auto(), recipes.Laplace()
    errors = []
    for recipe in (chosen, other):
        statistic = recipe.statistic(STAR, adjacency)
        made = recipe.mechanism(statistic, budget_of("1/10", adjacency), 0)
        exact = jnp.zeros((2_000, statistic.length), jnp.int32)
        noise = eqx.filter_jit(made.for_studies().sample)(jr.clone(key), exact)
        tables = jax.jit(statistic.tables, static_argnums=1)(noise.astype(float), 0)
        errors.append(float((np.asarray(tables) ** 2).sum(axis=-1).mean()))
    assert errors[0] < 0.45 * errors[1]
