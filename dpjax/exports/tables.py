"""Tables of columns as CSV and Parquet files."""

import csv
import io
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpjax._documents import write_atomically
from dpjax.exports.packages import optional

_ENDINGS = (".csv", ".parquet")


def check_table_path(path: str | os.PathLike, name: str = "path") -> None:
    """Raise an error about `name` unless a table can be written to `path`.

    Raises:
        ValueError: if `path` does not end in .csv or .parquet.
        ImportError: if pyarrow is not installed, which Parquet files need.
    """
    if pathlib.Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"`{name}` must end in .csv or .parquet, got {path}.")
    if _is_parquet(path):
        optional("pyarrow.parquet", "dpjax[data]")


def write_table(path: str | os.PathLike, columns: Mapping[str, Any]) -> None:
    """Write columns to a CSV or Parquet file; equal columns give the same bytes.

    In a Parquet file, a column whose values differ in type holds text.

    Raises:
        ValueError, ImportError: as `check_table_path` does, and if the file cannot be
            written.
    """
    check_table_path(path)
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    if _is_parquet(path):
        pyarrow = optional("pyarrow", "dpjax[data]")
        content = io.BytesIO()
        table = pyarrow.table({name: _of_one_type(x) for name, x in arrays.items()})
        optional("pyarrow.parquet", "dpjax[data]").write_table(table, content)
        write_atomically(path, content.getvalue())
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*map(_cells, arrays.values()), strict=True))
    write_atomically(path, text.getvalue())


def _is_parquet(path: str | os.PathLike) -> bool:
    return pathlib.Path(path).suffix.lower() == ".parquet"


def _of_one_type(column: np.ndarray) -> np.ndarray:
    mixed = column.dtype == object and len({*map(type, column)}) > 1
    return column.astype(str) if mixed else column


def _cells(column: np.ndarray) -> list:
    """Return cells that are written with as few digits as their type needs."""
    short = column.dtype == np.float32
    return column.astype(str).tolist() if short else column.tolist()
