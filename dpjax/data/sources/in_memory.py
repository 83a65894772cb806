"""Tables in memory, and the interface of a part of a source."""

import abc
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpjax.data.sources.arrow import pyarrow

Table = Any
"""A path of a file or folder; an Arrow table, data set or reader; a DataFrame; a lazy
table of an engine; a mapping of arrays; or an iterable of any of these."""


class Part(abc.ABC):
    """A part of a source of records, such as a file or a table in memory."""

    place: str  # name of the part in messages; empty if there is only one part

    @property
    def where(self) -> str:
        """The words " in" and the name of the part, or no words if it has no name."""
        return f" in {self.place}" if self.place else ""

    @abc.abstractmethod
    def names(self) -> list[str]:
        """Return the names of the columns, in order, before any record is read."""

    def kinds(self) -> dict[str, str]:
        """Return "text", "number", "time" or "yes or no" for each column, unread."""
        return dict.fromkeys(self.names(), "text")

    @abc.abstractmethod
    def read(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield tables with the columns `names`."""


@dataclass(frozen=True, repr=False)
class InMemoryTable(Part):
    """A table in memory, or an array of encoded records."""

    table: Table
    place: str = ""

    def names(self) -> list[str]:
        """Return the names of the columns, in order."""
        return column_names(self.table)

    def read(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield the table."""
        yield self.table


def is_array(table: Table) -> bool:
    """Whether `table` is an array, which must hold encoded records."""
    return isinstance(table, np.ndarray | jax.Array)


def is_in_memory(table: Table) -> bool:
    """Whether `table` is one table or array in memory, not a file or an iterable."""
    if isinstance(table, str | os.PathLike) or is_dataset(table) or is_query(table):
        return False
    if _is_arrow(table) or is_array(table) or isinstance(table, Mapping):
        return True
    if is_stream(table):
        return False
    return hasattr(table, "columns") and hasattr(table, "__getitem__")


def is_query(table: Table) -> bool:
    """Whether `table` is a lazy table of an engine, to be read by `queries.Query`."""
    kind = type(table)  # a frame may have columns of these names
    if kind.__module__.partition(".")[0] in ("dask", "pyspark"):
        return hasattr(kind, "columns")
    return hasattr(kind, "collect") and hasattr(kind, "collect_schema")


def is_stream(table: Table) -> bool:
    """Whether `table` is handed over through Arrow in one pass, and not by columns.

    A relation of a database is a query: asked for one column after another, it may give
    the records in another order each time. Frames, which have `iloc` (pandas) or
    `get_column` (polars), are never handed over as a whole, since pandas would infer
    the types of objects.
    """
    kind = type(table)
    if _is_arrow(table) or hasattr(kind, "iloc") or hasattr(kind, "get_column"):
        return False
    is_reader = bool(pyarrow) and isinstance(table, pyarrow.RecordBatchReader)
    by_stream = hasattr(kind, "__arrow_c_stream__") and not is_reader
    return by_stream or hasattr(kind, "__arrow_c_array__")


def _is_arrow(table: Table) -> bool:
    return bool(pyarrow) and isinstance(table, pyarrow.Table | pyarrow.RecordBatch)


def is_dataset(table: Table) -> bool:
    """Whether `table` is an Arrow data set, without an import of its class."""
    return bool(pyarrow) and hasattr(type(table), "get_fragments")


def column_names(table: Table) -> list[str]:
    """Return the names of the columns of a table in memory, in order."""
    if not is_in_memory(table) or is_array(table):
        raise ValueError(
            "`table` must be a path, an Arrow table, a DataFrame, an iterable of "
            f"these or a mapping of arrays, got {type(table).__name__}."
        )
    if _is_arrow(table):
        return check_names(table.schema.names)
    return check_names(table if isinstance(table, Mapping) else table.columns)


def check_names(names: Any) -> list[str]:
    """Return a list of the names; raise if two are equal. The message shows no name."""
    names = list(names)
    (twice, times), *_ = Counter(names).most_common(1) or [("", 0)]
    if times > 1:  # without a header line, the names are values of a record
        first = names.index(twice)
        raise ValueError(
            "`table` must name every column once in a header line; columns "
            f"{first + 1} and {names.index(twice, first + 1) + 1} have the same name."
        )
    return names
