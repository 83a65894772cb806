"""Queries, and tables that are handed over through Arrow in batches."""

__all__ = ["Stream", "collected"]

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.in_memory import Part, Table, check_names

_NOT_READ = (
    "`table` must give records with named columns throughout, the {}{} does not: "
    "convert it to an Arrow table or a DataFrame, which shows the error."
)


@dataclass(frozen=True, repr=False)
class Stream(Part):
    """A table that another package hands over through Arrow, in one pass.

    The pass is one piece: two passes may have other batches or another order.
    """

    table: Any
    place: str = ""

    def names(self) -> list[str]:
        """Return the names of the columns, in order."""
        return check_names(self._reader.schema.names)

    def read(self, names: Sequence[str], turns: Iterator[bool]) -> Iterator[Table]:
        """Yield all batches if the next value of `turns` is true."""
        if not next(turns):
            return
        with contextlib.suppress(Exception):  # packages raise anything
            yield from self._reader
            return
        # Outside the block, so that the package's error is not the context of this one.
        raise _refusal(self.table, self.place)

    @functools.cached_property
    def _reader(self) -> Any:
        if not pyarrow:
            raise ImportError(
                f"reading the {type(self.table).__name__} needs pyarrow: pip install "
                '"dpjax[data]"'
            )
        with contextlib.suppress(Exception):
            if hasattr(self.table, "__arrow_c_stream__"):
                return pyarrow.RecordBatchReader.from_stream(self.table)
            return pyarrow.table(self.table).to_reader()
        raise _refusal(self.table, self.place)


def collected(query: Any, place: str = "") -> Table:
    """Run a query; raise `ValueError` if that fails. The message shows no value."""
    with contextlib.suppress(Exception):
        return query.collect()
    raise _refusal(query, place)


def _refusal(table: Any, place: str) -> ValueError:
    where = f" in {place}" if place else ""
    return ValueError(_NOT_READ.format(type(table).__name__, where))
