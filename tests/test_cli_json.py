"""With `--json`, what a command prints is one documented object."""

import io
import json

import pandas as pd
import pytest

import dpjax as dp
from dpjax.cli.main import COMMANDS, main
from tests.helpers.printed import DOCUMENTED, documented

LEVELS = {"t": {"levels": ["no", "yes"]}, "x": {"levels": [1, 2]}}
BUDGET = ("--epsilon", "60", "--adjacency", "replace-one")
NAMES = [command.__name__.rpartition(".")[2] for command in COMMANDS]
MADE = {
    "schema": "schema data.csv --out draft.json",
    "check": "check data.csv --schema schema.json",
    "verify": "verify r.json",
    "ledger": "ledger l.jsonl",
    "query": "query r.json --target x --target t",
    "predict": "predict r.json data.csv --target t",
    "synthesize": "synthesize r.json --copies 2 --out new.csv",
}
STUDY = f"--network naive-bayes:t --schema none.json {' '.join(BUDGET)}"
WRONG = {
    "schema": "none.csv --out draft.json",
    "check": "data.csv --schema none.json",
    "release": f"data.csv {STUDY} --out o.json",
    "learn": "data.csv --schema none.json --epsilon 1 --adjacency replace-one "
    "--out o.json",
    "verify": "none.json",
    "ledger": "none.jsonl",
    "report": "r.json --out r.pdf",
    "predict": "r.json data.csv --target z",
    "query": "r.json --target z",
    "synthesize": "r.json --out new.txt",
    "sample": "r.json --states 2",
    "audit": "",
    "coverage": f"{STUDY} --n 10",
    "demo": "--repeats 1",
    "plan": f"{STUDY} --n 10",
    "sweep": "data.csv --schema none.json --epsilons 1 --adjacency replace-one",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, its schema, a release and a ledger."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "data.csv").write_text("t,x\nno,1\nyes,2\nyes,2\n")
    (folder / "schema.json").write_text(json.dumps({"variables": LEVELS}))
    net = dp.BayesNet.naive_bayes({"t": ["no", "yes"], "x": [1, 2]}, "t")
    ledger = dp.Ledger(61, adjacency="replace-one", path=folder / "l.jsonl")
    budget = {"epsilon": 60, "adjacency": "replace-one", "ledger": ledger}
    dp.release(net, folder / "data.csv", **budget).save(folder / "r.json")
    return folder


@pytest.fixture
def folder(made, monkeypatch):
    monkeypatch.chdir(made)
    return made


def run(line, capsys):
    assert main([*line.split(), "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return documented(line.partition(" ")[0], said.out)


def test_every_command_is_documented():
    assert [*DOCUMENTED] == NAMES == [*WRONG]


@pytest.mark.slow
@pytest.mark.parametrize("command", MADE)
def test_keys_are_those_of_the_page(command, folder, capsys):
    run(MADE[command], capsys)


@pytest.mark.slow
def test_a_release_says_its_file_and_its_cost(folder, capsys):
    line = "release data.csv --schema schema.json --network naive-bayes:t --out o.json"
    facts = run(" ".join([line, *BUDGET]), capsys)
    assert (facts["out"], facts["epsilon"], facts["records"]) == ("o.json", "60", 3)


def test_a_draft_says_what_is_left(folder, capsys):
    (folder / "draft.json").unlink(missing_ok=True)
    facts = run(MADE["schema"], capsys)
    assert facts["variables"] == ["t", "x"]
    assert [*facts["left"]] == ["t", "x"]
    assert facts["left"]["t"].startswith("levels")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [MADE["predict"], MADE["query"], "query r.json data.csv --target x"]
)
def test_rows_are_those_of_csv(line, folder, capsys):
    facts = run(line, capsys)
    assert main(line.split()) == 0
    said = capsys.readouterr()
    assert said.err == f"dpjax: posterior by method {facts['method']}\n"
    table = pd.read_csv(io.StringIO(said.out))
    assert facts["columns"] == [*table.columns]
    assert facts["rows"] == table.to_numpy().tolist()


@pytest.mark.parametrize("command", WRONG)
def test_an_error_is_one_line_on_the_standard_error(command, folder, capsys):
    assert main([command, *WRONG[command].split(), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"dpjax {command}: ")
    assert said.err.count("\n") == 1
