"""Estimators keep scikit-learn's rules, and spend nothing in silence."""

import contextlib
import inspect
import itertools
import os
import pickle
import random
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_checks

import dpjax as dp
from dpjax.releases import publish
from dpjax.sklearn import (
    PrivacySpent,
    PrivateBayesNetClassifier,
    PrivateLinearRegression,
    PrivateNaiveBayes,
)
from tests.helpers import leaks

SCHEMA = {"a": ["u", "v"], "b": ["u", "v"]}
BUDGET = {"epsilon": 1, "adjacency": "replace-one"}
BINS = dp.data.Bins("x", -10.0, 20.0, (-5.0, -2.5, -1.0, 0.0, 1.0, 2.5, 5.0, 10.0))


@pytest.fixture
def table(rng):
    y = rng.integers(2, size=60)
    a = np.where(rng.random(60) < 0.9, y, 1 - y)
    words = np.array(["u", "v"])
    X = pd.DataFrame({"a": words[a], "b": words[rng.integers(2, size=60)]})
    return X, np.array(["no", "yes"])[y]


def naive_bayes(**changed):
    options = {"classes": ["yes", "no"], **BUDGET, **changed}
    return PrivateNaiveBayes(SCHEMA, **options)


@pytest.mark.slow
def test_predictions_are_those_of_the_release(table):
    X, y = table
    with pytest.warns(PrivacySpent, match=r"fit spends ε = 1; no ledger adds up"):
        made = naive_bayes().fit(X, y)
    assert [*made.classes_] == ["no", "yes"]
    assert made.released_.guarantee().numbers == {"epsilon": 1}
    found = made.predict_proba(X)
    fitted: Any = dp.posterior(made.released_)
    np.testing.assert_array_equal(made.predict_log_proba(X), np.log(found))
    wanted = fitted.predict_proba(X, "class")
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert (made.predict(X) == made.classes_[found.argmax(axis=1)]).all()
    assert made.network_.parent_names() == {"a": ["class"], "b": ["class"], "class": []}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_fit_charges_what_it_spends(table):
    ledger = dp.Ledger(3, adjacency="replace-one")
    made = naive_bayes(ledger=ledger).fit(*table)
    assert ledger.spent == made.released_.guarantee().numbers["epsilon"] == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_class_without_records_is_known(table):
    X, y = table
    made = naive_bayes(classes=["maybe", "no", "yes"]).fit(X, y)
    assert [*made.classes_] == ["maybe", "no", "yes"]
    assert made.predict_proba(X).shape == (60, 3)


@pytest.mark.slow
def test_each_fit_charges_the_ledger_and_says_so(table, tmp_path):
    path = tmp_path / "ledger.jsonl"
    dp.Ledger("4", adjacency="replace-one", path=path).charge(
        dp.privacy.PureDP(dp.privacy.exact_epsilon("1"), "replace-one"), "before"
    )
    made: Any = naive_bayes(ledger=str(path), epsilon="1")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        cross_val_score(clone(made), *table, cv=3)
    said = [str(x.message) for x in said if x.category is PrivacySpent]
    assert [x.rpartition("has ")[2] for x in said] == [
        f"ε = {left} left of ε = 4." for left in (2, 1, 0)
    ]
    assert dp.Ledger(path=path).remaining == 0
    with pytest.raises(dp.BudgetExceeded):
        made.fit(*table)
    assert len(dp.Ledger(path=path).charges) == 4


def test_clones_share_a_ledger_in_memory(table):
    ledger = dp.Ledger(1, adjacency="replace-one")
    made: Any = clone(naive_bayes(ledger=ledger))
    with pytest.warns(PrivacySpent, match="the ledger has ε = 0 left of ε = 1"):
        made.fit(*table)
    assert ledger.remaining == 0
    with pytest.raises(dp.BudgetExceeded):
        made.fit(*table)
    with pytest.raises(TypeError, match="a copy would be a second budget"):
        pickle.dumps(made)


