"""Figures of hidden states, by what is drawn in them."""

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import plots
from dpjax.data.levels import Variable
from dpjax.event_logs import HiddenMarkovPosterior, log_variables
from dpjax.plots import figures as figures_of_plots
from dpjax.plots.figures import COLOURS
from dpjax.plots.hidden_states import DISTINCT, OTHERS, UNDECLARED, colour_of, shares
from tests.helpers.event_log import LOG, NET

REGION, TIME, FIELDS = log_variables(NET)


def posterior_of(found, emission=None, fields=(3, 2)):
    """One chain of one draw, whose states are `found`; numbered by their cells."""
    found = np.asarray(found)
    states = int(found.max()) + 1
    if emission is None:
        emission = np.concatenate(
            [np.full((states, size), 1 / size) for size in fields], axis=1
        )
    laws = np.full((1, 1, states, states), 1 / states)
    return HiddenMarkovPosterior(
        jnp.asarray(np.maximum(found, 0).T[None, :, None], jnp.int8),
        jnp.asarray(emission[None, None], float),
        jnp.asarray(laws[:, :, 0], float),
        jnp.asarray(laws, float),
        jnp.asarray(found >= 0),
        fields,
        jnp.zeros((1, 1)),
    )


@pytest.fixture
def figures(monkeypatch):
    """Figures that would have been saved."""
    kept = []
    monkeypatch.setattr(
        figures_of_plots, "_save", lambda figure, _: kept.append(figure)
    )
    return kept


def test_log_variables():
    assert (REGION, TIME) == (LOG[2], LOG[1])
    assert FIELDS == (LOG[0], LOG[3])


@pytest.mark.thorough
def test_files_are_pngs_whatever_the_sizes(tmp_path):
    region = Variable(
        "place", tuple(f"a very long name of a place {i}" for i in range(70))
    )
    time = Variable("year", (2001, 2002))
    fields = (Variable("weapon", tuple(range(40))), Variable("x", (True, False)))
    found = np.arange(140).reshape(70, 2) % 30
    posterior = posterior_of(found, fields=(40, 2))
    plots.state_map(posterior, region, time, tmp_path / "a.png", title="many")
    plots.emission_bars(posterior, fields, tmp_path / "b.png", title="many")
    for name in ("a.png", "b.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_a_map_shows_each_cells_state(figures):
    found = np.zeros((2, 12), int)
    found[1, 3:] = 1
    found[1, 10:] = -1
    plots.state_map(posterior_of(found), REGION, TIME, "unused.png")
    [axes] = figures[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("month", "place")
    assert [text.get_text() for text in axes.get_yticklabels()] == ["north", "south"]
    [image] = axes.get_images()
    assert image.get_extent() == [6.5, 18.5, 1.5, -0.5]
    pixels = np.asarray(image.get_array())
    drawn = [["#" + bytes(x).hex().upper() for x in row] for row in pixels]
    assert drawn[0] == [COLOURS[0]] * 12
    assert drawn[1] == [*[COLOURS[0]] * 3, *[COLOURS[1]] * 7, *[UNDECLARED] * 2]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["0  (68%)", "1  (32%)", "not declared"]


def test_of_many_states_the_rarest_share_a_colour(figures):
    region = Variable("place", tuple(range(20)))
    found = np.arange(20)[:, None] * np.ones((1, 12), int)
    plots.state_map(posterior_of(found), region, TIME, "unused.png")
    legend = figures[0].axes[0].get_legend().get_texts()
    assert len(legend) == DISTINCT + 1
    assert legend[-1].get_text() == "others  (20%)"
    every = [colour_of(state) for state in range(20)]
    assert len(set(every)) == DISTINCT + 1
    assert every[DISTINCT:] == [OTHERS] * 4
    assert UNDECLARED not in every


def test_bars_are_the_expected_probabilities(figures):
    emission = np.array([[0.7, 0.2, 0.1, 0.5, 0.5], [0.1, 0.3, 0.6, 0.9, 0.1]])
    found = np.array([[0] * 8 + [1] * 4] * 2)
    plots.emission_bars(posterior_of(found, emission), FIELDS, "unused.png")
    panels = np.reshape(figures[0].axes, (2, 2))
    assert [axes.get_title() for axes in panels[0]] == ["kind", "dead"]
    labels = [axes.get_ylabel() for axes in panels[:, 0]]
    assert labels == ["state 0\n(67%)", "state 1\n(33%)"]
    for row, law in zip(panels, emission, strict=True):
        heights = [bar.get_height() for axes in row for bar in axes.patches]
        np.testing.assert_allclose(heights, law, rtol=1e-6)
    names = [[text.get_text() for text in x.get_xticklabels()] for x in panels[1]]
    assert names == [["a", "b", "c"], ["0", "1"]]


@pytest.mark.slow
def test_states_of_no_cell_are_left_out(figures):
    found = np.zeros((2, 12), int)
    found[0, 0] = 2
    plots.emission_bars(posterior_of(found), FIELDS, "unused.png")
    labels = [axes.get_ylabel() for axes in figures[0].axes[::2]]
    assert labels == ["state 0\n(96%)", "state 1\n(4%)"]


def test_shares():
    found = np.array([[0, 0, -1], [2, 0, -1]])
    np.testing.assert_allclose(shares(found, 4), [0.75, 0, 0.25, 0])


def test_other_variables_are_refused(tmp_path):
    posterior = posterior_of(np.zeros((2, 12), int))
    with pytest.raises(ValueError, match="`region` and `time` must have a level"):
        plots.state_map(posterior, TIME, REGION, tmp_path / "a.png")
    with pytest.raises(ValueError, match="`fields` must have"):
        plots.emission_bars(posterior, FIELDS[::-1], tmp_path / "a.png")
    assert not list(tmp_path.iterdir())
