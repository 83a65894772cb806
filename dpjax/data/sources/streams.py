"""Tables that are handed over through Arrow in batches."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.in_memory import Part, Table, check_names


def unreadable(table: Table, where: str = "") -> ValueError:
    """Return the refusal of a table, by the name of its type and its part's `where`."""
    return ValueError(
        f"`table` must give records with named columns throughout, the "
        f"{type(table).__name__}{where} does not: convert it to an Arrow table or a "
        "DataFrame, which shows the error."
    )


@dataclass(frozen=True, repr=False)
class Stream(Part):
    """A table that another package hands over through Arrow, in one pass."""

    table: Any
    place: str = ""

    def names(self) -> list[str]:
        """Return the names of the columns, in order."""
        return check_names(self._reader.schema.names)

    def read(self, names: Sequence[str]) -> Iterator[Table]:
        """Yield all batches."""
        with contextlib.suppress(Exception):  # packages raise anything
            yield from self._reader
            return
        # Outside the block, so that the package's error is not the context of this one.
        raise unreadable(self.table, self.where)

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
        raise unreadable(self.table, self.where)
