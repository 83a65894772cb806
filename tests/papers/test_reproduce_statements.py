"""The papers' statements: as expected, with their numbers, and all in the register."""

import dataclasses
import json
import math
import pathlib

import mpmath
import numpy as np
import pytest
from scipy import stats

from papers import (
    STATEMENTS,
    Setting,
    names,
    reproduction,
    statements as room,
    statements_table,
)
from papers.__main__ import main as cli
from papers.statements import zhang_naive_bayes, zhang_sampling
from papers.statements.zhang import ZHANG_STATEMENTS

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "statements.md"
ALL = {one.name: one for one in ZHANG_STATEMENTS}


def made(name, quick=True):
    """As `python -m papers NAME` makes it."""
    return ALL[name].run(Setting(0, name, quick))


def column(found, name, table=""):
    return np.array(found.tables[table][name])


def assert_as_expected(found):
    for claim in found.claims:
        assert claim.as_expected, f"{claim.words}: {claim.standard_errors}"
        assert abs(claim.standard_errors) >= 5


def test_the_page_is_what_the_register_says():
    _, after = PAGE.read_text().split("<!-- register: begin -->\n\n")
    table, _ = after.split("\n\n<!-- register: end -->")
    assert table == statements_table()


def test_every_command_of_the_register_is_known():
    wanted = {name for one in STATEMENTS for name in one.shown_by}
    assert sorted(wanted - set(names())) == []


def test_every_statement_that_can_be_reproduced_is_in_the_register():
    shown = {name for one in STATEMENTS for name in one.shown_by}
    assert {one.name for one in room.REPRODUCTIONS} <= shown


def test_no_statement_is_there_twice_and_no_cell_breaks_the_table():
    labels = [(one.paper, one.label) for one in STATEMENTS]
    assert len(set(labels)) == len(labels)
    rows = [row for row in statements_table().splitlines() if row.startswith("| ")]
    assert {row.replace(r"\|", "").count("|") for row in rows} == {7}
    assert len(rows) == len(STATEMENTS) + 2  # a head a paper


def test_a_verdict_must_be_known_and_shown():
    one = STATEMENTS[1]
    with pytest.raises(ValueError, match="`verdict` must be"):
        dataclasses.replace(one, verdict="true")
    with pytest.raises(ValueError, match="`assumes` must say what Example 1 assumes"):
        dataclasses.replace(one, verdict="corrected", assumes="")
    with pytest.raises(ValueError, match="`paper` must be"):
        dataclasses.replace(one, paper="others")
    with pytest.raises(ValueError, match="`shown_by` must show Example 1"):
        dataclasses.replace(one, shown_by=())


