"""The hidden state of every region and time, as a map of colours."""

__all__ = ["state_map"]

import os

import numpy as np

from dpjax.hidden_markov import HiddenMarkovPosterior
from dpjax.plots.figures import Axes, Locator, Patch, new_figure, save
from dpjax.plots.states import UNDECLARED, colour_of, shares
from dpjax.variables import Variable

_MOST_REGIONS = 60  # whose names can be read
_LONGEST_NAME = 24  # letters


def state_map(
    posterior: HiddenMarkovPosterior,
    region: Variable,
    time: Variable,
    path: str | os.PathLike,
    *,
    title: str | None = None,
) -> None:
    """The most frequent state of every cell, as a PNG: regions down, time to the right.

    Args:
        posterior: whose `predict_states` is shown.
        region: names the rows (see `hidden_markov.log_variables`).
        time: numbers the columns.
        path: of the file to write.
        title: of the figure.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if region or time are not the posterior's, or the file cannot be
            written.

    Reference:
        Foulds et al. (UAI-16), Figures 3 and 7.
    """
    found = np.asarray(posterior.predict_states())
    if found.shape != (region.size, time.size):
        raise ValueError(
            "`region` and `time` must have a level for each of the posterior's "
            f"{found.shape[0]} regions and {found.shape[1]} times, got {region.size} "
            f"and {time.size}."
        )
    height = 1.6 + 0.24 * min(region.size, _MOST_REGIONS)
    states = np.unique(found[found >= 0])
    figure = new_figure(9, max(height, 1.2 + 0.19 * (states.size + 2)))
    axes = figure.subplots()
    first = time.levels[0]
    axes.imshow(
        _pixels(found),
        aspect="auto",
        interpolation="nearest",
        extent=(first - 0.5, first + time.size - 0.5, region.size - 0.5, -0.5),
    )
    axes.set_xlabel(time.name)
    axes.set_ylabel(region.name)
    axes.xaxis.set_major_locator(Locator(nbins=12, integer=True, min_n_ticks=1))
    _name_rows(axes, region)
    _legend(axes, found, posterior.states)
    if title:
        axes.set_title(title)
    save(figure, path)


def _pixels(found: np.ndarray) -> np.ndarray:
    """Red, green and blue of every cell."""
    colours = {
        state: colour_of(state) if state >= 0 else UNDECLARED
        for state in np.unique(found).tolist()
    }
    lookup = {
        state: [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        for state, colour in colours.items()
    }
    return np.array(
        [[lookup[state] for state in row] for row in found.tolist()], np.uint8
    )


def _name_rows(axes: "Axes", region: Variable) -> None:
    """As many names as can be read, and lines between the rows."""
    if region.size > _MOST_REGIONS:
        return
    names = [_short(str(level)) for level in region.levels]
    axes.set_yticks(np.arange(region.size), names, fontsize="small")
    axes.tick_params(axis="y", length=0)
    for row in range(1, region.size):
        axes.axhline(row - 0.5, color="white", linewidth=1)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _legend(axes: "Axes", found: np.ndarray, states: int) -> None:
    """The states that some cell is in, and how many of the declared cells are."""
    parts = shares(found, states)
    entries = [
        Patch(facecolor=colour_of(state), label=f"{state}  ({parts[state]:.0%})")
        for state in np.flatnonzero(parts).tolist()
    ]
    if (found < 0).any():
        entries.append(Patch(facecolor=UNDECLARED, label="not declared"))
    axes.legend(
        handles=entries,
        title="state (share of cells)",
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
    )
