"""Event logs on the command line: `release --model hmm`, then `sample`."""

import csv
import io
import json
import pathlib
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpjax as dp
from dpjax.cli import sample
from dpjax.cli.main import main
from dpjax.cli.sample_report import disagreement
from dpjax.data.schema import Schema
from dpjax.event_logs import HiddenMarkovMode, HiddenMarkovPosterior, fit
from dpjax.plots import figures
from tests.helpers.event_log import LOG, NET, columns, encoded
from tests.helpers.printed import documented
from tests.helpers.release_files import rehashed

SECRET = "777"
MODEL = ("--model", "hmm", "--region", "place", "--time", "month")
NAIVE = ("--network", "naive-bayes:dead")
SIZES = ("--states", "2", "--chains", "2", "--sweeps", "20", "--burn-in", "10")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, module_rng):
    """An event log, schemas that fit and do not, and releases."""
    folder = tmp_path_factory.mktemp("events")
    frame = pd.DataFrame(columns(encoded(module_rng, 2000)))
    frame.to_csv(folder / "log.csv", index=False)
    frame.astype({"month": object}).assign(
        month=[SECRET + "x", *frame.month[1:]]
    ).to_csv(folder / "outside.csv", index=False)
    levels = {variable.name: {"levels": list(variable.levels)} for variable in LOG}
    declare(folder / "schema.json", levels)
    declare(folder / "one.json", levels | {"dead": {"levels": [1]}})
    declare(folder / "gaps.json", levels | {"month": {"levels": [7, 8, 10]}})
    declare(folder / "text.json", levels | {"month": {"levels": ["jan", "feb"]}})
    declare(folder / "number.json", levels | {"dead": {"lower": 0, "upper": 9}})
    declare(folder / "bare.json", {name: levels[name] for name in ("place", "month")})
    options = {"epsilon": "50", "adjacency": "replace-one"}
    dp.release(NET, frame, **options).save(folder / "log.json")
    naive = dp.BayesNet.naive_bayes(Schema(LOG), "dead")
    dp.release(naive, frame, **options).save(folder / "naive.json")
    return folder


def declare(path, variables):
    path.write_text(json.dumps({"variables": variables}))


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def release(*options, schema="schema.json", data="log.csv"):
    arguments = ["release", data, "--schema", schema, "--epsilon", "50"]
    arguments += ["--adjacency", "replace-one", *options]
    pathlib.Path("o.json").unlink(missing_ok=True)
    return main(
        [*arguments, "--ledger", "l.jsonl", "--budget", "50", "--out", "o.json"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("states", [(), ("--states", "24")])
def test_an_event_log_is_released_for_any_number_of_states(folder, states, capsys):
    (folder / "l.jsonl").unlink(missing_ok=True)
    assert release(*MODEL, *states, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["sensitivity"] == 4
    assert facts["spent"] == "50"
    assert main(["verify", "o.json"]) == 0
    assert dp.load("o.json").statistic == dp.load("log.json").statistic
    assert dp.load("o.json").hidden_states == (24 if states else None)


@pytest.mark.thorough
def test_the_states_that_a_release_suggests_are_taken(folder, capsys):
    (folder / "l.jsonl").unlink(missing_ok=True)
    assert release(*MODEL, "--states", "2", "--json") == 0
    capsys.readouterr()
    chains = ("--chains", "2", "--sweeps", "20", "--burn-in", "10", "--json")
    assert main(["sample", "o.json", *chains]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["states"] == 2
    assert main(["sample", "o.json", "--states", "1", *chains]) == 0
    assert json.loads(capsys.readouterr().out)["states"] == 1
    assert main(["sample", "log.json", *chains]) == 2
    said = capsys.readouterr().err
    assert "`states` must be given" in said
    assert "--states 3" in said


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "2"])
def test_a_wrong_suggestion_is_inconsistent(wrong, tmp_path):
    document = json.loads(pathlib.Path("log.json").read_text())
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(rehashed(document, hidden_states=wrong)))
    assert main(["verify", str(path)]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*MODEL, "--region", "where"), "`region` must be"),
        ((*MODEL, "--time", "when"), "`time` must be"),
        ((*MODEL, "--time", "kind"), "consecutive integers"),
        ((*MODEL, "--time", "place"), "at least one further field"),
        (("--model", "hmm", "--region", "place"), "`time` must be given"),
        (("--model", "hmm", "--time", "month"), "`region` must be given"),
        ((*MODEL, "--states", "0"), "`states` must be an integer of at least 1"),
        ((*MODEL, "--states", "25"), "number of cells, 24"),
        ((*MODEL, "--mechanism", "fourier"), "`mechanism` must be laplace"),
        ((*MODEL, "--network", "naive-bayes:dead"), "`network` must be left out"),
        ((*MODEL, "--prior", "1"), "`prior` must be left out"),
        ((*MODEL, "--samples", "2"), "`samples` must be left out"),
        ((*NAIVE, "--region", "place"), "`region` must be left out"),
        ((*NAIVE, "--time", "month"), "`time` must be left out"),
        ((*NAIVE, "--states", "2"), "`states` must be left out"),
        (("--model", "poisson", "--states", "2"), "`states` must be left out"),
    ],
)  # fmt: skip
def test_what_is_no_event_log(folder, options, message, capsys):
    refused(folder, lambda: release(*options), message, capsys)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("one.json", "`levels` of 'dead' must list at least two"),
        ("gaps.json", "'month' does not"),
        ("text.json", "'month' does not"),
        ("number.json", "`variables` must be categorical in an event log"),
        ("bare.json", "at least one further field"),
    ],
)
def test_schemas_of_no_event_log(folder, schema, message, capsys):
    refused(folder, lambda: release(*MODEL, schema=schema), message, capsys)


