"""Shared parts of all figures: matplotlib, colours, and writing of files."""

import importlib
import io
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax._documents import write_atomically

if TYPE_CHECKING:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator as Locator
else:
    try:
        from matplotlib import rc_context
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch
        from matplotlib.ticker import MaxNLocator as Locator
    except Exception:  # absent or broken: `require_matplotlib` raises an error
        Axes = Figure = Patch = Locator = rc_context = None

# The palette of Okabe & Ito, also for colour-blind readers.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#F0E442", "#000000"),
)
_LONGEST_NAME = 30  # letters
_METADATA = {".png": {}, ".svg": {"Date": None}}


def require_matplotlib() -> None:
    """Raise `ImportError` unless matplotlib is installed."""
    if not Figure:
        raise ImportError('plots need matplotlib: pip install "dpjax[plots]"')


def panels_on(
    ax: Any,
    path: str | os.PathLike | None,
    shape: tuple[int, int],
    size: tuple[int | float, int | float],
    **options: Any,
) -> np.ndarray:
    """Return the Axes on which a function draws its panels, an array of a shape.

    Args:
        ax: an Axes, or several in order, row by row; None for those of a new figure. If
            there is no `path` either, pyplot holds the figure, so that notebooks and
            `matplotlib.pyplot.show` show it.
        path: file that the function writes, or None.
        shape: number of rows and of columns of panels.
        size: width and height of a new figure in inches.
        options: arguments of `subplots` for a new figure.

    Raises:
        ImportError: if matplotlib is not installed.
        ValueError: if `ax` does not have an Axes for each panel.
    """
    require_matplotlib()
    if ax is not None:
        given, number = np.asarray(ax, object).ravel(), shape[0] * shape[1]
        if given.size != number or not all(isinstance(x, Axes) for x in given):
            raise ValueError(
                f"`ax` must be {number} matplotlib Axes, one for each panel, got "
                f"{given.size} objects: see `matplotlib.pyplot.subplots`."
            )
        return given.reshape(shape)
    make = importlib.import_module("matplotlib.pyplot").figure
    made = (make if path is None else Figure)(figsize=size, layout="constrained")
    return made.subplots(*shape, squeeze=False, **options)


def finished(panels: np.ndarray, path: str | os.PathLike | None, title: str) -> Any:
    """Write the figure of panels to a file, if there is one, and return the panels.

    A single panel is returned as an Axes. The title is that of the figure, if it is not
    empty.
    """
    figure = panels.flat[0].figure
    if title:
        figure.suptitle(title)
    if path is not None:
        _save(figure.figure, path)
    return panels.item() if panels.size == 1 else panels


def _save(figure: "Figure", path: str | os.PathLike) -> None:
    """Write a figure to a PNG or SVG file; equal figures give equal bytes."""
    kind = pathlib.Path(path).suffix.lower()
    if kind not in _METADATA:
        raise ValueError(f"`path` must end in .png or .svg, got {path}.")
    image = io.BytesIO()
    with rc_context({"svg.hashsalt": "dpjax"}):  # otherwise ids are random
        figure.savefig(image, format=kind[1:], dpi=150, metadata=_METADATA[kind])
    write_atomically(path, image.getvalue())


def draw_curve(
    axes: "Axes", x: Any, y: np.ndarray, band: np.ndarray, colour: str, **style: Any
) -> None:
    """Draw the curve (`x`, `y`), with a shaded band from y - `band` to y + `band`."""
    axes.fill_between(x, y - band, y + band, color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, y, color=colour, **style)


def name_places(axes: "Axes", names: Sequence[str], upright: bool) -> None:
    """Label the positions 0, 1, … of the x axis, vertically if `upright` is True."""
    rotation = 90 if upright else 0
    axes.set_xticks(range(len(names)), names, rotation=rotation, fontsize="small")


def short(level: object) -> str:
    """Return the name of a level, cut to 30 characters if it is longer."""
    name = str(level)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
