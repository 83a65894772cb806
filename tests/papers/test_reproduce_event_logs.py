"""Figures 3 to 7 of Foulds et al.: their event logs and maps; runs: with the others."""

import json

import numpy as np
import pytest

from papers import Setting
from papers.foulds.event_log import afghanistan_like, given, iraq_like
from papers.foulds.event_log_maps import agreement, matched, moves, states_in_use


def test_states_are_matched_whatever_their_numbers():
    truth = np.array([[0, 0, 1, 1, 2], [2, 2, 2, 0, 0]])
    renamed = np.array([2, 0, 1])[truth]
    assert agreement(renamed, truth) == 1
    renamed[0, 0] = 0
    assert agreement(renamed, truth) == 0.9
    assert (matched(renamed, truth) != truth).sum(axis=1).tolist() == [1, 0]
    assert moves(truth) == 3


def test_states_in_use_hold_the_share_of_the_cells():
    ninety = np.array([[[0] * 5 + [1] * 4 + [2]]])  # 50, 40 and 10 % of the cells
    assert states_in_use(ninety, 4, 0.9) == 2
    assert states_in_use(ninety, 4, 0.91) == 3
    assert states_in_use(np.concatenate([ninety, 0 * ninety]), 4, 0.9) == 1.5


@pytest.mark.parametrize("simulate", [iraq_like, afghanistan_like])
def test_logs_have_the_shape_of_the_papers(rng, simulate):
    log = simulate(rng, 72)
    levels = np.split(log.counts, np.cumsum(log.fields)[:-1], axis=-1)
    assert log.fields == (8, 20, 2, 2, 2)
    for field in levels:  # each field has every event once
        np.testing.assert_array_equal(field.sum(axis=-1), log.events)
    median = 972 if simulate is iraq_like else 58
    assert 0.7 * median < np.median(log.events) < 1.4 * median
    assert len(np.unique(log.states)) == len(log.laws) - (simulate is iraq_like)


def test_first_variable_of_the_schema_is_the_region_the_second_the_month(tmp_path):
    """Also if the columns of the table come in another order, with others."""
    header = "note,kind,month,place\n"
    events = ["x,a,3,north\n", *["y,b,8,south\n"] * 10]
    months = [*range(3, 9)]
    levels = {"place": ["north", "south"], "month": months, "kind": ["a", "b"]}

    def read(events, **levels):
        schema = {name: {"levels": every} for name, every in levels.items()}
        (tmp_path / "log.csv").write_text(header + "".join(events))
        (tmp_path / "log.json").write_text(json.dumps({"variables": schema}))
        return given(Setting(0, "", True, tmp_path / "log.csv", tmp_path / "log.json"))

    counts = read(events, **levels).counts
    assert counts[0, 0].tolist() == [1, 0]
    assert counts[1, 5].tolist() == [0, 10]
    assert counts.sum() == 11
    with pytest.raises(ValueError, match=r"`data` must have at least 11 cells.*fewer"):
        read(events[:10], **levels)
    del levels["kind"]
    with pytest.raises(ValueError, match=r"`schema` must have a region, a month and"):
        read(events, **levels)
    few = {"place": ["north", "south"], "month": [7, 8], "kind": ["a", "b"]}
    with pytest.raises(ValueError, match=r"`data` must have at least 11 cells.*got 4"):
        read(events[1:], **few)
