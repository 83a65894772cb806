"""The demo and what the README says, end to end, as users see them."""

import contextlib
import io
import json
import pathlib
import re
import shlex

import numpy as np
import pytest

import dpjax.cli.demo
from dpjax.cli.demo import EPSILONS
from dpjax.cli.main import main
from dpjax.cli.sweep import rows_of, table_of
from dpjax.study import SweepResult
from tests.helpers.printed import documented

README = (pathlib.Path(__file__).parents[1] / "README.md").read_text()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder with `dpjax-demo` in it, and what making it printed."""
    folder, printed = tmp_path_factory.mktemp("demo"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["demo", "--out", str(folder / "dpjax-demo"), "--json"]) == 0
    return folder, printed.getvalue()


@pytest.fixture
def folder(demo):
    return demo[0]


@pytest.mark.thorough
def test_the_demo_shows_the_trade_off(folder):
    report = json.loads((folder / "dpjax-demo" / "results.json").read_text())
    rows = {(row["mechanism"], row["epsilon"]): row for row in report["results"]}
    exact = rows["non-private", None]
    assert {name for name, _ in rows} == {"non-private", "laplace", "fourier"}
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
    png = (folder / "dpjax-demo" / "demo.png").read_bytes()
    assert png.startswith(b"\x89PNG")


@pytest.mark.thorough
def test_results_are_one_json_object_on_request(demo):
    folder, printed = demo
    report = documented("demo", printed)
    assert report == json.loads((folder / "dpjax-demo" / "results.json").read_text())
    expected = {"mechanism", "epsilon", "accuracy", "accuracy_se", "auc", "log_loss"}
    assert all(expected <= set(row) for row in report["results"])
    assert report["repeats"] == 50


@pytest.mark.thorough
def test_results_are_a_table_else(demo, monkeypatch, capsys):
    report, arguments = json.loads(demo[1]), []

    def recall(out, *, repeats):
        arguments.append((out, repeats))
        return report

    monkeypatch.setattr(dpjax.cli.demo, "demo", recall)
    assert main(["demo", "--out", "folder", "--repeats", "2"]) == 0
    assert arguments == [("folder", 2)]
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["mechanism", "ε", "accuracy", "ROC", "AUC", "log", "loss"]
    for row, line in zip(report["results"], lines[:-2], strict=True):
        assert line.startswith(row["mechanism"])
        assert f"{row['accuracy']:.4f} ± {row['accuracy_se']:.4f}" in line
        assert f"{row['auc']:.4f} ± {row['auc_se']:.4f}" in line
    assert lines[-2:] == [
        "majority level: 0.6775; chance AUC: 0.5",
        "figure, results, release and example data: folder/",
    ]


def test_two_repeats_have_a_standard_error():
    scores = {"auc": np.array([[[0.5, 0.7]]], np.float32)}
    axes = {"mechanism": ["non-private"], "epsilon": [None], "repeat": [0, 1]}
    row, *none = rows_of(SweepResult(scores, axes))
    assert not none
    assert row["auc"] == pytest.approx(0.6)
    assert row["auc_se"] == pytest.approx(0.1)


def test_one_repeat_has_no_standard_error():
    axes = {"mechanism": ["laplace"], "epsilon": [1.0], "repeat": [0]}
    rows = rows_of(SweepResult({"auc": np.array([[[0.5]]])}, axes))
    assert rows == [{"mechanism": "laplace", "epsilon": 1, "auc": 0.5, "auc_se": None}]
    assert table_of(rows, {"auc": "auc"}).split()[-3:] == ["0.5000", "±", "-"]


@pytest.mark.thorough
def test_the_readmes_commands_work(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    text = "".join(blocks).replace("\\\n", " ")
    commands = [shlex.split(x, comments=True) for x in text.splitlines()]
    ours = [x[1:] for x in commands if x and x[0] == "dpjax"]
    assert [x[0] for x in ours] == ["release", "predict", "verify"]
    for command in ours:
        command = command[: command.index(">")] if ">" in command else command
        assert main(command) == 0
    assert capsys.readouterr().out.count("\n") > 6366


@pytest.mark.thorough
def test_the_readmes_python_works(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
    assert names["probabilities"].shape == (5, 2)
    assert names["synthetic"].shape == (1000, 9)
    assert pathlib.Path("release.json").exists()


@pytest.mark.parametrize("repeats", ["1", "0", "-1"])
def test_too_few_repeats_are_refused(repeats, tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "d"), "--repeats", repeats]) == 2
    assert "`repeats` must be an integer of at least 2" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "`out` must be a folder" in capsys.readouterr().err