def of_both(epsilon, delta):
    """A cost with an ε and a δ."""
    numbers = Fraction(epsilon), Fraction(delta)
    return dp.privacy.ApproximateDP(*numbers, "replace-one")


@pytest.fixture(params=["in memory", "in a file"])
def of_two_numbers(request, tmp_path):
    """A ledger of (2, 1/1000), of which (1/2, 1/1000) are spent."""
    path = None if request.param == "in memory" else tmp_path / "ledger.jsonl"
    ledger = dp.Ledger(budget=of_both("2", "1/1000"), path=path)
    ledger.charge(of_both("1/2", "1/1000"), "before")
    return ledger


@pytest.fixture
def drawn(monkeypatch):
    """Reads of records, and how many random bytes were drawn for noise, in order."""
    found, urandom, measured = [], os.urandom, publish.measured
    monkeypatch.setattr(os, "urandom", lambda x: found.append(x) or urandom(x))

    def measuring(*given, **options):
        found.append("records")
        return measured(*given, **options)

    monkeypatch.setattr(publish, "measured", measuring)
    return found


def test_a_fit_charges_a_budget_of_epsilon_and_delta(of_two_numbers, table, drawn):
    """It costs no δ, so that it is possible when no δ is left."""
    made = naive_bayes(ledger=of_two_numbers)
    with pytest.warns(PrivacySpent, match="has ε = 1/2, δ = 0 left of ε = 2, δ = 1/1"):
        made.fit(*table)
    assert of_two_numbers.charges[1].cost == made.released_.guarantee()
    assert of_two_numbers.cost == of_both("3/2", "1/1000")
    assert drawn[0] == "records"
    assert len(drawn) > 1


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (PrivateNaiveBayes, {"classes": [0, 1]}),
        (PrivateLinearRegression, {"bounds": (0, 1)}),
    ],
)
def test_a_fit_beyond_the_budget_draws_and_charges_nothing(
    kind, target, of_two_numbers, drawn
):
    made = kind(
        {"x": {"lower": 0, "upper": 1}},
        **target,
        epsilon="1501/1000",
        adjacency="replace-one",
        ledger=of_two_numbers,
    )
    with pytest.raises(dp.BudgetExceeded, match="left, 3/2 of 2, got 1501/1000"):
        made.fit([[0.5], [0.25], [0.75]], [0, 1, 0])
    assert not hasattr(made, "released_")
    assert of_two_numbers.cost == of_both("1/2", "1/1000")
    assert len(of_two_numbers.charges) == 1
    assert drawn == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": None}, "`epsilon` must be given"),
        ({"adjacency": None}, "`adjacency` must be given"),
        ({"classes": None}, "`classes` must list the public classes"),
        ({"classes": ["yes"]}, "`classes` must be at least two"),
        ({"classes": ["yes", "other"]}, "`y` must hold only `classes`"),
        ({"classes": [0, None]}, "`y` and `classes` must hold only text or only"),
        ({"schema": None}, "`schema` must declare the columns by public facts"),
        ({"schema": 3}, "`schema` must declare the columns by public facts"),
        ({"schema": {"a": ["u", "v"]}}, "`schema` must declare every column"),
        ({"schema": {"b": ["u", "v"], "a": ["u", "v"]}}, "in their order"),
    ],
)
def test_bad_parameters_are_refused_and_nothing_is_charged(changed, message, table):
    ledger = dp.Ledger(1, adjacency="replace-one")
    made = naive_bayes(ledger=ledger).set_params(**changed)
    with pytest.raises(ValueError, match=message):
        made.fit(*table)
    assert ledger.spent == 0


@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_it_works_in_a_pipeline_with_frames(table):
    X, y = table
    wide = X.assign(unused=1.0)
    chosen = ColumnTransformer([("chosen", "passthrough", ["a", "b"])])
    chosen.set_output(transform="pandas")
    chosen.set_params(verbose_feature_names_out=False)
    made = Pipeline([("columns", chosen), ("bayes", naive_bayes(epsilon=20))])
    made.fit(wide, y)
    assert [*made["bayes"].feature_names_in_] == ["a", "b"]
    assert made.score(wide, y) > 0.75


