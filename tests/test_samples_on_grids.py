"""Samples of regressions, several normal columns and levels: laws, losses, releases."""

import itertools
import json
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.families import Categorical, Gaussian, LinearRegression, MultivariateGaussian
from dpjax.mechanisms import CellMass, FamilyPosteriorSampler, NetworkPosteriorSampler
from dpjax.mechanisms.parameter_grid import ParameterGrid
from dpjax.statistics import Sufficient
from tests.helpers.family_samples import log_law, loss_of, rounded_records
from tests.helpers.neighbours import data_sets, neighbouring_pairs, worst_loss
from tests.helpers.statistical import assert_counts_follow

ADJACENCIES = ["replace-one", "add-remove"]
LINE = {"prediction": (-1.0, 1.5), "variance": (0.5, 2.0)}
EVEN = {"prediction": (-2.0, 2.0), "variance": (0.8, 0.8)}
CASES = {  # bounds, options, truncation, values of each parameter
    "regression": (((0, 4), (-1, 2)), {}, LINE, 5),
    "two features": (((0, 4), (1, 2), (-1, 2)), {}, LINE, 3),
    "known noise": (((0, 4), (-1, 2)), {}, LINE | {"variance": (0.5, 0.5)}, 7),
    "no intercept": (((1, 3), (0, 2)), {"intercept": False}, EVEN, 7),
    "one column": (((-1, 2),), {}, {"eigenvalue": (0.3, 1.0)}, 5),
    "two columns": (((-1, 1), (0, 5)), {}, {"eigenvalue": (0.3, 2.0)}, 3),
}


def statistic_of(name, adjacency, units=None):
    bounds, options, *_ = CASES[name]
    family = "multivariate-gaussian" if "column" in name else "linear-regression"
    variables = tuple(dp.Interval(f"x{i}", *ends) for i, ends in enumerate(bounds))
    return Sufficient.of(family, variables, adjacency, units, **options)


def grid_of(name, units=8):
    statistic = statistic_of(name, "replace-one", units)
    *_, truncation, points = CASES[name]
    limits = tuple((x, *ends) for x, ends in sorted(truncation.items()))
    return ParameterGrid(statistic.family, limits, points, units, 0)


def calibrated(name, adjacency, epsilon="2", units=4, **options):
    statistic = statistic_of(name, adjacency, units)
    *_, truncation, points = CASES[name]
    options = {"truncation": truncation, "points": points, **options}
    scale = statistic.family, statistic.steps, statistic.lowest
    return FamilyPosteriorSampler.calibrate(*scale, epsilon, adjacency, **options)


def records_within(name, rng, number):
    lower, upper = np.array(CASES[name][0], float).T
    return rng.uniform(lower, upper, (number, len(lower)))


def log_density(family, shown, records):
    """The normal log-density of each record (or target) at each point."""
    if "mean" in shown:
        both = zip(shown["mean"], shown["covariance"], strict=True)
        laws = (stats.multivariate_normal(*x) for x in both)
        return np.stack([np.atleast_1d(law.logpdf(records)) for law in laws], 1)
    expected = records[:, :-1] @ shown["weights"].T + shown.get("intercept", 0)
    sd = np.sqrt(shown["variance"])
    return stats.norm.logpdf(records[:, -1:], expected, sd[None, :])


@pytest.mark.parametrize("name", CASES)
def test_the_tables_are_the_log_likelihood_of_the_shown_parameters(name, rng):
    """Up to the factor of a record that no parameter is in; of sums that are exact."""
    grid, records = grid_of(name), records_within(name, rng, 40)
    family = grid.family
    shifted = (records - np.array(family.centre)) / np.array(family.half_widths)
    rows, columns = np.triu_indices(family.columns)
    products = shifted[:, rows] * shifted[:, columns]
    scaled = np.hstack([shifted, products]) if family.linear else products
    steps, constants = (np.asarray(x, float) / 2**50 for x in grid.tables)
    found = scaled @ (steps * grid.units).T + constants
    change = found - log_density(family, family.shown(grid.places), records)
    assert np.ptp(change, axis=1).max() < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_points_are_within_the_limits(name):
    grid = grid_of(name)
    *_, limits, points = CASES[name]
    shown = grid.family.shown(grid.places)
    assert grid.parameters.shape == (len(grid.places), sum(map(len_of, shown.values())))
    assert len(np.unique(grid.parameters, axis=0)) == len(grid.places) >= points
    if "eigenvalue" in limits:
        half = np.array(grid.family.half_widths)
        scaled = shown["covariance"] / (half[:, None] * half)
        values, (least, most) = np.linalg.eigvalsh(scaled), limits["eigenvalue"]
        assert values.min() == pytest.approx(least)
        assert values.max() <= most * (1 + 1e-9)
        lower, upper = np.array(CASES[name][0]).T
        np.testing.assert_allclose(shown["mean"].min(0), lower, atol=1e-12)
        np.testing.assert_allclose(shown["mean"].max(0), upper)
    else:
        ends = itertools.product(*grid.family.bounds[:-1])
        predicted = np.array([*ends]) @ shown["weights"].T + shown.get("intercept", 0)
        least, most = limits["prediction"]
        assert predicted.max() == pytest.approx(most)
        assert predicted.min() == pytest.approx(least)
        ends = shown["variance"].min(), shown["variance"].max()
        assert ends == pytest.approx(limits["variance"])


