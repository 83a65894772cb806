"""Tables of results into files, CSV or Parquet by their name, whole or not at all."""

__all__ = ["check_table_path", "write_table"]

import io
import os
import pathlib
from collections.abc import Mapping

import numpy as np

from dpjax._documents import write_atomically
from dpjax.data.columns.arrow import csv, parquet, pyarrow

_ENDINGS = (".csv", ".parquet")


def check_table_path(path: str | os.PathLike, name: str = "path") -> None:
    """Raise unless a table can be written under such a name.

    Raises:
        ValueError: if it ends neither in .csv nor in .parquet.
        ImportError: if pyarrow is not installed.
    """
    if pathlib.Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"`{name}` must end in .csv or .parquet, got {path}.")
    if pyarrow is None:
        raise ImportError('writing tables needs pyarrow: pip install "dpjax[data]"')


def write_table(path: str | os.PathLike, columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of one length.

    Raises:
        ValueError: if the name ends otherwise, or the file cannot be written.
        ImportError: if pyarrow is not installed.
    """
    check_table_path(path)
    table = pyarrow.table({name: np.asarray(x) for name, x in columns.items()})
    content = io.BytesIO()
    if pathlib.Path(path).suffix.lower() == ".csv":
        csv.write_csv(table, content, csv.WriteOptions(quoting_style="needed"))
    else:
        parquet.write_table(table, content)
    write_atomically(path, content.getvalue())
