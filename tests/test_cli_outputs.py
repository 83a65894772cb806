"""Files that the command line writes, and levels that it is given."""

import json

import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.cli.sweep import table_of

BUDGET = ("--epsilon", "1", "--adjacency", "replace-one")
NETWORK = ("table.csv", "--schema", "schema.json", "--network", "naive-bayes:y")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A table, its schema, public facts, a release and a ledger of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("x,a=b,y\n" + "n,0,0\ns,1,1\n" * 20)
    levels = {"x": ["n", "s"], "a=b": [0, 1], "y": [0, 1]}
    declared = {name: {"levels": x} for name, x in levels.items()}
    (tmp_path / "schema.json").write_text(json.dumps({"variables": declared}))
    (tmp_path / "about.json").write_text('{"title": "A"}')
    ledger = ("--ledger", "spent", "--budget", "9")
    assert main(["release", *NETWORK, *BUDGET, *ledger, "--out", "release.csv"]) == 0
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("synthesize", "release.csv", "--n", "2", "--out", "release.csv"),
        ("release", *NETWORK, *BUDGET, "--about", "about.json", "--out", "about.json"),
        ("report", "release.csv", "--out", "release.csv"),
        ("schema", "table.csv", "--out", "table.csv"),
    ],
)
def test_no_command_overwrites_what_it_reads(command, folder, capsys):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert main([*command]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "`out` must not be an input or another output" in message
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        ("release", *NETWORK, *BUDGET),
        ("learn", *NETWORK[:3], *BUDGET),
        ("schema", "table.csv"),
    ],
)
def test_no_command_overwrites_a_ledger(command, folder, capsys):
    before = (folder / "spent").read_bytes()
    assert main([*command, "--out", "spent"]) == 2
    assert "`out` must not be a ledger" in capsys.readouterr().err
    assert (folder / "spent").read_bytes() == before


def test_no_command_overwrites_a_release(folder, capsys):
    kept = folder / "kept.csv"
    kept.write_bytes((folder / "release.csv").read_bytes())
    for command in (
        ("release", *NETWORK, *BUDGET),
        ("synthesize", "release.csv", "--n", "2"),
        ("sample", "release.csv"),  # it may replace other files
    ):
        assert main([*command, "--out", "kept.csv"]) == 2
        assert "`out` must not be a release" in capsys.readouterr().err
    assert kept.read_bytes() == (folder / "release.csv").read_bytes()


@pytest.mark.parametrize(
    "command",
    [
        ("release", *NETWORK, *BUDGET),
        ("learn", *NETWORK[:3], *BUDGET),
        ("schema", "table.csv"),
        ("synthesize", "release.csv", "--n", "2"),  # a file of records, maybe
    ],
)
def test_what_cannot_be_made_again_replaces_no_file(command, folder, capsys):
    (folder / "edited.csv").write_text("by hand")
    assert main([*command, "--out", "edited.csv"]) == 2
    assert "`out` must not be a file that exists" in capsys.readouterr().err
    assert (folder / "edited.csv").read_text() == "by hand"


def test_an_option_is_written_in_full(folder, capsys):
    """A mistyped one would spend the budget."""
    command = ["release", *NETWORK, *BUDGET, "--ledger", "spent", "--out", "new.json"]
    before = (folder / "spent").read_bytes()
    with pytest.raises(SystemExit):
        main([*command, "--ignor", "*"])
    message = "unrecognized arguments: --ignor * (see dpjax release --help)"
    assert message in capsys.readouterr().err
    assert (folder / "spent").read_bytes() == before


def test_whose_promise_the_number_of_rows_is(folder, capsys):
    person = ["--adjacency", "add-remove", "--contributions", "2"]
    command = ["release", *NETWORK, "--epsilon", "1", *person, "--out"]
    assert main([*command, "promised.json"]) == 0
    message = capsys.readouterr().err
    assert "you promise that nobody has more than 2 rows; --id COLUMN keeps" in message
    lines = (folder / "table.csv").read_text().splitlines()
    rows = [f"{line},{'p' if i == 0 else i}" for i, line in enumerate(lines)]
    (folder / "table.csv").write_text("\n".join(rows))
    assert main([*command, "cut.json", "--id", "p"]) == 0
    assert "promise" not in capsys.readouterr().err


@pytest.mark.parametrize("sign", [";", "\t"])
def test_another_separator_is_no_draft_of_one_column(sign, folder, capsys):
    (folder / "other.csv").write_text(f"x{sign}y\n1{sign}2\n")
    assert main(["schema", "other.csv", "--out", "draft.json"]) == 2
    message = capsys.readouterr().err
    assert "`data` must have cells that are separated by commas, but its" in message
    assert not (folder / "draft.json").exists()


def test_two_outputs_are_two_files(capsys):
    command = ["coverage", "--network", "n.bif", "--n", "9", *BUDGET]
    assert main([*command, "--plot", "a.png", "--ecdf", "a.png"]) == 2
    assert "`ecdf` must not be an input or another output" in capsys.readouterr().err


