"""Conversion of tables and arrays to encoded records."""

from collections.abc import Collection, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Real

from dpjax._types import Scalar
from dpjax.data import sources
from dpjax.data.encoding import as_mixed
from dpjax.data.impossible import refuse_records
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable
from dpjax.data.schema import Schema
from dpjax.tables.counts import check_records


def as_records(
    rows: Real[ArrayLike, "n d"] | sources.Table,
    variables: Schema | Sequence[AnyVariable],
    absent: str | None = None,
    ignore: str | Collection[str] = (),
) -> Real[Array, "n d"]:
    """Encode a table, or check an array of encoded records.

    An array of numbers is not clipped: the statistic that is computed from it clips it.
    `absent` and `ignore` are as in `Schema.encode`.

    Raises:
        ValueError: if the rows do not fit the variables.
    """
    schema = variables if isinstance(variables, Schema) else Schema(variables)
    if not isinstance(rows, np.ndarray | jax.Array):
        return schema.encode(rows, absent=absent, ignore=ignore)
    columns = list(schema.values())
    sizes = [
        None if v.name == absent else v.size
        for v in columns
        if not isinstance(v, Interval)
    ]
    if len(sizes) < len(columns):
        rows = as_mixed(rows, columns, absent)
    else:
        check_records(rows, sizes)
    refuse_records(rows, schema.impossible, list(schema), absent)
    if absent is not None:
        index, left_out = list(schema).index(absent), schema[absent]
        default = left_out.missing if isinstance(left_out, Interval) else 0
        rows = _fill(rows, index, default)
    return jnp.asarray(rows)


@jax.jit
def _fill(rows: Array, column: Scalar, value: Scalar) -> Array:
    """Fill a column; its index is traced, so that all columns share a program."""
    return rows.at[:, column].set(jnp.asarray(value).astype(rows.dtype))
