"""From the cells of a table to one array: level indices, or numbers within bounds.

What a cell becomes depends on that cell and on the schema alone: one that depended on
other cells could move all records at once.
"""

__all__ = [
    "AnyVariable",
    "as_numbers",
    "check_numbers",
    "encode_table",
    "of_one_kind",
    "outside_of",
]

from collections.abc import Collection, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from dpjax import columns
from dpjax.intervals import Interval
from dpjax.variables import Variable

AnyVariable = Variable | Interval


def of_one_kind(
    variables: Sequence[AnyVariable],
) -> tuple[list[Variable], list[Interval]]:
    """The variables as categorical ones or as numeric ones: one list is empty.

    Raises:
        ValueError: if some are of one kind and some of the other.
    """
    categorical = [v for v in variables if isinstance(v, Variable)]
    numeric = [v for v in variables if isinstance(v, Interval)]
    if categorical and numeric:
        raise ValueError(
            "`schema` must have variables of one kind here, got levels for "
            f"{categorical[0].name!r} and bounds for {numeric[0].name!r}: "
            "`Schema.select` those of one kind."
        )
    return categorical, numeric


def encode_table(
    table: columns.Table,
    variables: Sequence[AnyVariable],
    ignore: str | Collection[str],
    absent: str | None,
) -> np.ndarray:
    """Encoded records, as `Schema.encode` describes them, a column a variable.

    Raises:
        ValueError: if the table does not fit the variables, or they are of two kinds.
    """
    categorical, _ = of_one_kind(variables)
    read = [variable for variable in variables if variable.name != absent]
    table = _checked(table, read, {v.name for v in variables}, ignore)
    encoded = {}
    for variable in read:
        column, outside = _encode_column(table, variable)
        if len(column) != len(next(iter(encoded.values()), column)):
            raise ValueError(
                f"`table` must have columns of one length, not {variable.name!r}."
            )
        if outside:
            raise ValueError(_refusal(variable))
        encoded[variable.name] = column
    length = len(next(iter(encoded.values()), ()))
    indices = np.min_scalar_type(max((v.size for v in categorical), default=1) - 1)
    records = np.empty((length, len(variables)), indices if categorical else float)
    for i, variable in enumerate(variables):
        default = variable.missing if isinstance(variable, Interval) else 0
        records[:, i] = encoded.get(variable.name, default)
    return records


def outside_of(
    table: columns.Table,
    variables: Sequence[AnyVariable],
    ignore: str | Collection[str],
) -> dict[str, list]:
    """By variable, the cells that `encode_table` refuses, where there are any.

    Raises:
        ValueError: if a column is missing or not declared.
    """
    table = _checked(table, variables, {v.name for v in variables}, ignore)
    outside = {v.name: _encode_column(table, v)[1] for v in variables}
    return {name: cells for name, cells in outside.items() if cells}


def as_numbers(records: ArrayLike, width: int) -> Float[Array, "n d"]:
    """Numbers that were given as an array, in JAX's default precision, not clipped.

    Raises:
        ValueError: if they have not the form that `check_numbers` asks for.
    """
    check_numbers(records, width)
    if isinstance(records, np.ndarray):  # JAX would wrap wide integers
        with np.errstate(over="ignore"):
            records = records.astype(np.dtype(jnp.result_type(float)))
        records = np.ma.filled(records, np.nan)
    return jnp.asarray(records).astype(float)


def check_numbers(records: ArrayLike, width: int) -> None:
    """Raise `ValueError` unless `records` are real numbers of shape (n, width).

    Only the form is checked, no value is: what uses the values must clip them.
    """
    shape, dtype = np.shape(records), getattr(records, "dtype", None)
    if len(shape) != 2 or shape[1] != width:
        raise ValueError(
            f"`records` must have shape (n, {width}), a column for each variable, "
            f"got {shape}."
        )
    kinds = (jnp.floating, jnp.integer)
    if dtype is None or not any(jnp.issubdtype(dtype, kind) for kind in kinds):
        raise ValueError(f"`records` must be real numbers, got {dtype}.")


def _checked(
    table: columns.Table,
    wanted: Sequence[AnyVariable],
    known: set[str],
    ignore: str | Collection[str],
) -> columns.Table:
    """The table, read if it is a file, once its columns are the wanted ones."""
    present = columns.column_names(table)
    ignored = {ignore} if isinstance(ignore, str) else {*ignore}
    names = [variable.name for variable in wanted]
    missing = [name for name in names if name not in present]
    if missing:
        raise ValueError(
            f"`table` must have a column for each variable, got no {missing[0]!r}."
        )
    known = known | ignored
    unknown = [i for i, name in enumerate(present, start=1) if name not in known]
    if unknown and "*" not in ignored:  # not named: see `columns.column_names`
        raise ValueError(
            f"`table` must have only columns of the schema, column {unknown[0]} is "
            "not: declare it, drop it, or have it ignored (`Schema.encode`, --ignore)."
        )
    return columns.read_table(table, names)


def _encode_column(
    table: columns.Table, variable: AnyVariable
) -> tuple[np.ndarray, list]:
    """A column's level indices or numbers, and the cells that have none."""
    if isinstance(variable, Interval):
        numbers, others = columns.read_numbers(table, variable.name)
        return variable.clip(numbers), others
    values, places = columns.read_column(table, variable.name)
    codes = [variable.code(value) for value in values]
    used = set(np.unique(places).tolist())
    missing = [i in used and code is None for i, code in enumerate(codes)]
    outside = [value for value, out in zip(values, missing, strict=True) if out]
    other = variable.code(variable.other)
    if other is not None:
        outside = [value for value in outside if _is_missing(value)]
    filled = [(other or 0) if code is None else code for code in codes]
    return np.asarray(filled, np.int32)[places], outside


def _is_missing(value: object) -> bool:
    """Whether a cell has no value, which "other" does not stand for."""
    plain = isinstance(value, str | bool | int | float | np.generic)
    return not plain or bool(value != value) or bool(value == "")


def _refusal(variable: AnyVariable) -> str:
    if isinstance(variable, Interval):
        return (
            f"`table` must hold only numbers in column {variable.name!r}, some cell "
            "is none: mend it; `Schema.check` shows the cells."
        )
    return (
        f"`table` must hold only declared levels, column {variable.name!r} does not "
        '(or lacks a value): mend it, or declare an "other" level; '
        "`Schema.check` shows the values."
    )
