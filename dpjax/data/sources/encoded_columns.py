"""Columns of a table in memory: reading, and encoding as level indices or numbers.

`dpjax.data.levels` decides which level a cell has. The level depends only on the cell
and on the variable.
"""

__all__ = ["encode_column", "read_column", "read_numbers"]

import contextlib
from collections import UserString
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.intervals import number
from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.in_memory import Table

_NO_CELLS = "`table` must hold text, numbers or booleans, column {!r} does not."
_DENSE = 1 << 8  # integers in a smaller range are indexed without sorting
_ONE_CELL = (
    "`table` must have a cell of {!r:.80} for each record, a row of cells is no table: "
    "use `pyarrow.Table.from_pylist(rows)`, or give the path."
)
_CELLS: tuple[type, ...] = (str, UserString, bytes, bytearray, memoryview)
if pyarrow:
    _CELLS = (*_CELLS, pyarrow.Scalar)
_PLAIN_NUMBERS = {bool, int, float, np.float64, type(None)}


class Column(NamedTuple):
    """Distinct `values` of a column, and for each record the index of its value."""

    values: list
    places: np.ndarray


class Numbers(NamedTuple):
    """The numbers in a column, and the cells that are neither numbers nor missing."""

    numbers: np.ndarray  # NaN where there is none
    others: list


def read_column(table: Table, name: str) -> Column:
    """Read one column; a missing cell has a value such as None or NaN."""
    column = _column(table, name)
    if _is_arrow(column):
        return _from_arrow(column, name)
    if isinstance(column, Sequence):  # NumPy would give all its cells one type
        return _from_objects(column)
    array = _array(column, name)
    if array.ndim == 0:
        raise ValueError(_ONE_CELL.format(name))
    if array.ndim != 1:
        raise ValueError(
            f"`table` must have one-dimensional columns, {name!r} has {array.ndim}."
        )
    if array.dtype.kind in "mM":  # dates of some units would become plain integers
        return _from_objects(iter(array))
    if isinstance(array, np.ma.MaskedArray):
        return _from_objects(array.tolist())  # None where masked
    if array.dtype.kind in "biu" and (dense := _dense(array)):
        return dense
    if array.dtype.kind in "biufU":
        values, places = np.unique(array, return_inverse=True)  # -0.0 is 0.0 here
        return Column(list(values), places.reshape(-1))
    return _from_objects(array.tolist())


def read_numbers(table: Table, name: str) -> Numbers:
    """Read one column as numbers, which `dpjax.data.intervals.number` defines."""
    plain = _plain_numbers(_column(table, name), name)
    if plain is not None:
        return Numbers(plain, [])
    values, places = read_column(table, name)
    numbers = [number(value) for value in values]
    others = []
    if None in numbers:
        used = np.unique(places).tolist()
        others = [values[i] for i in used if numbers[i] is None]
    return Numbers(np.array(numbers, np.float64)[places], others)


def _column(table: Table, name: str) -> Any:
    found = []
    with contextlib.suppress(Exception):  # classes of tables raise anything
        found.append(table[name])
    if not found:
        raise ValueError(
            f"`table` must give each column by its name, a {type(table).__name__} does "
            "not: convert it to a DataFrame or Arrow table."
        )
    if isinstance(found[0], _CELLS):  # iterating over text would give its characters
        raise ValueError(_ONE_CELL.format(name))
    return found[0]


def _array(column: Any, name: str) -> np.ndarray:
    try:
        return np.asanyarray(column)
    except Exception:  # classes of columns raise anything
        pass
    raise ValueError(_NO_CELLS.format(name))


def _plain_numbers(column: Any, name: str) -> np.ndarray | None:
    """Convert a column that has only numbers and missing cells; None for others."""
    if _is_arrow(column):
        types = pyarrow.types
        if not (types.is_integer(column.type) or types.is_floating(column.type)):
            return None
        column = column.to_numpy(zero_copy_only=False)
    elif _has_numbers_of_pandas(column):
        column = column.to_numpy(np.float64, na_value=np.nan)
    if isinstance(column, Sequence):
        return _plain_objects(column)
    array = _array(column, name)
    if array.ndim == 1 and array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # infinite, as in `number`
            return np.ma.filled(array.astype(np.float64), np.nan)
    if array.ndim == 1 and array.dtype.kind == "O":
        return _plain_objects(array.tolist())
    return None


