"""Division of a CSV file into blocks of whole records, before records are parsed.

A record ends at a line break outside quotes, as in Python's `csv` module with
`strict=True`. A parser that gets whole records cannot cut a record.
"""

from collections.abc import Iterator
from io import BufferedIOBase
from typing import NamedTuple

import numpy as np

LONGEST = 1 << 28  # bytes of a record, which is held in memory
_BLOCK = 1 << 22  # bytes read at once
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUOTE, _ENDS, _BOUNDARIES = ord('"'), b"\r\n", b",\r\n"
_BREAKS = (b"\r", b"\n")
_TOO_LONG = "because a record has more than {} bytes"
_IS_BESIDE_QUOTES = np.isin(np.arange(256), [*_BOUNDARIES, _QUOTE])


class Malformed(ValueError):
    """Error for a file that is not CSV; its message shows no cell of the file."""


class Block(NamedTuple):
    """Bytes of whole records (`data`), and the length of the first record (`first`)."""

    data: bytes
    first: int


class _Scan(NamedTuple):
    """Positions of the ends of records in some bytes, and the state at their end."""

    first: int  # position after the first end of a record; 0 if there is none
    last: int  # position after the last end of a record
    quoted: bool  # whether the bytes end within a quoted cell
    fresh: bool  # whether a cell begins after the bytes


def blocks(file: BufferedIOBase, longest: int = LONGEST) -> Iterator[Block]:
    """Read a file, without its byte-order mark, in blocks of whole records.

    Raises:
        Malformed: if a closing quote is followed by anything but a comma or a line
            break, or is missing, or a record is longer than `longest` bytes.
    """
    begun: list[bytes] = []  # pieces of the unfinished record
    length, quoted, fresh = 0, False, True
    for data in _pieces(file, longest):
        scan = _scan(data, quoted, fresh)
        if length + (scan.first or len(data)) > longest:
            raise Malformed(_TOO_LONG.format(longest))
        if scan.last:
            yield Block(b"".join([*begun, data[: scan.last]]), length + scan.first)
            begun, length = [], 0
        begun.append(data[scan.last :])
        length += len(begun[-1])
        quoted, fresh = scan.quoted, scan.fresh
    if quoted:
        raise Malformed("because it ends within quotes")
    if length:
        yield Block(b"".join(begun), length)


def _pieces(file: BufferedIOBase, longest: int) -> Iterator[bytes]:
    """Read pieces of a file that end in neither a quote nor a carriage return."""
    held = file.read(len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
    while read := file.read(_BLOCK):
        data = held + read
        cut = len(data.rstrip(b'"')) - data.endswith(b"\r")
        held = data[cut:]
        if len(held) > longest:  # quotes in one record
            raise Malformed(_TOO_LONG.format(longest))
        if cut:
            yield data[:cut]
    if held:
        yield held


def _scan(data: bytes, quoted: bool, fresh: bool) -> _Scan:
    """Find the ends of records, given the state before the data."""
    if b'"' in data:
        array = np.frombuffer(data, np.uint8)
        marks = np.flatnonzero(array == _QUOTE)
        if not _is_regular(array, marks, quoted, fresh):
            marks = _marks(data, marks, quoted, fresh)
        ends = np.flatnonzero((array == _ENDS[0]) | (array == _ENDS[1]))
        ends = ends[(np.searchsorted(marks, ends) + quoted) % 2 == 0]
        first, last = (int(ends[0]), int(ends[-1])) if ends.size else (-1, -1)
        quoted = bool((len(marks) + quoted) % 2)
    elif quoted:
        first = last = -1
    else:
        first = min((x for x in map(data.find, _BREAKS) if x >= 0), default=-1)
        last = max(map(data.rfind, _BREAKS))
    first += data[first : first + 2] == _ENDS
    return _Scan(first + 1, last + 1, quoted, not quoted and data[-1] in _BOUNDARIES)


def _is_regular(
    array: np.ndarray, quotes: np.ndarray, quoted: bool, fresh: bool
) -> bool:
    """Whether quotes alternately open and close a cell.

    A doubled quote in a cell counts as a close and an open. Every opening quote must
    follow a delimiter or a quote, and every closing quote must precede one.
    """
    opening, closing = quotes[int(quoted) :: 2], quotes[1 - quoted :: 2]
    begins = _IS_BESIDE_QUOTES[array[opening - 1]]
    if opening.size and opening[0] == 0:
        begins[0] = fresh
    behind = closing[closing + 1 < array.size] + 1
    return bool(begins.all() and _IS_BESIDE_QUOTES[array[behind]].all())


def _marks(data: bytes, quotes: np.ndarray, quoted: bool, fresh: bool) -> list[int]:
    """Find the quotes that open or close a cell; in an unquoted cell, they are text."""
    marks, known = [], 0
    for place in quotes.tolist():
        if place < known:
            continue
        if not quoted:
            quoted = data[place - 1] in _BOUNDARIES if place else fresh
            marks += [place] * quoted
        elif data[place + 1 : place + 2] == b'"':
            known = place + 2
        elif data[place + 1 : place + 2] in (b"", b",", b"\r", b"\n"):
            quoted = False
            marks.append(place)
        else:
            raise Malformed("because text follows a closing quote")
    return marks
