"""Curves and points of the errata's figures, from lists."""

__all__ = ["line"]

from collections.abc import Sequence

import numpy as np

from dpjax.plots import Series

Numbers = Sequence[float | int] | np.ndarray


def line(
    label: str,
    x: Numbers,
    y: Numbers,
    error: Numbers | None = None,
    style: str = "line",
) -> Series:
    """A `Series`, of arrays of floats."""
    spread = None if error is None else np.asarray(error, float)
    return Series(label, np.asarray(x, float), np.asarray(y, float), spread, style)
