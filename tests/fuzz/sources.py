"""Ways in which a table of text reaches the library, typed by readers or not at all."""

__all__ = ["OPENED", "SOURCES"]

import ast
import gzip
import io
import pathlib
import re
from collections import deque
from collections.abc import Callable, Iterator
from csv import reader as csv_reader, writer as csv_writer

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv, dataset, parquet

Source = Callable[[bytes, pathlib.Path], object]
_PART = 2  # records of a piece, where a source has several
_WORDS = {"true": True, "false": False, "none": None, "nan": float("nan")}


def _file(name: str) -> Source:
    def write(text: bytes, folder: pathlib.Path) -> pathlib.Path:
        data = gzip.compress(text, 1) if name.endswith(".gz") else text
        (folder / name).write_bytes(data)
        return folder / name

    return write


def _parts(text: bytes) -> Iterator[bytes]:
    """The records in files of a few, every second file with its columns reversed."""
    header, *records = csv_reader(io.StringIO(text.decode(), newline=""))
    for place in range(0, max(len(records), 1), _PART):
        rows, sink = [header, *records[place : place + _PART]], io.StringIO()
        step = -1 if place % (2 * _PART) else 1
        csv_writer(sink).writerows(row[::step] for row in rows)
        yield sink.getvalue().encode()


def _files(text: bytes, folder: pathlib.Path) -> list[pathlib.Path]:
    paths = []
    for i, part in enumerate(_parts(text)):
        paths.append(folder / f"{i}.csv")
        paths[-1].write_bytes(part)
    return paths


def _folder(text: bytes, folder: pathlib.Path) -> pathlib.Path:
    _files(text, folder)
    return folder


_AS_TEXT: dict = {"dtype": str, "keep_default_na": False, "na_filter": False}


def _frame(text: bytes, _: object = None) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(text))


def _frame_of_text(text: bytes, _: object = None) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(text), **_AS_TEXT)


def _singles(text: bytes, _: object) -> pd.DataFrame:
    """Cells of levels in single precision: rounding numbers to it is no reading."""
    frame = _frame(text)
    floats = [x for x in frame if frame[x].dtype.kind in "if" and x != "age"]
    return frame.astype(dict.fromkeys(floats, np.float32))


def _chunks(text: bytes, _: object) -> Iterator[pd.DataFrame]:
    return iter(list(pd.read_csv(io.BytesIO(text), chunksize=_PART)))


def _arrow(text: bytes, _: object = None) -> pa.Table:
    parse = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(pa.py_buffer(text), parse_options=parse)


def _parquet(table: pa.Table, path: pathlib.Path) -> pathlib.Path:
    parquet.write_table(table, path, row_group_size=_PART)
    return path


def _parquet_of_text(text: bytes, folder: pathlib.Path) -> pathlib.Path:
    frame = _frame_of_text(text)
    columns = {name: pa.array(frame[name].tolist(), pa.string()) for name in frame}
    return _parquet(pa.table(columns), folder / "t.parquet")


def _set_of_parquet(text: bytes, folder: pathlib.Path) -> dataset.Dataset:
    """Files whose types were inferred one by one."""
    paths = []
    for i, part in enumerate(_parts(text)):
        paths.append(str(_parquet(_arrow(part), folder / f"{i}.parquet")))
    return dataset.dataset(paths)


def _set_of_csv(text: bytes, folder: pathlib.Path) -> dataset.Dataset:
    return dataset.dataset(_file("t.csv")(text, folder), format="csv")


def _relation_of_text(text: bytes, folder: pathlib.Path) -> duckdb.DuckDBPyRelation:
    return duckdb.read_parquet(str(_parquet_of_text(text, folder)))


def _typed_cell(text: str) -> object:
    """What a reader that looks at single cells makes of one."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _lists(text: bytes, _: object = None) -> dict[str, list]:
    """Columns of cells that were typed one by one."""
    frame = _frame_of_text(text)
    return {name: [_typed_cell(x) for x in frame[name]] for name in frame}


def _arrays(text: bytes, _: object) -> dict[str, np.ndarray]:
    """NumPy gives all cells of a column one type."""
    return {name: np.array(cells) for name, cells in _lists(text).items()}


OPENED: dict[str, Source] = {
    "csv": _file("t.csv"),
    "csv.gz": _file("t.csv.gz"),
    "files": _files,
    "folder": _folder,
    "parquet of text": _parquet_of_text,
    "frame of text": _frame_of_text,
    "polars frame of text": lambda text, _: pl.read_csv(text, infer_schema=False),
    "relation of text": _relation_of_text,
}
"""Sources of text, which the library opens itself or which no reader has typed."""

SOURCES: dict[str, Source] = {
    **OPENED,
    "frame": _frame,
    "frame of categories": lambda text, _: _frame(text).astype("category"),
    "frame of nullables": lambda text, _: _frame(text).convert_dtypes(),
    "frame of Arrow": lambda text, _: _frame(text).convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "frame of typed categories": lambda text, _: pd.DataFrame(_lists(text)).astype(
        "category"
    ),
    "polars frame": lambda text, _: pl.read_csv(text),
    "polars categories": lambda text, _: pl.read_csv(text, infer_schema=False).cast(
        pl.Categorical
    ),
    "relation": lambda text, _: duckdb.from_arrow(_arrow(text)),
    "frame of objects": lambda text, _: pd.DataFrame(_lists(text), dtype=object),
    "frames": _chunks,
    "arrow": _arrow,
    "arrow reader": lambda text, _: _arrow(text).to_reader(max_chunksize=_PART),
    "arrow dictionaries": lambda text, _: pa.table(
        {x: y.dictionary_encode() for x, y in zip(*_columns(_arrow(text)), strict=True)}
    ),
    "csv reader": lambda text, _: csv.open_csv(pa.py_buffer(text)),
    "parquet": lambda text, folder: _parquet(_arrow(text), folder / "t.parquet"),
    "data set": _set_of_parquet,
    "data set of csv": _set_of_csv,
    "lists": _lists,
    "arrays": _arrays,
    "deques": lambda text, _: {x: deque(y) for x, y in _lists(text).items()},
    "frame of singles": _singles,
    "masked singles": lambda text, _: {
        name: np.ma.asarray(column.to_numpy())
        for name, column in _singles(text, None).items()
    },
}
"""From the bytes of a CSV file, and an empty folder, to what a user hands over."""


def _columns(table: pa.Table) -> tuple[list[str], list]:
    return table.column_names, table.columns
