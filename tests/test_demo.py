"""The demo, end to end, at the size that users see."""

import json

import numpy as np
import pytest

import dpjax as dp
from dpjax.cli import main
from dpjax.demo import EPSILONS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


def test_the_demo_shows_the_trade_off(folder, capsys):
    assert main(["demo", "--out", str(folder), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((folder / "results.json").read_text())
    rows = {(row["mechanism"], row["epsilon"]): row for row in report["results"]}
    exact = rows["non-private", None]
    private = [rows["laplace", float(epsilon)] for epsilon in EPSILONS]
    assert report["records"] == 6366
    assert report["majority_accuracy"] == pytest.approx(0.678, abs=0.001)
    assert exact["auc"] == pytest.approx(0.73, abs=0.01)
    assert private[0]["auc"] == pytest.approx(0.58, abs=0.04)
    aucs = np.array([row["auc"] for row in private])
    errors = np.array([row["auc_se"] for row in private])
    assert (np.diff(aucs) > -5 * (errors[1:] + errors[:-1])).all()
    assert aucs[-1] == pytest.approx(
        exact["auc"], abs=5 * (errors[-1] + exact["auc_se"])
    )
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_the_demos_files_serve_the_other_commands(folder, capsys):
    survey, schema = str(folder / "survey.csv"), str(folder / "schema.json")
    out = str(folder / "again.json")
    arguments = [
        "release",
        survey,
        "--schema",
        schema,
        "--network",
        "naive-bayes:affair",
    ]
    arguments += ["--epsilon", "1", "--adjacency", "add-remove", "--out", out]
    assert main(arguments) == 0
    assert main(["predict", out, survey, "--target", "affair"]) == 0
    assert main(["verify", str(folder / "release.json")]) == 0
    assert dp.load(folder / "release.json").n == 6366


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "`out` must be a folder" in capsys.readouterr().err
