"""Columns of Arrow, and columns of integers, as distinct values and their places."""

from typing import Any, NamedTuple

import numpy as np

from dpjax.data.sources.arrow import pyarrow

NO_CELLS = (
    "`table` must hold text, numbers or booleans, or times without a time zone, column "
    "{!r} does not."
)
_DENSE = 1 << 8  # integers in a smaller range are indexed without sorting


class Column(NamedTuple):
    """Distinct `values` of a column, and for each record the index of its value."""

    values: list
    places: np.ndarray


def is_arrow(column: Any) -> bool:
    """Whether a column is an array of Arrow, in one piece or several."""
    return bool(pyarrow) and isinstance(column, pyarrow.Array | pyarrow.ChunkedArray)


def from_arrow(column: Any, name: str) -> Column:
    """Read a column of Arrow; a null has the value None.

    Raises:
        ValueError: if the cells have no values that can be compared, such as lists.
    """
    try:
        array, types = _in_one(column), pyarrow.types
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        if types.is_timestamp(kind) and kind.tz is not None:
            raise ValueError(NO_CELLS.format(name))
        integers = types.is_integer(array.type)
        if (integers or types.is_boolean(array.type)) and not array.null_count:
            found = dense(_numbers(array) if integers else array.to_numpy(False))
            if found is not None:
                return found
        if not types.is_dictionary(array.type):
            array = array.dictionary_encode()
        array.validate(full=True)
        values = _values(array.dictionary)
        places = array.indices
        if array.null_count:
            places = places.cast(pyarrow.int64()).fill_null(len(values))
    except pyarrow.ArrowException:
        raise ValueError(NO_CELLS.format(name)) from None
    missing = [None] if array.null_count else []
    return Column(values + missing, _numbers(places))


def _numbers(array: Any) -> np.ndarray:
    """View integers without nulls; `to_numpy` would import pandas, which is slow."""
    return np.from_dlpack(array)


def _values(array: Any) -> list:
    kinds = pyarrow.types
    if kinds.is_string(array.type) or kinds.is_large_string(array.type):
        return array.to_pylist()  # does not import pandas either
    return list(array.to_numpy(zero_copy_only=False))


def _in_one(column: Any) -> Any:
    if isinstance(column, pyarrow.Array):
        return column
    if not column.num_chunks:
        return pyarrow.nulls(0, column.type)
    if pyarrow.types.is_dictionary(column.type) and any(
        chunk.dictionary.null_count for chunk in column.chunks
    ):  # Arrow does not unify such dictionaries
        column = column.cast(column.type.value_type)
    if column.num_chunks == 1:
        return column.chunk(0)
    array = column.combine_chunks()
    whole = isinstance(array, pyarrow.Array)  # or too long for older Arrow
    return array if whole else pyarrow.concat_arrays(array.chunks)


def dense(array: np.ndarray) -> Column | None:
    """Read booleans, or integers in a small range, without sorting; None for others."""
    if array.size == 0:
        return None
    if array.dtype.kind == "b":
        return Column([False, True], array.view(np.uint8))
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    unsigned = array.view(f"u{array.dtype.itemsize}")  # wraps, so nothing overflows
    most = int(unsigned.max())
    if most < _DENSE:  # without a subtraction
        return Column(list(range(most + 1)), unsigned.astype(np.uint8))
    least, most = int(array.min()), int(array.max())
    if most - least >= _DENSE:
        return None
    first = np.array(least, array.dtype).view(unsigned.dtype)
    return Column(list(range(least, most + 1)), (unsigned - first).astype(np.uint8))
