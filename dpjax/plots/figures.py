"""What all figures share: matplotlib, colours, and files that are whole or absent."""

__all__ = [
    "COLOURS",
    "Axes",
    "Locator",
    "Patch",
    "new_figure",
    "require_matplotlib",
    "save",
    "short",
]

import io
import os
import pathlib
from typing import TYPE_CHECKING

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
    except Exception:  # absent or broken: said when a plot is wanted
        Axes = Figure = Patch = Locator = rc_context = None

# Okabe & Ito: told apart by the colour-blind too
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
_LONGEST_NAME = 30  # letters
_METADATA = {".png": {}, ".svg": {"Date": None}}


def require_matplotlib() -> None:
    """Refuse before work that would be lost.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    if not Figure:
        raise ImportError('plots need matplotlib: pip install "dpjax[plots]"')


def new_figure(width: int | float, height: int | float) -> "Figure":
    """An empty figure, in inches, that makes room for its labels.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    require_matplotlib()
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: "Figure", path: str | os.PathLike) -> None:
    """Write a PNG or, if the name ends so, an SVG: the same bytes for the same figure.

    Raises:
        ValueError: if it cannot be written, or the name ends otherwise.
    """
    kind = pathlib.Path(path).suffix.lower()
    if kind not in _METADATA:
        raise ValueError(f"`path` must end in .png or .svg, got {path}.")
    image = io.BytesIO()
    with rc_context({"svg.hashsalt": "dpjax"}):  # else ids are random
        figure.savefig(image, format=kind[1:], dpi=150, metadata=_METADATA[kind])
    write_atomically(path, image.getvalue())


def short(level: object) -> str:
    """The name of a level, cut if it would take the room of the figure."""
    name = str(level)
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