def test_the_command_prints_the_register(capsys):
    assert cli(["--statements"]) == 0
    assert capsys.readouterr().out == statements_table() + "\n"
    assert cli(["--statements", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert len(facts) == len(STATEMENTS)
    assert facts[0]["shown_by"] == list(STATEMENTS[0].shown_by)


@pytest.mark.parametrize(
    "name", ["zhang-lemma-1", "zhang-theorem-2", "zhang-lemma-a-1"]
)
def test_what_is_enumerated_at_once(name):
    assert_as_expected(made(name))


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_clipped_draws_are_not_private(n):
    ends = [0.8 + 0.2 * x / n for x in (0, 1, 3, 9, n)]
    masses = [
        mpmath.quad(lambda t, s=s: t**s * (1 - t) ** (n - s), ends)
        / mpmath.beta(1 + s, 1 + n - s)
        for s in (0, 1)
    ]
    expected = float(mpmath.log(masses[1] / masses[0]))
    loss = zhang_naive_bayes._clipped_loss(n)
    assert loss == pytest.approx(expected, rel=1e-6)
    assert round(loss, 1) == {10: 3.8, 100: 6.0, 1000: 8.3}[n]


def test_the_loss_of_a_coin_is_that_of_its_density():
    """By quadrature, at n = 5: 2.082, as math says; and any grid has no more."""
    theta = np.linspace(0.2, 0.8, 60_001)
    logs = np.stack([s * np.log(theta) + (5 - s) * np.log1p(-theta) for s in range(6)])
    laws = logs - np.log(np.trapezoid(np.exp(logs), theta, axis=1))[:, None]
    loss = zhang_sampling._coin_loss(5)
    assert loss == pytest.approx(np.abs(np.diff(laws, axis=0)).max(), rel=1e-6)
    assert loss == pytest.approx(2.082, abs=5e-4)


@pytest.mark.parametrize("n", [1, 4])
def test_the_distance_of_two_posteriors(n):
    theta = np.linspace(0, 1, 100_001)
    for ones in range(n):
        a, b = 3.0 + ones, 3.0 + n - ones
        laws = stats.beta.pdf(theta, a, b), stats.beta.pdf(theta, a + 1, b - 1)
        distance = np.trapezoid(np.abs(laws[0] - laws[1]), theta) / 2
        assert zhang_sampling._variation(3.0, n, ones) == pytest.approx(
            distance, rel=1e-6
        )


@pytest.mark.thorough
@pytest.mark.parametrize("name", ALL)
def test_a_statement_of_zhang_is_as_expected(name):
    found = made(name)
    assert_as_expected(found)
    assert found.paragraph
    assert not found.figures
    assert reproduction(name) is ALL[name]
    fails = any(x.by == "paper" and x.expected == "fails" for x in found.claims)
    citing = [one for one in STATEMENTS if name in one.shown_by]
    corrected = [one for one in citing if one.verdict == "corrected"]
    assert corrected or not fails  # what fails is not said to hold
    assert fails or not any(one.shown_by == (name,) for one in corrected)


@pytest.mark.thorough
def test_the_numbers_of_the_laplace_mechanism():
    found = made("zhang-lemma-1")
    assert column(found, "updates").tolist() == [6, 6, 6]
    assert column(found, "maximal families").tolist() == [4, 4, 2]
    losses = column(made("zhang-corollary-1"), "loss")
    np.testing.assert_allclose(losses, [0.5, 0.5, 1.0, 1.0], rtol=1e-7)
    found = made("zhang-proposition-1")
    bound, exact, delta = (column(found, x) for x in ("bound", "exact", "delta"))
    np.testing.assert_allclose(bound[-5:], 34 * np.log(66 / delta[-5:]))
    np.testing.assert_allclose(exact[-5:], (1 - delta[-5:] / 66) ** 66)


@pytest.mark.thorough
def test_the_numbers_of_the_fourier_mechanism():
    found = made("zhang-corollary-2")
    assert column(found, "largest").tolist() == [8, 32, 22, 32, 28, 80]
    assert column(found, "2N").tolist() == [16, 36, 32, 64, 42, 128]
    found = made("zhang-section-5-1")
    pair = column(found, "algorithm_1")[-1], column(found, "algorithm_2")[-1]
    assert pair == pytest.approx((34 * math.sqrt(2),) * 2)
    assert column(made("zhang-theorem-3"), "kept").min() > 0.99


@pytest.mark.thorough
def test_the_numbers_of_the_utility_bounds():
    found = made("zhang-theorem-1")
    mean, printed, refined = (column(found, x) for x in ("mean", "printed", "refined"))
    np.testing.assert_allclose(mean[[0, 4]], [0.47, 36.1], rtol=0.1)
    assert mean[-1] == pytest.approx(9.95, rel=0.05)
    assert printed[-1] == pytest.approx(1000 * np.log(502**2))
    assert refined[-1] == pytest.approx(0.0028, abs=1e-4)


@pytest.mark.thorough
def test_the_numbers_of_posterior_samples():
    found = made("zhang-theorem-4")
    assert (column(found, "loss", "loss") <= column(found, "ours", "loss")).all()
    records, bound = (column(found, x, "stochastic") for x in ("n", "bound"))
    assert bound[records > 1].min() > 1.6
    found = made("zhang-appendix-c")
    epsilon, omega = column(found, "epsilon"), column(found, "omega")
    np.testing.assert_allclose(omega, 1 / (1 + np.exp(epsilon / 6)), rtol=1e-9)
    found = made("zhang-appendix-d")
    assert column(found, "epsilon").tolist() == [121, 36, 9, 4]
    assert column(found, "loss", "loss")[-1] == pytest.approx(3.974, abs=1e-3)
