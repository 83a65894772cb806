"""Shared parts of all figures: matplotlib, colours, and writing of files."""

__all__ = [
    "COLOURS",
    "Axes",
    "Locator",
    "Patch",
    "draw_curve",
    "name_places",
    "new_figure",
    "require_matplotlib",
    "save",
    "short",
]

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


def new_figure(width: int | float, height: int | float) -> "Figure":
    """Make an empty matplotlib figure of a width and height in inches."""
    require_matplotlib()
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: "Figure", path: str | os.PathLike) -> None:
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
