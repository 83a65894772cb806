"""Plans of networks with numeric leaves, against errors of releases."""

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpjax as dp
from dpjax.cli.main import main
from dpjax.data import MixedNet
from dpjax.study.mixed_plan import BINS

pytestmark = pytest.mark.relaxed  # posteriors on the host, in doubles

NET = MixedNet.from_parents({"x": {"lower": -2, "upper": 4}, "y": [0, 1]}, {"x": ["y"]})
EDGES = np.linspace(-2, 4, BINS + 1)[1:-1]
NAMES = {"laplace", "laplace, noise-aware", "non-private"}
IN_BINS = {f"{BINS} bins{x}" for x in ("", ", consistent", ", noise-aware")}


def shares(below):
    return np.diff(below, prepend=0, append=1)


def true_shares(mean, sd):
    return shares(stats.norm.cdf(EDGES[None], mean[:, None], sd[:, None]))


def predicted(posterior):
    """The law of a record in bins, of all components of the leaf's mixture."""
    leaf = posterior.leaves["x"].parameters
    each = (np.asarray(x, float).reshape(-1, 1, 2) for x in leaf)
    mean, strength, shape, scale = each
    spread = np.sqrt(scale * (1 + 1 / strength) / shape)
    below = stats.t.cdf(EDGES[:, None], 2 * shape, mean, spread).mean(axis=0)
    return np.asarray(posterior.mean()["y"])[:, None] * shares(below.T)


def simulate(rng, n):
    """Parameters as the plan assumes them, a table, and the law of a record in bins."""
    chance = rng.uniform()
    sd = 3 * np.exp(rng.uniform(np.log(0.05), np.log(0.5), 2))
    mean = 1 + (3 - sd) * rng.uniform(-1, 1, 2)
    y = (rng.uniform(size=n) < chance).astype(int)
    truth = np.array([1 - chance, chance])[:, None] * true_shares(mean, sd)
    return {"y": y, "x": rng.normal(mean[y], sd[y])}, truth


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_errors_are_those_of_releases_and_their_posteriors(adjacency, rng):
    """Of 80 tables with parameters of their own, computed without the plan."""
    n, repeats = 3000, 80
    planned = dp.plan(NET, n, 2, adjacency, key=dp.study_key(0), repeats=repeats)
    found = {"laplace": [], "laplace, noise-aware": []}
    for _ in range(repeats):
        table, truth = simulate(rng, n)
        released = dp.release(NET, table, epsilon=2, adjacency=adjacency)
        for name, aware in zip(found, (False, True), strict=True):
            law = predicted(dp.posterior(released, noise_aware=aware))
            law = np.maximum(law, 1e-30)
            found[name].append(np.sum(truth * np.log(np.maximum(truth, 1e-300) / law)))
    by_name = {x.name: x for x in planned.outlooks}
    for name, errors in found.items():
        expected = by_name[name]
        error = np.hypot(np.std(errors) / repeats**0.5, expected.divergence_se)
        assert abs(np.mean(errors) - expected.divergence) < 4.5 * error, name
    aware = by_name["laplace, noise-aware"]
    assert aware.divergence_se < 0.2 * aware.divergence


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("adjacency", "moved"), [("replace-one", 2), ("add-remove", 1)]
)
def test_a_leaf_costs_two_tables(adjacency, moved):
    planned = dp.plan(NET, 200, "1/2", adjacency, key=dp.study_key(1), repeats=4)
    by_name = {x.name: x for x in planned.outlooks}
    assert {*by_name} == NAMES | IN_BINS
    assert planned.outlooks[-1].name == "non-private"
    errors = [x.divergence for x in planned.outlooks[:-1]]
    assert errors == sorted(errors)
    assert by_name["laplace"].choices["tables"] == 3  # of y, and two for x
    assert by_name["laplace"].choices["scale"] == [3 * moved / 0.5]
    assert by_name[f"{BINS} bins"].choices == {"tables": 1, "scale": moved / 0.5}
    for outlook in planned.outlooks:
        assert [*outlook.parts] == ["x", "y"]
        assert sum(outlook.parts.values()) == pytest.approx(outlook.divergence)


@pytest.mark.slow
def test_bins_have_the_probabilities_that_the_density_has(rng):
    table, _ = simulate(rng, 400)
    released = dp.release(NET, table, epsilon=9, adjacency="add-remove")
    found: Any = dp.posterior(released, noise_aware=False)
    leaf = found.leaves["x"]
    found = leaf.in_bins(jnp.asarray([-1.0, 2.5]))
    grid = np.linspace(-1, 2.5, 2001)
    inner = np.exp(np.asarray(leaf.log_density(jnp.asarray(grid, float))))
    middle = np.trapezoid(inner, grid, axis=0)
    np.testing.assert_allclose(found[:, 1], middle, rtol=2e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)
    mean, variance = (leaf.mean()[x][0] for x in ("mean", "variance"))
    far = leaf.in_bins(mean + jnp.asarray([10.0, 11.0]) * jnp.sqrt(variance))
    assert (far[0, 1:] > 0).all()  # no difference is lost in the tail


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (10**7, {}, "`n` must be at most 524288"),
        (10, {"tables": {"y": np.array([0.5, 0.5])}}, "`tables` must be left out"),
        (10, {"mechanisms": ["k-norm"]}, "`mechanisms` must be for numeric leaves"),
    ],
)
def test_what_a_plan_cannot_do_is_refused(n, options, message, key):
    with pytest.raises(ValueError, match=message):
        dp.plan(NET, n, 1, "replace-one", key=key, repeats=2, **options)


@pytest.mark.thorough
def test_the_command_plans_numeric_leaves(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    variables = {"x": {"lower": -2, "upper": 4}, "y": {"levels": [0, 1]}}
    schema.write_text(json.dumps({"variables": variables}))
    command = ["plan", "--schema", str(schema), "--network", "naive-bayes:y"]
    command += ["--n", "300", "--epsilon", "1", "--adjacency", "add-remove"]
    assert main([*command, "--repeats", "2"]) == 0
    text = capsys.readouterr().out
    assert f"{BINS} bins, noise-aware" in text
    assert "tables 3" in text
    assert "KL of a record by variable, " in text
