"""Lazy tables of engines such as DuckDB, Polars, Spark, Dask and SQL databases.

An engine can group rows by columns that have the same values in every engine: text,
integers, booleans and dates. Numbers with a fraction and times are read and encoded
here. Text is grouped by its bytes, since a collation may make different texts equal.
"""

__all__ = ["Query", "as_query"]

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.in_memory import Part, Table, check_names, is_stream
from dpjax.data.sources.streams import NOT_READ

_ENGINES = {
    "_duckdb", "dask", "duckdb", "ibis", "narwhals", "polars", "pyspark", "sqlframe",
}  # fmt: skip
_BY_BYTES = {"dask", "polars"}  # they know no collations
_CAN_CAST = {"pyspark", "sqlite"}  # from text to its bytes, in UTF-8
_MOST = 1 << 20  # groups
_COLLATION = (
    "`table` must be grouped by an engine that compares text byte by byte, {} may do "
    "otherwise in {!r:.80}: make sure, and give `dpjax.data.group(table, net, "
    "binary=True)`; or give the records, `table.to_pyarrow()`."
)


def as_query(table: Table, place: str = "") -> "Query | None":
    """Return a lazy table of an engine as a part of a source, and None for others.

    Raises:
        ImportError: if narwhals is not installed.
    """
    root = type(table).__module__.partition(".")[0]
    if root not in _ENGINES or hasattr(type(table), "get_column"):
        return None
    try:
        narwhals = _narwhals()
    except ImportError:
        if is_stream(table):  # it can be read without narwhals
            return None
        raise ImportError(
            f"reading the {type(table).__name__} needs narwhals: pip install "
            '"dpjax[data]"'
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about a package for Dask
        frame = narwhals.from_native(table, pass_through=True)
    lazy = isinstance(frame, narwhals.LazyFrame)
    return Query(frame.to_native(), frame, place) if lazy else None


@dataclass(frozen=True, repr=False)
class Query(Part):
    """A lazy table, and the frame of narwhals that wraps it."""

    table: Any
    frame: Any
    place: str = ""

    def names(self) -> list[str]:
        """Return the names of the columns, in order; no record is read."""
        with contextlib.suppress(Exception):  # engines raise anything
            names = list(self.frame.collect_schema())
            return check_names(names)
        raise self._refusal()

    def read(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield the columns `names` of all records, collected into memory."""
        yield self._collected(self.frame.select(list(names)))

    def can_group(self, names: Sequence[str]) -> bool:
        """Whether the values of the columns are the same in every engine."""
        schema = self.frame.collect_schema()
        return all(_is_countable(schema[name]) for name in names)

    def groups(self, names: Sequence[str], count: str, binary: bool) -> Table:
        """Count the rows of each combination of values of the columns `names`.

        Args:
            names: columns that `can_group` allows.
            count: name of the column of the result that has the numbers of rows.
            binary: declaration that the engine compares text byte by byte.

        Raises:
            ValueError: if the engine may compare text otherwise, there are more than
                2^20 combinations, or the engine fails. The message shows no value.
        """
        narwhals = _narwhals()
        schema = self.frame.collect_schema()
        text = [x for x in names if schema[x] == narwhals.String()]
        frame = self.frame.select(list(names))
        if text and not binary:
            frame = self._with_bytes(frame, names, text)
        many = frame.group_by(*names).agg(narwhals.len().alias(count))
        table = self._collected(many.head(_MOST + 1))
        if len(table) > _MOST:
            raise ValueError(
                f"`table` must have at most {_MOST} different rows of "
                f"{', '.join(names)!s:.200} to be counted in its engine: give the "
                "records, as an Arrow table or a Parquet file."
            )
        return _as_text(table, text)

    def _with_bytes(self, frame: Any, names: Sequence[str], text: list[str]) -> Any:
        """Replace columns of text by the bytes of the text in UTF-8."""
        narwhals = _narwhals()
        engine = str(self.frame.implementation).rpartition(".")[2].lower()
        if engine in _BY_BYTES:
            return frame
        if engine == "duckdb":  # whose cast reads escapes
            columns = [_of_duckdb(x, x in text) for x in names]
            return narwhals.from_native(self.table.project(", ".join(columns)))
        if engine == "ibis":
            engine = self.table.get_backend().name
        if engine not in _CAN_CAST:
            raise ValueError(_COLLATION.format(engine, text[0]))
        return frame.with_columns(narwhals.col(*text).cast(narwhals.Binary()))

    def _collected(self, frame: Any) -> Table:
        in_arrow = {} if self.frame.implementation.is_dask() else {"backend": "pyarrow"}
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # within the engine
            return frame.collect(**in_arrow).to_native()
        raise self._refusal()

    def _refusal(self) -> ValueError:
        where = f" in {self.place}" if self.place else ""
        return ValueError(NOT_READ.format(type(self.table).__name__, where))


def _narwhals() -> Any:
    """Import the optional package narwhals on first use, since few sources need it."""
    return importlib.import_module("narwhals")


def _is_countable(kind: Any) -> bool:
    narwhals = _narwhals()
    plain = narwhals.String, narwhals.Boolean, narwhals.Date
    wide = narwhals.Int128, narwhals.UInt128
    return kind in plain or (kind.is_integer() and kind not in wide)


def _of_duckdb(name: str, is_text: bool) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    return f"encode({quoted}) AS {quoted}" if is_text else quoted


def _as_text(table: Table, names: Sequence[str]) -> Table:
    """Return a table of Arrow with columns of bytes as text."""
    if not isinstance(table, pyarrow.Table):
        return table
    types = pyarrow.types
    for i, name in enumerate(table.schema.names):
        kind = table.schema.field(i).type
        if name in names and (types.is_binary(kind) or types.is_large_binary(kind)):
            shown = table.column(i).cast(pyarrow.large_string())
            table = table.set_column(i, name, shown)
    return table
