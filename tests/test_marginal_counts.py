"""Counts of tables without a network: sensitivity, tables and files."""

import itertools
import json

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.audits import neighbouring
from dpjax.cli.main import main
from dpjax.mechanisms import recipes
from dpjax.privacy import budget_of, zcdp_budget
from dpjax.releases.entries import InconsistentRelease
from dpjax.releases.released import consistent
from dpjax.statistics import MarginalContrasts, MarginalCounts
from tests.helpers.checker import checker
from tests.helpers.release_files import rehashed

BOTH = ["replace-one", "add-remove"]
OVER = tuple(
    dp.Variable(name, tuple(range(size)))
    for name, size in zip("abcd", (2, 3, 2, 2), strict=True)
)
TABLES = {"apart": ("ab", "c"), "chained": ("ab", "bc", "cd"), "one": ("abd",)}
RECORDS = np.random.default_rng(0).integers(0, (2, 3, 2, 2), (300, 4)).astype("u1")


def made(name):
    return MarginalCounts.of_tables(OVER, [*map(tuple, TABLES[name])])


@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", TABLES)
def test_both_sensitivities_are_exact(name, adjacency):
    """All pairs of neighbours with one record, or with none and one."""
    statistic, measure = made(name), jax.jit(made(name).measure)
    n = 1 if adjacency == "replace-one" else 0
    every = [
        np.asarray(measure(one)) - np.asarray(measure(other))
        for one, other in neighbouring((2, 3, 2, 2), n, adjacency)
    ]
    stated = statistic.sensitivity(adjacency)
    assert stated.tight
    assert stated.value == max(np.abs(x).sum() for x in every)
    assert statistic.squared_sensitivity(adjacency).value == max(
        (x**2).sum() for x in every
    )
    ends = np.cumsum([*statistic.parts.values()])[:-1]
    parts = [np.split(x, ends) for x in every]
    assert statistic.part_sensitivity(adjacency).value == max(
        np.abs(y).sum() for x in parts for y in x
    )


def test_there_are_two_adjacencies():
    with pytest.raises(ValueError, match="`adjacency` must be"):
        made("one").sensitivity("both")


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_records(name):
    statistic = made(name)
    exact = jax.jit(statistic.measure)(RECORDS)
    assert exact.shape == (statistic.length,) == (statistic.least_length,)
    assert statistic.length == sum(statistic.parts.values())
    tables = statistic.layout.split(statistic.tables(exact))
    for group, table in zip(statistic.layout.groups, tables, strict=True):
        wanted = np.zeros([OVER[i].size for i in group])
        np.add.at(wanted, tuple(RECORDS[:, i] for i in group), 1)
        np.testing.assert_array_equal(table, wanted)


def test_margins_of_other_tables_are_left_out():
    statistic = MarginalCounts.of_tables(OVER, [("c", "b"), ("b",), ("b", "c"), ("d",)])
    assert statistic.groups == ((1, 2), (3,))
    assert [*statistic.parts] == ["b*c", "d"]


