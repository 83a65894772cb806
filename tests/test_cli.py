"""The commands as a user types them; each test runs `main` in this process."""

import contextlib
import csv
import io
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.privacy import budget_of
from tests.helpers.cases import mostly_thorough

SCHEMA = {
    "variables": {
        "t": {"levels": ["no", "yes"]},
        "x": {"levels": [1, 2, 3]},
        "y": {"levels": [0, 1]},
    }
}
SECRET = "777"


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {"t": np.array(["no", "yes"])[y], "x": rng.integers(1, 4, 200), "y": y}
    )
    frame.to_csv("data.csv", index=False)
    frame.to_csv("data.csv.gz", index=False)
    frame.to_parquet("data.parquet")
    (tmp_path / "many").mkdir()
    frame.iloc[:70].to_csv("many/1.csv", index=False)
    frame.iloc[70:].to_parquet("many/2.parquet")
    frame.drop(columns="t").to_csv("blind.csv", index=False)
    frame.iloc[:0].to_csv("empty.csv", index=False)
    frame.replace({"x": {1: int(SECRET)}}).to_csv("outside.csv", index=False)
    frame.drop(columns="y").to_csv("narrow.csv", index=False)
    frame.assign(id=1).to_csv("wide.csv", index=False)
    (tmp_path / "ragged.csv").write_text(f"t,x,y\nno,1,0\n{SECRET},1,0,5,6\n")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "net.json").write_text('{"parents": {"t": ["y"], "x": ["t", "y"]}}')
    (tmp_path / "cycle.json").write_text('{"parents": {"t": ["x"], "x": ["t"]}}')
    (tmp_path / "lost.json").write_text('{"parents": {"t": ["z"]}}')
    (tmp_path / "broken.json").write_text("{")
    return tmp_path


def release(
    *more, data="data.csv", network="naive-bayes:t", epsilon="60", out="r.json"
):
    arguments = ["release", data, "--schema", "schema.json", "--network", network]
    arguments += ["--epsilon", epsilon, "--out", out]
    if "--adjacency" not in more:
        arguments += ["--adjacency", "replace-one"]
    if out == "r.json":
        pathlib.Path(out).unlink(missing_ok=True)
    return main([*arguments, *more])


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", mostly_thorough(["data.csv", "data.csv.gz", "data.parquet"])
)
@pytest.mark.parametrize("network", mostly_thorough(["naive-bayes:t", "net.json"]))
def test_release_predict_verify(folder, data, network, capsys):
    assert release(data=data, network=network) == 0
    assert main(["predict", "r.json", "blind.csv", "--target", "t"]) == 0
    output = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(output.out.partition("\n")[2])))
    assert output.out.startswith("r.json: Released")
    assert len(rows) == 200
    assert list(rows[0]) == ["p_no", "p_yes"]
    truth = pd.read_csv("data.csv").t == "yes"
    answers = np.array([float(row["p_yes"]) for row in rows]) > 0.5
    assert (answers == truth).mean() > 0.99
    assert main(["verify", "r.json"]) == 0
    assert "r.json: consistent" in capsys.readouterr().out


def test_a_folder_of_files_is_one_table(folder, capsys):
    assert release("--json", data="many") == 0
    assert json.loads(capsys.readouterr().out)["records"] == 200


