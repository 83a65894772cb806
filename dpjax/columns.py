"""Columns of whatever table a user has, each as its different values and their places.

Or as numbers. The one module that touches pyarrow: files and Arrow tables need it;
DataFrames and mappings of arrays do not.
"""

__all__ = [
    "Column",
    "Numbers",
    "Table",
    "column_names",
    "read_column",
    "read_numbers",
    "read_table",
]

import contextlib
import os
import pathlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpjax.intervals import number

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import csv, parquet
else:
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except Exception:  # absent or broken: everything else must still work
        pyarrow = csv = parquet = None

Table = Any  # a file's path, an Arrow table, a DataFrame, or a mapping of arrays

_PLAIN_NUMBERS = {bool, int, float, np.float64, type(None)}


class Column(NamedTuple):
    """The different values of a column, and for each record the index of its own."""

    values: list
    places: np.ndarray


class Numbers(NamedTuple):
    """The numbers of a column, NaN where there is none, and the cells that show none.

    Missing cells are not among the latter.
    """

    numbers: np.ndarray
    others: list


def column_names(table: Table) -> list[str]:
    """Names of the columns, in order; of a file, from its header alone.

    Raises:
        ValueError: if a name comes twice, or it is no table, or the file is not. The
            message never quotes the file.
        ImportError: if a file is given and pyarrow is not installed.
    """
    if isinstance(table, str | os.PathLike):
        names = _File(table).names()
    elif pyarrow and isinstance(table, pyarrow.Table | pyarrow.RecordBatch):
        names = list(table.schema.names)
    elif isinstance(table, Mapping):
        names = list(table)
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        names = list(table.columns)
    else:
        raise ValueError(
            "`table` must be a path, an Arrow table, a DataFrame or a mapping of "
            f"arrays, got {type(table).__name__}."
        )
    (twice, times), *_ = Counter(names).most_common(1) or [("", 0)]
    if times > 1:  # by position: without a header line, names are a record's values
        raise ValueError(
            "`table` must name every column once in a header line; columns "
            f"{names.index(twice) + 1} and more have the same name."
        )
    return names


def read_table(table: Table, names: Sequence[str]) -> Table:
    """The columns `names` of a file; any other table as it is.

    Raises:
        ValueError: if the file cannot be read as a table. The message never quotes it.
    """
    if isinstance(table, str | os.PathLike):
        return _File(table).read(names)
    if pyarrow and isinstance(table, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([table])
    return table


def read_column(table: Table, name: str) -> Column:
    """One column. Missing values are None, NaN or the like among its values.

    Raises:
        ValueError: if it is not a column of text, numbers or booleans.
    """
    column = table[name]
    if pyarrow and isinstance(column, pyarrow.ChunkedArray):
        return _from_arrow(column, name)
    if isinstance(column, list | tuple):  # NumPy would turn NaN among text into text
        return _from_objects(column)
    array = np.asanyarray(column)
    if array.ndim != 1:
        raise ValueError(
            f"`table` must have one-dimensional columns, {name!r} has {array.ndim}."
        )
    if array.dtype.kind in "mM":  # dates of some units would become plain integers
        return _from_objects(iter(array))
    if isinstance(array, np.ma.MaskedArray):
        return _from_objects(array.tolist())  # None where masked
    if array.dtype.kind in "biufU":
        values, places = np.unique(array, return_inverse=True)  # -0.0 is 0.0 here
        return Column(list(values), places.reshape(-1))
    return _from_objects(array.tolist())


def read_numbers(table: Table, name: str) -> Numbers:
    """One column as numbers in double precision, each cell as `intervals.number` says.

    A column whose type is numeric is converted at once, which gives the same numbers.

    Raises:
        ValueError: if it is not a column of text, numbers or booleans.
    """
    plain = _plain_numbers(table[name])
    if plain is not None:
        return Numbers(plain, [])
    values, places = read_column(table, name)
    numbers = [number(value) for value in values]
    others = []
    if None in numbers:
        used = np.unique(places).tolist()
        others = [values[i] for i in used if numbers[i] is None]
    return Numbers(np.array(numbers, np.float64)[places], others)


def _plain_numbers(column: Any) -> np.ndarray | None:
    """A column of nothing but numbers and missing cells; None for any other."""
    if pyarrow and isinstance(column, pyarrow.ChunkedArray):
        types = pyarrow.types
        if not (types.is_integer(column.type) or types.is_floating(column.type)):
            return None
        column = column.to_numpy()
    elif _has_numbers_of_pandas(column):
        column = column.to_numpy(np.float64, na_value=np.nan)
    if isinstance(column, list | tuple):
        return _plain_objects(column)
    array = np.asanyarray(column)
    if array.ndim == 1 and array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # of wider types: infinite, as in `number`
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


class _File:
    """A CSV (possibly compressed) or Parquet file."""

    def __init__(self, path: str | os.PathLike) -> None:
        if not pyarrow:
            raise ImportError(
                'reading table files needs pyarrow: pip install "dpjax[data]"'
            )
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise ValueError(f"`table` must be a readable file, {self.path} is not.")
        self.is_parquet = self.path.suffix.lower() in (".parquet", ".pq")

    def names(self) -> list[str]:
        with self._refusing_what_cannot_be_read():
            if self.is_parquet:
                return list(parquet.read_schema(self.path).names)
            with self._stream() as stream, csv.open_csv(stream) as reader:
                return list(reader.schema.names)

    def read(self, names: Sequence[str]) -> "pyarrow.Table":
        """Every cell of CSV as text, dictionary-encoded: no type is guessed."""
        with self._refusing_what_cannot_be_read():
            if self.is_parquet:
                return parquet.read_table(self.path, columns=list(names))
            text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
            options = csv.ConvertOptions(
                column_types=dict.fromkeys(names, text),
                include_columns=list(names),
                strings_can_be_null=False,
            )
            # in a table of one column an empty line is a record without a value
            parsing = csv.ParseOptions(ignore_empty_lines=len(self.names()) > 1)
            with self._stream() as stream:
                return csv.read_csv(
                    stream, convert_options=options, parse_options=parsing
                )

    def _stream(self) -> "pyarrow.NativeFile":
        compressed = self.path.suffix.lower() == ".gz"
        return pyarrow.input_stream(
            self.path, compression="gzip" if compressed else None
        )

    @contextlib.contextmanager
    def _refusing_what_cannot_be_read(self) -> Iterator[None]:
        try:
            yield
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError):
            kind = "Parquet" if self.is_parquet else "CSV with one header line"
            raise ValueError(
                f"`table` must be {kind} throughout, {self.path} is not."
            ) from None


def _from_arrow(column, name: str) -> Column:
    try:
        array = column.combine_chunks()
        if isinstance(array, pyarrow.ChunkedArray):  # no chunk, or too long for one
            empty = pyarrow.array([], array.type)
            array = pyarrow.concat_arrays(array.chunks or [empty])
        if not pyarrow.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        array.validate(full=True)
        values = list(array.dictionary.to_numpy(zero_copy_only=False))
        places = array.indices.cast(pyarrow.int64()).fill_null(len(values))
    except pyarrow.ArrowException:
        raise ValueError(
            f"`table` must hold text, numbers or booleans, column {name!r} does not."
        ) from None
    return Column([*values, None], places.to_numpy(zero_copy_only=False))


def _from_objects(cells: Iterable) -> Column:
    """Equal cells of one type and text share a value: 1, 1.0 and True do not.

    A cell's value must not depend on what other records hold, or one record could move
    all others. Of cells that are neither text nor numbers, one of each type is kept.
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
