"""The command line beyond noisy counts: samples, families, regression."""

import csv
import io
import json

import numpy as np
import pytest

from dpjax.cli.main import main

ADJACENCY = ("--adjacency", "replace-one")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Numbers with y = 1 + 2 x + noise, levels, and schemas of both."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 4000)
    y = 1 + 2 * x + rng.normal(0, 0.1, 4000)
    rows = [f"{a},{b}" for a, b in zip(x, y, strict=True)]
    (folder / "numbers.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    declare(
        folder / "numbers.json", x={"lower": 0, "upper": 1}, y={"lower": 0, "upper": 4}
    )
    declare(folder / "one.json", x={"lower": 0, "upper": 1})
    rows = [f"{a},{b}" for a, b in rng.integers(0, 2, (60, 2))]
    (folder / "levels.csv").write_text("\n".join(["t,a", *rows]) + "\n")
    declare(folder / "levels.json", t={"levels": [0, 1]}, a={"levels": [0, 1]})
    return folder


def declare(path, **variables):
    path.write_text(json.dumps({"variables": variables}))


def release(folder, table, schema, *options):
    out = str(folder / "out.json")
    (folder / "out.json").unlink(missing_ok=True)
    arguments = [str(folder / table), "--schema", str(folder / schema), *ADJACENCY]
    status = main(["release", *arguments, "--epsilon", "5", "--out", out, *options])
    return status, out


@pytest.mark.slow
def test_a_regression_is_released_and_predicts(folder, capsys):
    status, out = release(
        folder, "numbers.csv", "numbers.json", "--model", "linear-regression",
        "--target", "y", "--json",
    )  # fmt: skip
    assert status == 0
    assert json.loads(capsys.readouterr().out)["records"] == 4000
    (folder / "new.csv").write_text("x\n0.1\n0.9\n")
    assert main(["verify", out]) == 0
    capsys.readouterr()
    assert main(["predict", out, str(folder / "new.csv"), "--target", "y"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for row, x in zip(rows, (0.1, 0.9), strict=True):
        assert float(row["mean"]) == pytest.approx(1 + 2 * x, abs=0.15)
        assert float(row["lower"]) < 1 + 2 * x < float(row["upper"])


@pytest.mark.slow
def test_a_wider_interval_is_asked_for_by_its_level(folder, capsys):
    _, out = release(
        folder, "numbers.csv", "numbers.json", "--model", "linear-regression",
        "--target", "y",
    )  # fmt: skip
    (folder / "new.csv").write_text("x\n0.5\n")
    capsys.readouterr()
    widths = []
    for level in ("0.5", "0.99"):
        command = ["predict", out, str(folder / "new.csv"), "--target", "y"]
        assert main([*command, "--level", level]) == 0
        [row] = csv.DictReader(io.StringIO(capsys.readouterr().out))
        widths.append(float(row["upper"]) - float(row["lower"]))
    assert widths[0] < widths[1] / 2


@pytest.mark.slow
def test_samples_of_a_network_are_released_and_predict(folder, capsys):
    status, out = release(
        folder, "levels.csv", "levels.json", "--network", "naive-bayes:t",
        "--mechanism", "posterior-sample", "--samples", "3", "--omega", "0.1",
    )  # fmt: skip
    assert status == 0
    assert main(["verify", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert facts["samples"] == 3
    assert facts["least"] == [100, 100]
    table = str(folder / "levels.csv")
    assert main(["predict", out, table, "--target", "t"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 61
    assert main(["predict", out, table, "--target", "t", "--prior", "1"]) == 2
    assert "`prior` and `increment` must be left out" in capsys.readouterr().err


def test_samples_of_a_family_take_a_truncation(folder, capsys):
    status, out = release(
        folder, "numbers.csv", "one.json", "--model", "gaussian-mean", "--variance",
        "0.1", "--ignore", "y", "--mechanism", "posterior-sample", "--truncation",
        "mean=0.2:0.8", "--json",
    )  # fmt: skip
    assert status == 0
    assert main(["verify", out]) == 0
    assert "mean" in capsys.readouterr().out


REGRESSION = ("--model", "linear-regression")
GAUSSIAN = ("--model", "gaussian", "--ignore", "y", "--mechanism", "posterior-sample")


@pytest.mark.parametrize(
    ("table", "schema", "options", "message"),
    [
        ("numbers.csv", "numbers.json", REGRESSION, "`target` must be given"),
        ("numbers.csv", "numbers.json", (*REGRESSION, "--target", "z"), "`target`"),
        (
            "numbers.csv", "numbers.json",
            (*REGRESSION, "--target", "y", "--network", "naive-bayes:y"),
            "`network` must be left out",
        ),
        (
            "numbers.csv", "numbers.json",
            (*REGRESSION, "--target", "y", "--mechanism", "map-cells"),
            "`mechanism` must be one for",
        ),
        ("levels.csv", "levels.json", (), "`network` must be given"),
        ("levels.csv", "levels.json", (*REGRESSION, "--target", "t"), "Interval"),
        ("numbers.csv", "numbers.json", ("--network", "naive-bayes:y"), "leaves only"),
        (
            "numbers.csv", "one.json", (*GAUSSIAN, "--truncation", "mean=0.1:0.9"),
            "`truncation` must bound the variance",
        ),
        ("numbers.csv", "one.json", (*GAUSSIAN, "--truncation", "mean"), "NAME=LEAST"),
        (
            "levels.csv", "levels.json",
            ("--network", "naive-bayes:t", "--mechanism", "map", "--omega", "0.5"),
            "`omega` must be below 1/2",
        ),
        (
            "levels.csv", "levels.json",
            ("--network", "naive-bayes:t", "--mechanism", "posterior-sample", "--omega",
             "0.1", "--temperature", "1", "--samples", "50"),
            "`temperature` must be at least",
        ),
        ("levels.csv", "levels.json", ("--network", "naive-bayes:t", "--omega", "0.1"),
         "`omega` must be left out"),
    ],
)  # fmt: skip
def test_one_line_says_what_is_wrong(folder, table, schema, options, message, capsys):
    (folder / "out.json").unlink(missing_ok=True)
    status, _ = release(folder, table, schema, *options)
    error = capsys.readouterr().err
    assert status == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "out.json").exists()
