"""Gaussian noise from the command line: losses ρ or (ε, δ), ledgers, and reports."""

import json
import pathlib
from fractions import Fraction

import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.privacy import ZCDP, Ledger, PureDP, budget_of, zcdp_budget
from tests.helpers.printed import documented

LEVELS = {"t": {"levels": ["no", "yes"]}, "x": {"levels": [1, 2]}}
GAUSSIAN = ("--mechanism", "gaussian")
RHO = (*GAUSSIAN, "--rho", "1/10")
BOTH = (*GAUSSIAN, "--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("t,x,id\n" + "no,1,a\nyes,2,b\nyes,2,b\n" * 20)
    (tmp_path / "schema.json").write_text(json.dumps({"variables": LEVELS}))
    return tmp_path


def release(*more, out="r.json", adjacency="replace-one", data="data.csv"):
    line = ["release", data, "--schema", "schema.json", "--adjacency", adjacency]
    line += ["--network", "naive-bayes:t", "--ignore", "*", "--out", out]
    if out == "r.json":
        pathlib.Path(out).unlink(missing_ok=True)
    return main([*line, *more])


def shown(capsys):
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_release_costs_the_given_rho(folder, capsys):
    assert release(*RHO, "--ledger", "l.jsonl", "--budget", "0.3") == 0
    assert shown(capsys)[-1] == "ledger: ρ = 1/10 of ρ = 3/10 spent"
    assert dp.load("r.json").guarantee() == zcdp_budget("replace-one", rho="0.1")
    assert Ledger(path="l.jsonl").limit == ZCDP(Fraction("0.3"), "replace-one")
    assert main(["ledger", "l.jsonl"]) == 0
    lines = shown(capsys)
    assert lines[1:4] == ["budget ρ = 3/10", "spent ρ = 1/10", "left ρ = 1/5"]
    assert "ρ = 1/10 gaussian: family-counts of 2 variables" in lines[5]
    assert main(["verify", "r.json"]) == 0
    lines = shown(capsys)
    assert lines[:3] == [
        "r.json: consistent",
        "rho 1/10",
        "implies ε = 2.716, δ = 1e-9",
    ]
    assert release(*RHO, "--rho", "0.21", "--ledger", "l.jsonl", out="s.json") == 2
    error = capsys.readouterr().err
    assert "`rho` must be at most what the ledger has left, 1/5 of 3/10" in error
    assert not (folder / "s.json").exists()


def test_epsilon_with_delta_states_the_rho_that_implies_them(folder, capsys):
    assert release(*BOTH, "--ledger", "l.jsonl", "--budget", "2", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    limit, cost = (
        zcdp_budget("replace-one", epsilon=epsilon, delta="1e-6") for epsilon in (2, 1)
    )
    made = ZCDP.of(dp.load("r.json").guarantee())
    assert made == cost
    assert 1 - 1e-9 <= made.approximate("1e-6").epsilon <= 1
    assert facts["rho"] == str(cost.rho)
    assert facts["spent"] == {"rho": str(cost.rho)}
    assert facts["budget"] == {"rho": str(limit.rho)}
    assert Ledger(path="l.jsonl").limit == limit
    exact = made.approximate("1e-9").epsilon
    assert facts["implies"]["delta"] == "1e-9"
    assert exact <= Fraction(facts["implies"]["epsilon"]) < exact * Fraction("1.001")


def test_other_releases_share_a_ledger_of_rho_but_not_the_reverse(folder, capsys):
    assert release(*RHO, "--ledger", "l.jsonl", "--budget", "1") == 0
    assert release("--epsilon", "1", "--ledger", "l.jsonl") == 0
    assert shown(capsys)[-1] == "ledger: ρ = 3/5 of ρ = 1 spent"  # 1/10 + 1²/2
    assert release("--epsilon", "1", "--ledger", "m.jsonl", "--budget", "9") == 0
    assert shown(capsys)[-1] == "ledger: 1 of 9 spent"
    assert release(*RHO, "--ledger", "m.jsonl", out="s.json") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "of kind pure-dp or one that implies it, got zcdp. A ledger" in error
    assert Ledger(path="m.jsonl").cost == PureDP(Fraction(1), "replace-one")
    assert not (folder / "s.json").exists()


@pytest.mark.parametrize(
    ("mechanism", "made"),
    [
        ("laplace", "discrete-laplace"),
        ("k-norm", "k-norm"),
    ],
)
def test_a_pure_mechanism_spends_rho_by_the_epsilon_that_implies_it(
    mechanism, made, folder, capsys
):
    """ρ = 1/8 is implied by ε = 1/2, and so the ledger is full."""
    spent = ("--rho", "1/8", "--ledger", "l.jsonl", "--budget", "1/8")
    assert release(*spent, "--mechanism", mechanism) == 0
    assert shown(capsys)[-1] == "ledger: ρ = 1/8 of ρ = 1/8 spent"
    found = dp.load("r.json")
    assert found.mechanism.kind == made
    assert found.guarantee() == PureDP(Fraction(1, 2), "replace-one")


@pytest.mark.parametrize(
    ("loss", "made"),
    [
        (("--rho", "1/10"), "discrete-gaussian"),
        (BOTH[2:], "discrete-gaussian"),
        (("--epsilon", "1"), "discrete-laplace"),
    ],
)
@pytest.mark.parametrize("mechanism", [("--mechanism", "auto"), ()])
def test_the_noise_is_gaussian_for_rho_unless_another_is_chosen(
    mechanism, loss, made, folder, capsys
):
    assert release(*loss, *mechanism) == 0
    found = dp.load("r.json")
    assert found.mechanism.kind == made
    budget = found.guarantee()
    table = {"t": ["no", "yes"], "x": [1, 2]}
    again = dp.release(found.net, table, budget=budget)
    assert again.mechanism.kind == made
    assert again.guarantee() == budget


def test_a_person_with_several_rows_has_the_whole_loss(folder, capsys):
    person = ("--contributions", "2", "--id", "id", "--adjacency", "add-remove")
    ledger = ("--ledger", "l.jsonl", "--budget", "1")
    assert release(*RHO, *person, *ledger) == 0
    made = dp.load("r.json")
    assert made.guarantee() == zcdp_budget("add-remove", rho="0.1", contributions=2)
    assert made.mechanism.guarantee() == ZCDP(Fraction(1, 40), "add-remove")
    assert Ledger(path="l.jsonl").limit == ZCDP(
        Fraction(1), "add-remove", contributions=2
    )
    assert release(*BOTH, *person, out="s.json") == 0
    assert dp.load("s.json").guarantee() == zcdp_budget(
        "add-remove", epsilon=1, delta="1e-6", contributions=2
    )


def test_a_ledger_of_several_numbers_is_shown(folder, capsys):
    limit = dp.privacy.ApproximateDP(Fraction(2), Fraction(1, 10), "replace-one")
    ledger = Ledger(budget=limit, path="l.jsonl")
    ledger.charge(budget_of("1/2", "replace-one"))
    assert release("--epsilon", "1", "--ledger", "l.jsonl") == 0
    said = "ledger: ε = 3/2, δ = 0 of ε = 2, δ = 1/10 spent"
    assert shown(capsys)[-1] == said
    assert release("--epsilon", "1/4", "--ledger", "l.jsonl", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["spent"] == {"epsilon": "7/4", "delta": "0"}


@pytest.mark.slow
def test_reports_and_inference_take_the_release(folder, capsys):
    assert release(*RHO, "--ledger", "l.jsonl", "--budget", "1") == 0
    command = ["report", "r.json", "--ledger", "l.jsonl", "--out"]
    for out in ("r.html", "r.out.json", "r.yaml"):
        assert main([*command, out]) == 0
    page = (folder / "r.html").read_text()
    content = json.loads((folder / "r.out.json").read_text())
    _, loss, _ = content["protection"]["sentences"]
    assert loss in page
    assert "The privacy loss is ρ = 1/10" in loss
    assert "follow ε = 2.716 and δ = 1e-9" in loss
    assert "at most e^ε = 15.2 times" in loss  # e^2.716 = 15.12
    assert content["protection"]["chances"] == []
    assert content["budget"]["left"] == {"rho": "9/10"}
    assert "discrete Gaussian" in content["published"]["mechanism"]
    entry = (folder / "r.yaml").read_text()
    assert 'name: "zCDP"' in entry
    assert "rho: 0.1\n" in entry
    assert "This implies ε = 2.716, δ = 1e-9." in entry
    capsys.readouterr()
    assert main(["query", "r.json", "--target", "x", "--json"]) == 0
    documented("query", capsys.readouterr().out)


EITHER = "give --rho R alone, or --epsilon E with --delta D."
WRONG = {
    "rho and epsilon for another": (
        ("--rho", "1", "--epsilon", "1", "--mechanism", "k-norm"),
        f"`epsilon` must be left out with --rho: {EITHER}",
    ),
    "delta for another": (
        ("--epsilon", "1", "--delta", "1e-9", "--mechanism", "laplace"),
        "`delta` must be left out for the mechanism laplace, whose privacy loss has no",
    ),
    "delta alone for auto": (
        ("--delta", "1e-9", "--mechanism", "auto"),
        f"`epsilon` must be given for the mechanism auto: {EITHER}",
    ),
    "no loss": ((), "`epsilon` must be given for a release: --epsilon E."),
    "no loss of noise": (
        GAUSSIAN,
        f"`rho` must be given for the mechanism gaussian: {EITHER}",
    ),
    "epsilon alone": (
        (*GAUSSIAN, "--epsilon", "1"),
        f"`delta` must be given for the mechanism gaussian: {EITHER}",
    ),
    "delta alone": (
        (*GAUSSIAN, "--delta", "1e-9"),
        f"`epsilon` must be given for the mechanism gaussian: {EITHER}",
    ),
    "both losses": (
        (*RHO, "--epsilon", "1"),
        f"`epsilon` must be left out with --rho: {EITHER}",
    ),
    "delta of rho": (
        (*RHO, "--delta", "1e-9"),
        f"`delta` must be left out with --rho: {EITHER}",
    ),
    "all three": ((*BOTH, "--rho", "1"), "`epsilon` must be left out with --rho"),
    "ρ = 0": ((*GAUSSIAN, "--rho", "0"), "`rho` must be a finite number > 0"),
    "ρ not a number": ((*GAUSSIAN, "--rho", "much"), "`rho` must be a finite number"),
    "ρ too large": ((*GAUSSIAN, "--rho", "1000"), "take a smaller `rho`"),
    "δ = 1": ((*BOTH[:-1], "1"), "`delta` must be from 1e-30 to below 1"),
    "ε < 0": ((*GAUSSIAN, "--epsilon=-1", "--delta", "0.1"), "`epsilon` must be a"),
    "budget not a number": ((*RHO, "--budget", "x"), "`budget` must be a finite numb"),
    "a split": ((*RHO, "--split", "t=1"), "`split` must be left out"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_losses_are_one_line_before_records_are_read(name, folder, capsys):
    given, message = WRONG[name]
    before = sorted(folder.iterdir())
    line = ("--ledger", "l.jsonl", "--budget", "1e9", *given)
    assert release(*line, data="none.csv", out="o.json") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("dpjax release: ")
    assert output.err.count("\n") == 1
    assert message in output.err
    assert sorted(folder.iterdir()) == before
