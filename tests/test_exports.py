"""Posteriors in the forms of other programs agree with the posterior."""

import dataclasses
import io
import json
import pathlib
import sys
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dpjax as dp
from dpjax.event_logs import HiddenMarkovPosterior, log_variables
from dpjax.exports import (
    report,
    to_arviz,
    to_bif,
    to_dataframe,
    to_networkx,
    to_pgmpy,
    to_xarray,
)
from tests.helpers.event_log import NET as NET_OF_EVENTS

SCHEMA = dp.Schema(
    {
        "ill": [False, True],
        "income, yearly": ["<=50K", ">50K {all}", "a//b"],
        "region (home)": ["North, East", "South|West"],
        "age": {"lower": 0, "upper": 90, "edges": [30, 60]},
    }
)
NET = dp.BayesNet.from_parents(
    SCHEMA,
    {
        "ill": [],
        "income, yearly": ["ill"],
        "region (home)": [],
        "age": ["region (home)", "income, yearly"],
    },
)


@pytest.fixture(scope="module")
def posterior(module_rng):
    records = np.stack([module_rng.integers(k, size=60) for k in NET.sizes], 1)
    released = dp.release(
        NET, records.astype(np.int32), epsilon=1, adjacency="replace-one"
    )
    return dp.posterior(released, noise_aware=False)


def test_bif_is_read_back_as_the_same_network(posterior, tmp_path):
    text = to_bif(posterior, tmp_path / "net.bif")
    assert (tmp_path / "net.bif").read_text() == text
    assert dp.BayesNet.from_bif(tmp_path / "net.bif", SCHEMA) == NET
    alone = dp.BayesNet.from_bif(tmp_path / "net.bif")
    for own, other in zip(NET.variables, alone.variables, strict=True):
        assert tuple(map(str, own.levels)) == other.levels
    assert alone.parent_names() == NET.parent_names()


def test_bif_has_all_probabilities_in_order(posterior):
    rows = [
        [float(x) for x in line.rstrip(";").rpartition(")")[2].split(",")]
        for line in to_bif(posterior).replace("table ", ")").splitlines()
        if line.startswith(("  (", "  )"))
    ]
    means = posterior.mean().values()
    wanted = [row for mean in means for row in np.reshape(mean, (-1, mean.shape[-1]))]
    assert len(rows) == len(wanted) == 1 + 2 + 1 + 6
    for row, mean in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(row, mean, rtol=1e-6)
        np.testing.assert_allclose(sum(row), 1, rtol=1e-15)


def test_bif_names_the_row_of_each_combination(posterior):
    lines = to_bif(posterior).splitlines()
    row = next(x for x in lines if x.startswith('  ("South|West", "a//b")'))
    found = [float(x) for x in row.rstrip(";").rpartition(")")[2].split(",")]
    np.testing.assert_allclose(found, posterior.mean()["age"][1, 2], rtol=1e-6)
    one = next(x for x in lines if x.startswith("  (True)"))
    found = [float(x) for x in one.rstrip(";").rpartition(")")[2].split(",")]
    np.testing.assert_allclose(found, posterior.mean()["income, yearly"][1], rtol=1e-6)


