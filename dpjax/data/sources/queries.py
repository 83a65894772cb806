"""Lazy tables of engines such as DuckDB, Polars, Spark, Dask and SQL databases.

An engine can group rows by columns that have the same values in every engine: text,
integers, booleans and dates. A table with other columns, such as numbers with a
fraction or times, is read and encoded by dpjax. Text is grouped by its bytes, since a
collation may make different texts equal.
"""

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.frames import is_inferred
from dpjax.data.sources.in_memory import Part, Table, check_names, is_stream
from dpjax.data.sources.streams import unreadable

_ENGINES = {
    "_duckdb", "dask", "duckdb", "ibis", "narwhals", "polars", "pyspark", "sqlframe",
}  # fmt: skip
_BY_BYTES = {"dask", "ibis over sqlite", "polars"}  # for SQLite, see `typed`
_AS_BYTES = {"duckdb", "pyspark"}  # engines that convert text to bytes exactly
_MOST = 1 << 20  # groups
_COLLATION = (
    "`table` must be grouped by an engine that compares text byte by byte, {} may do "
    "otherwise in {!r:.80}: if you are sure that it does not, give "
    "`dpjax.data.group(table, net, binary=True)`; or give the records, "
    "`table.to_pyarrow()`."
)

_INFERRED = (
    "`table` must have no text that shows a number, such as 01 or 1.0, or a boolean in "
    "{!r:.80} of a frame of Dask, which may have made it from numbers, block by block: "
    "give the paths of the files; or, if it was read as text in all blocks, "
    "`dpjax.data.group(table, net, binary=True)`."
)


def as_query(table: Table, place: str = "") -> "Query | None":
    """Return a lazy table of an engine as a part of a source; None for other tables.

    Raises:
        ImportError: if narwhals is not installed.
    """
    if _root(table) not in _ENGINES or hasattr(type(table), "get_column"):
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
        native = narwhals.to_native(table, pass_through=True)
        frame = narwhals.from_native(typed(native), pass_through=True)
    lazy = isinstance(frame, narwhals.LazyFrame)
    return Query(frame.to_native(), frame, place) if lazy else None


def typed(table: Table) -> Table:
    """Return a table of Ibis over SQLite with text in place of whole numbers and dates.

    A column of SQLite holds cells of any type, which Ibis converts to that of the
    column in ways that depend on other cells. The concatenation with "" removes the
    column's collation, so that text is compared by its bytes. Other tables are returned
    unchanged.
    """
    if _root(table) != "ibis" or not hasattr(table, "mutate"):
        return table
    with contextlib.suppress(Exception):  # engines may raise any exception
        if table.get_backend().name != "sqlite":
            return table
        kinds = table.schema().items()
        loose = [
            x for x, kind in kinds if not (kind.is_floating() or kind.is_decimal())
        ]
        return table.mutate(**{x: table[x].cast("string") + "" for x in loose})
    raise unreadable(table)


def _root(table: Table) -> str:
    return type(table).__module__.partition(".")[0]


