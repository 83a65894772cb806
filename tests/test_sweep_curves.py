"""Figures of studies: axes and lines have names that can be read."""

import numpy as np
import pytest

import dpjax as dp

pytest.importorskip("matplotlib")


@pytest.mark.parametrize(
    ("epsilons", "named"),
    [([0.3, 1, 2, 3, 5, 8], True), (np.geomspace(0.1, 10, 9).tolist(), False)],
)
def test_few_budgets_are_named_and_no_names_run_into_each_other(
    tmp_path, epsilons, named
):
    scores = np.arange(2.0 * len(epsilons)).reshape(-1, 2)
    result = dp.study.SweepResult(
        {"error": scores}, {"epsilon": epsilons, "repeat": [0, 1]}
    )
    dp.plots.sweep_curves(result, tmp_path / "sweep.svg")
    drawn = (tmp_path / "sweep.svg").read_text(encoding="utf-8")
    names = [f"<!-- {epsilon:g} -->" for epsilon in epsilons]
    below = drawn[drawn.index('id="matplotlib.axis_1"') :]
    below = below[: below.index('id="matplotlib.axis_2"')]
    assert all(name in below for name in names) == named
    assert "times" not in below  # names of ticks between powers of ten


def test_each_line_of_a_trade_off_has_its_own_name(tmp_path):
    scores = {"auc": 0.7, "accuracy": 0.6, "auc_se": 0.1, "accuracy_se": 0.1}
    rows = [
        {"mechanism": name, "epsilon": epsilon, **scores}
        for name, epsilon in (("non-private", None), ("laplace", 1), ("fourier", 1))
    ]
    path = tmp_path / "demo.svg"
    dp.plots.privacy_utility(
        rows, path, majority=0.5, adjacency="replace-one", title="title"
    )
    drawn = path.read_text(encoding="utf-8")
    for name, times in {
        "laplace (± 2 s.e.)": 2,
        "fourier (± 2 s.e.)": 2,
        "non-private": 2,
        "chance": 1,
        "always the majority level": 1,
    }.items():
        assert drawn.count(f"<!-- {name} -->") == times, name