def len_of(values):
    return int(np.prod(values.shape[1:]))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", CASES)
def test_sensitivities_bound_what_records_at_the_bounds_move(name, adjacency):
    """Attained where some point predicts one corner and another the other one."""
    grid = grid_of(name)
    family, limits = grid.family, grid.truncation
    corners = np.array([*itertools.product(*family.bounds)], float)
    logs = log_density(family, family.shown(grid.places), corners)
    if adjacency == "replace-one":
        logs = (logs[:, None] - logs[None]).reshape(-1, logs.shape[1]) / 2
    found = np.ptp(logs, axis=1).max()
    bound = family.sampling_sensitivity(adjacency, limits).value
    assert found <= bound * (1 + 1e-9)
    least = {"two columns": 0.9, "no intercept": 0.3, "two features": 0.7}
    assert found >= bound * least.get(name, 0.75)


SHARES = {  # of ε, that some neighbours use up
    "regression": 0.3, "two features": 0.25, "known noise": 0.3, "no intercept": 0.25,
    "one column": 0.3, "two columns": 0.25,
}  # fmt: skip


@pytest.mark.parametrize("tempered", [False, True])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", CASES)
def test_no_output_tells_neighbours_apart_by_more_than_epsilon(
    name, adjacency, tempered
):
    """Data sets of one record of many; of more records, of those at the bounds."""
    statistic = statistic_of(name, adjacency, 4)
    columns = [np.linspace(*ends, 7) for ends in CASES[name][0]]
    vectors = rounded_records(statistic, np.array([*itertools.product(*columns)]))
    corners = rounded_records(
        statistic, np.array([*itertools.product(*CASES[name][0])])
    )
    some = np.concatenate([vectors[:: -(-len(vectors) // 20)], corners])
    vectors = np.unique(some, axis=0)
    assert len(vectors) > len(corners) > 1
    prior = ((0.25,) * statistic.family.dimension, 2.0) if tempered else None
    worst = 0
    for n, some in ((1, vectors), (2, corners), (4, corners[:3])):
        public = n if adjacency == "replace-one" else None
        mechanism = calibrated(
            name, adjacency, n=public, tempered_prior=tempered, prior=prior
        )
        loss = loss_of(mechanism, some, n)
        assert loss <= mechanism.guarantee().epsilon + 1e-9
        worst = max(worst, loss)
    assert worst >= SHARES[name] * 2


@pytest.mark.parametrize("name", ["regression", "two columns"])
def test_half_the_temperature_is_noticed(name):
    """With many records at two corners, of which one record moves to the other."""
    right = calibrated(name, "add-remove")
    halved = calibrated(name, "add-remove", "99", temperature=right.temperature / 2)
    corners = np.array([*itertools.product(*CASES[name][0])])
    one, other = rounded_records(statistic_of(name, "add-remove", 4), corners)[[0, -1]]
    for mechanism, most in ((right, 2), (halved, 4)):
        worst = max(
            np.abs(log_law(mechanism, 9 * x) - log_law(mechanism, 9 * x + y)).max()
            for x in (one, other)
            for y in (one, other)
        )
        assert 0.6 * most < worst <= most


def test_a_map_tempers_its_prior_and_may_have_a_temperature_below_1():
    options = {"prior": ((0.5,) * 5, 3.0), "temperature": "2", "epsilon": "999"}
    made = {
        x: calibrated("regression", "add-remove", tempered_prior=x, **options)
        for x in (False, True)
    }
    grid, vector = made[True].grid, (1, 2, 3, 1, 2, 5)
    likelihood = grid.scores(vector[:5], 2) / 2
    prior = grid.prior_scores(*options["prior"])
    for tempered, mechanism in made.items():
        expected = likelihood + prior / (2 if tempered else 1)
        logs = np.asarray(expected, float) / 2**50
        logs -= np.logaddexp.reduce(logs)
        np.testing.assert_allclose(log_law(mechanism, vector), logs, atol=1e-9)
    assert calibrated("regression", "add-remove", "999").temperature == 1
    cold = calibrated("regression", "add-remove", "999", tempered_prior=True)
    assert cold.temperature < Fraction(1, 10)
    assert cold.loss <= cold.guarantee().epsilon == 999


def test_draws_in_real_arithmetic_follow_the_exact_law(key):
    mechanism = calibrated("two columns", "add-remove", "9", samples=4000)
    vector = jnp.array([3, -2, 9, 1, 8, 3], jnp.int32)
    drawn = np.asarray(mechanism.sample(key, vector)).astype(int)
    assert mechanism.is_possible_output(drawn, 6)
    seen = np.bincount(drawn[:, 0], minlength=len(mechanism.grid.places))
    assert_counts_follow(seen, np.exp(log_law(mechanism, vector)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truncation": {"norm": (0, 2), "precision": (1, 1)}}, "must name"),
        ({"truncation": {"prediction": (-1.0, 1.0)}}, "must bound the variance"),
        ({"truncation": {**LINE, "variance": (0.0, 1.0)}}, "must bound the variance"),
        ({"truncation": {**LINE, "prediction": (1e6, 1e6 + 1)}}, "must be wider"),
        ({"points": 99}, "`points` must make at most"),
    ],
)
def test_wrong_limits_of_a_regression_are_refused(options, message):
    with pytest.raises((ValueError, KeyError)) as caught:  # not by chance, later on
        calibrated("regression", "add-remove", **options)
    assert caught.type is ValueError
    assert message in str(caught.value)


def test_limits_that_have_no_points_are_refused():
    uneven = {"prediction": (0.0, 2.0), "variance": (0.5, 1.0)}
    with pytest.raises(ValueError, match="from -x to x without an intercept"):
        calibrated("no intercept", "add-remove", truncation=uneven)
    wide = {"eigenvalue": (1e-7, 2.0)}
    with pytest.raises(ValueError, match="largest eigenvalue"):
        calibrated("two columns", "add-remove", truncation=wide)
    fixed = {"mean": (0.5, 0.5)}
    family = dp.families.GaussianMean(0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="more than one"):
        FamilyPosteriorSampler.calibrate(
            family, 8, 0, 1, "add-remove", truncation=fixed
        )


DIE = (dp.Variable("x", ("a", "b", "c")),)
LEVELS = {
    "posterior-sample": {"omega": "1/10", "units": 12},
    "map": {"omega": "1/10", "units": 12},
    "map-cells": {"omega": "1/6", "units": 6},
}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("recipe", LEVELS)
def test_counts_of_levels_are_sampled_like_a_table(recipe, adjacency):
    """Over all data sets of up to four records of three levels."""
    statistic = Sufficient.of("categorical", DIE, adjacency)
    made = dp.recipes.recipe_of(recipe, LEVELS[recipe])
    assert made.accepts(statistic)
    budget = dp.privacy.PureDP(Fraction(2), adjacency)
    sizes = (4,) if adjacency == "replace-one" else range(5)
    mechanism = made.mechanism(statistic, budget, 4)
    levels = [tuple(row) for row in np.eye(3, dtype=int).tolist()]

    def law(data):
        counts = np.sum([(0, 0, 0), *data], axis=0)
        weights = mechanism.law(jnp.asarray(counts))
        weights = np.array(weights[0] if recipe != "map-cells" else weights, float)
        return np.log(weights) - np.log(weights.sum())

    sets = [*data_sets(levels, sizes)]
    worst = worst_loss(law, neighbouring_pairs(sets, levels, adjacency))
    assert (0.18 if recipe == "map-cells" else 0.5) * 2 <= worst <= 2 + 1e-9


def test_only_exact_counts_of_levels_are_a_table(monkeypatch):
    once = Sufficient.of("categorical", DIE, "add-remove")
    twice = Sufficient.of("categorical", DIE, "add-remove", 2)
    coin = Sufficient.of("bernoulli", (dp.Variable("x", (0, 1)),), "replace-one")
    assert [x.counts_levels for x in (once, twice, coin)] == [True, False, False]
    monkeypatch.setattr(Categorical, "ranges", lambda self: ((-1.0, 1.0),) * 3)
    assert not once.counts_levels


def released(family, recipe, adjacency="add-remove", **options):
    rng = np.random.default_rng(3)
    if family == "categorical":
        records = rng.choice(3, (900, 1), p=[0.2, 0.5, 0.3])
        statistic = Sufficient.of(family, DIE, adjacency)
    else:
        x = rng.uniform(0, 4, 900)
        y = np.clip(0.5 * x - 0.5 + rng.normal(0, 0.4, 900), -1, 2)
        records = np.column_stack([x, y]).astype(np.float32)
        variables = dp.Interval("x", 0, 4), dp.Interval("y", -1, 2)
        statistic = Sufficient.of(family, variables, adjacency)
    return dp.release(
        statistic, records, epsilon=60, adjacency=adjacency,
        mechanism=dp.recipes.recipe_of(recipe, options),
    )  # fmt: skip


TRUTHS = {
    "categorical": {"probability": [0.2, 0.5, 0.3]},
    "linear-regression": {"intercept": -0.5, "weights": [0.5], "variance": 0.16},
    "multivariate-gaussian": {
        "mean": [2, 0.5],
        "covariance": [[4 / 3, 2 / 3], [2 / 3, 0.5]],
    },
}
KINDS = {
    ("categorical", "posterior-sample"): NetworkPosteriorSampler,
    ("categorical", "map"): NetworkPosteriorSampler,
    ("categorical", "map-cells"): CellMass,
    **dict.fromkeys(
        itertools.product(
            ("linear-regression", "multivariate-gaussian"), ("posterior-sample", "map")
        ),
        FamilyPosteriorSampler,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "recipe"), KINDS)
def test_a_release_of_samples_finds_the_parameters(family, recipe, tmp_path, capsys):
    made = released(family, recipe)
    path = tmp_path / "r.json"
    made.save(path)
    assert main(["verify", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] == str(
        made.guarantee().epsilon
    )
    loaded = dp.load(path)
    assert type(loaded.mechanism) is KINDS[family, recipe]
    assert loaded.mechanism == made.mechanism
    found = dp.posterior(loaded).mean()
    assert {*found} == {*TRUTHS[family]}
    for name, expected in TRUTHS[family].items():
        assert found[name].shape == np.shape(expected)
        assert np.abs(np.asarray(found[name]) - expected).max() < 0.75, name


@pytest.mark.slow
def test_samples_of_a_regression_predict(tmp_path):
    made = released("linear-regression", "posterior-sample", samples=2)
    fitted = dp.posterior(made)
    drawn = {name: np.asarray(x) for name, x in fitted.parameters().items()}
    rows = np.array([[0.0], [3.0]], np.float32)
    expected = drawn["intercept"][:, None] + drawn["weights"] @ rows.T
    np.testing.assert_allclose(fitted.predict(rows), expected.mean(0), rtol=1e-5)
    lower, upper = fitted.interval(rows, 0.8)
    sd = np.sqrt(np.asarray(drawn["variance"], float))[:, None]
    for ends, q in ((lower, 0.1), (upper, 0.9)):
        below = stats.norm.cdf((ends - np.asarray(expected, float)) / sd).mean(axis=0)
        np.testing.assert_allclose(below, q, atol=1e-5)
    with pytest.raises(ValueError, match="`family` must be a linear-regression"):
        dp.posterior(released("multivariate-gaussian", "map")).predict(rows)


def test_an_index_beyond_the_grid_is_refused():
    mechanism = calibrated("two columns", "add-remove")
    last = len(mechanism.grid.places) - 1
    assert mechanism.is_possible_output(np.array([[last]]), 6)
    assert not mechanism.is_possible_output(np.array([[last + 1]]), 6)
    assert not mechanism.is_possible_output(np.array([[0, 0]]), 6)


@pytest.mark.parametrize("family", [
    Gaussian(-1.0, 1.0), LinearRegression((0.0,), (4.0,), (-1.0, 2.0)),
    MultivariateGaussian((-1.0, 0.0), (1.0, 5.0)), Categorical(3),
])  # fmt: skip
def test_limits_of_one_family_are_not_those_of_another(family):
    with pytest.raises(ValueError, match="`truncation`"):
        family.sampling_sensitivity("add-remove", {"rate": (0.5, 1.0)})