def test_a_frame_names_the_cell_of_each_row(posterior):
    frame = (
        to_dataframe(posterior).set_index(["variable", "given", "level"]).sort_index()
    )
    given = "region (home) = North, East, income, yearly = >50K {all}"
    found = frame.loc[("age", given), "mean"]
    np.testing.assert_allclose(sorted(found), sorted(posterior.mean()["age"][0, 1]))
    found = frame.loc[("income, yearly", "ill = True", "a//b"), "sd"]
    assert found == np.float64(posterior.sd()["income, yearly"][1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("label", ['a "b"', "a\nb"])
def test_a_label_that_bif_cannot_hold_is_refused(label):
    levels = {"x": [label, "b"]}
    released = dp.release(
        dp.BayesNet.from_parents(levels, {"x": []}),
        {"x": ["b"] * 5},
        epsilon=1,
        adjacency="replace-one",
    )
    with pytest.raises(ValueError, match="without quotation marks and line"):
        to_bif(dp.posterior(released, noise_aware=False))


def test_only_networks_are_written_as_networks():
    family = dp.families.Bernoulli()
    prior = family.posterior(family.prior())
    for export in (to_bif, to_networkx, to_pgmpy):
        with pytest.raises(ValueError, match="`posterior` must be of a network"):
            export(prior)


@pytest.mark.thorough
def test_pgmpy_reads_the_file_and_gives_the_same_marginals(posterior, tmp_path):
    inference = pytest.importorskip("pgmpy.inference", reason="of engines")
    readwrite = pytest.importorskip("pgmpy.readwrite", reason="of engines")
    plain = {"a": ["no", "yes"], "b": ["low", "mid", "high"], "c": ["0", "1"]}
    net = dp.BayesNet.from_parents(plain, {"b": ["a"], "c": ["b", "a"]})
    records = {name: levels[:2] * 20 for name, levels in plain.items()}
    fitted: Any = dp.posterior(
        dp.release(net, records, epsilon=1, adjacency="replace-one"),
        noise_aware=False,
    )
    to_bif(fitted, tmp_path / "net.bif")
    for model in (
        to_pgmpy(fitted),
        readwrite.BIFReader(tmp_path / "net.bif").get_model(),
    ):
        assert model.check_model()
        joint = inference.VariableElimination(model).query(["c", "b"], {"a": "yes"})
        found = joint.values if joint.variables == ["c", "b"] else joint.values.T
        wanted = fitted.query(["c", "b"], {"a": "yes"})[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    with_names = to_pgmpy(posterior)
    assert with_names.check_model()
    table = with_names.get_cpds("age").values
    np.testing.assert_allclose(np.moveaxis(table, 0, -1), posterior.mean()["age"], 1e-5)


def test_a_frame_has_a_row_for_each_cell_and_is_read_back(posterior):
    frame = to_dataframe(posterior, level=0.5)
    assert [*frame][:3] == ["variable", "given", "level"]
    ages = frame[frame.variable == "age"]
    assert ages.given.iloc[-1] == "region (home) = South|West, income, yearly = a//b"
    assert [*ages.level[:3]] == [*NET.variables[3].levels]
    for column, tables in {
        "mean": posterior.mean(),
        "sd": posterior.sd(),
        "lower": posterior.quantile(0.25),
        "upper": posterior.quantile(0.75),
    }.items():
        for name, table in tables.items():
            found = frame.loc[frame.variable == name, column]
            np.testing.assert_array_equal(found, np.float64(table).ravel())
    again = pd.read_csv(io.StringIO(frame.to_csv(index=False)), keep_default_na=False)
    pd.testing.assert_frame_equal(
        again, frame.astype({"level": str}), check_dtype=False
    )


def test_a_data_set_has_named_axes(posterior):
    found = to_xarray(posterior)
    table = found["age"]
    own = ("region (home)_level", "income, yearly_level", "age_level")
    assert table.dims == ("statistic", *own)
    one = table.sel({own[0]: "South|West", own[1]: "<=50K", "statistic": "mean"})
    np.testing.assert_array_equal(one, posterior.mean()["age"][1, 0])
    assert (table.sel(statistic="lower") < table.sel(statistic="upper")).all()


def test_parameters_of_a_family_have_an_index():
    family = dp.families.Categorical(3)
    posterior = family.posterior(type(family.prior())(jnp.asarray([5.0, 1.0, 2.0])))
    frame = to_dataframe(posterior)
    assert [*frame["index"]] == ["0", "1", "2"]
    assert {*frame.parameter} == {"parameter"}
    np.testing.assert_allclose(frame["mean"], posterior.mean())
    assert to_xarray(posterior)["parameter"].dims == ("statistic", "parameter_0")
    with pytest.raises(ValueError, match="`level` must be between 0 and 1"):
        to_dataframe(posterior, level=95.0)


@pytest.mark.slow
def test_hidden_states_have_the_names_of_the_log():
    """A chain of four equal draws, in which state 1 has two of the three cells."""
    tables = np.array([[0.9, 0.1, 0, 0.6, 0.4], [0.2, 0.3, 0.5, 0.3, 0.7]])
    moves = np.array([[0.75, 0.25], [0.5, 0.5]])
    region, time, fields = log_variables(NET_OF_EVENTS)
    paths = np.array([[[0, 1]], [[1, 1]]], np.int8)  # of two regions at two times
    draws = [np.tile(x, (4, 1, 1, 1)) for x in (paths, tables, [0.1, 0.9], moves)]
    chains = HiddenMarkovPosterior(
        jnp.asarray(draws[0]),
        jnp.asarray(draws[1], float),
        jnp.asarray(draws[2][:, 0], float),
        jnp.asarray(draws[3], float),
        jnp.asarray([[True, True], [True, False]]),
        fields=(3, 2),
        trace=None,
        variables=(region, time, *fields),
    )
    states = np.asarray(chains.state_probabilities())
    np.testing.assert_array_equal(states[:, 0], [[0, 1], [1, 0]])
    assert np.isnan(states[1, 1]).all()
    np.testing.assert_array_equal(chains.predict_states(), [[1, 0], [0, -1]])
    means = to_dataframe(chains).set_index(["variable", "given", "level"])["mean"]
    expected = {
        ("kind", "hidden_state = 0", "b"): 0.3,
        ("dead", "hidden_state = 1", 1): 0.4,
        ("hidden_state.initial", "", 0): 0.9,
        ("hidden_state.transition", "hidden_state = 1", 0): 0.25,
    }
    for place, mean in expected.items():
        assert means.loc[place] == pytest.approx(mean)
    found = to_xarray(chains)
    assert found["dead"].dims == ("statistic", "hidden_state_level", "dead_level")
    drawn = to_arviz(dp.study_key(0), chains).posterior
    assert drawn["kind"].dims == ("chain", "draw", "hidden_state_level", "kind_level")
    assert next(iter(to_xarray(dataclasses.replace(chains, variables=())))) == "field_0"
    other = dataclasses.replace(fields[1], name="hidden_state.initial")
    chains = dataclasses.replace(chains, variables=(region, time, fields[0], other))
    assert {*chains.mean()} > {"hidden_state.initial", "hidden_state_.initial"}
    assert [*to_xarray(chains)] == [*chains.mean()]
    assert [x.shape for x in chains.emissions()] == [(2, 3), (2, 2)]


def test_a_graph_has_levels_and_tables(posterior):
    graph = to_networkx(posterior)
    assert {*graph.edges} == {
        (parent, child)
        for child, group in NET.parent_names().items()
        for parent in group
    }
    np.testing.assert_allclose(
        graph.nodes["age"]["mean"], posterior.mean()["age"], rtol=1e-6
    )
    assert [*to_networkx(NET)] == [*NET.names]
    assert to_networkx(NET).nodes["ill"] == {"levels": (False, True)}


def test_an_absent_package_is_named_with_what_installs_it(posterior, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r'needs networkx: pip install "dpjax\[netw'):
        to_networkx(posterior)


RECORDED = pathlib.Path(__file__).parent / "recorded"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multivariate-gaussian", "mixed-totals"])
def test_matrices_and_numeric_leaves_have_rows_and_reports(name):
    [path] = RECORDED.glob(f"format_*/{name}.json")
    released = dp.load(path)
    posterior: Any = dp.posterior(released)
    frame = to_dataframe(posterior)
    if name == "mixed-totals":
        frame = frame.set_index("variable")
        assert [*frame.loc["age.mean", "given"]] == ["y = no", "y = yes"]
        assert {*frame.loc["age.mean", "level"]} == {""}
        assert [*frame.loc["s", "level"]] == [*"abcabc"]
        found, wanted = frame.loc["age.mean", "mean"], posterior.mean()["age"]["mean"]
    else:
        frame = frame.set_index("parameter")
        found, wanted = frame.loc["mean", "mean"], posterior.mean()["mean"]
        lower = frame.loc["covariance"].set_index("index")["lower"]
        assert lower[["0, 1", "1, 0"]].isna().all()
        wanted_lower = posterior.quantile(0.025)["variance"]
        np.testing.assert_allclose(lower[["0, 0", "1, 1"]], wanted_lower, rtol=1e-6)
    np.testing.assert_allclose(found, np.ravel(wanted), rtol=1e-6)
    written = report(released)
    assert written.to_csv().count("\n") == 1 + len(frame)
    json.dumps(written.content, allow_nan=False)
    assert repr(written).startswith("Report('")
    assert written._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
