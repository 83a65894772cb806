"""Nouns of a test's own: a statistic, a mechanism, a recipe and a family, from outside.

They are released, saved, loaded, verified, audited, swept, planned and learned from,
and nothing in the package knows of them.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.families import FAMILIES, Bernoulli
from dpjax.mechanisms import (
    MECHANISMS,
    DiscreteLaplace,
    ExactMechanism,
)
from dpjax.mechanisms.base import MechanismWithLaw
from dpjax.mechanisms.recipes import RECIPES, Recipe
from dpjax.privacy import PureDP, Sensitivity
from dpjax.statistics import STATISTICS, NetworkCounts, Statistic, Sufficient

NET = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
TABLE = {"x": [0, 1, 1, 0, 1], "y": [1, 1, 0, 0, 1]}
RECORDS = np.array([TABLE["x"], TABLE["y"]], np.uint8).T
BOTH = ["replace-one", "add-remove"]


@dataclass(frozen=True)
class Agreements(Statistic):
    """How many records have equal cells, and how many have not."""

    kind: ClassVar[str] = "test-agreements"
    over: tuple

    variables = property(lambda self: self.over)
    length = 2

    def measure(self, records):
        equal = (records == records[:, :1]).all(axis=1)
        return jnp.stack([equal.sum(), (~equal).sum()]).astype(jnp.int32)

    def sensitivity(self, adjacency):
        return Sensitivity(2 if adjacency == BOTH[0] else 1, adjacency, tight=True)

    def describe(self):
        return {"kind": self.kind}

    @classmethod
    def from_description(cls, described, variables, net, adjacency):
        return cls(variables)


class Twice(MechanismWithLaw, ExactMechanism):
    """The sum of two draws of the usual noise, each with half of the budget."""

    kind: ClassVar[str] = "test-twice"
    additive: ClassVar[bool] = True
    half: DiscreteLaplace

    @classmethod
    def of(cls, epsilon, statistic, adjacency):
        change = statistic.sensitivity(adjacency)
        return cls(DiscreteLaplace.calibrate(Fraction(epsilon) / 2, change))

    adjacency = property(lambda self: self.half.adjacency)

    def accepts(self, statistic):
        return True

    def sample(self, key, exact):
        one, other = jr.split(key)
        return self.half.sample(one, self.half.sample(other, exact))

    def draw(self, exact):
        return self.half.draw(self.half.draw(exact))

    def log_prob(self, released, exact):
        steps = jnp.arange(-60, 61).astype(released.dtype)
        shape = (-1,) + (1,) * released.ndim
        first = self.half.log_prob(steps.reshape(shape), jnp.zeros(shape, int))
        rest = self.half.log_prob(released[None] - steps.reshape(shape), exact[None])
        return jnp.log(jnp.exp(first + rest).sum(axis=0))

    def guarantee(self):
        return PureDP(2 * self.half.guarantee().epsilon, self.adjacency)

    def describe(self):
        return {"kind": self.kind, "epsilon": str(self.guarantee().epsilon)}

    @classmethod
    def from_description(cls, described, statistic, cost, n):
        return cls.of(cost.epsilon, statistic, cost.adjacency)

    def is_possible_output(self, values, length):
        return values.shape == (length,)


@dataclass(frozen=True)
class TwiceRecipe(Recipe):
    """Noise by `Twice`."""

    kind: ClassVar[str] = "test-twice"

    def accepts(self, statistic):
        return True

    def mechanism(self, statistic, budget, n):
        return Twice.of(budget.epsilon, statistic, budget.adjacency)


@dataclass(frozen=True)
class Coin(Bernoulli):
    """A family under a name of its own."""

    name: ClassVar[str] = "test-coin"


@pytest.fixture(autouse=True, scope="module")
def registered():
    STATISTICS.add(Agreements)
    MECHANISMS.add(Twice)
    RECIPES.add(TwiceRecipe)
    FAMILIES.add_as(Coin.name, Coin)
    yield
    for registry in (STATISTICS, MECHANISMS, RECIPES, FAMILIES):
        for kind in [x for x in registry if x.startswith("test-")]:
            del registry._kinds[kind]


def published(what, table, path, adjacency, **options):
    """A release, after it was saved, verified by the command line and loaded."""
    ledger = dp.Ledger(3, adjacency=adjacency)
    released = dp.release(
        what, table, epsilon=2, adjacency=adjacency, ledger=ledger, **options
    )
    assert ledger.spent == 2
    released.save(path)
    assert main(["verify", str(path)]) == 0
    loaded = dp.load(path)
    assert eqx.tree_equal(loaded.values, released.values)
    assert loaded.statistic == released.statistic
    assert loaded.guarantee() == released.guarantee()
    return loaded


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("mechanism", ["laplace", "test-twice"])
def test_a_statistic_of_ones_own_is_published(mechanism, adjacency, tmp_path):
    what = Agreements(NET.variables)
    path = tmp_path / "r.json"
    released = published(what, TABLE, path, adjacency, mechanism=mechanism)
    assert released.statistic.kind == "test-agreements"
    with pytest.raises(ValueError, match="`mechanism` must be one for test-agreements"):
        dp.release(what, TABLE, epsilon=1, adjacency=adjacency, mechanism="map")


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
def test_a_mechanism_of_ones_own_is_published_and_learned_from(adjacency, tmp_path):
    recipe = TwiceRecipe()
    path = tmp_path / "r.json"
    released = published(NET, RECORDS, path, adjacency, mechanism=recipe)
    assert isinstance(released.mechanism, Twice)
    posterior = dp.posterior(released, noise_aware=False)
    np.testing.assert_allclose(posterior.mean()["y"].sum(-1), 1, rtol=1e-6)


def test_a_file_that_claims_less_is_refused(tmp_path):
    path = tmp_path / "r.json"
    published(NET, RECORDS, path, "replace-one", mechanism="test-twice")
    text = path.read_text()
    path.write_text(text.replace('"epsilon":"2"', '"epsilon":"1"'))
    assert main(["verify", str(path)]) == 1


@pytest.mark.slow
def test_a_mechanism_of_ones_own_is_swept_audited_and_planned(key):
    counts, adjacency = NetworkCounts(NET), "replace-one"
    made = Twice.of(2, counts, adjacency)
    result = dp.sweep(
        key,
        lambda key, mechanism, exact: {"noisy": mechanism.sample(key, exact)},
        counts.measure(jnp.asarray(RECORDS)),
        epsilons=["2"],
        mechanisms={"twice": jax.tree.map(lambda leaf: np.asarray(leaf)[None], made)},
        repeats=3,
    )
    assert result["noisy"].shape == (1, 1, 3, 4)
    planned = dp.plan(
        NET, 50, 2, adjacency, key=dp.study_key(0), repeats=4, mechanisms=["test-twice"]
    )
    [found] = [x for x in planned.outlooks if x.name == "test-twice"]
    assert 0 < found.total_variation < 1
    neighbours = (jnp.array(x, jnp.int32) for x in ([3, 0, 0, 2], [2, 0, 0, 3]))
    verdict = dp.audit(dp.study_key(1), made.sample, *neighbours, epsilon=2, draws=2000)
    assert verdict.consistent


@pytest.mark.slow
def test_a_family_of_ones_own_is_published(tmp_path):
    variables = (dp.Variable("x", (0, 1)),)
    statistic = Sufficient.of("test-coin", variables, "replace-one")
    path = tmp_path / "r.json"
    released = published(statistic, {"x": [0, 1, 1]}, path, "replace-one")
    assert released.statistic.family == Coin()
    mean = dp.posterior(released, noise_aware=False).mean()
    assert 0 < float(mean) < 1


def test_kinds_are_taken_once():
    with pytest.raises(ValueError, match="`kind` must be new for a mechanism"):
        MECHANISMS.add_as("discrete-laplace", Twice)
    with pytest.raises(ValueError, match="`kind` must be that of a statistic, one of"):
        STATISTICS["none such"]
