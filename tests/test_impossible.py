"""Impossible combinations: refused in records, released as 0, without probability."""

import itertools
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import jsonschema
import numpy as np
import polars as pl
import pytest
from scipy import stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data import impossible, probabilities
from dpjax.data.impossible import excluded_cells
from dpjax.data.records import as_records
from dpjax.event_logs import event_network
from dpjax.mechanisms import recipes
from dpjax.mechanisms.recipes import RECIPES
from dpjax.posteriors import (
    PlugInPosterior,
    exact_posterior,
    gibbs_posterior,
    point_estimate,
)
from dpjax.posteriors.methods import METHODS
from dpjax.releases.entries import InconsistentRelease
from dpjax.statistics import FourierCoefficients, NetworkCounts, exact_counts
from dpjax.study import coverage, plan
from dpjax.study.experiments import NetworkExperiment
from dpjax.tables.layout import TableLayout
from tests.helpers.neighbours import data_sets, neighbouring_pairs
from tests.helpers.release_files import rehashed

VARIABLES = {
    "sex": ["female", "male"],
    "age": {"lower": 0, "upper": 100, "edges": [10, 50]},
    "pregnant": ["no", "yes"],
    "clinic": ["a", "b"],
}
IMPOSSIBLE = [
    {"sex": "male", "pregnant": "yes"},
    {"age": ["[0, 10)", "[50, 100]"], "pregnant": "yes"},
]
SCHEMA = dp.Schema(VARIABLES, impossible=IMPOSSIBLE)
PARENTS = {"pregnant": ["sex", "age"], "clinic": ["pregnant"]}
NET = dp.BayesNet.from_parents(SCHEMA, PARENTS)
FREE = dp.BayesNet.from_parents(VARIABLES, PARENTS)
TABLE = {
    "sex": ["female", "male", "female", "female"],
    "age": [30, 5, 70, 31],
    "pregnant": ["yes", "no", "no", "yes"],
    "clinic": ["a", "a", "b", "a"],
}
WRONG = {**TABLE, "pregnant": ["yes", "yes", "no", "yes"]}
STATED = "`table` must have no record with a combination that is declared impossible"


def is_possible(record):
    sex, age, pregnant, _ = record
    return not pregnant or (sex == 0 and age == 1)


POSSIBLE = [x for x in itertools.product(*map(range, NET.sizes)) if is_possible(x)]
ZEROS = np.array(
    [
        [[[False, not is_possible((sex, age, 1, 0))] for age in range(3)]]
        for sex in range(2)
    ]
)


def released(table=TABLE, **options):
    options = {"epsilon": 1, "adjacency": "add-remove", **options}
    return dp.release(NET, table, **options)


# --- declarations ---


def test_a_schema_keeps_its_impossible_combinations(tmp_path):
    document = SCHEMA.to_json()
    jsonschema.validate(document, dp.Schema.json_schema())
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(document))
    assert dp.Schema.from_json(path) == SCHEMA != dp.Schema(VARIABLES)
    assert NET.schema == SCHEMA
    assert SCHEMA.select(["sex", "pregnant"]).impossible == (
        (("sex", (1,)), ("pregnant", (1,))),
    )
    assert SCHEMA.select(["sex", "age"]).impossible == ()
    without = dp.BayesNet.from_parents(SCHEMA, {"sex": [], "clinic": []})
    assert without.impossible == ()


@pytest.mark.parametrize(
    ("declared", "stated"),
    [
        ({"sex": "male", "pregnant": "yes"}, "list of mappings"),
        ("sex", "list of mappings"),
        ([{"sex": "male"}], "two or more"),
        ([["sex", "male"]], "two or more"),
        ([{"sex": "male", "weight": 1}], "'weight' is no categorical"),
        ([{"sex": "male", "dose": 1}], "'dose' is no categorical"),
        ([{"sex": "other", "pregnant": "yes"}], "'sex' are not some of its levels"),
        ([{"sex": [], "pregnant": "yes"}], "'sex' are not some of its levels"),
        ([{"sex": ["male", "female"], "pregnant": "yes"}], "'sex' are not some"),
        ([{"sex": [["male"]], "pregnant": "yes"}], "'sex' are not some"),
    ],
)
@pytest.mark.usefixtures("as_for_a_user")
def test_a_declaration_with_a_mistake_is_refused(declared, stated):
    variables = {**VARIABLES, "dose": {"lower": 0, "upper": 1}}
    with pytest.raises(ValueError, match=stated) as error:
        dp.Schema(variables, impossible=declared)
    assert str(error.value).startswith("`impossible` must be a list of mappings")
    assert "\n" not in str(error.value)


