"""A picture of how time grows with size, from the record of a run."""

__all__ = ["draw_curves"]

import pathlib

from benchmarks.record import Record
from benchmarks.timing import exponent
from dpjax.plots import Panel, Series, draw_panels

Curves = dict[str, dict[int, float]]


def draw_curves(record: Record, path: pathlib.Path) -> None:
    """Write seconds against size, a panel for each thing that grows, as PNG or SVG.

    Raises:
        ValueError: if the record has no curve, or the file cannot be written.
    """
    by_axis: dict[str, Curves] = {}
    for row in (row for result in record.results for row in result.rows if row.curve):
        curves = by_axis.setdefault(row.axis, {})
        curves.setdefault(row.curve, {})[row.size] = row.seconds["dpjax"]
    if not by_axis:
        raise ValueError("`--figure` must be of a run with the benchmark scaling.")
    draw_panels([_panel(axis, curves) for axis, curves in by_axis.items()], path)


def _panel(axis: str, curves: Curves) -> Panel:
    series = [
        Series(
            f"{name}: exponent {exponent(points):.2f}", [*points], [*points.values()]
        )
        for name, points in curves.items()
    ]
    times = [each for points in curves.values() for each in points.values()]
    # a decade or more, so that what hardly grows is seen to
    limits = min(times) / 3, max(times) * 3
    return Panel(series, axis, "seconds", log_x=True, log_y=True, limits=limits)
