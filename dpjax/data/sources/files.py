"""CSV files, possibly compressed, and Parquet files, read batch by batch.

Errors name the file, and the row group or row if it is known. They quote no content.
"""

import contextlib
import gzip
import os
import pathlib
import zlib
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

from dpjax._documents import shown_path
from dpjax.data.sources.arrow import parquet, pyarrow
from dpjax.data.sources.csv_blocks import Malformed
from dpjax.data.sources.csv_tables import csv_names, csv_tables
from dpjax.data.sources.in_memory import Part, check_names

BATCH = 1 << 16  # records read at once: at most 1 MiB of a column, for most types
_NO_TEXT = {
    b"PK\3\4": "an Excel workbook or a ZIP file",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
}
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
UNREADABLE: tuple[Any, ...] = (
    *(OSError, EOFError, zlib.error),
    *(Malformed, UnicodeDecodeError),
)
if pyarrow:
    UNREADABLE = (pyarrow.ArrowException, *UNREADABLE)


def is_table_file(path: pathlib.Path) -> bool:
    """Whether a file's name ends in .parquet, .pq, .csv or .csv.gz."""
    return path.name.lower().endswith((*_PARQUET, *_CSV))


@dataclass(frozen=True)
class File(Part):
    """A Parquet file, if its name ends in .parquet or .pq, or else a CSV file.

    Raises:
        ValueError: if `path` is not a file.
        ImportError: if pyarrow is not installed.
    """

    path: pathlib.Path
    place: str = ""

    def __post_init__(self):
        if not pyarrow:
            raise ImportError(
                'reading table files needs pyarrow: pip install "dpjax[data]"'
            )
        if not os.path.isfile(self.path):  # False too for text that no path can be
            raise ValueError(
                f"`table` must be a readable file, {shown_path(str(self.path))} is not."
            )

    @property
    def is_parquet(self) -> bool:
        """Whether the file's name ends in .parquet or .pq."""
        return self.path.suffix.lower() in _PARQUET

    def names(self) -> list[str]:
        """Read the names of the columns from the header."""
        try:
            if self.is_parquet:
                return check_names(parquet.read_schema(self.path).names)
            with self._open() as file:
                return check_names(csv_names(file))
        except UNREADABLE as error:
            reason = _reason(error)
        # Outside the handler, so that Arrow's error is not the context of this one.
        raise self._refusal(reason)

    def kinds(self) -> dict[str, str]:
        """Return what the file's types say of each column; CSV has text alone."""
        if not self.is_parquet:
            return super().kinds()
        self.names()  # refuses what cannot be read
        return {x.name: _kind(x.type) for x in parquet.read_schema(self.path)}

    def read(self, names: Sequence[str]) -> "Iterator[pyarrow.RecordBatch]":
        """Yield row groups or blocks of the columns `names`."""
        if self.is_parquet:
            return _ahead(self._row_groups(list(names)))
        return self._csv_batches(list(names))

    def _row_groups(self, names: list[str]) -> "Generator[pyarrow.RecordBatch]":
        file = self._open_parquet(names)
        if file is None:
            raise self._refusal()
        with file:
            for group in range(file.num_row_groups):
                try:
                    # One thread decodes while another encodes: Arrow's would wait.
                    yield from file.iter_batches(
                        BATCH, [group], names, use_threads=False
                    )
                    continue
                except UNREADABLE:
                    pass
                raise self._refusal(f", in row group {group}")

    def _open_parquet(self, names: list[str]) -> "parquet.ParquetFile | None":
        try:
            types = parquet.read_schema(self.path)
            text = [x for x in names if _is_text(types.field(x).type)]
            return parquet.ParquetFile(self.path, read_dictionary=text)
        except UNREADABLE:
            return None

    def _csv_batches(self, names: list[str]) -> "Iterator[pyarrow.Table]":
        try:
            with self._open() as file:
                yield from csv_tables(file, names)
            return
        except UNREADABLE as error:
            reason = _reason(error)
        raise self._refusal(reason)

    def _open(self) -> BufferedIOBase:
        compressed = self.path.suffix.lower() == ".gz"
        with open(self.path, "rb") as file:
            start = file.read(4)
        if start == b"PAR1":
            raise Malformed("it is Parquet: let its name end in .parquet")
        if start in _NO_TEXT:
            raise Malformed(f"it is {_NO_TEXT[start]}: save its table as CSV in UTF-8")
        if start.startswith(b"\x1f\x8b") != compressed:
            ending = ".csv: it is not" if compressed else ".csv.gz: it is"
            raise Malformed(f"let its name end in {ending} compressed")
        return gzip.open(self.path) if compressed else open(self.path, "rb")

    def _refusal(self, reason: str = "") -> ValueError:
        kind = "Parquet" if self.is_parquet else "CSV in UTF-8 with one header line"
        return ValueError(
            f"`table` must be {kind} throughout, {self.path} is not{reason}."
        )


def _ahead(
    batches: "Generator[pyarrow.RecordBatch]",
) -> "Iterator[pyarrow.RecordBatch]":
    """Yield the same batches; a thread reads the next one while a batch is used."""
    with contextlib.closing(batches), ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = thread.submit(next, batches, None)
            yield batch


def _reason(error: Exception) -> str:
    """Return the message of `Malformed` only: other messages may quote the file."""
    return f", {error}" if isinstance(error, Malformed) else ""


def _is_text(kind: "pyarrow.DataType") -> bool:
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _kind(kind: "pyarrow.DataType") -> str:
    types = pyarrow.types
    if types.is_boolean(kind):
        return "yes or no"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    return "time" if types.is_date(kind) or types.is_timestamp(kind) else "text"
