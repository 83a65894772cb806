"""Counts of many batches: on the device in 32 bits, their sum on the host in 64."""

__all__ = ["count_batches"]

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Int64, Integer

from dpjax.counts.tables import count
from dpjax.layout import TableLayout


def count_batches(
    batches: Iterable[Integer[ArrayLike, "_ d"]], layout: TableLayout
) -> Int64[np.ndarray, " m"]:
    """Sum of the counts of many batches, exact beyond 2^31 records.

    Each batch is counted on the device; their sum is kept on the host. Batches of one
    size share one compiled program.

    Privacy:
        None: these are the exact counts.
    """
    total = np.zeros(layout.length, np.int64)
    for batch in batches:
        total += np.asarray(count(jnp.asarray(batch), layout))
    return total
