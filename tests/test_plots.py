"""Figures are drawn on a user's Axes, on new ones, and in files, in one way."""

import inspect

import numpy as np
import pytest
from matplotlib import figure, pyplot

from dpjax import plots
from dpjax.privacy import budget_of
from dpjax.study.coverage import Coverage, Ranks
from dpjax.study.ecdf import ecdf_band
from dpjax.study.sweeps import SweepResult
from tests.test_hidden_markov_plots import FIELDS, REGION, TIME, posterior_of

STATES = posterior_of(np.array([[0] * 12, [0] * 6 + [1] * 6]))
SWEEP = SweepResult(
    {"error": np.ones((2, 2)), "loss": np.ones((2, 2))},
    {"epsilon": [1, 2], "repeat": [0, 1]},
)
ROW = {"epsilon": 1, "auc": 0.6, "auc_se": 0.1, "accuracy": 0.7, "accuracy_se": 0.1}
RANKS = (np.arange(200) + 0.5) / 200
COVERAGE = Coverage(
    *(9, budget_of(1, "add-remove")),
    *(Ranks(x, 0.95, RANKS) for x in ("aware", "plug-in")),
)
PANEL = plots.Panel([plots.Series("one", [1, 2], [3, 4])], "x", "y")
CASES = {
    "draw_panels": ([[PANEL, PANEL, PANEL]], {}, (3,)),
    "emission_bars": ([STATES, FIELDS], {}, (2, 2)),
    "privacy_utility": (
        [[{"mechanism": "laplace", **ROW}]],
        {"majority": 0.6, "adjacency": "add-remove"},
        (2,),
    ),
    "rank_ecdfs": ([COVERAGE], {}, (2,)),
    "rank_histograms": ([COVERAGE], {}, (2,)),
    "state_map": ([STATES, REGION, TIME], {}, ()),
    "sweep_curves": ([SWEEP], {"scores": ["error"]}, ()),
    "sweep_curves of two": ([SWEEP], {}, (1, 2)),
}


@pytest.fixture
def blank():
    """Makes figures that pyplot does not hold."""
    return lambda number: figure.Figure(figsize=(4, 4)).subplots(number, squeeze=False)


def function_and_case(name):
    return getattr(plots, name.split()[0]), *CASES[name]


@pytest.fixture(autouse=True)
def no_figure_is_kept():
    yield
    pyplot.close("all")


def test_all_functions_are_tested_and_have_the_same_arguments():
    functions = {x for x in plots.__all__ if inspect.isfunction(getattr(plots, x))}
    assert functions - {"require_matplotlib"} == {name.split()[0] for name in CASES}
    for name in functions - {"require_matplotlib"}:
        parameters = inspect.signature(getattr(plots, name)).parameters
        for option in ("path", "ax"):
            assert parameters[option].default is None
        assert parameters["ax"].kind is inspect.Parameter.KEYWORD_ONLY
        assert "title" in parameters


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_figure_is_drawn_on_given_axes(name, blank, tmp_path):
    draw, data, options, shape = function_and_case(name)
    places = blank(int(np.prod(shape)))
    given = places if shape else places.item()
    made = draw(*data, ax=given, title="All", **options)
    assert np.shape(made) == shape
    assert [*np.ravel(np.asarray(made, object))] == [*places.ravel()]
    assert all(axes.has_data() for axes in places.ravel())
    drawn = places[0, 0].figure
    title = places[0, 0].get_title() if name == "state_map" else drawn.get_suptitle()
    assert title == "All"
    assert len(drawn.axes) == places.size
    with pytest.raises(ValueError, match=f"`ax` must be {places.size} matplotlib Axes"):
        draw(*data, ax=[*places.ravel(), places[0, 0]], **options)
    with pytest.raises(ValueError, match="`ax` must be"):
        draw(*data, ax=np.array(["x"] * places.size), **options)
    assert not pyplot.get_fignums()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_pyplot_holds_a_new_figure_unless_it_is_for_a_file(name, tmp_path):
    draw, data, options, _ = function_and_case(name)
    made = draw(*data, **options)
    first = np.ravel(np.asarray(made, object))[0]
    assert pyplot.get_fignums() == [first.figure.number]
    pyplot.close("all")
    draw(*data, tmp_path / "a.svg", **options)
    assert not pyplot.get_fignums()
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_a_figure_with_a_users_own_panels_is_written(tmp_path):
    drawn = figure.Figure()
    own, other = drawn.subfigures(1, 2)
    axes = own.subplots()
    other.subplots().plot([1, 2])
    made = plots.state_map(STATES, REGION, TIME, tmp_path / "a.svg", ax=axes)
    assert made is axes
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").count('id="axes_') == 2


def test_a_curve_is_the_ecdf_less_uniform_and_its_title_counts_what_is_outside():
    shapes = Ranks("aware", 0.95, RANKS), Ranks("plug-in", 0.95, RANKS**3)
    made = plots.rank_ecdfs(Coverage(9, budget_of(1, "add-remove"), *shapes))
    assert made[0].get_title() == "aware\ninside the band"
    x, y = made[1].lines[-1].get_data()
    np.testing.assert_allclose(y, np.cbrt(x) - x, atol=1 / RANKS.size)
    band = ecdf_band(RANKS.size)
    outside = (y[1:-1] > band.upper - band.points).sum()
    assert outside > 80
    assert f"outside the band at {outside} of 99" in made[1].get_title()
    low, high = made[1].collections[0].get_datalim(made[1].transData).intervaly
    assert low == (band.lower - band.points).min()
    assert high == (band.upper - band.points).max()
