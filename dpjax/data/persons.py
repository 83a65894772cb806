"""Limitation of a table to at most k rows of each person, whom a column identifies.

Each row gets a secret random word of its own, and of each person the k rows with the
smallest words are kept: k rows at random, each set of k with the same probability,
whatever the rows contain. Consider two tables, one of which has one person more. The
rows that are kept of any other person are a function of that person's rows and words
alone. Therefore the kept rows of the two tables differ by at most k rows.
"""

import functools
import math
import re
from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from dpjax.data import sources
from dpjax.data.beside import Beside
from dpjax.data.encoding import AnyVariable, encode_batches
from dpjax.data.impossible import Combination, checked
from dpjax.data.intervals import number
from dpjax.data.levels import Variable
from dpjax.data.matching import EXACT_INTEGERS, ROUNDING
from dpjax.data.sampling import Rows, random_words
from dpjax.privacy import REPLACE_ONE, Adjacency

_WHOLE = re.compile(r"([+-]?)([0-9]+)")
_MOST_DIGITS = 1000  # of an integer that is not written with digits only
_WAITING = 1 << 20  # rows between two cuts

_Some = tuple[Rows, np.ndarray, np.ndarray]  # rows, their persons and words


def check_id(
    id: object, variables: Sequence[AnyVariable], adjacency: Adjacency
) -> None:
    """Raise `ValueError` unless `id` may identify persons; no record is read."""
    if not isinstance(id, str) or not id:
        raise ValueError(
            "`id` must be the name of a column, text that is not empty, got "
            f"{type(id).__name__}."
        )
    if id in {variable.name for variable in variables}:
        raise ValueError(
            f"`id` must name a column that is no variable, {id!r:.80} is one: leave it "
            "out of what is measured."
        )
    if adjacency == REPLACE_ONE:
        raise ValueError(
            "`id` must be left out under 'replace-one', where the number of rows is "
            "public, but the rows that are kept of a person are not: use 'add-remove', "
            "or give a table of at most `contributions` rows a person."
        )


def kept_rows(
    source: sources.Table,
    variables: Sequence[AnyVariable],
    id: str,
    contributions: int,
    *,
    ignore: str | Collection[str] = (),
    impossible: Sequence[Combination] = (),
) -> Rows:
    """Encode the records of a source, and keep at most k rows of each person.

    Args:
        source, ignore: as in `Schema.encode_batches`.
        variables: the columns of the records.
        id: name of the column that identifies the person of a row; see `person_of`.
        contributions: k, the most rows of a person.
        impossible: combinations that no row may have, whether or not it is kept.

    Returns:
        The kept rows in the order of the source, encoded. The memory use is
        proportional to the number of kept rows and the number of persons.

    Privacy:
        Not private. For all random words of the other persons' rows, an added or
        removed person changes the multiset of kept rows by at most k rows. The words
        are from the operating system. All rows with the same `person_of` belong to one
        person: two people whose ids show the same number in two notations are protected
        together.

    Raises:
        ValueError: as `Schema.encode`; if a row has an impossible combination; if the
            source is of encoded records, whose columns have no names; or if a cell of
            `id` is missing or ambiguous.
    """
    people, waiting, size, most = _People(id), [], 0, _WAITING
    batches = encode_batches(source, variables, ignore=ignore, beside=people)
    names = [variable.name for variable in variables]
    for rows in checked(batches, impossible, names):
        waiting.append((rows, people.of_the(rows), random_words(len(rows))))
        size += len(rows)
        if size > most:
            waiting = [_cut(waiting, contributions)]
            size = len(waiting[0][0])
            most = 2 * size + _WAITING
    return _cut(waiting, contributions)[0]


def person_of(cell: object) -> str | None:
    """Return the text that identifies a person, or None if the cell is ambiguous.

    The cell may have any type. Text that shows an integer, such as "7", "007" or "7.0",
    identifies the same person as an integer with this value, and as a double with this
    value if it is below 2^53 in magnitude. Other text is returned unchanged. Ambiguous
    are cells without a value (also "NA"); other numbers, booleans, dates and bytes,
    since a reader could have made them from several texts; and text such as "0x1A",
    "6.9999999999999999" or "1e17", which readers convert to different numbers or could
    have made of them.
    """
    if isinstance(cell, str):
        return _of_text(cell)
    if isinstance(cell, bool | np.timedelta64):
        return None
    if isinstance(cell, int | np.integer):
        value = Decimal(int(cell))
    elif isinstance(cell, Decimal):
        value = cell
    elif isinstance(cell, float) and abs(cell) < EXACT_INTEGERS:
        value = Decimal(cell)
    else:
        return None
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        return None
    return str(int(value)) if value == value.to_integral_value() else None


def _of_text(text: str) -> str | None:
    shown = text.strip()
    whole = _WHOLE.fullmatch(shown)
    if whole:
        sign, digits = whole.group(1), whole.group(2).lstrip("0") or "0"
        return f"-{digits}" if sign == "-" and digits != "0" else digits
    if _any_text().code(text) != 0:  # missing or ambiguous
        return None
    value = number(text)
    if value is None or shown.lower() in ("true", "false") or math.isinf(value):
        return text
    try:
        exact = Decimal(shown)
    except InvalidOperation:  # an exponent too large for `Decimal`
        return None
    if exact.adjusted() <= _MOST_DIGITS and exact == exact.to_integral_value():
        return str(int(exact)) if abs(exact) < EXACT_INTEGERS else None
    near = abs(value) < EXACT_INTEGERS and (
        abs(value - round(value)) <= abs(value) * ROUNDING
    )
    return None if near else text


@functools.cache
def _any_text() -> Variable:
    """Return a variable with code 0 for text that no reader changes, 1 for missing."""
    return Variable("id", ("\0", "\1"), other="\0", missing="\1")


class _People(Beside):
    """The persons of a table's rows, as integers in the order of their first rows."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "id")
        self._known: dict[str, int] = {}  # salted hashes: no choice of ids is slow

    def integer(self, cell: object, where: str) -> int:
        """Return the integer of the person of a cell."""
        person = person_of(cell)
        if person is None:
            raise ValueError(_refusal(f"column {self.name!r:.80}{where}", cell))
        return self._known.setdefault(person, len(self._known))


def _cut(parts: list[_Some], k: int) -> _Some:
    """Keep each person's k rows with the smallest words, in the order of the rows."""
    rows, persons, words = (np.concatenate(x) for x in zip(*parts, strict=True))
    many = np.flatnonzero(np.bincount(persons)[persons] > k)
    order = np.lexsort((words[many], persons[many]))  # equal words: in the rows' order
    owners = persons[many][order]
    first = np.searchsorted(owners, owners)  # place of the person's first row
    kept = np.ones(len(rows), bool)
    kept[many[order[np.arange(len(owners)) - first >= k]]] = False
    return rows[kept], persons[kept], words[kept]


def _refusal(column: str, cell: Any) -> str:
    shown = number(cell)
    missing = shown is not None and shown != shown
    if missing or (isinstance(cell, str) and _any_text().code(cell) == 1):
        return f"`id` must name a person in every row, {column} lacks one: give it one."
    if isinstance(cell, str):
        return (
            f"`id` must name persons by text that all readers show alike, {column} has "
            "text that some take for a number: put a letter before such text."
        )
    return (
        f"`id` must name persons by text, or by integers that lost no digit, {column} "
        "has other cells: read it as text (`dtype=str`), or give the path of its file."
    )
