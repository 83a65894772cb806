"""Reports say what a release contains and promises, and nothing else."""

import csv
import io
import json
import re
from fractions import Fraction
from html.parser import HTMLParser

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.exports import report, summaries
from dpjax.exports.reports import results
from dpjax.exports.reports.words import implied_by, most_after, promises
from dpjax.posteriors import field_posterior
from dpjax.privacy import ZCDP, ApproximateDP, PureDP, zcdp_budget
from dpjax.statistics import MarginalContrasts
from tests.helpers.printed import documented

EMPTY = {"meta", "path", "br"}


class Page(HTMLParser):
    """All elements of a page, which must be closed in order; and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.text = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for found, attrs in self.found if found == tag]


@pytest.fixture(scope="module")
def released():
    levels = {"<b>": ["no & never", "yes"], "y": [0, 1], "z": ["a", "b", "c"]}
    net = dp.BayesNet.from_parents(levels, {"<b>": [], "y": ["<b>"], "z": ["y"]})
    rows = {"<b>": ["yes", "no & never"] * 20, "y": [1, 0] * 20, "z": ["a", "c"] * 20}
    about = {"steward": "A & B", "record": "a visit", "region": "Ruritania"}
    return dp.release(net, rows, epsilon="1/2", adjacency="replace-one", about=about)


@pytest.fixture(scope="module")
def log():
    levels = {"place": ["n", "s"], "month": [0, 1, 2], "kind": ["a", "b"]}
    net = dp.event_logs.event_network(dp.Schema(levels), "place", "month")
    rows = {
        "place": ["n"] * 90,
        "month": [0, 1, 2] * 30,
        "kind": ["a"] * 60 + ["b"] * 30,
    }
    return dp.release(net, rows, epsilon=2, adjacency="add-remove")


@pytest.mark.slow
def test_a_page_is_whole_and_needs_no_network(released):
    text = report(released).to_html()
    page = Page(text)
    assert [tag for tag, _ in page.found if tag in ("h1", "h2")] == ["h1"] + ["h2"] * 5
    assert not {tag for tag, _ in page.found} & {"script", "link", "img", "iframe", "a"}
    assert "http" not in text
    assert "url(" not in text
    assert page.all("html") == [{"lang": "en"}]
    assert all(attrs["scope"] == "col" for attrs in page.all("th"))
    assert all(attrs["aria-hidden"] == "true" for attrs in page.all("svg"))
    assert {"no & never", "y", "What a row is", "a visit", "A & B"} <= {*page.text}
    assert "<b>" in page.text
    assert not page.all("b")


@pytest.mark.slow
def test_all_forms_have_the_posterior_and_the_public_facts(released, tmp_path):
    made = report(released, level=0.9)
    fitted = dp.posterior(released)
    for name in ("r.html", "r.json", "r.csv", "r.yaml"):
        made.save(tmp_path / name)
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["published"]["records"] == 40
    assert content["protection"]["guarantee"] == {"epsilon": "1/2"}
    assert content["verification"]["sha256"] in (tmp_path / "r.html").read_text()
    released.save(tmp_path / "release.json")
    saved = json.loads((tmp_path / "release.json").read_text())
    assert content["verification"]["sha256"] == saved["sha256"] == released.sha256
    table = content["results"]["tables"]["z"]
    lower = np.asarray(fitted.quantile(0.05)["z"]).ravel()
    np.testing.assert_allclose(table["lower"], lower, rtol=1e-6)
    assert table["given"] == ["y = 0"] * 3 + ["y = 1"] * 3
    rows = [*csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text()))]
    assert len(rows) == 2 + 4 + 6
    assert [row["level"] for row in rows if row["table"] == "z"] == [*"abcabc"]
    entry = (tmp_path / "r.yaml").read_text().splitlines()
    assert "      epsilon: 0.5" in entry
    assert '    data_curators: ["A & B"]' in entry
    assert '    data_product_region: "Ruritania"' in entry
    with pytest.raises(ValueError, match=r"`path` must end in \.html or \.json"):
        made.save(tmp_path / "r.pdf")


@pytest.mark.slow
def test_many_codes_are_in_the_json_report_alone(tmp_path):
    codes = {f"C{i}": "ab"[i % 2] for i in range(101)}
    net = dp.BayesNet.from_parents({"x": {"codes": codes}}, {"x": []})
    options = {"epsilon": 1, "adjacency": "add-remove"}
    found = report(dp.release(net, {"x": ["C1", "C2"]}, **options))
    assert "C57" not in found.to_html()
    assert "101, which are in the report" in found.to_html()
    found.save(tmp_path / "report.json")
    assert "C57" in (tmp_path / "report.json").read_text("utf-8")


def test_what_is_infinite_is_left_out(released, monkeypatch):
    def columns_of(*args):
        found = summaries.columns_of(*args)
        found["mean"][0] = found["sd"][0] = np.inf
        return found

    assert "infinite" not in report(released).content["results"]["intervals"]
    monkeypatch.setattr(results, "columns_of", columns_of)
    written = report(released)
    parts = written.content["results"]
    assert parts["intervals"].endswith("A mean or sd that is infinite is left out.")
    found = next(iter(parts["tables"].values()))
    assert found["mean"][0] is None
    assert found["sd"][0] is None
    assert None not in [*found["mean"][1:], *found["sd"][1:], *found["lower"]]
    assert re.search("(nan|inf)[^a-z]", written.to_html() + written.to_csv()) is None
    json.dumps(written.content, allow_nan=False)


def test_an_event_log_is_reported_by_totals(log):
    tables = report(log).content["results"]["tables"]
    kinds, months = tables["Events by kind"], tables["Events by month"]
    counts = np.asarray(log.tables()["kind"])
    np.testing.assert_allclose(kinds["count"], counts.sum((0, 1)))
    np.testing.assert_allclose(months["count"], counts.sum((0, 2)))
    a = np.exp(-2.0)  # one field: a record adds 1 to one count
    sd = np.sqrt(2 * a / (1 - a) ** 2)
    np.testing.assert_allclose(kinds["sd"], sd * np.sqrt(6), rtol=1e-5)
    np.testing.assert_allclose(months["sd"], sd * np.sqrt(4), rtol=1e-5)
    half = np.subtract(months["upper"], months["count"])
    np.testing.assert_allclose(half, 1.959964 * np.array(months["sd"]), rtol=1e-5)
    assert months["month"] == [0, 1, 2]


def test_an_event_log_with_gaussian_noise_has_intervals_of_its_variance(log):
    rows = {"place": ["n"] * 9, "month": [0, 1, 2] * 3, "kind": ["a"] * 9}
    budget = zcdp_budget("add-remove", rho="1/8")  # the squared sensitivity is 1: σ = 2
    made = dp.release(log.net, rows, budget=budget)
    kinds = report(made).content["results"]["tables"]["Events by kind"]
    np.testing.assert_allclose(kinds["sd"], 2 * np.sqrt(6), rtol=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [("1", " = 2.72"), ("1/10", " = 1.11"), ("10", " = 22,100"), ("900", "")],
)
def test_odds_are_rounded_up(epsilon, shown):
    text = promises(PureDP(Fraction(epsilon), "add-remove"))[1]
    assert f"most e^ε{shown}. This holds" in text
    if shown:
        number = float(shown.removeprefix(" = ").replace(",", ""))
        assert 0 <= number / np.exp(float(Fraction(epsilon))) - 1 < 0.01
    assert "presence of one row in the table" in text


def test_a_persons_rows_and_delta_are_in_the_words():
    cost = ApproximateDP(
        Fraction(1), Fraction(1, 10**6), "replace-one", contributions=3
    )
    protects, odds, _ = promises(cost)
    assert "content of a person with up to 3 rows" in protects
    assert "ε = 1, with δ = 1/1000000. Compare one possible content of a pers" in odds
    assert "at most e^ε = 2.72 times its probability in the other case, plus" in odds


@pytest.mark.parametrize(
    ("rho", "epsilon", "shown"),
    [
        ("1/100", "0.8102", " = 2.25"),
        ("2", "14.16", " = 1,420,000"),
        ("50", "112.7", ""),
    ],
)
def test_the_words_of_rho_have_an_epsilon_and_a_delta(rho, epsilon, shown):
    cost = ZCDP(Fraction(rho), "add-remove", contributions=3)
    _, loss, _ = promises(cost)
    assert f"ρ = {rho}, in" in loss
    assert "the presence of a person with up to 3 rows in the table" in loss
    assert f"From ρ follow ε = {epsilon} and δ = 1e-9: whatever" in loss
    assert f"at most e^ε{shown} times" in loss
    exact = cost.approximate("1e-9").epsilon
    assert implied_by(cost) == {"epsilon": epsilon, "delta": "1e-9"}
    assert exact <= Fraction(epsilon) < exact * Fraction("1.001")


def test_only_rho_implies_other_numbers():
    assert implied_by(PureDP(Fraction(1), "add-remove")) == {}


@pytest.mark.parametrize("chance", [0.01, 0.5, 0.9])
def test_the_chance_after_a_release_is_bayes_rule(chance):
    ratio = np.exp(2.0)  # of the probabilities of the output under the two guesses
    wanted = chance * ratio / (chance * ratio + 1 - chance)
    assert most_after(chance, Fraction(2)) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_the_command_writes_a_report_with_the_ledger(released, tmp_path, capsys):
    released.save(tmp_path / "release.json")
    ledger = dp.Ledger("3/4", adjacency="replace-one", path=tmp_path / "l.jsonl")
    ledger.charge(released.guarantee(), "the <first> one")
    out = tmp_path / "report.html"
    command = ["report", str(tmp_path / "release.json"), "--out", str(out)]
    command += ["--ledger", str(tmp_path / "l.jsonl")]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "A private release of" in text
    assert main([*command, "--json"]) == 0
    facts = documented("report", capsys.readouterr().out)
    assert text == f"{facts['out']}: {facts['title']}\n"
    page = Page(out.read_text())
    assert {"The privacy budget", "ε = 1/4", "the <first> one"} <= {*page.text}
    other = dp.Ledger(1, adjacency="replace-one", path=tmp_path / "other.jsonl")
    other.charge(released.guarantee().repeated(2), "another one")
    assert main([*command, "--ledger", str(tmp_path / "other.jsonl")]) == 2
    message = capsys.readouterr().err
    assert "`ledger` must be the one that was charged for the release" in message
    before = sorted(tmp_path.iterdir())
    for wrong in (["--out", "x.txt"], ["--level", "2"], ["--ledger", "no.jsonl"]):
        assert main([*command, *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert main([*command, "--out", str(tmp_path / "release.json")]) == 2
    assert sorted(tmp_path.iterdir()) == before
    dp.load(tmp_path / "release.json")


@pytest.mark.slow
@pytest.mark.relaxed  # NumPyro mixes dtypes
def test_results_of_marginals_are_the_tables_that_were_measured(monkeypatch):
    """Of each variable, of each measured table, and the private number of records."""
    schema = dp.Schema({"x": ["no", "yes"], "y": [0, 1, 2], "z": ["a", "b"]})
    tables = [["x", "y"], ["y", "z"]]
    statistic = MarginalContrasts.of_tables(schema, tables, "add-remove")
    rows = {"x": ["no", "yes"] * 40, "y": [0, 1, 1, 2] * 20, "z": ["a", "b"] * 40}
    made = dp.release(statistic, rows, epsilon=2, adjacency="add-remove")
    fitted = field_posterior(jax.random.key(0), made, chains=2, warmup=50, samples=100)
    monkeypatch.setattr(results, "posterior", lambda released: fitted)
    content = report(made, level=0.8).content
    words = "2 tables of x, y and z, without a network, with random noise."
    assert content["published"]["what"] == words
    found = content["results"]["tables"]
    assert [*found] == ["x", "y", "z", "x and y", "y and z", "Number of records"]
    assert found["x"]["level"] == ["no", "yes"]
    assert found["y and z"]["level"][:3] == [
        "y = 0, z = a",
        "y = 0, z = b",
        "y = 1, z = a",
    ]
    shares = np.asarray(fitted.query(["y", "z"], draws=200, key=jax.random.key(1)))
    shares = shares.reshape(200, -1)
    close = {"atol": 5 * shares.std(axis=0).max() / 200**0.5}
    np.testing.assert_allclose(found["y and z"]["mean"], shares.mean(axis=0), **close)
    np.testing.assert_allclose(found["y and z"]["sd"], shares.std(axis=0), rtol=0.4)
    for columns in found.values():
        low, mean, high = (np.array(columns[x]) for x in ("lower", "mean", "upper"))
        assert ((low < mean) & (mean < high)).all()
    both = np.reshape(found["x and y"]["mean"], (2, 3))
    np.testing.assert_allclose(both.sum(axis=1), found["x"]["mean"], rtol=1e-5)
    np.testing.assert_allclose(both.sum(axis=0), found["y"]["mean"], rtol=1e-5)
    lower, upper = np.quantile(np.asarray(fitted.n), [0.1, 0.9])
    assert found["Number of records"]["lower"] == [pytest.approx(lower)]
    assert found["Number of records"]["upper"] == [pytest.approx(upper)]
