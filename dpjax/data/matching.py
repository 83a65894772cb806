"""Matching of the cells of a table to declared text and numbers.

What a cell matches depends on the text or number that it shows and not on its type,
since a reader may have inferred the type from other records.
"""

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from dpjax._documents import is_text
from dpjax.data.intervals import number

Level = str | int | float | bool
"""Text, a finite number or a boolean that a schema declares."""

_LITERAL = re.compile(  # text that Arrow, DuckDB or pandas infers to be a number
    r"(?u:\s*+)[+-]?(0[xX][\da-fA-F_]++|0[bBoO][\d_]++|\d++_[\d_.]*+"
    r"|(?=.*[^\x00-\x7f])(?u:[\d._]++([eE][+-]?\d++)?))(?u:\s*+)",  # of other scripts
    re.ASCII,
)
_NULL = re.compile(  # text that pandas or Arrow reads as a missing cell, or as NaN
    r"#N/A( N/A)?|#NA|-?1\.#(IND|QNAN)|<NA>|N/A|NA|NULL|[nN][aA][tT]|None|n/a|null"
    r"|\s*[+-]?[nN][aA][nN]\(\w*\)\s*"
)
ROUNDING = 2.0**-49  # relative error: readers differ in the last bits
EXACT_INTEGERS = 2.0**53  # all readers give smaller integers the same double
_NARROW: tuple[type, ...] = (np.float16, np.float32)
_IN_DOUBT: tuple[type, ...] = (*_NARROW, bool, np.bool_)
_EXACT = Context(prec=10_000)  # digits: more than Python converts to text


@dataclass(frozen=True)
class Matching:
    """A map from declared text and numbers, the marks, to the codes of levels.

    Args:
        marks: text, finite numbers or booleans, which all differ.
        codes: the code of the level that each mark stands for.
        narrow: whether numbers of less than double precision match.
    """

    marks: tuple[Level, ...]
    codes: tuple[int, ...]
    narrow: bool = True

    def match(self, value: object) -> int | None:
        """Return the code of the mark that a value matches; None without a match.

        A value matches the mark with the same text or, if there is none, the mark with
        the same number in double precision (1, 1.0, True, "1" and "01" are one number).
        The code thus does not depend on the type that a reader infers from other
        records. No number matches if some mark is a literal such as "0x1A".
        """
        if isinstance(value, str):
            if value in self._codes_by_text:
                return self._codes_by_text[value]
        elif self._has_literals:
            return None
        elif isinstance(value, _NARROW) and not self.narrow:
            return None
        shown = shown_by(value)
        near = [] if shown is None else self._near(shown, rounding(value, shown))
        return near[0][1] if len(near) == 1 and near[0][0] == shown else None

    def is_outside(self, value: object) -> bool:
        """Whether a cell without a match has none, whichever reader parsed its file."""
        shown = shown_by(value)
        if shown is None:
            return isinstance(value, str) and not _LITERAL.fullmatch(value)
        if not isinstance(value, str) and (
            self._has_literals or isinstance(value, _IN_DOUBT)
        ):
            return False
        return not (math.isnan(shown) or self._near(shown, rounding(value, shown)))

    def is_clear(self, shown: float, value: object) -> bool:
        """Whether no reader of files would take a cell's number for that of a mark."""
        return not (self._has_literals or self._near(shown, rounding(value, shown)))

    def _near(self, shown: float, relative: float) -> list[tuple[float, int]]:
        """Numbers and codes of up to two marks that may be rounded to `shown`."""
        slack = abs(shown) * relative if math.isfinite(shown) else 0.0
        start = bisect.bisect_left(self._by_number, (shown - slack, -1))
        stop = bisect.bisect_right(self._by_number, (shown + slack, math.inf))
        return self._by_number[start : min(stop, start + 2)]

    @cached_property
    def has_numbers(self) -> bool:
        """Whether some mark shows a number."""
        return bool(self._by_number)

    @cached_property
    def _has_literals(self) -> bool:
        return any(isinstance(x, str) and _LITERAL.fullmatch(x) for x in self.marks)

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        return {text: self.codes[place] for text, place in _texts(self.marks)}

    @cached_property
    def _by_number(self) -> list[tuple[float, int]]:
        """The numbers that marks show with their codes, in increasing order."""
        shown = list(zip(map(shown_by, self.marks), self.codes, strict=True))
        return sorted({(x, code) for x, code in shown if x is not None and x == x})


def is_missing(cell: object) -> bool:
    """Whether a cell has no value, or is text that readers of files take for none."""
    shown = number(cell)
    return (shown is not None and math.isnan(shown)) or (
        isinstance(cell, str) and _NULL.fullmatch(cell) is not None
    )


def is_level(value: object) -> bool:
    """Whether a value can be a level: text, a finite number or a boolean."""
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    return is_text(value) or isinstance(value, bool | int | np.bool_ | np.integer)


def repeated(marks: Sequence[Level]) -> str | None:
    """Return a text or number that occurs twice; None if all differ."""
    return _first_repeated(_texts(marks)) or _first_repeated(_numbers(marks))


def _texts(levels: Iterable[Level]) -> list[tuple[str, int]]:
    pairs = [(str(level), code) for code, level in enumerate(levels)]
    lower = [(str(x).lower(), i) for i, x in enumerate(levels) if isinstance(x, bool)]
    return pairs + lower


def _numbers(levels: Iterable[Level]) -> list[tuple[str, int]]:
    return [
        (_value(str(level)), code)
        for code, level in enumerate(levels)
        if not isinstance(level, str | bool)
    ]


def _value(text: str) -> str:
    """Normalise the text of a number.

    Python salts the hash of text but not of numbers: a schema with numbers of equal
    hashes would make dictionaries slow.
    """
    exact = Decimal(text)
    return str(exact.normalize(_EXACT)) if exact else "0"


def rounding(cell: Any, shown: float) -> float:
    """Largest relative error of the conversion from a cell's text to its number."""
    if isinstance(cell, _NARROW):
        return float(np.finfo(cell).eps)
    return 0.0 if shown.is_integer() and abs(shown) < EXACT_INTEGERS else ROUNDING


def least_error(cell: Any) -> float:
    """Return the largest absolute error of that conversion for numbers near 0."""
    if not isinstance(cell, _NARROW):
        return 0.0
    finite = np.isfinite(cell)  # else the text may show any large number
    return float(np.finfo(type(cell)).smallest_subnormal) if finite else math.inf


def shown_by(cell: Any) -> float | None:
    """Apply `number`; a cell of less than 64 bits is written as a decimal first."""
    if not isinstance(cell, _NARROW) or float(cell).is_integer():
        return number(cell)
    return number(float(str(cell)))


def _first_repeated(pairs: list[tuple]) -> str | None:
    (key, times), *_ = Counter(key for key, _ in pairs).most_common(1) or [(None, 0)]
    return repr(key) if times > 1 else None


def plain(level: Any) -> Any:
    """Convert a NumPy scalar to a Python one, which files can hold."""
    if isinstance(level, np.floating):
        return float(str(level))  # 0.1 stays 0.1, also in single precision
    return level.item() if isinstance(level, np.generic) else level
