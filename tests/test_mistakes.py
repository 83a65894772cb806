"""Mistakes of a user: one clear line each, and nothing is charged."""

import functools
from typing import Any

import ibis
import jaxtyping
import numpy as np
import polars as pl
import pytest

import dpjax as dp
from dpjax import audits, exports
from dpjax.chains import charge
from dpjax.families import LinearRegression
from dpjax.mechanisms import DiscreteLaplace
from dpjax.privacy import Sensitivity
from dpjax.statistics import MarginalContrasts, Sufficient

SECRET = "s3cret"
LEVELS = {"x": ["a", "b"], "age": {"lower": 0, "upper": 90, "edges": [18, 65]}}
TABLE = {"x": ["a", "b", "b"], "age": [7, 50, 70]}
FULL = {**TABLE, "n": [1, 2, 3], "id": [1, 1, 2]}
FRAME = pl.DataFrame(TABLE)


def bins(**declaration):
    return lambda: dp.Schema({"age": {"lower": 0, "upper": 90, **declaration}})


def levels(declaration):
    return lambda: dp.Schema({"x": declaration})


def of(table, levels=LEVELS, **options):
    """A release that must be refused, with nothing charged."""

    def release():
        net = dp.BayesNet.from_parents(levels, {name: [] for name in levels})
        adjacency = options.setdefault("adjacency", "add-remove")
        ledger = dp.Ledger(9, adjacency=adjacency, contributions=options.get("k", 1))
        if "k" in options:
            options["contributions"] = options.pop("k")
        try:
            dp.release(
                net, table, ledger=ledger,
                **{"epsilon": 1, **options},
            )  # fmt: skip
        finally:
            assert ledger.spent == 0

    return release


