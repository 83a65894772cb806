"""`dpjax sweep`: studies of a table, of simulated records, of numbers and of events."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.study.experiments import NaiveBayesExperiment
from tests.helpers.event_log import LOG, columns, encoded
from tests.helpers.printed import documented

from .test_sweeps_on_meshes import ROOT, free_port

LEVELS = {"x": [0, 1], "y": ["no", "yes"], "z": [0, 1], "unused": [0, 1]}
BAYES = ("--schema", "schema.json", "--network", "naive-bayes:y")
ADJACENCY = ("--adjacency", "replace-one")
ALL = ("--ignore", "extra")
SMALL = ("--epsilons", "0.5,5", "--repeats", "6", *ADJACENCY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, module_rng):
    folder = tmp_path_factory.mktemp("sweep")
    y = module_rng.integers(0, 2, 200)
    table = {"y": np.array(["no", "yes"])[y], "extra": y, "unused": y}
    for name in ("x", "z"):
        table[name] = np.where(module_rng.random(200) < 0.8, y, 1 - y)
    pd.DataFrame(table).to_csv(folder / "table.csv", index=False)
    numbers = {"a": module_rng.random(200), "b": module_rng.random(200)}
    pd.DataFrame(numbers).to_csv(folder / "numbers.csv", index=False)
    pd.DataFrame(columns(encoded(module_rng, 300))).to_csv(
        folder / "log.csv", index=False
    )
    declare(folder / "schema.json", {x: {"levels": LEVELS[x]} for x in LEVELS})
    declare(folder / "numbers.json", {x: {"lower": 0, "upper": 1} for x in "ab"})
    declare(folder / "log.json", {v.name: {"levels": list(v.levels)} for v in LOG})
    return folder


def declare(path, variables):
    path.write_text(json.dumps({"variables": variables}))


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.slow
def test_a_study_of_a_table_is_that_of_the_library(capsys, tmp_path):
    out, plot = tmp_path / "fits.parquet", tmp_path / "curves.png"
    words = ["sweep", "table.csv", *BAYES, *SMALL, *ALL]
    words += ["--out", str(out), "--plot", str(plot), "--checkpoint", "c"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "NOT private" in shown
    assert plot.read_bytes().startswith(b"\x89PNG")
    saved = pd.read_parquet(out)

    schema = dp.Schema({name: LEVELS[name] for name in ("x", "y", "z", "unused")})
    net = dp.BayesNet.naive_bayes(schema, "y")
    table = pd.read_csv("table.csv")[list(net.names)]
    experiment = NaiveBayesExperiment(net, "y", 160, "replace-one")
    result = dp.sweep(
        dp.study_key(0),
        experiment,
        dp.Schema(net.variables).encode(table),
        epsilons=["0.5", "5"],
        mechanisms=experiment.mechanisms(("laplace", "non-private"), ["0.5", "5"]),
        prepare=experiment.prepare,
        repeats=6,
    )
    pd.testing.assert_frame_equal(saved, result.to_dataframe())

    assert main([*words, "--json"]) == 0  # from the checkpoint
    rows = documented("sweep", capsys.readouterr().out)["results"]
    assert rows[1]["accuracy"] == pytest.approx(result.mean("accuracy")[0, 1])
    assert f"{rows[1]['accuracy']:.4f} ± {rows[1]['accuracy_se']:.4f}" in shown


@pytest.mark.thorough
def test_other_models_and_simulated_records(capsys):
    one = ("--epsilons", "1", "--repeats", "1", *ADJACENCY, "--json")
    assert main(["sweep", "--synthetic", "60", *BAYES, *one]) == 0
    row = json.loads(capsys.readouterr().out)["results"][0]
    assert {"kl", "total_variation", "accuracy"} <= row.keys()
    assert row["kl_se"] is None  # of one repeat
    regression = ("--model", "linear-regression", "--target", "b")
    words = ["numbers.csv", "--schema", "numbers.json", *regression]
    assert main(["sweep", *words, "--mechanisms", "laplace", *one]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert row["mse"] > 0
    events = ("--model", "hmm", "--region", "place", "--time", "month")
    words = ["log.csv", "--schema", "log.json", *events, "--states", "2"]
    assert main(["sweep", *words, *one]) == 0
    assert len(json.loads(capsys.readouterr().out)["results"]) == 2


def two_processes(arguments, **options):
    command = [sys.executable, "-m", "dpjax", "sweep", *arguments, "--distributed"]
    place = f"127.0.0.1:{free_port()}"
    command += ["--coordinator", place, "--processes", "2", "--process"]
    wide = os.environ.get("DPJAX_X64", "0")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_ENABLE_X64": wide}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [
        subprocess.Popen([*command, str(i)], env=environment, **pipes, **options)
        for i in range(2)
    ]


@pytest.mark.thorough
def test_two_processes_write_what_one_writes(capsys, tmp_path):
    words = ["table.csv", *BAYES, *SMALL, *ALL, "--block", "2"]
    assert main(["sweep", *words, "--out", str(tmp_path / "one.csv")]) == 0
    expected = capsys.readouterr().out
    pair = two_processes([*words, "--out", str(tmp_path / "two.csv")])
    outputs = [process.communicate(timeout=120) for process in pair]
    assert [process.returncode for process in pair] == [0, 0], outputs
    assert outputs[0][0] == expected
    assert outputs[1][0] == ""
    one, two = (pathlib.Path(tmp_path / x).read_bytes() for x in ("one.csv", "two.csv"))
    assert one == two


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table.csv", "--epsilons", "1,0.5"], "`epsilons` must be budgets in increas"),
        (["table.csv", "--epsilons", "1,1.0"], "`epsilons` must be budgets in increas"),
        (["table.csv", "--epsilons", ","], "got none"),
        (["table.csv", "--epsilons", "0"], "`epsilons` must be a finite number > 0"),
        (
            ["table.csv", *ALL, "--repeats", "0"],
            "`repeats` must be an integer of at least 1",
        ),
        (["table.csv", *ALL, "--mechanisms", "noise"], "got 'noise'"),
        (["table.csv", "--training", "1"], "`training` must be between"),
        (["table.csv", "--target", "w"], "`target` must be one of the network"),
        (["table.csv", "--out", "x.txt"], "`out` must end in .csv or .parquet"),
        (["table.csv", "--plot", "x.jpg"], "`plot` must end in .png"),
        (["table.csv", "--out", "table.csv"], "`out` must not be an input"),
        (["table.csv", "--checkpoint", "schema.json"], "`checkpoint` must not be an"),
        ([".", "--checkpoint", "c"], "`checkpoint` must not be an input"),
        (["table.csv", "--out", "no/x.csv"], "`out` must be a file in a folder"),
        (["table.csv", "--process", "1"], "`distributed` must be given with"),
        (["table.csv", "--devices", "99"], "`devices` must be at most"),
        (["table.csv", "--states", "2"], "`states` must be left out for the model"),
        (["table.csv", "--synthetic", "9"], "`data` or `synthetic` must be given"),
        ([], "`data` or `synthetic` must be given"),
        (["--synthetic", "1"], "`synthetic` must be at least 2 records"),
        (["table.csv"], "columns of the schema, column 2 is not"),
        (["absent.csv"], "`table` must be a readable file"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(words, message, capsys, folder):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main(["sweep", *BAYES, *SMALL, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    after = {path: path.read_bytes() for path in folder.iterdir()}
    assert after == before