def test_a_time_that_is_not_declared(folder, capsys):
    def attempt():
        return release(*MODEL, data="outside.csv")

    refused(folder, attempt, "column 'month' does not", capsys)


def refused(folder, attempt, message, capsys):
    """One clear line, nothing written, nothing charged, no value of a record."""
    for name in ("o.json", "l.jsonl"):
        (folder / name).unlink(missing_ok=True)
    assert attempt() == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert SECRET not in error
    assert not (folder / "o.json").exists()
    ledger = folder / "l.jsonl"
    assert not ledger.exists() or ledger.read_text().count("\n") == 1  # its budget


@pytest.mark.slow
def test_states_and_figures_are_written(capsys):
    outputs = ("--out", "s.csv", "--plot", "s.png", "--emissions-plot", "e.png")
    assert main(["sample", "log.json", *SIZES, *outputs, "--seed", "3"]) == 0
    printed = capsys.readouterr()
    assert "2 regions, 12 times, 24 declared cells; " in printed.out
    assert "2 chains of 20 sweeps, the first 10 left out: 20 draws" in printed.out
    for label in ("log-likelihood", "share of the largest state", "R-hat"):
        assert label in printed.out
    key = dp.study_key(3)
    posterior = fit(
        key, dp.load("log.json"), 2, chains=2, sweeps=20, burn_in=10, progress=iter
    )  # in blocks, which are compiled already
    states = np.asarray(posterior.predict_states())
    with open("s.csv") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["place", "month", "state", "probability"]
    chances = np.nanmax(posterior.state_probabilities(), axis=2)
    assert len(rows) == 24
    for row in rows:
        place = ["north", "south"].index(row["place"])
        month = int(row["month"]) - 7
        assert int(row["state"]) == states[place, month]
        assert row["probability"] == f"{chances[place, month]:.4g}"
    for name in ("s.png", "e.png"):
        with open(name, "rb") as file:
            assert file.read(4) == b"\x89PNG"


@pytest.mark.slow
def test_all_draws_are_written(capsys):
    times = ("--times", "south=9:10", "--times", "north=7:18")
    assert main(["sample", "log.json", *SIZES, *times, "--out", "d.npz"]) == 0
    assert "14 declared cells" in capsys.readouterr().out
    with np.load("d.npz", allow_pickle=False) as draws:
        assert draws["paths"].shape == (10, 12, 2, 2)
        assert draws["emission"].shape == (10, 2, 2, 5)
        assert draws["declared"].sum() == 14
        assert draws["regions"].tolist() == ["north", "south"]
        assert draws["times"].tolist() == list(range(7, 19))
        assert draws["levels"].tolist() == [
            "kind=a", "kind=b", "kind=c", "dead=0", "dead=1"
        ]  # fmt: skip


def test_results_as_json(capsys):
    times = ("--times", "south=9:10")
    assert main(["sample", "log.json", *SIZES, *times, "--json"]) == 0
    printed = capsys.readouterr()
    facts = json.loads(printed.out)
    assert facts["cells"] == 14
    assert facts["draws"] == 20
    assert sum(entry["cells"] for entry in facts["most_frequent"]) == 14
    for entry in facts["most_frequent"]:
        assert set(entry["emissions"]) == {"kind", "dead"}
        assert sum(entry["emissions"]["kind"].values()) == pytest.approx(1, abs=1e-5)
    assert set(facts["diagnostics"]) == {"log_likelihood", "largest_state"}


