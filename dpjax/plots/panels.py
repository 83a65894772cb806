"""Figures of curves and points, panel beside panel, from plain numbers."""

__all__ = ["Panel", "Series", "TopAxis", "draw_panels"]

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import ArrayLike, Real

from dpjax._checks import one_of
from dpjax.plots.figures import COLOURS, Axes, new_figure, save

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
    """One curve, or one set of points.

    Args:
        label: in the legend; "" for none.
        x: where.
        y: what.
        error: standard errors of y, shown as a band, or bars, of ± 2; None: none.
        style: line, dashed, plain, thin, points or crosses.
        colour: its number in the palette; None: the next one.

    Raises:
        ValueError: if there is no such style.
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
    """What places along the x axis mean in another unit, along the top.

    Args:
        label: with the unit.
        places: on the x axis.
        names: of these places.
    """

    label: str
    places: Sequence[int | float]
    names: Sequence[str]


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Args:
        series: what is drawn.
        x_label: with the unit.
        y_label: with the unit.
        title: above it.
        log_x: whether x is on a log axis.
        log_y: whether y is.
        levels: horizontal lines of reference, by label.
        categories: names of the places 0, 1, … if x is a list of things.
        limits: of y.
        top: a second axis.
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
    path: str | os.PathLike,
    *,
    title: str = "",
    columns: int = 2,
) -> None:
    """Write panels as a PNG or SVG, row by row.

    Args:
        panels: at least one.
        path: of the file to write.
        title: of the figure.
        columns: panels in a row, at most.

    Raises:
        ValueError: if there is no panel, or the file cannot be written.
        ImportError: if matplotlib is not installed.
    """
    if not panels:
        raise ValueError("`panels` must hold at least one panel.")
    wide = min(columns, len(panels))
    rows = math.ceil(len(panels) / wide)
    figure = new_figure(1 + 4.6 * wide, 0.6 + 3.6 * rows)
    places = figure.subplots(rows, wide, squeeze=False).ravel()
    for axes, panel in zip(places, panels, strict=False):
        _draw(axes, panel)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    if title:
        figure.suptitle(title)
    save(figure, path)


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
    if panel.categories:
        _name_categories(axes, panel.categories)
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
    axes.fill_between(x, y - band, y + band, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, y, color=colour, label=label, **style)


def _name_categories(axes: "Axes", names: Sequence[str]) -> None:
    """Upright, where they would run into each other."""
    upright = max(map(len, names)) * len(names) > 50
    axes.set_xticks(
        range(len(names)), names, rotation=90 if upright else 0, fontsize="small"
    )
    axes.set_xlim(-0.5, len(names) - 0.5)