@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_pickle_has_the_release_and_the_same_predictions(table):
    X, y = table
    made = naive_bayes().fit(X, y)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.predict_proba(X), made.predict_proba(X))
    assert again.released_.sha256 == made.released_.sha256


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_network_has_the_public_graph(table):
    X, y = table
    parents = {"class": ["a"], "b": ["class"]}
    options = {"classes": "of-y", "target": "class", **BUDGET}
    made = PrivateBayesNetClassifier(SCHEMA, parents=parents, **options).fit(X, y)
    graph = {"a": [], "b": ["class"], "class": ["a"]}
    assert made.network_.parent_names() == graph
    assert made.predict(X).shape == (60,)
    for parents in (None, ["a"]):
        with pytest.raises(ValueError, match="`parents` must be given"):
            made.set_params(parents=parents).fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_regression_finds_its_line(rng):
    X = rng.uniform(-1, 1, size=(2000, 2))
    y = 2 * X[:, 0] - X[:, 1] + 0.5 + 0.1 * rng.normal(size=2000)
    made = PrivateLinearRegression(
        dp.Interval("x", -1, 1), bounds=(-4, 4), epsilon=20, adjacency="replace-one"
    ).fit(X, y)
    np.testing.assert_allclose(made.coef_, [2, -1], atol=0.1)
    np.testing.assert_allclose(made.intercept_, 0.5, atol=0.1)
    np.testing.assert_allclose(
        made.predict(X), X @ made.coef_ + made.intercept_, atol=1e-4
    )
    assert made.score(X, y) > 0.95
    for bounds in (None, 3, (0, 1, 2)):
        with pytest.raises(ValueError, match="`bounds` must be the public bounds of y"):
            made.set_params(bounds=bounds).fit(X, y)
    with pytest.raises(ValueError, match="`schema` must declare only numbers"):
        made.set_params(bounds=(0, 1), schema=BINS).fit(X, y)


def regression(**changed):
    options = {"bounds": (-3, 3), **BUDGET, **changed}
    return PrivateLinearRegression(dp.Interval("x", -3, 3), **options)


SECRET, LINE = "s3cret", np.full((5, 2), 41.5)
CELL = np.array([[SECRET, 1], *[[0, 1]] * 4], object)
NONE = np.array(["no", None, "yes", "no", "no"], object)
ANY = np.zeros((5, 2))
RECORDS = {
    "text in y": (regression, LINE, ["1", SECRET, *"123"]),
    "an object in y": (regression, LINE, CELL[:, 0]),
    "a cell of X": (regression, CELL, range(5)),
    "a cell of a frame": (regression, pd.DataFrame(CELL, columns=["a", "b"]), range(5)),
    "one column": (regression, LINE[:, 0], range(5)),
    "one number": (regression, 41.5, range(5)),
    "complex numbers": (regression, LINE + 1j, range(5)),
    "complex targets": (regression, LINE, LINE[:, 0] + 1j),
    "rows of two lengths": (regression, [[41.5], [1, 2]], range(2)),
    "no class": (naive_bayes, CELL, NONE),
    "one column for classes": (naive_bayes, LINE[:, 0], ["no"] * 5),
}


