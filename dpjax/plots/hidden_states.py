"""Figures of hidden states: probabilities as bars, states of cells as a map."""

import os
from collections.abc import Sequence

import numpy as np

from dpjax.data.categorical import Categorical
from dpjax.event_logs import HiddenMarkovPosterior
from dpjax.plots.figures import (
    COLOURS,
    Axes,
    Locator,
    Patch,
    finished,
    name_places,
    panels_on,
    short,
)

_MOST_STATES = 20
_MOST_LEVELS = 30  # with legible names
_MOST_REGIONS = 60  # with legible names
UNDECLARED, OTHERS = "#D9D9D9", "#8C8C8C"
# Each colour is the farthest in CIELAB from the previous ones, by the least distance
# under normal, deuteranopic and protanopic vision (Machado et al., 2009), at least 17.
_FURTHER = (
    *("#0000FF", "#000044", "#EEFFAA", "#443300"),
    *("#110099", "#7766FF", "#663355", "#77BB66"),
)
_PALETTE = (*COLOURS, *_FURTHER)
DISTINCT = len(_PALETTE)


def emission_bars(
    posterior: HiddenMarkovPosterior,
    fields: Sequence[Categorical],
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    title: str | None = None,
) -> "Axes | np.ndarray":
    """Draw bars of the expected probabilities of events' levels in each hidden state.

    The figure has a row for each state and a column for each field of an event. It
    shows at most 20 states, those that are the most frequent state of the most cells
    (pairs of region and time).

    Args:
        posterior: posterior whose `emissions` are shown.
        fields: variables of an event, in the posterior's order (see
            `dpjax.event_logs.log_variables`).
        path: PNG or SVG file to write; None for no file.
        ax: Axes to draw on, those of the fields of the first state, then of the next
            one, and so on; None for a new figure.
        title: title of the figure.

    Returns:
        The Axes, an array (states, fields); the Axes itself if there is one.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `fields` does not match the posterior, `ax` has not an Axes for
            each panel, or the file cannot be written.

    Reference:
        Foulds et al. (UAI-16), Figures 4 and 5.
    """
    sizes = tuple(field.size for field in fields)
    if sizes != posterior.fields:
        raise ValueError(
            f"`fields` must have {posterior.fields} levels, as in the posterior, got "
            f"{sizes}."
        )
    parts = shares(np.asarray(posterior.predict_states()), posterior.states)
    states = np.flatnonzero(parts)[:_MOST_STATES].tolist()
    tables = [np.asarray(table) for table in posterior.emissions()]
    widths = [max(size, 4) + 1 for size in sizes]
    height = 1.2 + 0.85 * len(states) + _name_height(fields)
    panels = panels_on(
        ax,
        path,
        (len(states), len(fields)),
        (max(4, 1.2 + 0.26 * sum(widths)), height),
        sharex="col",
        sharey=True,
        width_ratios=widths,
    )
    for row, state in zip(panels, states, strict=True):
        row[0].set_ylabel(
            f"state {state}\n({parts[state]:.0%})", fontsize="small", color="black"
        )
        for axes, table in zip(row, tables, strict=True):
            _bars(axes, table[state], colour_of(state))
            axes.set_xticks([])
    for axes, last, field in zip(panels[0], panels[-1], fields, strict=True):
        axes.set_title(field.name, fontsize="medium")
        names = [short(x) for x in field.levels] if field.size <= _MOST_LEVELS else []
        name_places(last, names, max(map(len, names), default=0) > 3)
    if ax is None:
        panels[0, 0].figure.supylabel("expected probability", fontsize="medium")
    return finished(panels, path, title or "")


def _bars(axes: "Axes", probabilities: np.ndarray, colour: str) -> None:
    axes.bar(np.arange(probabilities.size), probabilities, width=0.8, color=colour)
    axes.set_xlim(-0.7, probabilities.size - 0.3)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0", ".5", "1"], fontsize="x-small")
    axes.spines[["top", "right"]].set_visible(False)


def _name_height(fields: Sequence[Categorical]) -> float:
    """Return the height of vertical names in inches."""
    shown = [field for field in fields if field.size <= _MOST_LEVELS]
    longest = max((len(short(x)) for field in shown for x in field.levels), default=0)
    return 0.07 * longest if longest > 3 else 0.0


def state_map(
    posterior: HiddenMarkovPosterior,
    region: Categorical,
    time: Categorical,
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    title: str | None = None,
) -> "Axes":
    """Draw a map with the most frequent hidden state of each region at each time.

    Args:
        posterior: posterior whose `predict_states` is shown.
        region: variable of the map's rows (see `dpjax.event_logs.log_variables`).
        time: variable of the map's columns.
        path: PNG or SVG file to write; None for no file.
        ax: an Axes to draw on; None for a new figure.
        title: title of the Axes.

    Returns:
        The Axes.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `region` or `time` does not match the posterior, or the file
            cannot be written.

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
    panels = panels_on(ax, path, (1, 1), (9, max(height, 1.2 + 0.19 * entries)))
    axes = panels.item()
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
    return finished(panels, path, "")


def _pixels(found: np.ndarray, states: int) -> np.ndarray:
    """Return the red, green and blue intensities of every cell."""
    colours = [*map(colour_of, range(states)), UNDECLARED]  # index -1 is undeclared
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    return np.array(parts, np.uint8)[found]


def _name_rows(axes: "Axes", region: Categorical) -> None:
    """Name the rows if the names are legible, and draw lines between them."""
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
    """List the states that occur, with their shares of the declared cells."""
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


def colour_of(state: int) -> str:
    """Return a distinct colour for each of the states 0 to 15, and grey for others."""
    return _PALETTE[state] if state < DISTINCT else OTHERS


def shares(found: np.ndarray, states: int) -> np.ndarray:
    """Return the fraction of cells in each state; `found` is -1 outside the cells."""
    counts = np.bincount(found[found >= 0], minlength=states)
    return counts / counts.sum()
