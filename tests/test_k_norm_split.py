"""Budgets of K-norm noise that the user gives to groups of tables."""

import json
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import KNorm, recipes
from dpjax.statistics import Contrasts
from tests.helpers.neighbours import assert_spends_exactly, changes

BOTH = ["replace-one", "add-remove"]
TWO, THREE = [0, 1], [0, 1, 2]
NET = dp.BayesNet.from_parents(
    {"a": TWO, "b": THREE, "c": TWO, "d": TWO},
    {"a": [], "b": ["a"], "c": ["a"], "d": ["c"]},
)
RECORDS = np.array([[0, 1, 1, 0], [1, 2, 0, 1], [1, 1, 0, 0]], np.uint8)
SPLIT = {("b", "c"): "1/4", "d": "3/4"}
SMALL = dp.BayesNet.from_parents(
    {"a": TWO, "b": TWO, "c": TWO}, {"a": [], "b": ["a"], "c": ["a"]}
)


def release(split=SPLIT, epsilon=1, adjacency="replace-one", **options):
    return dp.release(
        NET, RECORDS, epsilon=epsilon, adjacency=adjacency,
        mechanism=recipes.KNorm(split), **options
    )  # fmt: skip


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_loss_is_the_sum_of_the_budgets_and_no_less(adjacency):
    statistic = Contrasts.of_network(SMALL, adjacency)
    made = KNorm.of_tables({"b": "1/3", "c": "1/2"}, statistic, adjacency)
    assert made.guarantee().epsilon == Fraction(5, 6)
    still = made.probability([0] * statistic.length)
    differences = {tuple(z) for z in changes(statistic)}
    worst = max(still / made.probability(z) for z in differences)
    assert_spends_exactly("5/6", worst)


@pytest.mark.parametrize("adjacency", BOTH)
def test_each_group_has_its_tables_and_its_budget(adjacency):
    statistic = Contrasts.of_network(NET, adjacency)
    made = KNorm.of_tables(SPLIT, statistic, adjacency)
    tables = [
        {statistic.blocks[i].group[-1] for star in group for i in star}
        for group in made.groups
    ]
    assert [{NET.names[i] for i in found} for found in tables] == [{"b", "c"}, {"d"}]
    assert made.epsilons == (Fraction(1, 4), Fraction(3, 4))


@pytest.mark.parametrize("adjacency", BOTH)
def test_inference_knows_the_budget_of_each_group(adjacency):
    statistic = Contrasts.of_network(NET, adjacency)
    both = {("b", "c"): "1/4", "d": "1/4"}
    once, twice = (
        KNorm.of_tables(split, statistic, adjacency).normal_numbers(
            jnp.zeros(statistic.length, jnp.int32), 3
        )
        for split in (both, {**both, "d": "1/2"})
    )
    ratio = np.asarray(once.deviation / twice.deviation)
    start = statistic.counted.offsets[-2]
    assert statistic.blocks[-1].group[-1] == NET.names.index("d")
    np.testing.assert_allclose(ratio[:start], 1, rtol=1e-6)
    np.testing.assert_allclose(ratio[start:], 2, rtol=1e-6)


def test_tables_with_a_common_margin_form_a_star():
    net = dp.BayesNet.from_parents(
        {x: TWO for x in "xabc"}, {"x": [], "a": ["x"], "b": ["x"], "c": ["x"]}
    )
    statistic = Contrasts.of_network(net, "replace-one")
    apart = KNorm.of_tables({"c,b": "1/2", "a": "1/2"}, statistic, "replace-one")
    assert sorted(len(star) for group in apart.groups for star in group) == [1, 2]


def test_a_release_is_saved_and_verified(tmp_path):
    one = release()
    assert str(one.guarantee().epsilon) == "1"
    one.save(tmp_path / "release.json")
    again = dp.load(tmp_path / "release.json")
    assert again.mechanism == one.mechanism
    np.testing.assert_array_equal(again.values, one.values)


def test_names_in_a_text_are_those_in_a_sequence():
    found = release({"b, c": "1/4", "d": "3/4"}).mechanism
    assert found == release().mechanism


def test_a_variable_whose_name_has_a_comma_is_one_table():
    net = dp.BayesNet.from_parents({"x,y": TWO, "z": TWO}, {"x,y": [], "z": []})
    statistic = Contrasts.of_network(net, "add-remove")
    made = KNorm.of_tables({"x,y": "1/4", "z": "3/4"}, statistic, "add-remove")
    assert len(made.groups) == 2


def test_budgets_are_for_each_row_of_a_person():
    recipe = recipes.KNorm(SPLIT)
    one = dp.release(
        NET, RECORDS, epsilon=1, adjacency="add-remove", contributions=2,
        mechanism=recipe,
    )  # fmt: skip
    assert one.mechanism.epsilons == (Fraction(1, 8), Fraction(3, 8))
    each, _ = recipe.paid_by(one.guarantee())
    assert each.split == {("b", "c"): Fraction(1, 8), "d": Fraction(3, 8)}


WRONG = [
    ({"b": "1/4", "d": "3/4"}, "each measured table once"),
    ({"b,c": "1/4", "c,d": "3/4"}, "each measured table once"),
    ({"b,c": "1/4", "d": "1/2", "e": "1/4"}, "each measured table once"),
    ({"b,c": "1/4", "d": "1/2"}, "add up to the budget"),
    ({"b,c": "0", "d": "1"}, "finite number > 0"),
]


@pytest.mark.parametrize(("split", "message"), WRONG)
def test_a_wrong_split_is_one_line_and_costs_nothing(split, message):
    ledger = dp.Ledger(2, adjacency="replace-one")
    with pytest.raises(ValueError, match=f"^`split` must.*{message}") as error:
        release(split, ledger=ledger)
    assert "\n" not in str(error.value)
    assert ledger.remaining == 2


@pytest.mark.usefixtures("as_for_a_user")
def test_a_split_is_a_mapping():
    with pytest.raises(ValueError, match=r"^`split` must be a mapping from tables"):
        recipes.KNorm(["1/4", "3/4"])


def test_the_command_line_splits(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [",".join(NET.names), *(",".join(map(str, row)) for row in RECORDS)]
    (tmp_path / "records.csv").write_text("\n".join(rows) + "\n")
    levels = {name: {"levels": TWO} for name in "acd"} | {"b": {"levels": THREE}}
    (tmp_path / "schema.json").write_text(json.dumps({"variables": levels}))
    parents = {"a": [], "b": ["a"], "c": ["a"], "d": ["c"]}
    (tmp_path / "net.json").write_text(json.dumps({"parents": parents}))
    arguments = ["release", "records.csv", "--schema", "schema.json", "--epsilon", "1"]
    arguments += ["--network", "net.json"]
    arguments += ["--mechanism", "k-norm", "--adjacency", "add-remove"]
    arguments += ["--split", "b,c=1/4", "--split", "d=3/4", "--out", "release.json"]
    assert main(arguments) == 0
    capsys.readouterr()
    made = dp.load("release.json").mechanism
    assert made.epsilons == (Fraction(1, 4), Fraction(3, 4))
