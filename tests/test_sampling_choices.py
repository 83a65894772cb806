"""Limits and cells that follow from public facts: errors, and what a plan says."""

import json
from fractions import Fraction

import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.families import (
    Exponential,
    Gaussian,
    GaussianMean,
    LinearRegression,
    MultivariateGaussian,
    Poisson,
)
from dpjax.families.grids import at_most, ball
from dpjax.mechanisms import CellMass
from dpjax.mechanisms.cell_choice import choose_cells, expected_error
from dpjax.mechanisms.truncation_choice import Truths, choose_truncation, most_points
from dpjax.privacy import PureDP
from dpjax.statistics import Sufficient
from dpjax.study.plan import plan
from tests.helpers.cases import mostly_thorough

ROWS = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
ONE = PureDP(Fraction(1), "replace-one")
FAMILIES = [
    Poisson(12),
    Exponential(5.0),
    GaussianMean(-1.0, 3.0, 0.5),
    Gaussian(-1.0, 1.0),
    LinearRegression((0.0,), (4.0,), (-1.0, 2.0)),
    LinearRegression((1.0,), (3.0,), (0.0, 2.0), intercept=False),
    MultivariateGaussian((-1.0, 0.0), (1.0, 5.0)),
]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda x: x.name)
def test_expected_statistics_are_those_of_simulated_records(family, rng):
    limits = family.truncation(0.4)
    points = family.grid(limits, 3)
    point = points[len(points) // 2 :][:1]
    shown = {name: x[0] for name, x in family.shown(point).items()}
    records = simulated(family, shown, rng, 100_000)
    if isinstance(family, Poisson | Exponential | GaussianMean):
        lower = family.lower if isinstance(family, GaussianMean) else 0
        scaled = (records - lower) / family.scales()[0]
    else:
        z = (records - np.array(family.centre)) / np.array(family.half_widths)
        rows, columns = np.triu_indices(family.columns)
        products = z[:, rows] * z[:, columns]
        scaled = np.hstack([z, products]) if family.linear else products
    error = scaled.std(axis=0) / len(scaled) ** 0.5
    assert (np.abs(scaled.mean(0) - family.expected(point)[0]) < 5.5 * error).all()


def simulated(family, shown, rng, n):
    """Records of the model, not clipped."""
    if family.name == "poisson":
        return rng.poisson(shown["rate"], (n, 1))
    if family.name == "exponential":
        return rng.exponential(1 / shown["rate"], (n, 1))
    if family.name == "gaussian-mean":
        return rng.normal(shown["mean"], family.variance**0.5, (n, 1))
    if family.name == "gaussian":
        return rng.normal(shown["mean"], shown["variance"] ** 0.5, (n, 1))
    if family.name == "multivariate-gaussian":
        return rng.multivariate_normal(shown["mean"], shown["covariance"], n)
    x = rng.uniform(family.lower, family.upper, (n, len(family.lower)))
    expected = x @ shown["weights"] + shown.get("intercept", 0)
    return np.column_stack([x, rng.normal(expected, shown["variance"] ** 0.5)])


def test_the_ball_has_the_number_of_points_that_is_counted():
    for size, radius in ((0, 3), (1, 4), (2, 3), (3, 2), (4, 3)):
        found = ball(size, radius)
        assert len({*map(tuple, found.tolist())}) == len(found) == at_most(size, radius)
        assert np.abs(found).sum(axis=1).max(initial=0) == (radius if size else 0)


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("family", FAMILIES[3:5], ids=lambda x: x.name)
def test_chosen_limits_have_a_smaller_expected_error_than_usual_ones(family, adjacency):
    """At ε = 1 and n = 1,000; and the more records, the wider they are."""
    times = 2 if adjacency == "replace-one" else 1

    def error(limits):
        widest = times * family.sampling_sensitivity(adjacency, limits).value
        points = family.grid(limits, most_points(family, limits, 4000))
        return Truths(family).of_sample(points, 1000 / widest).mean()

    chosen = choose_truncation(family, Fraction(1), adjacency, 1000)
    assert error(chosen) < 0.8 * error(family.truncation(0.05))
    least = [
        choose_truncation(family, Fraction(1), adjacency, n)["variance"][0]
        for n in (100, 1000, 10_000)
    ]
    assert least == sorted(least, reverse=True)
    assert least[0] > 4 * least[2]


@pytest.mark.slow
def test_a_choice_depends_on_no_record():
    statistic = Sufficient.of("gaussian", (dp.Interval("x", -1, 1),), "replace-one")
    made = [
        dp.release(
            statistic, np.full((50, 1), value), epsilon=1, adjacency="replace-one",
            mechanism="posterior-sample",
        ).mechanism
        for value in (-1.0, 0.0, 1.0)
    ]  # fmt: skip
    assert made[0] == made[1] == made[2]
    assert made[0].temperature < 100 < 1601  # at the limits that were usual


@pytest.mark.slow
def test_chosen_cells_have_a_smaller_expected_error():
    """Of three rows; the units and ω that were usual make nearly uniform draws."""
    for n, epsilon in ((100, 10), (1000, 1)):
        cost = PureDP(Fraction(epsilon), "replace-one")
        made = choose_cells(ROWS.layout, cost, n)
        usual = CellMass.calibrate(ROWS.layout, epsilon, "replace-one", omega="1/10")
        errors = [expected_error(x, n) for x in (made, usual)]
        assert errors[0] < 0.2 * errors[1]
        assert made.guarantee() == cost
    given = choose_cells(ROWS.layout, ONE, 100, omega="1/4", units=4, temperature=2)
    assert (given.grid.omega, given.grid.units) == (Fraction(1, 4), 4)
    assert given.temperature == 2


@pytest.mark.slow
def test_a_recipe_for_cells_chooses_what_is_not_given():
    made = dp.recipes.MapCells().mechanism(
        dp.statistics.NetworkCounts(ROWS, "all"), ONE, 99
    )
    assert made == choose_cells(ROWS.layout, ONE, 99)
    half = dp.recipes.MapCells(omega="1/4").mechanism(
        dp.statistics.NetworkCounts(ROWS, "all"), ONE, 99
    )
    assert half.grid.omega == Fraction(1, 4)


SCHEMAS = {
    "gaussian": {"x": {"lower": -1, "upper": 1}},
    "linear-regression": {x: {"lower": -1, "upper": 1} for x in "xy"},
    "categorical": {"x": {"levels": ["a", "b", "c"]}},
}


@pytest.mark.slow
@pytest.mark.parametrize("model", mostly_thorough([*SCHEMAS]))
def test_a_plan_says_which_samplers_are_not_worth_their_budget(model, tmp_path, capsys):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"variables": SCHEMAS[model]}))
    options = ["--target", "y"] if model == "linear-regression" else []
    options += ["--n", "3000", "--epsilon", "1", "--adjacency", "add-remove"]
    repeats = "32" if model == "categorical" else "4"
    options += ["--repeats", repeats, "--schema", str(path), "--model", model]
    assert main(["plan", "--json", *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {*facts["not_worth"]} == {"posterior-sample", "map"}
    assert min(facts["not_worth"].values()) > 1
    assert facts["preferred"].startswith(("laplace", "k-norm"))
    assert all(("kl" in x) == (model == "categorical") for x in facts["outlooks"])
    assert main(["plan", *options]) == 0
    assert "not worth its ε: posterior-sample, with " in capsys.readouterr().out


@pytest.mark.slow
def test_a_plan_of_a_family_has_the_error_of_a_sample(key):
    """For the sampler, by simulation of the mechanism itself at one truth."""
    statistic = Sufficient.of("poisson", (dp.Interval("x", 0, 12),), "replace-one")
    planned = plan(statistic, 200, 2, "replace-one", key=key, repeats=2)
    found = {x.name: x for x in planned.outlooks}
    assert {*found} == {"laplace", "k-norm", "posterior-sample", "map"}
    budget = PureDP(Fraction(2), "replace-one")
    made = dp.recipes.PosteriorSample().mechanism(statistic, budget, 200)
    truths = Truths(statistic.family)
    rates = 12 * truths.mean[:, 0]
    drawn = made.grid.parameters[:, 0]
    errors = []
    for rate in rates:
        logs = 200 / float(made.temperature) * (rate * np.log(drawn) - drawn)
        weights = np.exp(logs - logs.max())
        divergence = rate * np.log(rate / drawn) - rate + drawn
        errors.append(weights @ divergence / weights.sum())
    assert found["posterior-sample"].divergence == pytest.approx(np.mean(errors))
    with pytest.raises(ValueError, match="`adjacency` must be"):
        plan(statistic, 200, 2, "add-remove", key=key)
