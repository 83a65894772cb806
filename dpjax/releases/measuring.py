"""The exact statistic of the records that a user gives, before noise is added."""

__all__ = ["measured"]

from collections.abc import Collection, Iterable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int32

from dpjax._types import Records
from dpjax.data.columns import Table, is_in_memory
from dpjax.data.encoding import encode_batches
from dpjax.data.schema import as_records
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.statistics import Statistic, TableStatistic
from dpjax.tables.counts import sum_batches


def measured(
    statistic: Statistic, table: Records | Table, ignore: str | Collection[str] = ()
) -> tuple[Int32[Array, " m"], int]:
    """The exact statistic of a table and the number of its records.

    Where tables are counted from files or batches, few records are in memory at a time.

    Privacy:
        None: these are exact.

    Raises:
        ValueError: if the records do not fit the statistic, are too many for exact
            integers, or are traced.
    """
    if is_in_memory(table) or not isinstance(statistic, TableStatistic):
        encoded = as_records(table, statistic.variables, ignore=ignore)
        _refuse_traced(encoded)
        _refuse_size(encoded.shape[0], statistic)
        return _measure(encoded, statistic), encoded.shape[0]
    encoded = encode_batches(table, statistic.variables, ignore=ignore)
    batches = _of_few(encoded, statistic)
    measure = partial(_measure, statistic=statistic)
    total = sum_batches(measure, batches, statistic.length)
    return jnp.asarray(total.values.astype(np.int32)), total.records


def _of_few(
    batches: Iterable[np.ndarray], statistic: Statistic
) -> Iterator[np.ndarray]:
    """The batches, refused once there are too many records for 32 bits."""
    size = 0
    for batch in batches:
        size += len(batch)
        _refuse_size(size, statistic)
        yield batch


def _refuse_size(n: int, statistic: Statistic) -> None:
    if n * statistic.most_per_record > LARGEST:
        raise ValueError(
            f"`table` must have at most {LARGEST // statistic.most_per_record} "
            "records for exact integers; a statistic with fewer units allows for more."
        )


def _refuse_traced(records: Array) -> None:
    """Refuse compiled or mapped code: it would draw once and reuse that noise."""
    try:
        np.asarray(records[:0])
    except jax.errors.TracerArrayConversionError:
        raise ValueError(
            "`release` must be called outside of `jit` and `vmap`: studies draw with "
            "`mechanism.sample(key, exact)` there."
        ) from None


@partial(jax.jit, static_argnames="statistic")
def _measure(records: ArrayLike, statistic: Statistic) -> Array:
    return statistic.measure(jnp.asarray(records))
