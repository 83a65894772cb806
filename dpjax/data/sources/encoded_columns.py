"""Columns of a table in memory: reading, and encoding as level indices or numbers.

The kinds of `dpjax.data.categorical` decide which level a cell has. The level depends
only on the cell and on the variable.
"""

import contextlib
import datetime
import itertools
import mmap
from array import array as TypedArray
from collections import UserString, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from operator import itemgetter
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.intervals import number
from dpjax.data.matching import EXACT_INTEGERS
from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.arrow_columns import (
    NO_CELLS,
    Column,
    dense,
    from_arrow,
    is_arrow,
)
from dpjax.data.sources.frames import (
    as_arrow,
    categories_of,
    is_read_alike,
    may_round,
)
from dpjax.data.sources.in_memory import Table

_BLOCK = 1 << 13  # cells that a processor's cache holds
_ONE_CELL = (
    "`table` must have a cell of {!r:.80} for each record, a row of cells is no table: "
    "use `pyarrow.Table.from_pylist(rows)`, or give the path."
)
_ROUNDED = (
    "`table` must have no {} in {!r:.80} if it is a frame of pandas before 3.1, which "
    "may have rounded the column: use a later pandas, or give the path of the file."
)
_CELLS: tuple[type, ...] = (str, UserString, bytes, bytearray, memoryview, mmap.mmap)
if pyarrow:
    _CELLS = (*_CELLS, pyarrow.Scalar, pyarrow.Buffer)
_PLAIN_NUMBERS = {bool, int, float, np.float64, NoneType}
_PYTHON_NUMBERS = {bool, int, float}  # 1, 1.0 and True are equal


class Numbers(NamedTuple):
    """The numbers in a column, and the cells that are neither numbers nor missing."""

    numbers: np.ndarray  # NaN where there is none
    others: list


def read_column(table: Table, name: str) -> Column:
    """Read one column; a missing cell has a value such as None or NaN."""
    cells = _cells_of(table, name)
    return _read(as_arrow(cells), cells, name)


def _read(column: Any, cells: Any, name: str) -> Column:
    found = _from_column(column, name)
    if may_round(cells):
        used = np.unique(found.places).tolist()
        if not all(is_read_alike(found.values[i]) for i in used):
            raise ValueError(_ROUNDED.format("text that shows a number", name))
    return found


def _from_column(column: Any, name: str) -> Column:
    if categories := categories_of(column):
        return _from_categories(*categories, name)
    if is_arrow(column):
        return from_arrow(column, name)
    if _has_cells(column):  # NumPy would give all of them one type
        return _from_objects(list(column))
    zone = getattr(getattr(column, "dtype", None), "time_zone", None)
    if zone is not None:  # of polars, whose times NumPy would show in another zone
        raise ValueError(NO_CELLS.format(name))
    array = _array(column, name)
    if array.ndim == 0:
        raise ValueError(_ONE_CELL.format(name))
    if array.ndim != 1:
        raise ValueError(
            f"`table` must have one-dimensional columns, {name!r} has {array.ndim}."
        )
    if isinstance(array, np.ma.MaskedArray):
        values, places = _from_column(array.data, name)
        mask = np.ma.getmaskarray(array)
        return Column([*values, None], np.where(mask, len(values), places))
    if array.dtype.kind in "biu" and (found := dense(array)):
        return found
    if array.dtype.kind in "biufmM":
        values, places = np.unique(array, return_inverse=True)  # -0.0 is 0.0 here
        return Column(list(values), places.reshape(-1))
    if array.dtype.kind == "O":
        return _from_objects(array)
    # Numbers of some types would become doubles if they were not text.
    return _from_objects(array.tolist() if array.dtype.kind in "US" else list(array))


def _has_cells(column: Any) -> bool:
    """Whether a column is a sequence of cells that need not have one type."""
    return isinstance(column, Sequence) and not isinstance(column, TypedArray)


