"""Plans: expected errors by simulation, without data."""

import json

import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.study.plan import plan

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
        *("laplace", "laplace, consistent", "fourier", "k-norm"),
        *("posterior-sample", "map", "non-private"),
    }
    private = planned.outlooks[:-1]
    errors = [outlook.total_variation for outlook in private]
    assert errors == sorted(errors)
    assert planned.preferred == names[0]
    assert names.index("laplace") < names.index("posterior-sample")
    assert planned.outlooks[-1].total_variation < errors[0]
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


def test_the_command_needs_no_data(tmp_path, capsys):
    schema = tmp_path / "schema.json"
    schema.write_text(json.dumps({"variables": {"x": {"levels": [0, 1]}}}))
    (tmp_path / "net.json").write_text('{"parents": {"x": []}}')
    command = ["plan", "--schema", str(schema), "--network", str(tmp_path / "net.json")]
    command += ["--n", "50", "--epsilon", "1/2", "--adjacency", "replace-one"]
    assert main([*command, "--repeats", "2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["preferred"] in [outlook["name"] for outlook in facts["outlooks"]]
    assert facts["epsilon"] == "1/2"
    assert main([*command, "--repeats", "2"]) == 0
    text = capsys.readouterr().out
    assert "prefer: " in text
    assert "temperature" in text
    assert main([*command, "--repeats", "1"]) == 2
    assert "`repeats` must be" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", ["40", "1/10000000"])
def test_k_norm_noise_is_left_out_where_it_cannot_be_made(epsilon):
    net = dp.BayesNet.from_parents({"x": [0, 1]}, {"x": []})
    found = plan(net, 50, epsilon, "add-remove", key=dp.study_key(0), repeats=2)
    assert "k-norm" not in {outlook.name for outlook in found.outlooks}