PUBLIC = {"adjacency": "replace-one"}
MISTAKES = {
    "no level for a missing cell": (
        of({**TABLE, "x": ["a", None, "b"]}),
        'declare a "missing" level',
    ),
    "a missing number": (of({**TABLE, "age": [7, None, 70]}), '"missing"'),
    "a level that is not declared": (of({**TABLE, "x": ["a", SECRET, "b"]}), "'x'"),
    "text in bins": (of({**TABLE, "age": ["7", SECRET, "70"]}), "'age'"),
    "no levels": (levels({"levels": []}), "at least two"),
    "two levels alike": (levels(["a", "a"]), "must all differ"),
    "one bin": (bins(edges=[]), "edges"),
    "bins that overlap": (bins(edges=[30, 20]), "edges"),
    "edges outside the bounds": (bins(edges=[10, 95]), "edges"),
    "edges and bins": (bins(edges=[10], bins=3), "edges"),
    "no bins": (bins(bins=0), "bins"),
    "bounds exchanged": (bins(upper=-1, bins=3), "upper"),
    "a unit of nothing": (
        lambda: dp.Schema({"d": {"lower": "2024", "upper": "2025", "unit": "moon"}}),
        "unit",
    ),
    "levels of records": (levels(FRAME["x"]), "write the list"),
    "a column that is not there": (of({"x": ["a"]}), "got no 'age'"),
    "a column too many": (of(FULL), "must have only columns of the schema"),
    "no id column": (of(TABLE, id="id", k=2), "got no 'id'"),
    "an id and no most rows": (
        of(FULL, id="id", ignore="n"),
        "`contributions` must be",
    ),
    "an id that is a variable": (of(TABLE, id="x", k=2), "that is no variable"),
    "an id under replace-one": (
        of(FULL, id="id", k=2, ignore="n", **PUBLIC),
        "`id` must be left out under",
    ),
    "no persons": (of(TABLE, k=0), "`contributions` must be an integer"),
    "a multiplicity of -1": (
        of({**TABLE, "n": [1, -1, 1]}, multiplicity="n"),
        "from 0 to 9007199254740992",
    ),
    "a multiplicity of 2^60": (
        of({**TABLE, "n": [1, 2**60, 1]}, multiplicity="n"),
        "from 0 to 9007199254740992",
    ),
    "a multiplicity of one and a half": (
        of({**TABLE, "n": [1, 1.5, 1]}, multiplicity="n"),
        "must be an integer",
    ),
    "no column of multiplicities": (of(TABLE, multiplicity="n"), "got no 'n'"),
    "a weight above the public most": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w", k=2),
        "must be an integer from 0 to 2",
    ),
    "weights and no most": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w"),
        "`contributions` must be given with",
    ),
    "weights under replace-one": (
        of({**TABLE, "w": [1, 3, 1]}, weights="w", k=3, **PUBLIC),
        "`weights` must be left out",
    ),
    "a collation that is not known": (of(ibis.memtable(FRAME)), "binary=True"),
    "a lazy frame without records": (
        of(FRAME.lazy().head(0), **PUBLIC),
        "must not be empty",
    ),
    "a lazy frame that fails": (
        of(FRAME.lazy().with_columns(age=pl.lit(SECRET).cast(int))),
        "does not",
    ),
    "tables of two states": (
        of(dp.data.Grouped([{"x": ["a"], "n": [2]}, {"age": [7], "n": [3]}])),
        "their numbers of records differ",
    ),
    "encoded records with a multiplicity": (
        of(np.zeros((3, 2), int), multiplicity="n"),
        "give the table itself",
    ),
    "no table": (of(SECRET), "must be"),
    "a row for a table": (of([["a", 7]]), "must be"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_clear_line(name):
    make, message = MISTAKES[name]
    with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
        make()
    shown = str(caught.value)
    assert type(caught.value) is ValueError
    assert message in shown
    assert SECRET not in shown or name == "no table"  # a path is public
    assert "\n" not in shown
    assert shown.startswith("`")
    assert shown.endswith(".") or name == "a missing cell"
    assert len(shown) < 400


def test_they_are_thirty():
    assert len(MISTAKES) >= 30


SCHEMA = dp.Schema({"x": ["a", "b"], "y": ["a", "b"]})
NET = dp.BayesNet.from_parents(SCHEMA, {"x": [], "y": ["x"]})
ROWS = {"x": ["a", "b", "b"], "y": ["a", "a", "b"]}
BUDGET = {"epsilon": 1, "adjacency": "replace-one"}
called: Any = dp
charge_chains: Any = charge
exported: Any = exports


def gaussian(variables: Any):
    return Sufficient.of("gaussian", variables, "replace-one")


NUMBER = dp.Interval("n", 0, 1)
LINE = LinearRegression((0.0,), (1.0,), (0.0, 1.0))
GAUSSIAN = gaussian((NUMBER,)).family
LAPLACE = DiscreteLaplace.calibrate(1, Sensitivity(1, "replace-one"))
STUDY = dp.study.NetworkExperiment(NET, "x", training=2, adjacency="replace-one")


def released(**options) -> Any:
    return dp.release(NET, ROWS, **{**BUDGET, **options})


@functools.cache
def fitted() -> Any:
    return dp.posterior(released())


def plan(what):
    return dp.plan(what, 9, 1, "replace-one", key=dp.study_key(0))


def sweep(experiment: Any = lambda key, mechanism, data: data, data=1.0, **options):
    budgets = {"epsilons": [1], "repeats": 2}
    return called.sweep(dp.study_key(0), experiment, data, **budgets, **options)


WRONG_TYPES = {
    "a path for a ledger": (
        lambda: released(ledger="l.jsonl"),
        "`ledger` must be a Ledger, got str: open it with `dpjax.Ledger(path=…)`.",
    ),
    "a path and no adjacency": (
        lambda: released(ledger="l.jsonl", adjacency=None),
        "`ledger` must be a Ledger, got str",
    ),
    "a path for a ledger to learn": (
        lambda: called.learn(SCHEMA, ROWS, **BUDGET, ledger="l.jsonl"),
        "`ledger` must be a Ledger, got str",
    ),
    "a path for a ledger of chains": (
        lambda: charge_chains("l.jsonl", None, "", ()),
        "`ledger` must be a Ledger, got str",
    ),
    "a path for a ledger to report": (
        lambda: exported.report(released(), ledger="l.jsonl"),
        "`ledger` must be a Ledger, got str",
    ),
    "a title for facts": (
        lambda: released(about="x"),
        "`about` must be a mapping from facts to text, such as {'title': 'Trips'}",
    ),
    "a number to ignore": (
        lambda: released(ignore=3),
        "`ignore` must be a Collection, got int: name the columns",
    ),
    "a network to learn": (
        lambda: called.learn(NET, ROWS, **BUDGET),
        "`schema` must be a Schema, got BayesNet: make it with `dpjax.Schema`",
    ),
    "levels to learn": (
        lambda: called.learn({**SCHEMA}, ROWS, **BUDGET),
        "`schema` must be a Schema, got dict",
    ),
    "a schema to plan": (
        lambda: plan(SCHEMA),
        "`what` must be a FamilyStatistic, got Schema: make one with `Sufficient.of`, "
        "or a network with `BayesNet.from_parents`.",
    ),
    "a number for variables": (
        lambda: called.Schema(3),
        "`variables` must be a list of",
    ),
    "pairs for variables": (
        lambda: called.Schema([("x", ["a", "b"])]),
        "`variables` must be a list of",
    ),
    "no path to load": (
        lambda: called.load(None),
        "`release` must be the path of a file, got NoneType.",
    ),
    "no path to save": (
        lambda: released().save(None),
        "`path` must be the path of a file, got NoneType.",
    ),
    "parents that are text": (
        lambda: called.BayesNet.from_parents(SCHEMA, {"y": "x"}),
        "`parents` must be lists of names, got text: give a list of the parents",
    ),
    "a parent that is a number": (
        lambda: called.BayesNet.from_parents(SCHEMA, {"y": 3}),
        "`parents` must be lists of names, got int: give a list of the parents",
    ),
    "levels that are none": (
        lambda: called.BayesNet.from_parents(3, {}),
        "`levels` must be a Mapping, got int: give a schema",
    ),
    "the target of a family": (
        lambda: Sufficient.of(
            "linear-regression",
            [dp.Interval(x, 0, 1) for x in "xy"],
            "replace-one",
            target="y",
        ),
        "`options` must be parameters of the family linear-regression, got target",
    ),
    "a list of parents": (
        lambda: called.BayesNet.from_parents(SCHEMA, [1]),
        "`parents` must be a Mapping, got list: give a list of the parents",
    ),
    "a release for a data frame": (
        lambda: exported.to_dataframe(released()),
        "`posterior` must be a Posterior, got Released: make one with `dpjax.posterior",
    ),
    "a release for records": (
        lambda: exported.synthesize(dp.study_key(0), released(), 9),
        "`posterior` must be a Posterior, got Released",
    ),
    "a release for draws": (
        lambda: exported.to_arviz(dp.study_key(0), released()),
        "`posterior` must be a Posterior, got Released",
    ),
    "a posterior to report": (
        lambda: exported.report(fitted()),
        "`released` must be a Released, got ExactPosterior: give one of",
    ),
    "names of variables": (lambda: gaussian(("n",)), "`variables` must be a list of"),
    "several quantiles": (
        lambda: fitted().quantile([0.1, 0.9]),
        "`q` must be between 0 and 1 and one number, got [0.1, 0.9].",
    ),
    "quantiles in an array": (
        lambda: fitted().quantile(np.array([0.1, 0.9])),
        "`q` must be between 0 and 1 and one number, got an object of type ndarray.",
    ),
    "a law that is a dictionary": (
        lambda: audits.audit_exactly(
            lambda data: {0: 0.5, 1: 0.5}, [(0, 1)], epsilon=1
        ),
        "`law` must return a list that has, for each part of an output, a list of the ",
    ),
    "a law that is one list": (
        lambda: audits.audit_exactly(lambda data: [0.5, 0.5], [(0, 1)], epsilon=1),
        "`law` must return a list that has, for each part of an output, a list of the ",
    ),
    "a number for sizes": (
        lambda: list(audits.neighbouring(called.study_key, 1, "replace-one")),
        "`sizes` must be a number for each variable, as in (2, 3), got function.",
    ),
    "names for tables": (
        lambda: MarginalContrasts.of_tables(SCHEMA, ("x", "y"), "replace-one"),
        "`tables` must be lists of names, got text: give a list of the variables of ",
    ),
    "one column of numbers": (
        lambda: Sufficient.of("gaussian", (NUMBER,), "replace-one").measure(np.ones(3)),
        "`records` must be rows of 1 numbers, got an array of shape (3,).",
    ),
    "counts beyond what a simulation holds": (
        lambda: LAPLACE.sample(dp.study_key(0), np.array([1 << 40])),
        "`exact` must be from -2^29 to 2^29: use `draw`.",
    ),
    "counts just beyond what a simulation holds": (
        lambda: LAPLACE.sample(dp.study_key(0), np.array([-(1 << 29) - 1])),
        "`exact` must be from -2^29 to 2^29: use `draw`.",
    ),
    "a number for a sensitivity": (
        lambda: called.mechanisms.DiscreteLaplace.calibrate(1, 2),
        "`sensitivity` must be a Sensitivity, got int: give that of the statistic.",
    ),
    "a number for a sensitivity in studies": (
        lambda: called.mechanisms.Laplace(0.1, 2),
        "`sensitivity` must be a Sensitivity, got int: give that of the statistic.",
    ),
    "a sensitivity whose arguments are swapped": (
        lambda: called.privacy.Sensitivity("replace-one", 1),
        "`sensitivity` must be positive and finite, got replace-one.",
    ),
    "a network whose arguments are swapped": (
        lambda: called.BayesNet.naive_bayes("x", SCHEMA),
        "`target` must be a variable of the schema, got Schema",
    ),
    "an experiment without its data": (
        lambda: sweep(experiment=STUDY, data=np.zeros((4, 2), np.uint8)),
        "`prepare` must be given to `dpjax.sweep` with this experiment: ",
    ),
    "a recipe that is not made": (
        lambda: released(mechanism=called.recipes.Laplace),
        "`mechanism` must be a recipe, got the class Laplace: make one, `Laplace()`.",
    ),
    "a number for a budget": (
        lambda: released(budget=1),
        "`budget` must be a guarantee, such as `dpjax.privacy.budget_of(1, ",
    ),
    "a class that is no statistic": (
        lambda: called.statistics.STATISTICS.add(int),
        "`kind` must be a subclass of `Statistic`, to be added as a statistic, got ",
    ),
    "a table for a posterior without names": (
        lambda: LINE.posterior(LINE.prior()).predict({"x": [0.5]}),
        "`features` must be an array for this posterior, which has no names of columns",
    ),
    "a number for a shape": (
        lambda: fitted().sample(dp.study_key(0), 3),
        "`shape` must be a tuple of integers of at least 0, such as (3,) for 3 draws, ",
    ),
    "a shape below 0": (
        lambda: fitted().sample(dp.study_key(0), (2, -1)),
        "`shape` must be a tuple of integers of at least 0, such as (3,) for 3 draws, ",
    ),
    "a number for tables": (
        lambda: fitted().log_prob(3),
        "`values` must be a dictionary in the form that `sample` returns, got 3.",
    ),
    "tables without one": (
        lambda: fitted().log_prob({"x": np.ones(2)}),
        "`values` must be a dictionary in the form that `sample` returns, got one "
        "without 'y'.",
    ),
    "parameters of another family": (
        lambda: GAUSSIAN.posterior(GAUSSIAN.prior()).log_prob({"mean": 0.0, "sd": 1.0}),
        "`values` must be a dictionary in the form that `sample` returns, got one "
        "without 'variance'.",
    ),
    "a path for data": (
        lambda: sweep(data="x.csv"),
        "`data` must be numbers in arrays, such as the result of `Schema.encode`, ",
    ),
    "a name for a mechanism": (
        lambda: sweep(mechanisms="laplace"),
        "`mechanisms` must be a mechanism, a function of the epsilons, or a mapping ",
    ),
    "a list of mechanisms": (
        lambda: sweep(mechanisms=[1]),
        "`mechanisms` must be a mechanism, a function of the epsilons, or a mapping ",
    ),
    "a name for an experiment": (
        lambda: sweep(experiment="naive Bayes"),
        "`experiment` must be a function, got str.",
    ),
    "a switch for progress": (
        lambda: sweep(progress=True),
        "`progress` must be a function, got bool.",
    ),
    "no target": (
        lambda: fitted().query(None),
        "`target` must be one of the network's variables, got None: these are x, y.",
    ),
    "a word for a seed": (lambda: called.study_key("x"), "`seed` must be an integer"),
    "half a seed": (lambda: called.study_key(1.5), "`seed` must be an integer"),
    "a seed below 0": (lambda: dp.study_key(-1), "`seed` must be an integer"),
    "a seed of 70 bits": (lambda: dp.study_key(2**70), "`seed` must be below 2^"),
}


@pytest.fixture
def unchecked():
    """Without the tests' own checks of types, which the library has not."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_integers_of_numpy_are_integers():
    sizes: Any = {"repeats": np.int64(4), "block": np.int64(2)}
    result = dp.sweep(dp.study_key(0), lambda k, m, x: x, 1.0, epsilons=[1], **sizes)
    assert result["value"].tolist() == [[1.0] * 4]
    n: Any = np.int64(9)
    found = dp.plan(NET, n, 1, "replace-one", key=dp.study_key(0), repeats=2)
    assert found.n == 9


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", WRONG_TYPES)
def test_a_wrong_type_is_one_clear_line(name):
    make, message = WRONG_TYPES[name]
    with pytest.raises(ValueError, match=r"^`") as caught:
        make()
    shown = str(caught.value)
    assert shown.startswith(message)
    assert shown.endswith(".")
    assert "\n" not in shown
    assert len(shown) < 400


def test_only_names_for_users_are_listed():
    assert not {"TYPE_CHECKING", "names_of"} & {*dir(dp), *dir(exports)}
