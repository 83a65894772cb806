"""Simulation-based calibration: noise-aware intervals cover, the papers' do not."""

import dataclasses
import importlib
import json

import jax
import jax.random as jr
import numpy as np
import pytest

import dpjax as dp
from dpjax.cli.main import main
from dpjax.privacy import zcdp_budget
from dpjax.study.coverage import Ranks
from tests.helpers.printed import documented

coverage_module = importlib.import_module("dpjax.study.coverage")

NET = dp.BayesNet.naive_bayes({f"x{i}": [0, 1] for i in range(4)}, "x0")


@pytest.mark.thorough
@pytest.mark.parametrize("n", [50, 1000])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "10"])
def test_intervals_cover(n, epsilon, key):
    found = dp.study.coverage(key, NET, n, epsilon, "replace-one")
    assert 0.93 < found.noise_aware.coverage < 0.97
    assert found.noise_aware.pvalue > 1e-6
    if found.naive.coverage <= 0.9:
        assert found.naive.pvalue < 1e-6
    if epsilon != "10":
        assert found.naive.coverage < 0.9


@pytest.mark.thorough
def test_windows_that_are_too_narrow_are_widened(key, monkeypatch):
    """The releases are drawn again with the same keys, and have the same ranks."""
    asked = key, dp.BayesNet.naive_bayes({"y": [0, 1], "x": [0, 1]}, "y"), 9, "2"
    wanted = dp.study.coverage(*asked, "replace-one", releases=50)
    first = coverage_module._first_windows

    def narrow(*given):
        windows = first(*given)
        return dataclasses.replace(windows, cells=windows.cells // 4)

    monkeypatch.setattr(coverage_module, "_first_windows", narrow)
    found = dp.study.coverage(jr.clone(key), *asked[1:], "replace-one", releases=50)
    assert found.noise_aware.posterior == "noise-aware, exact"
    np.testing.assert_allclose(
        found.noise_aware.ranks, wanted.noise_aware.ranks, atol=1e-3
    )
    np.testing.assert_array_equal(found.naive.ranks, wanted.naive.ranks)


def test_ranks_of_known_shape():
    ranks = Ranks("x", 0.9, (np.arange(1000) + 0.5) / 1000)
    assert ranks.covered == 900
    assert ranks.histogram.tolist() == [50] * 20
    assert ranks.pvalue == 1
    low, high = ranks.coverage_interval
    assert low < 0.9 < high


@pytest.mark.thorough
def test_other_networks_use_the_point_estimate(key):
    net = dp.BayesNet.from_parents(
        {"a": [0, 1], "b": [0, 1], "c": [0, 1]}, {"c": ["a", "b"]}
    )
    found = dp.study.coverage(key, net, 200, "0.2", "replace-one", releases=400)
    assert found.noise_aware.posterior == "noise-aware, point estimate"
    # About 92 % and 50 %: five standard errors of room.
    assert found.noise_aware.coverage > 0.85
    assert found.naive.coverage < 0.65
    shown = f"0.95 intervals contain the truth: {found.noise_aware.posterior} "
    assert f"{shown}{found.noise_aware.coverage:.3f}, " in repr(found)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", ["0.2", "1"])
def test_intervals_cover_with_k_norm_noise(epsilon, key):
    """With 400 releases, coverage of 95 % is at least 91 % but for a chance of 1e-3."""
    found = dp.study.coverage(
        key, NET, 500, epsilon, "replace-one", mechanism="k-norm", releases=400
    )
    assert found.noise_aware.posterior == "noise-aware, point estimate"
    assert 0.91 < found.noise_aware.coverage < 0.985
    assert found.naive.coverage < found.noise_aware.coverage - 0.05


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", ["fourier", "auto"])
def test_intervals_cover_with_other_noise(mechanism, key):
    """With 400 releases, five standard errors are .055."""
    found = dp.study.coverage(
        key, NET, 500, "1", "add-remove", mechanism=mechanism, releases=400
    )
    assert 0.895 < found.noise_aware.coverage < 0.995
    assert found.naive.coverage < found.noise_aware.coverage


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_intervals_cover_with_gaussian_noise(adjacency, key):
    """With 400 releases, coverage of 95 % is at least 91 % but for a chance of 1e-3."""
    cost = zcdp_budget(adjacency, epsilon=2, delta="1e-6")
    found = dp.study.coverage(
        key, NET, 500, budget=cost, mechanism="gaussian", releases=400
    )
    assert found.adjacency == adjacency
    assert found.loss == {"rho": float(cost.rho)}
    assert 0.91 < found.noise_aware.coverage < 0.985
    assert found.naive.coverage < found.noise_aware.coverage


def test_the_budget_is_given_once(key):
    cost = zcdp_budget("add-remove", rho="0.1")
    for wrong in ((), (1,), (1, "add-remove", cost), (None, "add-remove", cost)):
        given = dict(zip(("epsilon", "adjacency", "budget"), wrong, strict=False))
        with pytest.raises(ValueError, match="`budget` must be given, or"):
            dp.study.coverage(key, NET, 9, **given)


@pytest.mark.parametrize("mechanism", ["map", "posterior-sample"])
def test_releases_without_noisy_counts_are_refused(mechanism, key):
    with pytest.raises(ValueError, match="`mechanism` must be one that adds noise"):
        dp.study.coverage(key, NET, 9, 1, "add-remove", mechanism=mechanism)


@pytest.mark.thorough
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    schema = {"variables": {"y": {"levels": [0, 1]}, "a": {"levels": [0, 1]}}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    command = ["coverage", "--network", "naive-bayes:y", "--n", "20"]
    command += ["--epsilon", "1", "--adjacency", "replace-one", "--releases", "60"]
    more = ["--schema", "s.json", "--plot", "r.png", "--ecdf", "e.png", "--json"]
    assert main([*command, *more]) == 0
    facts = documented("coverage", capsys.readouterr().out)
    assert facts["releases"] == sum(facts["noise_aware"]["histogram"]) == 60
    for name in ("r.png", "e.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert 0 <= facts["noise_aware"]["outside_band"] < 99
    assert main([*command, *more, "--mechanism", "k-norm"]) == 0
    other = json.loads(capsys.readouterr().out)["noise_aware"]
    assert other["histogram"] != facts["noise_aware"]["histogram"]
    assert main(command) == 2
    assert "`schema` must be given" in capsys.readouterr().err
    assert main([*command, "--schema", "s.json", "--releases", "0"]) == 2
    assert "`releases` must be an integer of at least 1" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.relaxed
def test_arviz_has_named_axes(key):
    pytest.importorskip("arviz")
    statistic = dp.statistics.NetworkCounts(NET)
    noise = dp.mechanisms.DiscreteLaplace.calibrate(
        1, statistic.sensitivity("replace-one")
    )
    records = np.zeros((20, 4), np.int32)
    values = noise.sample(key, statistic.measure(records))
    posterior = dp.posterior(dp.Released(values, statistic, noise, 20))
    exported = dp.exports.to_arviz(jax.random.key(0), posterior, draws=50)
    table = exported.posterior["x1"]
    assert table.dims == ("chain", "draw", "x0_level", "x1_level")
    assert table.shape == (1, 50, 2, 2)
    np.testing.assert_allclose(table.sum("x1_level"), 1, rtol=1e-5)


def test_pictures_are_png_and_can_be_written(tmp_path, capsys):
    command = ["coverage", "--network", "naive-bayes:y", "--schema", "s.json"]
    command += ["--n", "20", "--epsilon", "1", "--adjacency", "replace-one", "--plot"]
    assert main([*command, str(tmp_path / "ranks.pdf")]) == 2
    assert "`plot` must end in .png" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "no folder" / "ranks.png")]) == 2
    assert "`plot` must be a file in a folder that can be" in capsys.readouterr().err