def test_a_network_must_be_able_to_state_what_is_impossible():
    with pytest.raises(ValueError, match="make 'age' a parent of 'pregnant'"):
        dp.BayesNet.from_parents(SCHEMA, {**PARENTS, "age": [], "pregnant": ["sex"]})
    turned = {**PARENTS, "sex": ["age", "pregnant"], "pregnant": ["age"]}
    assert dp.BayesNet.from_parents(SCHEMA, turned).zeros.sum() == 3
    never = [{"sex": "male", "pregnant": x} for x in ("yes", "no")]
    schema = dp.Schema(VARIABLES, impossible=never)
    with pytest.raises(ValueError, match="must leave 'pregnant' a level"):
        dp.BayesNet.from_parents(schema, PARENTS)


# --- records ---


def as_file(table, folder):
    path = folder / "table.csv"
    pl.DataFrame(table).write_csv(path)
    return path


def as_codes(table, _):
    return dp.Schema(VARIABLES).encode(table)


def as_groups(table, _):
    frame = pl.DataFrame(table)
    groups = [["sex"], ["age"], ["sex", "age", "pregnant"], ["pregnant", "clinic"]]
    layout = NetworkCounts(NET).measured
    groups = [[NET.names[i] for i in group] for group in layout.groups]
    return dp.data.Grouped(
        [frame.group_by(group).agg(pl.len().alias("n")) for group in groups], "n"
    )