@pytest.mark.slow
def test_predictions_equal_pythons(folder, capsys):
    release(epsilon="1")
    main(["predict", "r.json", "data.csv", "--target", "x", "--prior", "2"])
    text = capsys.readouterr().out.partition("\n")[2]
    fitted = dp.posterior(dp.load("r.json"), prior=2.0)
    expected = fitted.predict_proba("data.csv", "x")
    printed = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
    np.testing.assert_allclose(printed, expected, rtol=1e-6)
    assert text.splitlines()[0] == "p_1,p_2,p_3"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_the_records_are_kept_beside_predictions(kind, folder, capsys):
    release()
    keys = pd.DataFrame({"key": ["a,1", None, "b"], "y": [0, 1, 1], "x": [1, 2, 3]})
    keys["when"] = [0.5, 2, np.nan]
    keys.to_csv("keys.csv", index=False)
    keys.to_parquet("keys.parquet")
    capsys.readouterr()
    shown, given = [], ["r.json", f"keys.{kind}", "--target", "t"]
    for command in "predict", "query":
        for more in [], ["--keep", "key", "--keep", "when"]:
            assert main([command, *given, *more]) == 0
            shown.append(pd.read_csv(io.StringIO(capsys.readouterr().out)))
        plain, kept = shown[-2:]
        assert list(kept) == ["key", "when", *plain]
        pd.testing.assert_frame_equal(kept[[*plain]], plain)
        pd.testing.assert_frame_equal(kept[["key", "when"]], keys[["key", "when"]])
        assert main([command, *given, "--keep", "when", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [None if x is None else float(x) for x, *_ in rows] == [0.5, 2, None]
        assert main([command, *given, "--keep", "names"]) == 2
        error = capsys.readouterr().err
        assert "`keep` must name columns of the records" in error
        assert error.count("\n") == 1


def test_only_the_networks_columns_are_read(folder):
    (folder / "net.json").write_text('{"parents": {"y": ["t"]}}')
    assert release(data="outside.csv", network="net.json") == 0
    assert list(dp.load("r.json").schema) == ["t", "y"]


def test_json_output(folder, capsys):
    release("--json", "--ledger", "l.jsonl", "--budget", "100")
    summary = json.loads(capsys.readouterr().out)
    assert summary["epsilon"] == summary["spent"] == "60"
    assert summary["scale"] == "1/15"
    assert (summary["sensitivity"], summary["records"]) == (4, 200)
    main(["verify", "r.json", "--json"])
    assert json.loads(capsys.readouterr().out)["consistent"] is True


@pytest.mark.slow
def test_several_releases_predict_together(folder, capsys):
    k_norm = ("--mechanism", "k-norm")
    assert release(network="net.json", epsilon="2") == 0
    assert release(*k_norm, network="net.json", epsilon="2", out="s.json") == 0
    capsys.readouterr()
    for tables in ("one", "disjoint"):
        both = ["r.json", "--also", "s.json", "--tables", tables, "--target", "t"]
        assert main(["predict", *both, "blind.csv"]) == 0
        printed = capsys.readouterr()
        assert printed.err.startswith("dpjax: posterior by method point-estimate")
        assert main(["query", *both]) == 0
        asked = capsys.readouterr().out
        made = [dp.load(x) for x in ("r.json", "s.json")]
        wanted = dp.posterior(made, disjoint=tables == "disjoint").query("t")
        probability = float(asked.splitlines()[1].rpartition(",")[2])
        assert probability == pytest.approx(float(wanted[0, 0]), rel=1e-4)
    shutil.copy("r.json", "copy.json")
    for wrong, message in (
        (["r.json", "--also", "s.json"], "`tables` must say whether"),
        (["r.json", "--tables", "one"], "`tables` must be given with --also"),
        (
            ["r.json", "--also", "./r.json", "--tables", "one"],
            "or a copy, twice: give it once",
        ),
        (
            ["r.json", "--also", "copy.json", "--tables", "one"],
            "or a copy, twice: give it once",
        ),
    ):
        assert main(["query", *wrong, "--target", "t"]) == 2
        assert message in capsys.readouterr().err


def test_a_ledger_knows_parts_and_periods(folder, capsys):
    ledger = ("--ledger", "l.jsonl", "--budget", "1", "--period", "month")
    assert release(*ledger, "--part", "north", epsilon="0.7") == 0
    assert release("--ledger", "l.jsonl", "--part", "south", epsilon="0.8") == 0
    said = "ledger: 4/5 of 1 spent; parts: north, south\n"  # shows a mistyped part
    assert said in capsys.readouterr().out
    assert release("--ledger", "l.jsonl", "--part", "south", epsilon="0.3") == 2
    assert "what the ledger has left, 1/5 of 1" in capsys.readouterr().err
    for option in (("--part", "north"), ("--period", "day")):
        assert release(*option, epsilon="0.3") == 2
        assert "must be given with a ledger" in capsys.readouterr().err


def test_a_ledger_stops_overspending(folder, capsys):
    ledger = ("--ledger", "l.jsonl", "--budget", "1")
    assert release(*ledger, epsilon="0.7") == 0
    assert release(*ledger, epsilon="0.7", out="second.json") == 2
    assert "has left, 3/10 of 1, got 7/10" in capsys.readouterr().err
    assert not (folder / "second.json").exists()
    assert release("--ledger", "l.jsonl", epsilon="0.3", out="second.json") == 0


PERSON = ("--adjacency", "add-remove", "--contributions", "3", "--id", "id")
UNIT = "a person with up to 3 rows"


def test_persons_with_several_rows(folder, capsys):
    ledger = ("--ledger", "l.jsonl", "--budget", "4")
    assert release(*PERSON, *ledger, data="wide.csv", epsilon="3") == 0
    assert f"unit: {UNIT}" in capsys.readouterr().out
    made = dp.load("r.json")
    assert made.guarantee() == budget_of(3, "add-remove", contributions=3)
    assert made.mechanism.guarantee().epsilon == 1
    assert abs(np.asarray(made.values).sum()) < 100  # of one person's 3 rows, not 200
    assert main(["verify", "r.json"]) == 0
    assert f"  unit         {UNIT}\n" in capsys.readouterr().out
    for more, message in (
        (PERSON[:2], "`contributions` must be that of the ledger, 3, got 1"),
        ((*PERSON[:2], "--contributions", "0"), "`contributions` must be an integer"),
        ((*PERSON[:2], *PERSON[4:]), "`contributions` must be given with --id"),
        (PERSON[2:], "`adjacency` must be that of the ledger"),
        ((*PERSON[:4], "--id", "t"), "`id` must name a column that is no variable"),
        ((*PERSON[:4], "--id", "z"), "got no 'z'"),
    ):
        options = [*more, "--ledger", "l.jsonl"]
        assert release(*options, data="wide.csv", epsilon="1", out="s.json") == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert release(*PERSON[2:], data="wide.csv", epsilon="1", out="s.json") == 2
    assert "`id` must be left out under 'replace-one'" in capsys.readouterr().err
    assert not (folder / "s.json").exists()
    assert dp.Ledger(adjacency="add-remove", contributions=3, path="l.jsonl").spent == 3


def test_the_unit_is_a_row_unless_it_is_said(folder, capsys):
    assert release("--json") == 0
    assert json.loads(capsys.readouterr().out)["unit"] == "one row"
    assert json.loads((folder / "r.json").read_text())["version"] == 3


@pytest.fixture
def databases(folder):
    """The table of the file in a database of DuckDB and one of SQLite, twice."""
    frame = pd.read_csv("data.csv")
    with duckdb.connect("people.db") as connection:
        connection.execute("create table people as select * from frame")
    with contextlib.closing(sqlite3.connect("people.sqlite")) as connection:
        frame.to_sql("people", connection, index=False)
    frame.assign(k=2).to_csv("twice.csv", index=False)
    return folder


@pytest.mark.slow
def test_a_table_of_a_database_is_counted_there(databases, capsys):
    assert release(epsilon="100") == 0
    values = dp.load("r.json").values
    for data in ("duckdb:people.db?table=people", "sqlite:people.sqlite?table=people"):
        assert release(data=data, epsilon="100") == 0
        np.testing.assert_array_equal(dp.load("r.json").values, values)
    assert release("--multiplicity", "k", data="twice.csv", epsilon="100") == 0
    np.testing.assert_array_equal(dp.load("r.json").values, 2 * values)
    weights = ("--adjacency", "add-remove", "--weights", "k", "--contributions", "2")
    assert release(*weights, data="twice.csv", epsilon="100") == 0
    np.testing.assert_array_equal(dp.load("r.json").values, 2 * values)
    capsys.readouterr()
    for more, options, message in (
        (
            (),
            {"data": "duckdb:none.db?table=people"},
            "`data` must name a file of duckdb",
        ),
        (
            (),
            {"data": "duckdb:people.db?table=nobody"},
            "with the table nobody: duckdb",
        ),
        (
            (),
            {"data": "duckdb:data.csv?table=people"},
            "`data` must be a database that",
        ),
        (
            (),
            {"data": "sqlite:none.db?table=people"},
            "`data` must name a file of sqlite",
        ),
        ((), {"data": "duckdb:people.db"}, "must be a readable file"),
        (
            (),
            {"data": "nothing://x?table=people"},
            "with the table people: nothing has",
        ),
        (
            (),
            {"data": "duckdb:people.db?table=people", "out": "people.db"},
            "`out` must",
        ),
        (
            weights[:4],
            {"data": "twice.csv"},
            "must be given with --weights: --contribu",
        ),
        (
            weights[2:],
            {"data": "twice.csv"},
            "`weights` must be left out under 'replac",
        ),
        (
            (*weights[:5], "1"),
            {"data": "twice.csv"},
            "`weights` must be an integer from",
        ),
        (
            ("--multiplicity", "x"),
            {},
            "`multiplicity` must name a column that is no var",
        ),
    ):
        assert release(*more, **{"out": "s.json", **options}) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert not (databases / "s.json").exists()
    assert not (databases / "none.db").exists()


BAD = {
    "no data": ({"data": "none.csv"}, "none.csv"),
    "a column too few": ({"data": "narrow.csv"}, "got no 'y'"),
    "a column too many": ({"data": "wide.csv"}, "column 4 is not"),
    "a level outside": ({"data": "outside.csv"}, "column 'x'"),
    "a ragged table": ({"data": "ragged.csv"}, "must be CSV"),
    "an empty table": ({"data": "empty.csv"}, "must not be empty under replace-one"),
    "no such target": ({"network": "naive-bayes:z"}, "'z'"),
    "a cycle": ({"network": "cycle.json"}, "acyclic"),
    "no such parent": ({"network": "lost.json"}, "'z'"),
    "no network": ({"network": "none.bif"}, "none.bif"),
    "a broken network": ({"network": "broken.json"}, "must be JSON"),
    "a network of another kind": ({"network": "net.xml"}, "naive-bayes:TARGET"),
    "ε = 0": ({"epsilon": "0"}, "`epsilon`"),
    "ε < 0": ({"epsilon": "-1"}, "epsilon"),
    "ε = nan": ({"epsilon": "nan"}, "`epsilon`"),
    "ε not a number": ({"epsilon": "much"}, "`epsilon`"),
    "ε too large": ({"epsilon": "1e6"}, "between 2^-23 and 30"),
    "ε too small": ({"epsilon": "1e-8"}, "between 2^-23 and 30"),
    "out nowhere": ({"out": "none/r.json"}, "`out`"),
    "out a folder": ({"out": "."}, "`out`"),
    "out the table": ({"out": "data.csv"}, "`out` must not be an input"),
    "out among the tables": ({"data": "many", "out": "many/r.json"}, "an input"),
    "out the ledger": ({"out": "./l.jsonl"}, "`out` must not be an input"),
    "out with a name too long": ({"out": "x" * 256}, "`out`"),
    "out a device": ({"out": "/dev/null"}, "`out`"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_clear_line_and_nothing_is_written(name, folder, capsys):
    change, message = BAD[name]
    before = sorted(folder.iterdir())
    try:
        status = release("--ledger", "l.jsonl", "--budget", "1e9", **change)
    except SystemExit as stop:  # what the parser of arguments itself refuses
        status = stop.code
    output = capsys.readouterr()
    assert status == 2
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert message in output.err
    assert SECRET not in output.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--adjacency", "bounded"], "invalid choice: 'bounded'"),
        (
            ["--adjacency", "add-remove", "--mechanism", "gauss"],
            "invalid choice: 'gauss'",
        ),
        (["--adjacency"], "expected one argument"),
        (["--colour", "red"], "unrecognized arguments"),
    ],
)
def test_bad_arguments_are_one_clear_line(arguments, message, folder, capsys):
    with pytest.raises(SystemExit) as stop:
        release(*arguments)
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert error.count("\n") == 1
    assert message in error


def test_an_adjacency_must_be_given(folder, capsys):
    with pytest.raises(SystemExit) as stop:
        main(
            ["release", "data.csv", "--schema", "s", "--network", "n", "--epsilon", "1"]
        )
    assert stop.value.code == 2
    assert "--adjacency, --out" in capsys.readouterr().err


def test_ledgers_that_do_not_fit(folder, capsys):
    assert release("--budget", "1") == 2
    assert "`budget` must be given with a ledger" in capsys.readouterr().err
    assert release("--ledger", "l.jsonl") == 2
    assert "`budget` must be given" in capsys.readouterr().err
    release("--ledger", "l.jsonl", "--budget", "100", epsilon="1")
    assert release("--ledger", "l.jsonl", "--adjacency", "add-remove", epsilon="1") == 2
    assert "`adjacency` must be that of the ledger" in capsys.readouterr().err


def test_check_lists_the_cells_that_a_schema_rejects(folder, capsys):
    """Each value once, and as many as fit on a screen; a release would refuse them."""
    variables = {"x": {"levels": ["a", "b"]}, "y": {"lower": 0, "upper": 9}}
    (folder / "s.json").write_text(json.dumps({"variables": variables}))
    cells = [f"z{i}" for i in range(25)]
    rows = ["a,1", ",2", "b,99", "b,many", *(f"{x},3" for x in [*cells, *cells])]
    (folder / "wrong.csv").write_text("\n".join(["x,y", *rows, ""]))
    assert main(["check", "wrong.csv", "--schema", "s.json"]) == 1
    printed = capsys.readouterr().out.splitlines()
    shown = ", ".join(["(no value)", *cells[:19]])
    assert printed[1:] == [f"x: {shown}, and 6 more", "y: many"]
    assert printed[0].startswith("NOT PRIVATE")
    assert main(["check", "wrong.csv", "--schema", "s.json", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == {"fits": False, "rejected": {"x": ["", *cells], "y": ["many"]}}
    (folder / "right.csv").write_text("x,y,z\na,1,0\nb,99,0\n")
    command = ["check", "right.csv", "--schema", "s.json"]
    assert main(command) == 2
    assert "column 3 is not: declare it" in capsys.readouterr().err
    assert main([*command, "--ignore", "z"]) == 0
    assert capsys.readouterr().out == "right.csv: every cell fits s.json\n"


def test_verify_tells_an_altered_file_from_one_that_cannot_be_read(folder, capsys):
    release()
    text = (folder / "r.json").read_text()
    capsys.readouterr()
    (folder / "altered.json").write_text(text.replace('"records":200', '"records":201'))
    (folder / "truncated.json").write_text(text[:300])
    (folder / "newer.json").write_text(text.replace('"version":3', '"version":9'))
    expected = {"altered": 1, "truncated": 2, "newer": 2, "none": 2, "schema": 2}
    for name, status in expected.items():
        assert main(["verify", f"{name}.json"]) == status
        output = capsys.readouterr()
        assert output.err.count("\n") == 1
        assert output.out == ""
        assert main(["predict", f"{name}.json", "data.csv", "--target", "t"]) == 2
        capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("increment", ["none", "5", "paper:2.3", "calibrated:0.9"])
def test_fourier_releases_and_increments(increment, folder, capsys):
    assert release("--mechanism", "fourier", epsilon="30") == 0
    assert main(["verify", "r.json"]) == 0
    capsys.readouterr()
    command = ["predict", "r.json", "blind.csv", "--target", "t"]
    more = ["--no-noise-aware", "--increment", increment]
    assert main([*command, *more]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    answers = np.array([float(row["p_yes"]) for row in rows]) > 0.5
    assert (answers == (pd.read_csv("data.csv").t == "yes")).mean() > 0.95


@pytest.mark.parametrize(
    ("increment", "message"),
    [
        ("some", "`increment` must be none, a number, paper:T or calibrated:P"),
        ("stealth:0.9", "`increment` must be none, a number, paper:T or calibrated:P"),
        ("-5", "`increment` must be at least 0"),
        ("nan", "`increment` must be at least 0"),
        ("paper:0", "`t` must be > 0"),
        ("calibrated:1", "`probability` must be between 0 and 1"),
    ],
)
def test_bad_increments_are_one_clear_line(increment, message, folder, capsys):
    release("--mechanism", "fourier", epsilon="30")
    capsys.readouterr()
    command = ["predict", "r.json", "blind.csv", "--target", "t"]
    assert main([*command, "--no-noise-aware", f"--increment={increment}"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("outside.csv", ["--target", "t"], "column 'x'"),
        ("data.csv", ["--target", "z"], "'z'"),
        ("data.csv", ["--target", "t", "--prior", "0"], "`prior` must be positive"),
        ("data.csv", ["--target", "t", "--increment", "5"], "--no-noise-aware"),
    ],
)
def test_a_table_that_does_not_fit_is_not_predicted(
    data, more, message, folder, capsys
):
    release()
    capsys.readouterr()
    assert main(["predict", "r.json", data, *more]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.err.count("\n") == 1
    assert output.out == ""


@pytest.mark.slow
def test_an_absent_column_is_summed_out(folder, capsys):
    release()
    capsys.readouterr()
    assert main(["predict", "r.json", "narrow.csv", "--target", "t"]) == 0
    fitted = dp.posterior(dp.load("r.json"))
    found = np.loadtxt(capsys.readouterr().out.splitlines()[1:], delimiter=",")
    known = pd.read_csv("narrow.csv").drop(columns="t")
    np.testing.assert_allclose(found, fitted.query("t", known), rtol=1e-5)


@pytest.mark.slow
def test_extra_columns_may_be_ignored(folder):
    assert release("--ignore", "id", data="wide.csv") == 0
    assert release("--ignore", "*", data="wide.csv") == 0
    assert main(["predict", "r.json", "wide.csv", "--target", "t"]) == 0


@pytest.mark.parametrize(
    "command", [[], ["demo"], ["release"], ["predict"], ["verify"]]
)
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    assert "usage: dpjax" in capsys.readouterr().out


@pytest.mark.slow
def test_levels_that_are_no_labels_are_refused_outside_the_type_checker(folder):
    (folder / "schema.json").write_text('{"variables": {"t": {"levels": [0, null]}}}')
    command = [sys.executable, "-m", "dpjax", "release", "data.csv"]
    command += ["--schema", "schema.json", "--network", "naive-bayes:t", "--epsilon"]
    command += ["1", "--adjacency", "replace-one", "--out", "r.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "must be text, finite numbers or booleans" in done.stderr


def test_schema_drafts_from_names_and_types_alone(folder, capsys):
    day = pd.to_datetime(["2024-01-01"])
    frame = pd.DataFrame({"a": [1.5], "b": [True], "c": [SECRET], "d": day, "e": ["I"]})
    frame.to_parquet("t.parquet")
    frame.to_csv("t.csv", index=False)
    (folder / "codes.csv").write_text("code,level\nI,one\nII,two\n")
    free = {"c": {"enum": [1, 2]}, "d": {"const": "x"}, "other": {"const": 1}}
    (folder / "record.json").write_text(json.dumps({"properties": free}))
    public = ["--codes", "e=codes.csv", "--json-schema", "record.json", "--ignore", "d"]
    assert main(["schema", "t.parquet", "--out", "s.json", *public]) == 0
    assert json.loads((folder / "s.json").read_text())["variables"] == {
        "a": {"lower": None, "upper": None},
        "b": {"levels": [False, True]},
        "c": {"levels": [1, 2]},
        "e": {"levels": ["one", "two"], "codes": {"I": "one", "II": "two"}},
    }
    printed = capsys.readouterr().out
    assert "left to declare: a (lower and upper" in printed
    assert "not a column, left out: other" in printed
    (folder / "s.json").unlink()
    assert main(["schema", "t.csv", "--out", "s.json"]) == 0
    assert SECRET not in (folder / "s.json").read_text() + capsys.readouterr().out
    (folder / "s.json").unlink()
    assert main(["schema", "t.csv", "--out", "s.json", "--ignore", "*", *public]) == 0
    assert [*json.loads((folder / "s.json").read_text())["variables"]] == ["c", "e"]
    (folder / "s.json").unlink()
    capsys.readouterr()
    given = [*public[:4], "--json"]  # a constant is left to declare
    assert main(["schema", "t.csv", "--out", "s.json", *given]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [*report["left"]] == ["a", "b", "d"]
    assert report["absent"] == ["other"]
    assert "must list at least two" in report["left"]["d"]
    (folder / "s.json").unlink()
    for faulty in (
        *(["--codes", "e"], ["--codes", "z=codes.csv"], ["--codes", "e=none.csv"]),
        *(["--out", "t.csv"], ["--json-schema", "schema.json"]),
        *(["--codes", "e=codes.csv", "--codes", "e=codes.csv"], ["--codes", "=x"]),
        ["--codes", "e=codes.csv", "--out", "codes.csv"],
        ["--json-schema", "record.json", "--ignore", "c", "--out", "record.json"],
    ):
        assert main(["schema", "t.csv", "--out", "s.json", *faulty]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert SECRET not in error
