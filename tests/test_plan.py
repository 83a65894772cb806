"""Plans: expected errors by simulation, without data."""

import importlib
import json
from fractions import Fraction

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.mechanisms import Laplace
from dpjax.privacy import zcdp_budget
from dpjax.statistics import NetworkCounts
from dpjax.study.experiments.learners import ReleasedTables
from dpjax.study.plan import plan
from tests.helpers.printed import documented

MODULE = importlib.import_module("dpjax.study.plan")
SIMULATED = importlib.import_module("dpjax.study.simulated")
NET = dp.BayesNet.naive_bayes({"t": [0, 1], "a": [0, 1], "b": [0, 1]}, "t")


@pytest.fixture(scope="module")
def plans():
    key = dp.study_key(0)
    return {
        adjacency: plan(NET, 500, "1", adjacency, key=key, repeats=16)
        for adjacency in ("replace-one", "add-remove")
    }


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_every_mechanism_has_an_outlook(plans, adjacency):
    planned = plans[adjacency]
    names = [outlook.name for outlook in planned.outlooks]
    assert {*names} == {
        *("laplace", "laplace, consistent", "laplace, noise-aware"),
        *("fourier", "fourier, noise-aware", "k-norm", "k-norm, noise-aware"),
        *("posterior-sample", "map", "non-private"),
    }
    private = planned.outlooks[:-1]
    errors = [outlook.divergence for outlook in private]
    assert errors == sorted(errors)
    assert planned.preferred == names[0]
    assert names.index("laplace") < names.index("posterior-sample")
    assert planned.outlooks[-1].divergence < errors[0]
    assert all(0 < outlook.total_variation_se < 0.1 for outlook in planned.outlooks)
    assert all(outlook.kl > 0 for outlook in planned.outlooks)


@pytest.mark.thorough
def test_choices_are_those_of_the_mechanisms(plans):
    by_name = {x.name: x.choices for x in plans["replace-one"].outlooks}
    assert by_name["laplace"] == {"scale": 4.0}  # two maximal families, two cells each
    law = dp.mechanisms.NetworkPosteriorSampler.posterior(
        NET.layout, 1, "replace-one", n=500
    )
    assert by_name["posterior-sample"]["temperature"] == float(law.temperature)
    assert by_name["posterior-sample"]["omega"] == sorted({*map(float, law.omegas())})
    added = {x.name: x.choices for x in plans["add-remove"].outlooks}
    assert added["laplace"] == {"scale": 2.0}


@pytest.mark.thorough
def test_the_error_without_privacy_is_what_theory_says():
    """One binary variable, uniform truth, prior 1: E(p̂ - p)² is 1 / (6 (n + 2))."""
    net = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    n = 100
    planned = plan(net, n, "1", "add-remove", key=dp.study_key(1), repeats=4000)
    found = planned.outlooks[-1]
    root = np.sqrt(2 / np.pi) * np.pi / 8 / np.sqrt(n)  # of a normal error, E √(p(1-p))
    assert found.total_variation == pytest.approx(root, rel=0.05)


@pytest.mark.thorough
def test_divergences_are_those_of_releases_of_the_tables_expected():
    """Of 60 exact releases and their posteriors, by all records one by one."""
    rows = np.array([[0.2, 0.8], [0.7, 0.3]])
    tables = {"t": np.array([0.6, 0.4]), "a": rows, "b": rows[::-1]}
    cells = np.array([*np.ndindex(2, 2, 2)])

    def law(of):
        each = np.asarray(of["t"]), np.asarray(of["a"]), np.asarray(of["b"])
        t, a, b = cells.T
        return each[0][t] * each[1][t, a] * each[2][t, b]

    truth, rng = law(tables), np.random.default_rng(0)
    options = {"repeats": 60, "tables": tables, "key": dp.study_key(3)}
    planned = plan(NET, 500, 1, "replace-one", **options)
    names = {x.name: x for x in planned.outlooks}
    for mechanism in ("laplace", "k-norm"):
        found = []
        for _ in range(60):
            records = cells[rng.choice(8, 500, p=truth)].astype("u1")
            one = dp.release(
                NET, records, epsilon=1, adjacency="replace-one", mechanism=mechanism
            )
            mean = dp.posterior(one, 1.0, method="point-estimate").mean()
            found.append(np.sum(truth * np.log(truth / law(mean))))
        expected = names[f"{mechanism}, noise-aware"]
        error = np.hypot(np.std(found) / 60**0.5, expected.divergence_se)
        assert abs(np.mean(found) - expected.divergence) < 4.5 * error
        assert error < 0.2 * expected.divergence


@pytest.mark.slow
def test_learners_that_differ_in_numbers_share_a_program(key, monkeypatch):
    """Each is simulated with its own numbers, as it is alone."""
    net = dp.BayesNet.naive_bayes({"y": [0, 1], "x": [0, 1, 2]}, "y")
    key_data, key_noise = jr.split(key)
    data = SIMULATED.simulated(key_data, net, 200, 2)
    counts = NetworkCounts(net)
    sensitivity = counts.sensitivity("replace-one")
    wide, narrow = (
        ReleasedTables(counts, Laplace(jnp.asarray(x), sensitivity), 1.0, 200)
        for x in (0.1, 10.0)
    )
    lowered = []

    class Counted:
        def lower(self, *given):
            lowered.append(given)
            return program.lower(*given)

    program = SIMULATED._errors_of
    monkeypatch.setattr(SIMULATED, "_errors_of", Counted())

    def errors(*learners):
        return SIMULATED.errors_of_each(jr.clone(key_noise), net, learners, data)

    together = errors(wide, narrow)
    assert len(lowered) == 1
    np.testing.assert_array_equal(together, [*errors(wide), *errors(narrow)])
    assert np.all(np.abs(together[0] - together[1]).max(axis=0)[:2] > 0)


