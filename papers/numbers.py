"""Tables of rows, and how sure a mean is."""

__all__ = ["mean_and_error", "relative_error", "table"]

from collections.abc import Iterable, Sequence

import numpy as np


def table(names: Sequence[str], rows: Iterable[Sequence]) -> dict[str, list]:
    """Columns by name, from rows."""
    columns = zip(*rows, strict=True)
    return {name: [*column] for name, column in zip(names, columns, strict=True)}


def mean_and_error(repeats: np.ndarray) -> tuple[float, float]:
    """The mean over repeats and its standard error."""
    values = np.asarray(repeats, float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def relative_error(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Standard errors of the ratio of two means over independent repeats, axis 0."""
    squares = [
        x.var(axis=0, ddof=1) / x.shape[0] / x.mean(axis=0) ** 2 for x in (above, below)
    ]
    return np.sqrt(sum(squares)) * above.mean(axis=0) / below.mean(axis=0)
