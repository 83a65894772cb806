"""Division of any source of records into parts, which are read in order."""

import contextlib
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.data.sources.arrow import csv, pyarrow
from dpjax.data.sources.files import BATCH, UNREADABLE, File, is_table_file
from dpjax.data.sources.in_memory import (
    InMemoryTable,
    Part,
    Table,
    check_names,
    is_dataset,
    is_in_memory,
    is_query,
    is_stream,
)
from dpjax.data.sources.queries import as_query, typed
from dpjax.data.sources.streams import Stream

_INFERRED = (
    "`table` must not be {} of CSV or JSON, whose types Arrow infers from the records: "
    "give the paths of CSV files, or Parquet written with declared types."
)
_ROWS = (
    "`table` must be an iterable of tables whose columns are arrays, the mapping at "
    "place {} may be a row of cells: use `pyarrow.Table.from_pylist(rows)`, or arrays."
)
_WITH_TYPES = {"parquet", "arrow", "feather", "orc"}  # file formats


def parts(source: Table) -> Iterator[Part]:
    """Yield the parts of a source (files, data sets, tables); open each when needed.

    Raises:
        ValueError: if `source` is not a source of records, or is an empty folder or
            iterable. Messages never quote a record.
        ImportError: if files are given and pyarrow is not installed.
    """
    if csv and isinstance(source, csv.CSVStreamingReader):
        raise ValueError(_INFERRED.format("a reader"))
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise ValueError("`table` must be a readable file, the empty path is not.")
        yield from _files(pathlib.Path(source))
    elif is_dataset(source):
        yield _Dataset(source)
    elif _is_one(source) or not isinstance(source, Iterable):
        yield _part(source)
    else:
        yield from _batches(source)


def _is_one(table: Table) -> bool:
    return is_in_memory(table) or is_query(table) or is_stream(table)


def _files(path: pathlib.Path) -> Iterator[File]:
    if not os.path.isdir(path):  # False too for text that no path can be
        yield File(path)
        return
    hidden = ("_", ".")  # by-products of other programs
    found = [
        file
        for file in sorted(path.rglob("*"))
        if not file.is_dir()
        and not any(x.startswith(hidden) for x in file.relative_to(path).parts)
    ]
    others = [file for file in found if not is_table_file(file)]
    if others or not found:
        got = f"also {others[0]}" if others else "none"
        raise ValueError(
            "`table` must be a folder of only Parquet and CSV files, got "
            f"{got} in {path}: give the paths of the files."
        )
    yield from (File(file, str(file)) for file in found)


def _batches(source: Iterable[Table]) -> Iterator[Part]:
    number = 0
    for number, batch in enumerate(source, start=1):
        if isinstance(batch, str | os.PathLike):
            # The text may be a cell of a column that was given for a table.
            if not os.path.exists(batch) or not isinstance(source, list | tuple):
                raise ValueError(
                    "`table` must be a list of files that can be read, or an iterable "
                    f"of tables, got no such file at place {number}."
                )
            files = _files(pathlib.Path(batch))
            yield from (File(file.path, str(file.path)) for file in files)
            continue
        if isinstance(batch, Mapping) and not all(map(_is_column, batch.values())):
            raise ValueError(_ROWS.format(number))
        yield _part(batch, f"batch {number}")
    if not number:
        raise ValueError(
            "`table` must give at least one batch, got none from "
            f"{type(source).__name__}: create a new one if it has been read before."
        )


def _is_column(column: Any) -> bool:
    """Whether a column of a batch is an array: a list may be one cell of a row."""
    return hasattr(column, "__array__")


def _part(table: Table, place: str = "") -> Part:
    query = as_query(table, place) if is_query(table) else None
    if query is not None:  # first: Spark's streams need Python where Spark runs
        return query
    if is_stream(table):
        return Stream(typed(table), place)
    return InMemoryTable(table, place)


@dataclass(frozen=True, repr=False)
class _Dataset(Part):
    """An Arrow data set, with its own types, partitions and filter."""

    dataset: Any
    place: str = ""

    def names(self) -> list[str]:
        return check_names(self.dataset.schema.names)

    def read(self, names: Sequence[str]) -> Iterator[Table]:
        checked = None
        try:
            scanner = self.dataset.scanner(
                columns=list(names),
                batch_size=BATCH,
                batch_readahead=2,  # Arrow's default: 16 batches of each of 4 files
                fragment_readahead=1,
            )
            for batch, fragment in scanner.scan_batches():
                path = getattr(fragment, "path", None)
                if path is None or path != checked:
                    _check_columns(fragment, self.dataset.schema, names)
                    checked = path
                yield batch
            return
        except UNREADABLE:
            pass
        # Outside the handler, so that Arrow's error is not the context of this one.
        # Arrow reads ahead: the error may come before the check of its file.
        for fragment in _fragments(self.dataset):
            with contextlib.suppress(*UNREADABLE):
                _check_columns(fragment, self.dataset.schema, names)
        raise ValueError(
            "`table` must be a data set that can be read throughout, "
            f"{_unreadable(self.dataset)} is not."
        )


def _check_columns(fragment: Any, schema: Any, names: Sequence[str]) -> None:
    """Reject a file that lacks a column, or has other types than the data set.

    Arrow would fill the column with missing values, infer the types of CSV and JSON,
    and convert cells to the type in the first file.
    """
    known = pyarrow.dataset  # pyright: ignore[reportAttributeAccessIssue]  (imported)
    partition = known.get_partition_keys(fragment.partition_expression)
    physical, place = fragment.physical_schema, getattr(fragment, "path", "a part")
    format = getattr(getattr(fragment, "format", None), "default_extname", "arrow")
    if format not in _WITH_TYPES:
        raise ValueError(_INFERRED.format("a data set"))
    for name in names:
        if name not in {*physical.names, *partition}:
            raise ValueError(
                "`table` must have a column for each variable in every file, "
                f"{place} has no {name!r}."
            )
        if name in physical.names and (
            _plain(physical.field(name).type) != _plain(schema.field(name).type)
        ):
            raise ValueError(
                "`table` must have columns of one type in every file of a data set, "
                f"{name!r} has another type in {place}: give the paths of the files."
            )


def _plain(kind: Any) -> Any:
    """Return the type of a column's values, also if it is dictionary-encoded."""
    return kind.value_type if pyarrow.types.is_dictionary(kind) else kind


def _fragments(source: Any) -> list[Any]:
    try:
        return list(source.get_fragments())
    except ValueError:  # a filtered data set has none
        return []


def _unreadable(source: Any) -> str:
    """Find the first file or row group that cannot be read, by reading all of them."""
    for fragment in _fragments(source):
        group = None
        try:
            split = getattr(fragment, "split_by_row_group", None)
            for part in split() if split else [fragment]:
                group = next((x.id for x in getattr(part, "row_groups", ())), None)
                for _ in part.to_batches(batch_size=BATCH):
                    pass
        except UNREADABLE:
            where = "" if group is None else f", in row group {group},"
            return f"{getattr(fragment, 'path', 'a part')}{where}"
    return "some part"