@dataclass(frozen=True, repr=False)
class Query(Part):
    """A part of a source that is a lazy table, wrapped in a frame of narwhals."""

    table: Any
    frame: Any
    place: str = ""

    def names(self) -> list[str]:
        """Return the names of the columns, in order; no record is read."""
        with contextlib.suppress(Exception):  # engines may raise any exception
            names = list(self.frame.collect_schema())
            return check_names(names)
        raise unreadable(self.table, self.where)

    def read(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield the columns `names` of all records, collected into memory."""
        found = []
        with contextlib.suppress(Exception):
            found.append(_collected(self.frame.select(list(names))))
        if not found:
            raise unreadable(self.table, self.where)
        yield self._as_read(found[0])

    def can_group(self, names: Sequence[str]) -> bool:
        """Whether the values of the columns are the same in every engine."""
        if self.frame.implementation.is_dask() and any(
            str(self.table.dtypes[name]) == "object" for name in names
        ):  # in such a column, the cells 1, 1.0 and True are equal
            return False
        schema = self.frame.collect_schema()
        return all(_is_countable(schema[name]) for name in names)

    def groups(self, names: Sequence[str], count: str, binary: bool) -> Table:
        """Count the rows of each combination of values of the columns `names`.

        Args:
            names: columns that `can_group` allows.
            count: name of the column of the result that has the numbers of rows.
            binary: True declares that the engine compares text byte by byte, and that
                text has not been made from numbers.

        Raises:
            ValueError: if the engine may compare text in another way or have made it
                from numbers, there are more than 2^20 combinations, or the engine
                fails. The message shows no value.
        """
        narwhals = _narwhals()
        schema = self.frame.collect_schema()
        text = [x for x in names if schema[x] == narwhals.String()]
        engine = str(self.frame.implementation).rpartition(".")[2].lower()
        if engine == "ibis":
            engine = f"ibis over {self.table.get_backend().name}"
        if binary or engine in _BY_BYTES:
            text = []
        elif text and engine not in _AS_BYTES:
            raise ValueError(_COLLATION.format(engine, text[0]))
        table = self._counted(names, count, text)
        table = table if binary else self._as_read(table)
        if len(table) > _MOST:
            raise ValueError(
                f"`table` must have at most {_MOST} different rows of "
                f"{', '.join(names)!s:.200} to be counted in its engine: give the "
                "records, as an Arrow table or a Parquet file."
            )
        return table

    def _counted(self, names: Sequence[str], count: str, text: Sequence[str]) -> Table:
        """Count rows by renamed columns, with the bytes of the columns in `text`."""
        narwhals = _narwhals()
        keys = [f"k{i}" for i in range(len(names))]
        shown = dict(zip([*keys, "n"], [*names, count], strict=True))
        with contextlib.suppress(Exception):
            frame = self._with_keys(names, keys, text)
            counted = frame.group_by(*keys).agg(narwhals.len().alias("n"))
            table = _as_text(_collected(counted.head(_MOST + 1)))
            return narwhals.from_native(table).rename(shown).to_native()
        raise unreadable(self.table, self.where)

    def _with_keys(
        self, names: Sequence[str], keys: list[str], text: Sequence[str]
    ) -> Any:
        narwhals = _narwhals()
        pairs, made = zip(names, keys, strict=True), self.frame.implementation
        if made.is_duckdb():  # its cast to bytes interprets escapes
            columns = [f"{_of_duckdb(x, x in text)} AS {key}" for x, key in pairs]
            return narwhals.from_native(self.table.project(", ".join(columns)))
        if made.is_pyspark():  # it interprets a point in a name
            columns = [f"{_of_spark(x, x in text)} AS {key}" for x, key in pairs]
            return narwhals.from_native(self.table.selectExpr(*columns))
        return self.frame.select(*(narwhals.col(x).alias(key) for x, key in pairs))

    def _as_read(self, table: Table) -> Table:
        """Return a table that has no text which Dask may have made from numbers.

        Dask infers types in each block of a file, and makes text of a block's numbers
        where the column has text in another block.
        """
        if self.frame.implementation.is_dask():
            frame = _narwhals().from_native(table)
            for name, kind in frame.schema.items():
                cells = [] if kind.is_numeric() else frame[name].unique().to_list()
                if any(map(is_inferred, cells)):
                    raise ValueError(_INFERRED.format(name))
        return table


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
    return f"encode({quoted})" if is_text else quoted


def _of_spark(name: str, is_text: bool) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    return f"CAST({quoted} AS BINARY)" if is_text else quoted


def _collected(frame: Any) -> Table:
    """Run a query; the result is an Arrow table, except for Dask and Polars."""
    made = frame.implementation
    own = {} if made.is_dask() or made.is_polars() else {"backend": "pyarrow"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # within the engine
        return frame.collect(**own).to_native()


def _as_text(table: Table) -> Table:
    """Convert columns of bytes of an Arrow table to text; leave other tables."""
    if not isinstance(table, pyarrow.Table):
        return table
    types = pyarrow.types
    for i, kind in enumerate(table.schema.types):
        if types.is_binary(kind) or types.is_large_binary(kind):
            shown = table.column(i).cast(pyarrow.large_string())
            table = table.set_column(i, table.schema.names[i], shown)
    return table
