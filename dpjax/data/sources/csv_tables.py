"""CSV files as tables of text, without inferred types."""

import csv as standard
import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dpjax.data.sources.arrow import csv, pyarrow
from dpjax.data.sources.csv_blocks import Block, Malformed, blocks

_WORKERS = 4  # blocks parsed at once, at most


def csv_names(file: io.BufferedIOBase) -> list[str]:
    """Read the names of the columns; raise `Malformed` if a name is not UTF-8 text."""
    return _names(next(blocks(file), Block(b"", 0)))


def csv_tables(
    file: io.BufferedIOBase, names: Sequence[str]
) -> "Iterator[pyarrow.Table]":
    """Yield the columns `names` of each block of records.

    A blank line is a record if the file has one column, and is ignored otherwise.

    Raises:
        Malformed: if a record is not CSV with as many cells as the header, or a cell
            that is read is not UTF-8. The message names the row.
    """
    row = 1  # last row before a block
    for future in _ahead(_parse, _texts(file, names)):
        try:
            table = future.result()
        except pyarrow.ArrowException as error:
            reason = _place(error, row)
        else:
            row += len(table)
            yield table
            continue
        # Outside the handler, so that Arrow's error is not the context of this one.
        raise Malformed(reason)


def _texts(
    file: io.BufferedIOBase, names: Sequence[str]
) -> Iterator[tuple[bytes, list[str], Sequence[str]]]:
    """Yield `_parse`'s arguments for each block."""
    header: list[str] | None = None
    for block in blocks(file):
        data = block.data
        if header is None:
            header, data = _names(block), data[block.first :]
        if data:
            yield data, header, names


def _names(block: Block) -> list[str]:
    try:
        text = block.data[: block.first].decode()
        [header] = standard.reader(io.StringIO(text, newline=""), strict=True)
        return header
    except (ValueError, standard.Error):
        pass
    raise Malformed("because its first line is not a header in UTF-8")


def _parse(arguments: tuple[bytes, list[str], Sequence[str]]) -> "pyarrow.Table":
    data, header, names = arguments
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    options: Any = {
        "read_options": csv.ReadOptions(
            column_names=header,
            skip_rows=1,  # added so that Arrow takes a byte-order mark as text
            block_size=len(data) + 1,  # one block, so that no record is cut
            use_threads=False,  # so that errors name the row
        ),
        "parse_options": csv.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=len(header) > 1
        ),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(names, text),
            include_columns=names,
            strings_can_be_null=False,
        ),
    }
    return csv.read_csv(pyarrow.py_buffer(b"\n" + data), **options)


def _ahead(function: Callable, items: Iterable) -> Iterator[Future]:
    """Yield the results of a function in order, with a few calls at once in threads."""
    workers = min(pyarrow.cpu_count(), _WORKERS)
    waiting: deque[Future] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > workers:
                yield waiting.popleft()
        yield from waiting


def _place(error: Exception, before: int) -> str:
    """Find the row in Arrow's message. The rest of the message quotes the file."""
    row = re.search(r"Row #(\d+)", str(error))
    if row is None:
        return "in some row"
    return f"in row {before - 1 + int(row[1])} with the header as row 1"
