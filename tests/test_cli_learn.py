"""`dpjax learn`: one command for a network and its tables."""

import csv
import json

import pytest

import dpjax as dp
from dpjax.cli.main import main
from tests.test_learn import chain

NAMES = "abcde"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with a gap, and its schema."""
    path = tmp_path_factory.mktemp("learn")
    columns = chain(1500)
    rows = zip(*(columns[name] for name in NAMES), range(1500), strict=True)
    with (path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [[*NAMES, "who"], *rows, ["", "1", "0", "1", "0", "1"]]
        )
    levels = {"levels": [0, 1]}
    variables = {name: levels for name in NAMES} | {"a": levels | {"missing": 0}}
    (path / "s.json").write_text(json.dumps({"variables": variables}))
    return path


def learn(folder, *options):
    (folder / "r.json").unlink(missing_ok=True)
    start = ["learn", f"{folder}/t.csv", "--schema", f"{folder}/s.json"]
    return main([*start, "--out", f"{folder}/r.json", *options])


NEAR = ("--adjacency", "replace-one", "--ignore", "who")
ANY = ("--adjacency", "add-remove", "--ignore", "who")


@pytest.mark.slow
def test_a_release_file_holds_all_steps(folder, capsys):
    options = ("--ledger", f"{folder}/l.jsonl", "--budget", "9", "--degree", "1")
    (folder / "about.json").write_text(json.dumps({"title": "A chain"}))
    options += ("--about", f"{folder}/about.json")
    assert learn(folder, "--epsilon", "6", *NEAR, *options) == 0
    assert "ledger: 6 of 9 spent" in capsys.readouterr().out
    found = dp.load(folder / "r.json")
    assert found.guarantee().epsilon == 6
    assert len(found.chain) == 2
    assert dict(found.about) == {"title": "A chain"}
    assert [x.about for x in found.chain[:1]] == [()]
    assert found.n == 1501
    assert main(["verify", "--json", f"{folder}/r.json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    edges = sum(map(len, found.net.parents))
    assert (facts["network"], facts["edges"]) == ("learned", edges)
    assert main(["report", f"{folder}/r.json", "--out", f"{folder}/r.html"]) == 0
    assert "The edges were chosen at random" in (folder / "r.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "kind", "guarantee"),
    [
        (("--rho", "0.5"), "discrete-gaussian", "zcdp"),
        (("--epsilon", "3", "--delta", "1e-6"), "discrete-gaussian", "zcdp"),
        (("--epsilon", "3", "--mechanism", "laplace"), "discrete-laplace", "pure-dp"),
    ],
)
def test_the_noise_fits_the_budget(folder, options, kind, guarantee):
    assert learn(folder, *options, *ANY, "--degree", "1") == 0
    found = dp.load(folder / "r.json")
    assert found.mechanism.kind == kind
    assert found.guarantee().kind == guarantee


@pytest.mark.slow
def test_rows_of_persons(folder):
    options = ("--id", "who", "--contributions", "2", "--adjacency", "add-remove")
    assert learn(folder, "--epsilon", "6", *options, "--degree", "1") == 0
    assert dp.load(folder / "r.json").contributions == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NEAR, "`epsilon` must be given for the mechanism auto"),
        (("--epsilon", "1", "--rho", "1", *NEAR), "must be left out"),
        (
            ("--rho", "1", "--mechanism", "laplace", *NEAR),
            "must be one whose cost is of the budget's kind",
        ),
        (("--epsilon", "1", "--degree", "9", *NEAR), "`degree` must be at most 4"),
        (("--epsilon", "1", "--id", "who", *ANY), "`contributions` must be given"),
        (("--epsilon", "1", "--adjacency", "add-remove"), "column 6 is not"),
    ],
)
def test_a_wrong_option_is_one_clear_line_and_nothing_is_written(
    folder, options, message, capsys
):
    (folder / "r.json").unlink(missing_ok=True)
    assert learn(folder, *options) == 2
    line = capsys.readouterr().err.strip()
    assert message in line
    assert "\n" not in line
    assert not (folder / "r.json").exists()