def read_numbers(table: Table, name: str) -> Numbers:
    """Read one column as numbers, which `dpjax.data.intervals.number` defines."""
    cells = _cells_of(table, name)
    column = as_arrow(cells)
    found, others = _plain_numbers(column, name), []
    if found is None:
        values, places = _read(column, cells, name)
        numbers = [number(value) for value in values]
        if None in numbers:
            used = np.unique(places).tolist()
            others = [values[i] for i in used if numbers[i] is None]
        found = np.array(numbers, np.float64)[places]
    if may_round(cells):
        large = np.abs(found) >= EXACT_INTEGERS
        if np.any(large & np.isfinite(found)):
            raise ValueError(_ROUNDED.format("number of at least 2^53", name))
    return Numbers(found, others)


def _cells_of(table: Table, name: str) -> Any:
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
        array = np.asanyarray(column)
        text = array.dtype.kind == "U" and array is not column
        return np.asarray(column, object) if text else array  # "U" drops final zeros
    except Exception:  # classes of columns raise anything
        pass
    raise ValueError(NO_CELLS.format(name))


def _plain_numbers(column: Any, name: str) -> np.ndarray | None:
    """Convert a column that has only numbers and missing cells; None for others."""
    if categories_of(column):
        return None
    if is_arrow(column):
        types = pyarrow.types
        if not (types.is_integer(column.type) or types.is_floating(column.type)):
            return None
        column = column.to_numpy(zero_copy_only=False)
    elif _has_numbers_of_pandas(column):
        column = column.to_numpy(np.float64, na_value=np.nan)
    if _has_cells(column):
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


def _from_categories(codes: np.ndarray, categories: Any, name: str) -> Column:
    """Read the categories, in whose place each record has a code, -1 if missing."""
    values, places = _from_column(as_arrow(categories), name)
    values = [values[i] for i in places]
    if (codes < 0).any():
        values, codes = [None, *values], codes + 1
    return Column(values, codes.view(f"u{codes.itemsize}"))


def _from_objects(cells: Sequence | np.ndarray) -> Column:
    """Group cells of one type and equal text, so that 1, 1.0 and True stay distinct.

    The value of a cell must not depend on other records. Cells that are neither text
    nor numbers nor dates are grouped by type only.
    """
    index = defaultdict(itertools.count().__next__)
    kinds, places = set(), [np.array([], np.uint8)]
    for start in range(0, len(cells), _BLOCK):
        block = cells[start : start + _BLOCK]
        block = block.tolist() if isinstance(block, np.ndarray) else block
        types = list(map(type, block))
        kinds |= {str} if types.count(str) == len(types) else set(types)  # is faster
        if len(kinds & _PYTHON_NUMBERS) > 1 or not all(map(_is_alone, kinds)):
            return _grouped(cells)
        found = itemgetter(block[0], *block)(index)[1:]  # of one item it is no tuple
        small = len(index) <= 256
        places.append(np.frombuffer(bytes(found), np.uint8) if small else found)
    values, groups = _grouped(index)  # of NaN, which is equal to no other NaN
    joined = np.concatenate(places)
    return Column(values, joined if len(values) == len(index) else groups[joined])


def _is_alone(kind: type) -> bool:
    """Whether cells of a type are equal to none of another, but for numbers."""
    return kind in {str, NoneType, *_PYTHON_NUMBERS} or kind.__name__ == "NAType"


def _grouped(cells: Iterable) -> Column:
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
    if isinstance(cell, datetime.date):
        return kind, cell.isoformat()
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
    size = max(variable.size, max(filled, default=0) + 1)
    return _replaced(places, filled, size), outside


def _replaced(places: np.ndarray, codes: Sequence[int], size: int) -> np.ndarray:
    table = np.array(codes, np.min_scalar_type(size - 1))
    if codes == list(range(len(codes))):
        return places.astype(table.dtype, copy=False)
    if places.dtype == np.uint8 == table.dtype:  # three times as fast as `take`
        filled = bytes(table).ljust(256)
        return np.frombuffer(places.tobytes().translate(filled), np.uint8)
    return table[places]