def _has_numbers_of_pandas(column: Any) -> bool:
    dtype = getattr(column, "dtype", None)
    own = dtype is not None and not isinstance(dtype, np.dtype)
    return own and getattr(dtype, "kind", None) in ("b", "i", "u", "f")


def _plain_objects(cells: Sequence) -> np.ndarray | None:
    if not set(map(type, cells)) <= _PLAIN_NUMBERS:
        return None
    try:
        return np.array(cells, np.float64)  # None becomes NaN
    except OverflowError:  # an integer beyond double precision
        return None


def _is_arrow(column: Any) -> bool:
    return bool(pyarrow) and isinstance(column, pyarrow.Array | pyarrow.ChunkedArray)


def _from_arrow(column: Any, name: str) -> Column:
    try:
        array = _in_one(column)
        types = pyarrow.types
        if types.is_boolean(array.type) or types.is_integer(array.type):
            dense = None if array.null_count else _dense(array.to_numpy(False))
            if dense is not None:
                return dense
        if not types.is_dictionary(array.type):
            array = array.dictionary_encode()
        array.validate(full=True)
        values = list(array.dictionary.to_numpy(zero_copy_only=False))
        places = array.indices
        if array.null_count:
            places = places.cast(pyarrow.int64()).fill_null(len(values))
    except pyarrow.ArrowException:
        raise ValueError(_NO_CELLS.format(name)) from None
    missing = [None] if array.null_count else []
    return Column(values + missing, places.to_numpy(zero_copy_only=False))


def _in_one(column: Any) -> Any:
    if isinstance(column, pyarrow.Array):
        return column
    if pyarrow.types.is_dictionary(column.type) and any(
        chunk.dictionary.null_count for chunk in column.chunks
    ):  # Arrow does not unify such dictionaries
        column = column.cast(column.type.value_type)
    if column.num_chunks == 1:
        return column.chunk(0)
    array = column.combine_chunks()
    if isinstance(array, pyarrow.ChunkedArray):  # no chunk, or too long for one
        empty = pyarrow.array([], array.type)
        array = pyarrow.concat_arrays(array.chunks or [empty])
    return array


def _dense(array: np.ndarray) -> Column | None:
    """Column of booleans, or integers in a small range, without the cost of sorting."""
    if array.size == 0:
        return None
    if array.dtype.kind == "b":
        return Column([False, True], array.view(np.uint8))
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    least, most = int(array.min()), int(array.max())
    if most - least >= _DENSE:
        return None
    unsigned = array.view(f"u{array.dtype.itemsize}")  # wraps, so nothing overflows
    first = np.array(least, array.dtype).view(unsigned.dtype)
    return Column(list(range(least, most + 1)), (unsigned - first).astype(np.uint8))


def _from_objects(cells: Iterable) -> Column:
    """Group cells of one type and equal text, so that 1, 1.0 and True stay distinct.

    The value of a cell must not depend on other records. Cells that are neither text
    nor numbers are grouped by type only.
    """
    index: dict[object, int] = {}
    values, places = [], []
    for cell in cells:
        key = _identity(cell)
        if key not in index:
            index[key] = len(values)
            values.append(cell)
        places.append(index[key])
    return Column(values, np.array(places, int))


def _identity(cell: object) -> object:
    kind = type(cell)
    if kind is str:
        return cell
    if isinstance(cell, int):  # its text may be too long for Python
        return kind, cell
    plain = isinstance(cell, str | float | np.generic | Decimal)
    return (kind, str(cell)) if plain else kind


def encode_column(
    table: Table, variable: Categorical, encode: Encoder
) -> tuple[np.ndarray, list]:
    """Return the level indices of a column, and a list of rejected cells."""
    values, places = read_column(table, variable.name)
    codes = encode(values)
    outside = []
    if None in codes:
        used = np.zeros(len(values), bool)
        used[places] = True
        outside = [values[i] for i in np.flatnonzero(used) if codes[i] is None]
    filled = [0 if code is None else code for code in codes]
    return _replaced(places, filled, variable.size), outside


def _replaced(places: np.ndarray, codes: Sequence[int], size: int) -> np.ndarray:
    table = np.array(codes, np.min_scalar_type(size - 1))
    if codes == list(range(len(codes))):
        return places.astype(table.dtype, copy=False)
    if places.dtype == np.uint8 == table.dtype:  # three times as fast as `take`
        filled = bytes(table).ljust(256)
        return np.frombuffer(places.tobytes().translate(filled), np.uint8)
    return table[places]