@pytest.mark.slow
def test_a_level_is_given_once_and_its_name_may_have_an_equals_sign(capsys):
    query = ["query", "release.csv", "--target", "y"]
    assert main([*query, "--given", "a=b=1"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    for given, message in {
        ("a=b=1", "a=b=0"): "`given` must name a variable once, got 'a=b'",
        (
            "x=w",
        ): "`evidence`, or `given`, must give 'x' one of its levels, which are n, s.",
        ("z=1",): "`evidence`, or `given`, must name variables of the network",
        ("x",): "`given` must be NAME=LEVEL",
    }.items():
        several = [part for text in given for part in ("--given", text)]
        assert main([*query, *several]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_predictions_say_which_variables_have_no_value(folder, capsys):
    (folder / "new.csv").write_text("X,a=b,y\nn,0,0\n")
    assert main(["predict", "release.csv", "new.csv", "--target", "y"]) == 0
    assert "no record has a value of x\n" in capsys.readouterr().err
    assert main(["predict", "release.csv", "table.csv", "--target", "y"]) == 0
    assert "no record" not in capsys.readouterr().err
    (folder / "new.csv").write_text("y\n0\n")
    assert main(["predict", "release.csv", "new.csv", "--target", "y"]) == 2
    message = "`evidence` must have a column of the schema, beside 'y', got none."
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_marginals_have_a_mechanism_of_their_own_by_default():
    fields = ("table.csv", "--schema", "schema.json", "--model", "marginals")
    for i, budget in enumerate((BUDGET, ("--rho", "0.5", *BUDGET[2:]))):
        command = ["release", *fields, "--order", "2", *budget, "--out", f"{i}.json"]
        assert main(command) == 0
        found = dp.load(f"{i}.json")
        assert found.statistic.kind == "marginal-contrasts"
        assert found.mechanism.kind == ("k-norm", "discrete-gaussian")[i]


def test_cells_that_are_separated_otherwise_are_explained(folder, capsys):
    (folder / "table.csv").write_text("x;a=b;y\nn;0;0\n")
    assert main(["release", *NETWORK, *BUDGET, "--out", "new.json"]) == 2
    assert "the cells of a CSV line are separated by commas" in capsys.readouterr().err


def test_a_list_of_levels_in_a_file_is_explained(folder, capsys):
    (folder / "list.json").write_text('{"variables": {"y": [0, 1]}}')
    command = ["release", "table.csv", "--schema", "list.json", *BUDGET]
    assert main([*command, "--network", "naive-bayes:y", "--out", "new.json"]) == 2
    assert "'y' is not: levels alone are {\"levels\": [...]}" in capsys.readouterr().err


@pytest.mark.slow
def test_what_an_empty_cell_counts_as_is_said(folder, capsys):
    numbers = {"variables": {"los": {"lower": 0, "upper": 30}}}
    (folder / "numbers.json").write_text(json.dumps(numbers))
    (folder / "numbers.csv").write_text("los,\n1,\n,\n")
    command = ["release", "numbers.csv", "--schema", "numbers.json", *BUDGET]
    command += ["--model", "exponential", "--ignore", "", "--out", "new.json"]
    assert main(command) == 0
    message = "cells of 'los' without a value count as 15, its `missing` or the middle"
    assert message in capsys.readouterr().err


def test_large_scores_stay_apart():
    row = {"mechanism": "laplace", "epsilon": 0.5, "mse": 8.7e7, "mse_se": 9.1e6}
    assert table_of([row], {"mse": "mse"}).split()[-4:] == [
        "0.5", "8.7e+07", "±", "9.1e+06",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_report_has_intervals_of_the_variances_of_a_covariance(tmp_path, rng):
    numbers = tuple(dp.Interval(name, -1, 1) for name in "ab")
    statistic = dp.statistics.Sufficient.of(
        "multivariate-gaussian", numbers, "replace-one"
    )
    records = {name: rng.uniform(-1, 1, 500) for name in "ab"}
    released = dp.release(statistic, records, epsilon=9, adjacency="replace-one")
    made = dp.exports.report(released)
    table = made.content["results"]["tables"]["covariance"]
    assert table["index"] == ["a, a", "a, b", "b, a", "b, b"]
    assert [x is None for x in table["lower"]] == [False, True, True, False]
    assert table["lower"][0] < table["mean"][0] < table["upper"][0]
    assert table["mean"][0] == pytest.approx(1 / 3, abs=0.1)
    assert "covariance" in made.to_html()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "variables", "parameter", "wanted"),
    [
        ("linear-regression", "abc", "weights", ["a", "b"]),
        ("categorical", "t", "parameter", ["low", "mid", "high"]),
        ("gaussian", "a", "mean", None),
    ],
)
def test_a_report_names_what_the_numbers_of_a_family_are_of(
    family, variables, parameter, wanted, rng
):
    levels = {"t": dp.Variable("t", ("low", "mid", "high"))}
    known = tuple(levels.get(x) or dp.Interval(x, 0, 1) for x in variables)
    statistic = dp.statistics.Sufficient.of(family, known, "replace-one")
    records = {x: rng.choice(["low", "high"] if x == "t" else 2, 90) for x in variables}
    released = dp.release(statistic, records, epsilon=9, adjacency="replace-one")
    tables = dp.exports.report(released).content["results"]["tables"]
    assert tables[parameter].get("index") == (wanted or [""])
