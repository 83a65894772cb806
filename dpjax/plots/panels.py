"""Figures with panels of curves and points."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import ArrayLike, Real

from dpjax._checks import one_of
from dpjax.plots.figures import (
    COLOURS,
    Axes,
    draw_curve,
    finished,
    name_places,
    panels_on,
)

Numbers = Real[ArrayLike, " n"] | Sequence[int | float]
_STYLES: dict[str, dict] = {
    "line": {"linestyle": "-", "marker": "o", "markersize": 4},
    "dashed": {"linestyle": "--", "marker": "o", "markersize": 4},
    "plain": {"linestyle": "-"},
    "thin": {"linestyle": "-", "linewidth": 0.6, "alpha": 0.5},
    "points": {"linestyle": "", "marker": "o", "markersize": 6},
    "crosses": {"linestyle": "", "marker": "x", "markersize": 7},
}


@dataclass(frozen=True)
class Series:
    """A curve or a set of points in a `Panel`.

    Args:
        label: entry in the legend; "" means no entry.
        x, y: coordinates of the points.
        error: standard errors of y, drawn as a band or bars of ± 2 standard errors.
        style: "line" and "dashed" (with markers), "plain" and "thin" (without), or
            "points" and "crosses" (without a line).
        colour: index in the list COLOURS of figures.py; None means the next colour.

    Raises:
        ValueError: if `style` is none of these.
    """

    label: str
    x: Numbers
    y: Numbers
    error: Numbers | None = None
    style: str = "line"
    colour: int | None = None

    def __post_init__(self):
        one_of(tuple(_STYLES), style=self.style)


@dataclass(frozen=True)
class TopAxis:
    """A second x axis at the top of a `Panel`, in another unit.

    Args:
        label: label of the axis, with its unit.
        places: positions of the ticks, as values on the lower x axis.
        names: labels of the ticks.
    """

    label: str
    places: Sequence[int | float]
    names: Sequence[str]


@dataclass(frozen=True)
class Panel:
    """One panel (a pair of axes) of a figure that `draw_panels` draws.

    Args:
        series: curves and points.
        x_label, y_label: labels of the axes, with their units.
        title: title of the panel.
        log_x, log_y: whether the axis is logarithmic.
        levels: mapping from label to y value of horizontal reference lines.
        categories: names of the positions 0, 1, … if x is categorical.
        limits: smallest and largest y that are shown; None means chosen by matplotlib.
        top: a second x axis, or None.
    """

    series: Sequence[Series]
    x_label: str
    y_label: str
    title: str = ""
    log_x: bool = False
    log_y: bool = False
    levels: Mapping[str, int | float] = field(default_factory=dict)
    categories: Sequence[str] = ()
    limits: tuple[int | float, int | float] | None = None
    top: TopAxis | None = None


def draw_panels(
    panels: Sequence[Panel],
    path: str | os.PathLike | None = None,
    *,
    ax: "Axes | Sequence[Axes] | np.ndarray | None" = None,
    title: str = "",
    columns: int = 2,
) -> "Axes | np.ndarray":
    """Draw panels, row by row, as one figure.

    Args:
        panels: at least one panel.
        path: PNG or SVG file to write; None for no file.
        ax: Axes to draw on, one for each panel; None for a new figure.
        title: title of the figure.
        columns: largest number of panels in a row of a new figure.

    Returns:
        An array with the Axes of each panel; the Axes itself if there is one.

    Raises:
        ValueError: if there is no panel, `ax` has not an Axes for each of them, or the
            file cannot be written.
        ImportError: if matplotlib is not installed.
    """
    if not panels:
        raise ValueError("`panels` must hold at least one panel.")
    wide = min(columns, len(panels))
    rows = math.ceil(len(panels) / wide)
    shape = (rows, wide) if ax is None else (1, len(panels))
    size = 1 + 4.6 * wide, 0.6 + 3.6 * rows
    places = panels_on(ax, path, shape, size).ravel()
    for axes, panel in zip(places, panels, strict=False):
        _draw(axes, panel)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    return finished(places[: len(panels)], path, title)


def _draw(axes: "Axes", panel: Panel) -> None:
    free = 0
    for series in panel.series:
        number = free if series.colour is None else series.colour
        free += series.colour is None
        _draw_series(axes, series, COLOURS[number % len(COLOURS)])
    for (label, level), style in zip(
        panel.levels.items(), ("-", ":", "--", "-.") * len(panel.levels), strict=False
    ):
        axes.axhline(level, color="black", linestyle=style, linewidth=1, label=label)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, fontsize="medium")
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    if panel.limits:
        axes.set_ylim(*panel.limits)
    if names := panel.categories:
        name_places(axes, names, max(map(len, names)) * len(names) > 50)
        axes.set_xlim(-0.5, len(names) - 0.5)
    if panel.top:
        above = axes.secondary_xaxis("top")
        above.set_xlabel(panel.top.label)
        above.set_xticks(panel.top.places, panel.top.names, minor=False)
        above.set_xticks([], minor=True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize="small")


def _draw_series(axes: "Axes", series: Series, colour: str) -> None:
    x, y = np.asarray(series.x, float), np.asarray(series.y, float)
    style, label = _STYLES[series.style], series.label or None
    if series.error is None:
        axes.plot(x, y, color=colour, label=label, **style)
        return
    band = 2 * np.nan_to_num(np.asarray(series.error, float))
    label = f"{label} (± 2 s.e.)" if label else None
    if series.style in ("points", "crosses"):
        axes.errorbar(x, y, band, color=colour, label=label, capsize=3, **style)
        return
    draw_curve(axes, x, y, band, colour, label=label, **style)
