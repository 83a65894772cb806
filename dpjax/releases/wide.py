"""Released integers: in 32 bits, or as exact doubles if 32 bits are too few."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.noise.discrete_laplace import LARGEST
from dpjax.statistics import Statistic, TableStatistic

_MOST_INT = (1 << 31) - 1


def of_any_library(values: Any) -> Any:
    """Return the values unchanged; wide ones are a NumPy array, and not a `Flat`."""
    return values


def as_values(values: Any, statistic: Statistic, n: Any) -> Any:
    """Return 64-bit integers as 32-bit ones if all fit, or else as exact doubles."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64:
        return values
    if is_wide(values, statistic, n):
        return values.astype(np.float64)
    return jnp.asarray(values.astype(np.int32))


def is_wide(values: np.ndarray, statistic: Statistic, n: Any) -> bool:
    """Return whether 32 bits are too few for the numbers, or a table's sum."""
    sizes = np.abs(values)
    layout = statistic.measured if isinstance(statistic, TableStatistic) else None
    sums = sizes
    if layout is not None and sizes.shape[-1] == layout.length:
        sums = np.add.reduceat(sizes, layout.offsets[:-1], axis=-1)
    most = max(sizes.max(initial=0), 0 if n is None else n)
    return bool(most > LARGEST or sums.max(initial=0) > _MOST_INT)


def as_number(n: Any) -> Any:
    """Return the number of records, as a double if 32 bits are too few."""
    return float(n) if isinstance(n, int) and n > _MOST_INT else n