@pytest.mark.thorough
def test_one_state_has_no_share_to_compare(capsys):
    options = ("--states", "1", "--chains", "2", "--sweeps", "20", "--burn-in", "10")
    assert main(["sample", "log.json", *options, "--json"]) == 0
    facts = documented("sample", capsys.readouterr().out)
    assert facts["diagnostics"]["largest_state"]["r_hat"] is None
    assert facts["states_used"] == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shown"), [((), True), (("--quiet",), False), (("--json",), False)]
)
def test_progress_is_for_terminals(options, shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert main(["sample", "log.json", *SIZES, *options]) == 0
    assert ("20/20" in sys.stderr.getvalue()) == shown


@pytest.mark.slow
def test_chains_that_disagree_are_said_to(monkeypatch, capsys):
    def diagnostics(_):
        agreed = {"r_hat": 1.04, "effective_size": 10.0}
        return {"log_likelihood": {**agreed, "r_hat": 1.3}, "largest_state": agreed}

    def unweighed(*arguments, **given):
        return replace(fit(*arguments, **given), modes=())

    monkeypatch.setattr(HiddenMarkovPosterior, "diagnostics", diagnostics)
    monkeypatch.setattr(sample, "fit", unweighed)
    assert main(["sample", "log.json", *SIZES]) == 0
    error = capsys.readouterr().err
    assert "the chains disagree (R-hat of the log-likelihood is 1.30" in error
    assert error.count("\n") == 1


def test_chains_that_agree_are_not_mentioned():
    agreed = {"log_likelihood": {"r_hat": 1.05}, "largest_state": {"r_hat": None}}
    assert disagreement({"diagnostics": agreed, "modes": []}) is None


def test_modes_have_a_line_each(monkeypatch, capsys):
    modes = (
        HiddenMarkovMode((1,), 0.75, 0.125, -90.0, 1.02),
        HiddenMarkovMode((0,), 0.25, 0.125, -95.0, float("inf")),
    )

    def weighed(*arguments, **given):
        return replace(fit(*arguments, **given), modes=modes)

    monkeypatch.setattr(sample, "fit", weighed)
    assert main(["sample", "log.json", *SIZES]) == 0
    printed = capsys.readouterr()
    assert "has 2 modes" in printed.out
    assert "weight 0.750 ± 0.125, log-likelihood -90, 1 chains with R" in printed.out
    assert printed.err == ""
    assert main(["sample", "log.json", *SIZES, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["modes"]
    assert (first["chains"], first["weight"]) == ([1], 0.75)
    assert second["r_hat"] is None


@pytest.mark.parametrize(
    ("release", "options", "message"),
    [
        ("naive.json", (), "`release` must be of an event log"),
        ("log.csv", (), "`release` must be JSON"),
        ("none.json", (), "`release` must be a readable file"),
        ("log.json", ("--states", "25"), "number of cells, 24"),
        ("log.json", ("--states", "0"), "`states` must be an integer"),
        ("log.json", ("--states", "3", "--times", "north=7:7", "--times", "south=7:7"),
         "number of cells, 2"),
        ("log.json", ("--times", "east=7:9"), "`times` must name distinct levels"),
        ("log.json", ("--times", "north=6:9"), "`times` must be ordered"),
        ("log.json", ("--times", "north=7"), "of the form REGION=FIRST:LAST"),
        ("log.json", ("--times", "7:9"), "of the form REGION=FIRST:LAST"),
        ("log.json", ("--times", "north=7:8", "--times", "north=7:9"), "once"),
        ("log.json", ("--sweeps", "12"), "`sweeps` must be at least 14"),
        ("log.json", ("--burn-in", "-1"), "`burn_in` must be"),
        ("log.json", ("--chains", "0"), "`chains` must be"),
        ("log.json", ("--emission", "0"), "`emission` must be positive"),
        ("log.json", ("--out", "s.txt"), "`out` must end in .csv or .npz"),
        ("log.json", ("--plot", "s.pdf"), "`plot` must end in .png"),
        ("log.json", ("--plot", "a.png", "--emissions-plot", "a.png"), "another"),
        ("log.json", ("--out", "no/s.csv"), "`out` must be a file in a folder"),
        ("log.json", ("--plot", "no/s.png"), "`plot` must be a file in a folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_sampled(release, options, message, folder, capsys):
    before = {path.name for path in folder.iterdir()}
    assert main(["sample", release, *SIZES, *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert {path.name for path in folder.iterdir()} == before


def test_outputs_are_refused_before_the_work(monkeypatch, capsys):
    monkeypatch.setattr(sample, "fit", None)  # work would fail
    assert main(["sample", "log.json", *SIZES, "--out", "no/s.csv"]) == 2
    monkeypatch.setattr(figures, "Figure", None)
    assert main(["sample", "log.json", *SIZES, "--plot", "new.png"]) == 2
    assert 'pip install "dpjax[plots]"' in capsys.readouterr().err