TABLES = {
    "a dictionary": lambda table, _: table,
    "a frame": lambda table, _: pl.DataFrame(table),
    "a lazy frame": lambda table, _: pl.DataFrame(table).lazy(),
    "a file": as_file,
    "batches": lambda table, _: iter([pl.DataFrame(table)] * 2),
    "level indices": as_codes,
    "groups": as_groups,
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_record_with_an_impossible_combination_is_refused(kind, tmp_path):
    make = TABLES[kind]
    assert released(make(TABLE, tmp_path)).statistic.net == NET
    ledger = dp.Ledger(9, adjacency="add-remove")
    with pytest.raises(ValueError, match=STATED) as error:
        released(make(WRONG, tmp_path), ledger=ledger)
    assert ledger.spent == 0
    assert "sex, pregnant" in str(error.value)
    assert not any(value in str(error.value) for value in ("yes", "30", "[0, 10)"))
    with pytest.raises(ValueError, match=STATED):
        exact_counts(NET, make(WRONG, tmp_path))


def test_every_combination_is_refused():
    for age in (5, 100):
        with pytest.raises(ValueError, match="some in age, pregnant"):
            released({**TABLE, "age": [30, 5, 70, age]})


@pytest.mark.parametrize("column", ["multiplicity", "weights", "id"])
def test_it_is_refused_whatever_the_rows_stand_for(column):
    beside = {"m": [1, 2, 3, 1]}
    options = {column: "m", "contributions": None if column == "multiplicity" else 3}
    assert released({**TABLE, **beside}, **options).statistic.net == NET
    with pytest.raises(ValueError, match=STATED):
        released({**WRONG, **beside}, **options)


@pytest.mark.parametrize("kind", ["a dictionary", "a file", "batches"])
def test_a_schema_refuses_it(kind, tmp_path):
    make = TABLES[kind]
    assert len(SCHEMA.encode(make(TABLE, tmp_path))) in (4, 8)
    with pytest.raises(ValueError, match=STATED):
        SCHEMA.encode(make(WRONG, tmp_path))
    if kind == "a dictionary":
        SCHEMA.encode(WRONG, absent="pregnant")  # the column is not read
        with pytest.raises(ValueError, match="age, pregnant"):
            SCHEMA.encode({**TABLE, "age": [30, 5, 70, 70]}, absent="sex")


def test_traced_records_are_not_looked_at():
    codes = as_codes(WRONG, None)
    same = jax.jit(lambda rows: as_records(rows, SCHEMA))(codes)
    assert np.array_equal(same, codes)
    with pytest.raises(ValueError, match=STATED):
        as_records(codes, SCHEMA)


# --- releases ---


@pytest.mark.slow
def test_cells_of_impossible_combinations_are_zero_and_others_noisy():
    exact = exact_counts(NET, TABLE)
    zeros = NET.zeros
    table = zeros[5 : 5 + 12].reshape(2, 3, 2)
    expected = [[not is_possible((s, a, 1, 0)) for a in range(3)] for s in range(2)]
    assert np.array_equal(table[..., 1], expected)
    assert not table[..., 0].any()
    assert zeros.sum() == 5
    measured = NetworkCounts(NET).zeros
    draws = np.array([released().values for _ in range(40)])
    assert (draws[:, measured] == 0).all()
    noisy = (draws != exact).mean(axis=0)
    assert (noisy[~measured] > 0).all()  # each is 0 with probability below 1e-10


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("families", ["maximal", "all"])
def test_zeros_change_no_sensitivity(adjacency, families):
    statistic = NetworkCounts(NET, families)
    sensitivity = statistic.sensitivity(adjacency)
    same = NetworkCounts(FREE, families).sensitivity(adjacency)
    assert sensitivity.value == same.value
    assert not sensitivity.tight
    each = {x: np.asarray(statistic.measure(np.array([x]))) for x in POSSIBLE}
    none = np.zeros(statistic.length, int)
    sets = list(data_sets(POSSIBLE, range(3)))
    totals = {data: sum((each[x] for x in data), none) for data in sets}
    assert all((total[statistic.zeros] == 0).all() for total in totals.values())
    worst = max(
        np.abs(totals[a] - totals[b]).sum()
        for a, b in neighbouring_pairs(sets, POSSIBLE, adjacency)
    )
    assert worst == sensitivity.value


def test_a_release_with_zeros_is_saved_and_checked(tmp_path):
    path = tmp_path / "release.json"
    made = released()
    made.save(path)
    document = json.loads(path.read_text())
    assert document["content"].get("impossible") == SCHEMA.to_json()["impossible"]
    loaded = dp.load(path)
    assert loaded.net == NET
    assert loaded.schema == SCHEMA
    assert np.array_equal(loaded.values, made.values)
    assert document["version"] == 3
    content = document["content"]

    def refused(message, **altered):
        path.write_text(json.dumps(rehashed(document, **altered)))
        with pytest.raises(InconsistentRelease, match=message):
            dp.load(path)

    values = np.array(content["values"])
    values[np.flatnonzero(NetworkCounts(NET).zeros)[0]] = 1
    refused("must be 0 for impossible", values=values.tolist())
    refused("entries of content", impossible=[])
    refused("two or more", impossible=[{"sex": "male"}])
    sampled = dp.release(
        FREE, TABLE, epsilon=1, adjacency="add-remove", mechanism="posterior-sample"
    )
    sampled.save(path)
    document = json.loads(path.read_text())
    refused("impossible", impossible=content["impossible"])


OPTIONS = {"map-cells": recipes.MapCells(omega="0.25", units=4)}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", list(RECIPES))
def test_other_mechanisms_refuse_impossible_combinations(recipe):
    if recipe in ("auto", "laplace"):
        assert released(mechanism=recipe).statistic.zeros is not None
        return
    if recipe == "gaussian":
        budget = dp.privacy.zcdp_budget("add-remove", rho=1)
        made = dp.release(NET, TABLE, budget=budget, mechanism=recipe)
        zeros = made.statistic.zeros
        assert not np.asarray(made.values)[zeros].any()
        return
    ledger = dp.Ledger(9, adjacency="add-remove")
    with pytest.raises(ValueError, match="must have no impossible combinations"):
        released(mechanism=OPTIONS.get(recipe, recipe), ledger=ledger)
    assert ledger.spent == 0


REFUSED = {
    "coefficients": lambda: FourierCoefficients.of_network(NET, "add-remove"),
    "plan": lambda: plan(NET, 9, 1, "add-remove", key=jr.key(0)),
    "coverage": lambda: coverage(jr.key(0), NET, 9, 1, "add-remove"),
    "experiment": lambda: NetworkExperiment(NET, "sex", 9, "add-remove"),
    "projection": lambda: dp.releases.consistent(released()),
    "event log": lambda: event_network(SCHEMA, "sex", "age"),
    "gibbs": lambda: gibbs_posterior(jr.key(0), released()),
    "point estimate": lambda: point_estimate(released()),
    "exact": lambda: exact_posterior(released()),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_ignore_zeros_refuses_them(what):
    with pytest.raises(ValueError, match="must have no impossible combinations"):
        REFUSED[what]()


# --- posteriors ---


@pytest.mark.slow
def test_the_posterior_gives_impossible_combinations_no_probability():
    made = released(epsilon=56)  # no noise to speak of
    found = dp.posterior(made)
    assert found.method == "plug-in"
    counts = NET.layout.split(jnp.asarray(exact_counts(NET, TABLE, families="all")))
    table = np.asarray(counts[2], float) + 1
    zeros = np.zeros((2, 3, 2), bool)
    zeros[..., 1] = [[not is_possible((s, a, 1, 0)) for a in range(3)] for s in (0, 1)]
    table[zeros] = 0
    whole = table.sum(axis=-1, keepdims=True)
    mean = found.mean()["pregnant"]
    np.testing.assert_allclose(mean, table / whole, rtol=1e-5)
    spread = np.sqrt(mean * (1 - mean) / (whole + 1))
    np.testing.assert_allclose(found.sd()["pregnant"], spread, rtol=1e-4, atol=1e-7)
    median = found.quantile(0.5)["pregnant"]
    assert (np.asarray(median)[zeros] == 0).all()
    np.testing.assert_allclose(median[0, 1, 1], stats.beta(3, 1).median(), rtol=1e-5)
    assert (np.asarray(median)[..., 0][zeros[..., 1]] == 1).all()
    theta = found.sample(jr.key(1), (50,))
    assert (np.asarray(theta["pregnant"])[:, zeros] == 0).all()
    np.testing.assert_allclose(theta["pregnant"].sum(-1), 1, rtol=1e-5)
    with pytest.raises(ValueError, match="use `quantile` and `sample`"):
        found.distributions()


@pytest.mark.slow
def test_its_density_is_that_of_the_possible_levels():
    found = dp.posterior(released(epsilon=56))
    point = found.mean()
    expected = 0.0
    for name, free in (
        PlugInPosterior.from_counts(FREE, found.concentration - 1)
        .distributions()
        .items()
    ):
        if name != "pregnant":
            expected += float(free.log_prob(point[name]).sum())
    at = float(point["pregnant"][0, 1, 1])  # the only row with two possible levels
    expected += stats.beta(3, 1).logpdf(at)
    np.testing.assert_allclose(found.log_prob(point), expected, rtol=1e-4)
    outside = {**point, "pregnant": jnp.full((2, 3, 2), 0.5)}
    assert found.log_prob(outside) == -np.inf


@pytest.mark.slow
def test_synthetic_records_are_possible_and_evidence_must_be():
    found = dp.posterior(released())
    records = np.asarray(found.sample_records(jr.key(2), 3000))
    assert {tuple(x) for x in records.tolist()} <= set(POSSIBLE)
    SCHEMA.encode(SCHEMA.decode(records))
    certain = found.predict_proba(TABLE, "pregnant")[1]
    assert certain.tolist() == [1, 0]
    assert np.isfinite(found.log_likelihood(TABLE)).all()
    again = found.update(TABLE)
    assert (np.asarray(again.mean()["pregnant"])[..., 1] > 0).sum() == 1
    for ask in (
        lambda: found.predict(WRONG, "clinic"),
        lambda: found.log_likelihood(WRONG),
        lambda: found.update(as_codes(WRONG, None)),
    ):
        with pytest.raises(ValueError, match=STATED):
            ask()


@pytest.mark.parametrize(
    ("law", "drawn"),
    [([0.5, 0.4, 0.0], {0, 1}), ([0.0, 1.0, 0.0], {1}), ([0.0, 0.3, 0.3], {1, 2})],
)
def test_rounding_never_draws_a_level_without_probability(law, drawn):
    net = dp.BayesNet.from_parents({"x": ["a", "b", "c"]}, {"x": []})
    theta = jnp.array(law)  # sums below 1 stand for rounding errors
    records = probabilities.sample_records(jr.key(3), theta, net, 2000)
    assert set(np.ravel(records).tolist()) == drawn


@pytest.mark.parametrize("method", list(METHODS))
def test_no_method_ignores_zeros(method):
    try:
        found = dp.posterior(released(), method=method)
    except ValueError:
        return
    assert not np.asarray(found.mean()["pregnant"])[ZEROS[:, 0]].any()


# --- the command line ---


def test_the_command_line_keeps_zeros(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.to_json()))
    (tmp_path / "net.json").write_text(json.dumps({"parents": PARENTS}))
    options = "--schema schema.json --network net.json --epsilon 1"
    command = f"release {{}} {options} --adjacency add-remove --out r.json".split()
    pl.DataFrame(WRONG).write_csv("wrong.csv")
    pl.DataFrame(TABLE).write_csv("table.csv")
    assert main([x.format("wrong.csv") for x in command]) == 2
    assert STATED in capsys.readouterr().err
    assert not (tmp_path / "r.json").exists()
    assert main([x.format("table.csv") for x in command]) == 0
    assert main(["verify", "r.json"]) == 0
    assert dp.load("r.json").net == NET


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_cells_are_excluded_whatever_the_order_of_variables(order):
    """Compared with a look at each cell of each table."""
    combinations = [((2, (1,)), (0, (0, 2))), ((0, (1,)), (1, (0,)), (2, (0,)))]
    layout = TableLayout((3, 2, 2), (order, order[:2], (1, 2)))
    expected = [
        any(
            all(i in cell and cell[i] in codes for i, codes in one)
            for one in combinations
        )
        for group in layout.groups
        for cell in (
            dict(zip(group, codes, strict=True))
            for codes in itertools.product(*map(range, layout.shape(group)))
        )
    ]
    assert excluded_cells(combinations, layout).tolist() == expected


def test_a_level_of_a_list_with_literals_may_be_impossible():
    """In a cell, the number 5 may have been text that shows 0x5."""
    for levels in (["0x1A", 5], [1, "1.0"], [2**53, 2**53 + 1]):
        for level in levels:
            declared = [{"a": level, "b": "x"}]
            schema = dp.Schema({"a": levels, "b": ["x", "y"]}, impossible=declared)
            net = dp.BayesNet.from_parents(schema, {"b": ["a"]})
            assert net.schema == schema == schema.select(["a", "b"])
            assert schema.impossible[0][0] == ("a", (levels.index(level),))


def test_a_row_that_is_cut_must_be_possible():
    """Else chance decided whether it is refused, and other rows of the person."""
    rows = {**WRONG, "id": [1, 1, 1, 1]}
    options = {"epsilon": 1, "adjacency": "add-remove", "contributions": 1, "id": "id"}
    for _ in range(8):
        with pytest.raises(ValueError, match=STATED):
            dp.release(NET, rows, **options)
    assert dp.release(NET, {**TABLE, "id": [1] * 4}, **options)


def test_evidence_leaves_the_target_a_level():
    declared = [{"t": "a", "x": 0}, {"t": "b", "y": 0}]
    levels = {"t": ["a", "b"], "x": [0, 1], "y": [0, 1]}
    net = dp.BayesNet.naive_bayes(dp.Schema(levels, impossible=declared), "t")
    posterior = PlugInPosterior(net, jnp.ones(net.layout.length))
    assert posterior.predict({"x": [0, 1], "y": [1, 0]}, "t").tolist() == [1, 0]
    for ask in (posterior.predict, posterior.predict_proba):
        with pytest.raises(ValueError, match="leave a level for the target") as caught:
            ask({"x": [1, 0], "y": [1, 0]}, "t")
        assert "\n" not in str(caught.value)
    alone = jax.jit(lambda x: posterior.predict_proba(x, "t"))
    assert alone(jnp.array([[0, 1, 1]])).shape == (1, 2)


def test_a_small_file_of_large_tables_is_refused_before_they_are_made(tmp_path):
    """26 parents of one variable: 2^27 cells, of which the file has two values."""
    names = [f"v{i}" for i in range(27)]
    document = json.loads(_file_of_two(tmp_path))
    content = document["content"]
    content["variables"] = [{"name": x, "levels": [0, 1]} for x in names]
    content["parents"] = {x: names[:-1] if x == names[-1] else [] for x in names}
    content["impossible"] = [{"v0": [0], "v26": [0]}]
    (tmp_path / "large.json").write_text(json.dumps(rehashed(document)))
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(impossible, "_together", lambda *_: made.append(1) or {})
        with pytest.raises(
            InconsistentRelease, match="must be all of what was measure"
        ):
            dp.load(tmp_path / "large.json")
    assert not made


def _file_of_two(tmp_path):
    net = dp.BayesNet.from_parents({"a": [0, 1]}, {"a": []})
    released = dp.release(net, {"a": [0]}, epsilon=1, adjacency="add-remove")
    released.save(tmp_path / "small.json")
    return (tmp_path / "small.json").read_text()