COSTS = {
    "laplace": lambda adjacency: budget_of(1, adjacency),
    "gaussian": lambda adjacency: zcdp_budget(adjacency, rho=1),
    "auto": lambda adjacency: zcdp_budget(adjacency, rho=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("mechanism", COSTS)
def test_a_release_is_verified_and_made_consistent(mechanism, adjacency, tmp_path):
    budget, path = COSTS[mechanism](adjacency), tmp_path / "r.json"
    released = dp.release(made("chained"), RECORDS, budget=budget, mechanism=mechanism)
    assert released.guarantee() == budget
    released.save(path)
    assert main(["verify", str(path)]) == 0
    again = dp.load(path)
    assert again.statistic == released.statistic
    assert again.network is None
    assert (
        dict(checker.check(path.read_text()))["tables"] == "3 measured, with 16 cells"
    )
    assert [*again.tables()] == [("a", "b"), ("b", "c"), ("c", "d")]
    ab, bc, cd = again.statistic.layout.split(consistent(again))
    np.testing.assert_allclose(ab.sum(0), bc.sum(1), rtol=1e-4)
    np.testing.assert_allclose(bc.sum(0), cd.sum(1), rtol=1e-4)


def test_the_budget_may_be_split_over_tables():
    split = {"a*b": "1/2", "c": "3/2"}
    budget, recipe = budget_of(2, "add-remove"), recipes.Laplace(split=split)
    released = dp.release(made("apart"), RECORDS, budget=budget, mechanism=recipe)
    assert released.guarantee() == budget
    checker.check(released.to_text())


@pytest.mark.slow
@pytest.mark.relaxed
@pytest.mark.parametrize("adjacency", BOTH)
def test_the_random_field_of_counts_is_near_the_records(adjacency, key):
    budget = zcdp_budget(adjacency, rho=1)
    released = dp.release(made("chained"), RECORDS, budget=budget)
    posterior = dp.posterior(released)
    assert posterior.method == "random-field"
    (law,) = posterior.query("b")
    exact = np.bincount(RECORDS[:, 1], minlength=3) / len(RECORDS)
    np.testing.assert_allclose(law, exact, atol=0.05)


@pytest.mark.parametrize("adjacency", BOTH)
def test_recipes_choose_counts_or_contrasts(adjacency):
    tables = [*itertools.combinations("abcd", 2)]
    for name, kind in (
        ("laplace", MarginalCounts),
        ("gaussian", MarginalCounts),
        ("k-norm", MarginalContrasts),
        ("auto", MarginalContrasts),
    ):
        recipe = recipes.recipe_of(name)
        assert isinstance(recipe.of_tables(OVER, tables, adjacency), kind)
    wide = tuple(dp.Variable(name, tuple(range(50))) for name in "ab")
    large = recipes.recipe_of("auto").of_tables(wide, [("a", "b")], adjacency)
    assert isinstance(large, MarginalCounts)  # too many numbers for one norm


WRONG = [
    (OVER, (), "groups"),
    (OVER, ((1, 0),), "groups"),
    (OVER, ((0, 0),), "groups"),
    (OVER, ((),), "groups"),
    (OVER, ((0, 4),), "groups"),
    (OVER, ((2,), (0, 1)), "groups"),
    (OVER, ((0, 1), (0, 1)), "groups"),
    (OVER, ((0, 1), (1,)), "groups"),
]


@pytest.mark.parametrize(("over", "groups", "name"), WRONG)
def test_groups_must_be_sorted_and_different(over, groups, name):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        MarginalCounts(over, groups)


@pytest.mark.parametrize("tables", [[], [()], [("a", "a")], [("a", "x")]])
def test_tables_must_name_variables(tables):
    with pytest.raises(ValueError, match="`tables` must"):
        MarginalCounts.of_tables(OVER, tables)


def turned(content):
    content["statistic"]["tables"][0].reverse()


def with_parents(content):
    content["parents"] = {x.name: [] for x in OVER}


ALTERED = {
    "a table turned around": turned,
    "an unknown variable": lambda x: x["statistic"].update(tables=[["x"]]),
    "no tables": lambda x: x["statistic"].update(tables=[]),
    "a table less": lambda x: x["statistic"]["tables"].pop(),
    "a smaller sensitivity": lambda x: x["sensitivity"].update(value=1),
    "a network": with_parents,
}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_file_is_refused(what):
    released = dp.release(
        made("chained"), RECORDS, epsilon=1, adjacency="add-remove", mechanism="laplace"
    )
    altered = json.loads(released.to_text())
    ALTERED[what](altered["content"])
    text = json.dumps(rehashed(altered))
    with pytest.raises(InconsistentRelease):
        dp.Released.from_text(text)
    with pytest.raises(checker.Refused):
        checker.check(text)