@pytest.mark.slow
def test_gaussian_noise_is_compared_where_a_delta_is_given(key):
    """By the ρ from which (ε, δ) follows, for one row; for networks only."""
    options = {"key": key, "repeats": 4, "contributions": 2, "delta": "1e-6"}
    planned = plan(NET, 300, 4, "add-remove", **options)
    names = {x.name: x for x in planned.outlooks}
    cost = zcdp_budget("add-remove", epsilon=4, delta="1e-6", contributions=2)
    for name in ("gaussian", "gaussian, consistent", "gaussian, noise-aware"):
        assert names[name].choices == {"rho": float(cost.per_record().rho)}
    budget = cost.per_record()
    sampler = dp.mechanisms.NetworkPosteriorSampler.of(NET.layout, budget, prior="1")
    of_rho = names["posterior-sample, ρ"].choices["temperature"]
    assert of_rho == float(sampler.temperature)
    assert of_rho != names["posterior-sample"].choices["temperature"]
    family = dp.statistics.Sufficient.of(
        "poisson", (dp.Interval("x", 0, 5),), "add-remove"
    )
    with pytest.raises(ValueError, match="`delta` must be left out"):
        plan(family, 300, 1, "add-remove", key=key, delta="1e-6")


@pytest.mark.slow
def test_large_networks_have_no_noise_aware_outlooks():
    """Where a point estimate would be slow, and for coefficients of three levels."""
    names = [f"x{i}" for i in range(3)]
    levels = {name: [0, 1, 2] for name in names}
    net = dp.BayesNet.from_parents(levels, {"x1": ["x0"], "x2": ["x1"]})
    found = candidates(net)
    assert "laplace, noise-aware" in found
    assert "fourier, noise-aware" not in found
    wide = {"a": [*range(70)], "b": [*range(70)]}
    found = candidates(dp.BayesNet.from_parents(wide, {"b": ["a"]}))
    assert not any("aware" in name for name in found)


def candidates(net, epsilon="1"):
    return MODULE._candidates(net, 50, Fraction(epsilon), "replace-one", 1.0)


HALF = np.full((2, 2), 0.5)


@pytest.mark.parametrize(
    "tables",
    [
        {"t": np.array([0.5, 0.5])},
        {"t": np.array([0.5, 0.6]), "a": HALF, "b": HALF},
        {"t": np.array([-0.5, 1.5]), "a": HALF, "b": HALF},
    ],
)
def test_tables_that_are_none_are_refused(tables, key):
    with pytest.raises(ValueError, match="`tables` must"):
        plan(NET, 50, 1, "replace-one", key=key, tables=tables)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "1", "replace-one"), "`n` must be"),
        ((10, "0", "replace-one"), "`epsilon` must be"),
        ((10, "1", "both"), "`adjacency` must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message, key):
    with pytest.raises(ValueError, match=message):
        plan(NET, *arguments, key=key)
    with pytest.raises(ValueError, match="`repeats` must be"):
        plan(NET, 10, "1", "replace-one", key=key, repeats=1)


@pytest.mark.slow
def test_the_command_needs_no_data(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(MODULE, "_ESTIMATES", {"": "plug-in"})  # quick to compile
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"variables": {"x": {"levels": [0, 1, 2]}}}))
    (tmp_path / "net.json").write_text('{"parents": {"x": []}}')
    command = ["plan", "--schema", str(schema), "--network", str(tmp_path / "net.json")]
    command += ["--n", "50", "--epsilon", "1/2", "--adjacency", "replace-one"]
    assert main([*command, "--repeats", "2", "--json"]) == 0
    facts = documented("plan", capsys.readouterr().out)
    assert facts["preferred"] in [outlook["name"] for outlook in facts["outlooks"]]
    assert facts["epsilon"] == "1/2"
    assert main([*command, "--repeats", "2"]) == 0
    text = capsys.readouterr().out
    assert "prefer: " in text
    assert "temperature" in text
    net = dp.BayesNet.from_parents({"x": [0, 1, 2]}, {"x": []})
    known = {"key": dp.study_key(0), "repeats": 2, "tables": {"x": np.ones(3) / 3}}
    found = plan(net, 50, "1/2", "replace-one", **known)
    first, *lines = repr(found).splitlines()
    assert first == "n = 50, ε = 1/2, replace-one, 2 repeats, tables as given"
    assert [line.partition("  ")[0] for line in lines[2 : 2 + len(found.outlooks)]] == [
        outlook.name for outlook in found.outlooks
    ]
    frame = found.to_dataframe().set_index("name")
    assert frame["divergence"].tolist() == [x.divergence for x in found.outlooks]
    records = np.array([[0], [1], [1]], np.uint8)
    one = dp.release(net, records, epsilon=9, adjacency="replace-one")
    one.save(tmp_path / "like.json")
    like = [*command, "--repeats", "2", "--like", str(tmp_path / "like.json")]
    assert main(like) == 0
    assert "like.json" in capsys.readouterr().out
    other = np.zeros((2, 3), np.uint8)
    one = dp.release(NET, other, epsilon=1, adjacency="replace-one")
    one.save(tmp_path / "like.json")
    assert main(like) == 2
    assert "`like` must be a release of the network" in capsys.readouterr().err
    assert main([*command, "--repeats", "1"]) == 2
    assert "`repeats` must be" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", ["40", "1/10000000"])
def test_k_norm_noise_is_left_out_where_it_cannot_be_made(epsilon):
    net = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    assert not any("k-norm" in name for name in candidates(net, epsilon))
