"""No error shows a record, an exact count or a line of a file; its contexts neither."""

import json
import logging

import jax.numpy as jnp
import jax.random as jr
import pytest

import dpjax as dp
from dpjax import event_logs
from dpjax.cli.main import main
from dpjax.sklearn import PrivateLinearRegression, PrivateNaiveBayes
from dpjax.statistics import NetworkCounts, Sufficient
from dpjax.tables.counts import count, pack
from tests.helpers import leaks
from tests.helpers.leaks import WHOLE, WORD

from .test_leaks import LOG, NET, SCHEMA


def entries():
    """What takes records, by name."""
    release = {"epsilon": "1/2", "adjacency": "add-remove"}
    naive = dp.posteriors.PlugInPosterior.from_counts(NET, jnp.ones(NET.layout.length))
    numeric = dp.Schema({"t": {"lower": 0, "upper": 1}, "x": {"lower": 0, "upper": 9}})
    line = Sufficient.of("linear-regression", tuple(numeric.values()), "add-remove")
    network = dp.study.experiments.NetworkExperiment(NET, "t", 1, "replace-one")
    regression = dp.study.experiments.RegressionExperiment(line, 1)
    key = jr.key(0)
    bounds = dp.Interval("x", 0, 9)
    slope = PrivateLinearRegression(bounds, bounds=(0, 9), **release)
    bayes = PrivateNaiveBayes(bounds, classes=["a", "b"], **release)
    return {
        "fit a line": lambda table: slope.fit(table, [0, 1]),
        "fit a line to y": lambda table: slope.fit([[0], [1]], table),
        "fit classes": lambda table: bayes.fit(table, ["a", "b"]),
        "fit classes to y": lambda table: bayes.fit([[0], [1]], table),
        "encode": SCHEMA.encode,
        "encode numbers": numeric.encode,
        "encode in batches": lambda table: list(SCHEMA.encode_batches(table)),
        "check": lambda table: [SCHEMA.check(table)],
        "decode": SCHEMA.decode,
        "release": lambda table: dp.release(NET, table, **release),
        "release sums": lambda table: dp.release(line, table, **release),
        "family counts": lambda table: dp.statistics.exact_counts(NET, table),
        "predict": lambda table: naive.predict_proba(table, "t"),
        "likelihood": naive.log_likelihood,
        "update": naive.update,
        "event counts": lambda table: event_logs.event_counts(LOG, table),
        "pack": pack,
        "count": lambda table: count(table, NET.layout),
        "measure": NetworkCounts(NET).measure,
        "measure sums": line.measure,
        "prepare": lambda table: network.prepare(key, table),
        "prepare a regression": lambda table: regression.prepare(key, table),
        "exact counts": lambda table: dp.posteriors.PlugInPosterior.from_counts(
            NET, table
        ),
        "posterior": dp.posterior,
    }


def assert_no_error_shows(call, name, table):
    """Whatever goes wrong is a `ValueError` without canaries, its contexts included."""
    try:
        call(table)
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("jaxtyping", "beartype"):
            return  # of the tests' own checks of types, which the library has not
        for one in leaks.chain(error):
            assert not leaks.shown(f"{one} {one.args}"), (name, one)


@pytest.mark.slow
def test_errors_about_records_show_none():
    called = entries()
    few = (WORD, [WHOLE], leaks.Unhashable(WORD))
    for name in ("encode", "encode numbers", "fit a line", "fit classes to y"):
        for label, table in leaks.tables_in_memory(few):
            assert_no_error_shows(called[name], f"{name}, {label}", table)


def test_errors_about_exact_counts_show_none():
    counts = jnp.full(NET.layout.length, WHOLE).at[0].set(-WHOLE)
    with pytest.raises(ValueError, match="an array of shape") as caught:
        dp.posteriors.PlugInPosterior.from_counts(NET, counts, 1e-3)
    assert not leaks.shown(caught.value)


@pytest.mark.relaxed
def test_jax_is_not_asked_about_what_it_would_quote():
    called, table = entries(), [[WORD, WHOLE]]
    for name in ("prepare", "prepare a regression", "measure sums"):
        with pytest.raises((ValueError, TypeError)) as caught:
            called[name](table)
        if isinstance(caught.value, ValueError):
            assert "must be an array of numbers" in str(caught.value)
        assert_no_error_shows(called[name], name, table)


@pytest.mark.slow
def test_errors_about_files_show_nothing_of_them(tmp_path, capsys):
    for label, table in leaks.table_files(tmp_path):
        assert_no_error_shows(SCHEMA.encode, label, table)
    schema, path = tmp_path / "schema.json", tmp_path / "out.json"
    schema.write_text(json.dumps(SCHEMA.to_json()))
    for data in sorted(tmp_path.glob("*.csv")):
        common = [
            "--network",
            "naive-bayes:t",
            "--epsilon",
            "1",
            "--adjacency",
            "add-remove",
        ]
        given = ["release", str(data), "--schema", str(schema), "--out", str(path)]
        assert main([*given, *common]) == 2
        assert not path.exists()
        printed = capsys.readouterr()
        assert not leaks.shown(printed.err + printed.out)


@pytest.mark.thorough
def test_no_error_of_any_entry_shows_a_record(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG):
        for name, call in entries().items():
            for make in (leaks.tables_in_memory(), leaks.table_files(tmp_path)):
                for label, table in make:
                    assert_no_error_shows(call, f"{name}, {label}", table)
    assert not leaks.shown(caplog.text)
