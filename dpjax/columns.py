"""Columns of whatever table a user has, each as its different values and their places.

The one module that touches pyarrow. Files and Arrow tables need it; DataFrames and
mappings of arrays do not.
"""

__all__ = ["Column", "Table", "column_names", "read_column", "read_table"]

import importlib.util
import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

_INSTALLED = importlib.util.find_spec("pyarrow") is not None
if TYPE_CHECKING or _INSTALLED:
    import pyarrow
    from pyarrow import csv, parquet

Table = Any  # a file's path, an Arrow table, a DataFrame, or a mapping of arrays


class Column(NamedTuple):
    """The different values of a column, and for each record the index of its own."""

    values: list
    places: np.ndarray


def read_table(table: Table) -> Table:
    """The table behind a path (CSV, CSV.gz or Parquet); any other table as it is.

    Raises:
        ValueError: if the file cannot be read as a table. The message never quotes it.
        ImportError: if a file is given and pyarrow is not installed.
    """
    if not isinstance(table, str | os.PathLike):
        return table
    path = pathlib.Path(table)
    if not _INSTALLED:
        raise ImportError(
            'reading table files needs pyarrow: pip install "dpjax[data]"'
        )
    if not path.is_file():
        raise ValueError(f"`table` must be a readable file, {path} is not.")
    parquets = path.suffix.lower() in (".parquet", ".pq")
    try:
        return parquet.read_table(path) if parquets else _read_csv(path)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
        kind = "Parquet" if parquets else "CSV with one header line"
        raise ValueError(f"`table` must be {kind} throughout, {path} is not.") from None


def column_names(table: Table) -> list[str]:
    """Names of the columns, in order.

    Raises:
        ValueError: if a name comes twice.
    """
    if _INSTALLED and isinstance(table, pyarrow.Table):
        names = list(table.column_names)
    elif isinstance(table, Mapping):
        names = list(table)
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        names = list(table.columns)
    else:
        raise ValueError(
            "`table` must be a path, an Arrow table, a DataFrame or a mapping of "
            f"arrays, got {type(table).__name__}."
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"`table` must name every column once, got {twice!r} twice.")
    return names


def read_column(table: Table, name: str) -> Column:
    """One column. Missing values are None, NaN or the like among its values.

    Raises:
        ValueError: if it is not a column of text, numbers or booleans.
    """
    column = table[name]
    if _INSTALLED and isinstance(column, pyarrow.ChunkedArray):
        return _from_arrow(column, name)
    if isinstance(column, list | tuple):  # NumPy would turn NaN among text into text
        return _from_objects(list(column), name)
    if np.ma.is_masked(column):
        column = column.astype(object).filled(None)
    array = np.asarray(column)
    if array.ndim != 1:
        raise ValueError(
            f"`table` must have one-dimensional columns, {name!r} has {array.ndim}."
        )
    if array.dtype.kind in "biufU":
        values, places = np.unique(array, return_inverse=True)
        return Column(list(values), places.reshape(-1))
    return _from_objects(array.tolist(), name)


def _read_csv(path: pathlib.Path):
    """Every cell as text, each column dictionary-encoded: no type is guessed."""
    with csv.open_csv(path) as reader:
        names = reader.schema.names
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(names, text), strings_can_be_null=False
    )
    return csv.read_csv(path, convert_options=options)


def _from_arrow(column, name: str) -> Column:
    try:
        array = column.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):  # no chunk, or too long for one
            array = pyarrow.concat_arrays(
                array.chunks or [pyarrow.array([], array.type)]
            )
        if not pyarrow.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        values = list(array.dictionary.to_numpy(zero_copy_only=False))
    except pyarrow.ArrowException:
        raise ValueError(
            f"`table` must hold text, numbers or booleans, column {name!r} does not."
        ) from None
    places = array.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return Column([*values, None], places)


def _from_objects(cells: list, name: str) -> Column:
    try:
        index = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
    except TypeError:
        raise ValueError(
            f"`table` must hold text, numbers or booleans, column {name!r} does not."
        ) from None
    return Column(list(index), np.fromiter((index[c] for c in cells), int, len(cells)))