@pytest.mark.parametrize("name", RECORDS)
def test_errors_show_no_record_and_nothing_is_charged(name):
    kind, X, y = RECORDS[name]
    ledger = dp.Ledger(1, adjacency="replace-one")
    with pytest.raises(ValueError, match=r"`X` |`y` ") as caught:
        kind(ledger=ledger).fit(X, y)
    for one in leaks.chain(caught.value):
        assert SECRET not in str(one)
        assert "41.5" not in str(one)
    assert "\n" not in str(caught.value)
    assert ledger.spent == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_errors_about_test_records_show_none():
    line = regression().fit(ANY, range(5))
    bayes = PrivateNaiveBayes(BINS, classes=[0, 1], **BUDGET).fit(ANY, [0, 1, 0, 1, 0])
    calls = [
        lambda: line.predict(LINE[0]),
        lambda: line.predict(CELL),
        lambda: line.score(LINE, [SECRET] * 5),
        lambda: bayes.score(LINE, [SECRET] * 5),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"`X` |`y` ") as caught:
            call()
        for one in leaks.chain(caught.value):
            assert SECRET not in str(one)
            assert "41.5" not in str(one)


@pytest.mark.slow
def test_too_few_records_are_refused_before_a_charge():
    ledger = dp.Ledger(5, adjacency="replace-one")
    with pytest.raises(ValueError, match="`X` must be of at least 4 records, got 3"):
        regression(ledger=ledger).fit(ANY[:3], range(3))
    assert ledger.spent == 0
    with pytest.warns(PrivacySpent):
        regression(ledger=ledger).fit(ANY[:4], range(4))
    assert ledger.spent == 1


def test_a_frame_that_pandas_may_have_rounded_is_refused(monkeypatch):
    """As by `release`: scikit-learn would hand over an array, with no trace of it."""
    monkeypatch.setattr(pd, "__version__", "3.0.9")
    X, y = pd.DataFrame({"x": [0.5, 1.0]}), pd.Series([0.5, 1.0])
    text = pd.DataFrame({"x": ["0.5", "1.0"]})
    for given in ((text, y), (X, text["x"])):
        with pytest.raises(ValueError, match="no text that shows a number"):
            regression().fit(*given)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dpjax.sklearn.PrivacySpent")
def test_a_private_number_of_rows_is_neither_refused_nor_shown():
    near = {"epsilon": 1, "adjacency": "add-remove"}
    accepted = []
    for n in range(3):
        with contextlib.suppress(ValueError):
            regression(**near).fit(ANY[:n], range(n))
            made = PrivateNaiveBayes(BINS, classes=[0, 1], **near)
            accepted.append(made.fit(ANY[:n], np.arange(n) % 2).released_.n)
    assert accepted == [None] * 3
    wrong = [(np.zeros((47, 2)), range(46)), (np.zeros((47, 0)), range(47))]
    wrong.append((np.zeros((47, 2)), np.zeros((47, 2))))
    for (X, y), adjacency in itertools.product(wrong, ("add-remove", None)):
        with pytest.raises(ValueError, match=r"Found|1d array") as caught:
            regression(adjacency=adjacency).fit(X, y)
        for one in leaks.chain(caught.value):
            assert "4" not in str(one)


CHECKED = {
    "naive Bayes": PrivateNaiveBayes(
        BINS, classes="of-y", epsilon=25, adjacency="add-remove"
    ),
    "regression": PrivateLinearRegression(
        dp.Interval("x", -4, 4), bounds=(-4, 4), epsilon=500, adjacency="replace-one"
    ),
}


def failures(estimator):
    """Names of scikit-learn's checks that an estimator fails."""
    check: Any = estimator_checks.check_estimator
    if "on_fail" in inspect.signature(check).parameters:
        found = check(estimator, on_fail=None, on_skip=None)
        return {x["check_name"] for x in found if x["status"] == "failed"}
    failed = set()  # before scikit-learn 1.6
    for one, run in check(estimator, generate_only=True):
        try:
            run(one)
        except estimator_checks.SkipTest:
            continue
        except Exception:
            failed.add(run.func.__name__)
    return failed


@pytest.mark.thorough
@pytest.mark.relaxed
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CHECKED)
def test_scikit_learns_own_checks_pass(kind, monkeypatch):
    """Some compare two fits: here the noise of all fits has the same random bits."""
    monkeypatch.setattr(os, "urandom", lambda size: random.Random(0).randbytes(size))
    assert failures(CHECKED[kind]) == set()
