"""The hidden state of every region and time, as a map of colours."""

__all__ = ["state_map"]

import os

import numpy as np

from dpjax.data.variables import Variable
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots.figures import Axes, Locator, Patch, new_figure, save, short
from dpjax.plots.states import DISTINCT, OTHERS, UNDECLARED, colour_of, shares

_MOST_REGIONS = 60  # whose names can be read


def state_map(
    posterior: HiddenMarkovPosterior,
    region: Variable,
    time: Variable,
    path: str | os.PathLike,
    *,
    title: str | None = None,
) -> None:
    """The most frequent state of every cell, as a PNG or SVG: regions down, time
    to the right.

    Args:
        posterior: whose `predict_states` is shown.
        region: names the rows (see `dpjax.event_logs.log_variables`).
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
    entries = min(posterior.states, DISTINCT + 1) + 2
    figure = new_figure(9, max(height, 1.2 + 0.19 * entries))
    axes = figure.subplots()
    first = int(time.levels[0])
    axes.imshow(
        _pixels(found, posterior.states),
        aspect="auto",
        interpolation="nearest",
        extent=(first - 0.5, first + time.size - 0.5, region.size - 0.5, -0.5),
    )
    axes.set_xlabel(time.name)
    axes.xaxis.set_major_locator(Locator(nbins=12, integer=True, min_n_ticks=1))
    _name_rows(axes, region)
    _legend(axes, found, posterior.states)
    if title:
        axes.set_title(title)
    save(figure, path)


def _pixels(found: np.ndarray, states: int) -> np.ndarray:
    """Red, green and blue of every cell."""
    colours = [*map(colour_of, range(states)), UNDECLARED]  # the last is that of -1
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    return np.array(parts, np.uint8)[found]


def _name_rows(axes: "Axes", region: Variable) -> None:
    """As many names as can be read, and lines between the rows."""
    axes.set_ylabel(region.name)
    if region.size > _MOST_REGIONS:
        axes.set_yticks([])
        axes.set_ylabel(f"{region.name}, {region.size} in order of the schema")
        return
    names = [short(level) for level in region.levels]
    axes.set_yticks(np.arange(region.size), names, fontsize="small")
    axes.tick_params(axis="y", length=0)
    for row in range(1, region.size):
        axes.axhline(row - 0.5, color="white", linewidth=1)


def _legend(axes: "Axes", found: np.ndarray, states: int) -> None:
    """The states that some cell is in, and how many of the declared cells are."""
    parts = shares(found, states)
    entries = [
        Patch(facecolor=colour_of(state), label=f"{state}  ({parts[state]:.0%})")
        for state in np.flatnonzero(parts[:DISTINCT]).tolist()
    ]
    if parts[DISTINCT:].any():
        share = parts[DISTINCT:].sum()
        entries.append(Patch(facecolor=OTHERS, label=f"others  ({share:.0%})"))
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
