"""Categorical variables: a name and the public list of its levels.

Levels are declared and never inferred, since a list inferred from data reveals records.
Only this module matches the cells of a table to levels.
"""

__all__ = ["Level", "Variable"]

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np

from dpjax.data.intervals import number

Level = str | int | float | bool

_LITERAL = re.compile(  # text that Arrow, DuckDB or pandas infers to be a number
    r"(?u:\s*)[+-]?(0[xX][\da-fA-F_]+|0[bBoO][\d_]+|\d[\d_]*_[\d_.]*"
    r"|(?=.*[^\x00-\x7f])(?u:[\d._]+([eE][+-]?\d+)?))(?u:\s*)",  # of other scripts
    re.ASCII,
)
_NULL = re.compile(  # text that pandas or Arrow reads as a missing cell, or as NaN
    r"#N/A( N/A)?|#NA|-?1\.#(IND|QNAN)|<NA>|N/A|NA|NULL|[nN][aA][tT]|None|n/a|null"
    r"|\s*[+-]?[nN][aA][nN]\(\w*\)\s*"
)
_DECLARED = {"levels", "other", "missing", "missing_values"}
_ROUNDING = 2.0**-49  # relative error: readers differ in the last bits
_EXACT_INTEGERS = 2.0**53  # all readers give smaller integers the same double
_NARROW: tuple[type, ...] = (np.float16, np.float32)
_IN_DOUBT: tuple[type, ...] = (*_NARROW, bool, np.bool_)
_EXACT = Context(prec=10_000)  # digits: more than Python converts to text


@dataclass(frozen=True)
class Variable:
    """A categorical variable.

    Args:
        name: text that is not empty.
        levels: at least two different labels (text, finite numbers or booleans), in
            the order of their indices.
        other: the level of text and numbers that are not in the list; None (the
            default) rejects them.
        missing: the level of cells without a value, appended to the levels if it is not
            in the list; None (the default) rejects such cells.
        missing_values: text and numbers that also mark a missing cell.

    Raises:
        ValueError: if there are fewer than two levels; if `levels` and `missing_values`
            contain the same text or number twice; if `other` is not a level; or if a
            level other than `missing` is text that software for CSV files reads as a
            missing cell, such as "NA".
    """

    name: str
    levels: tuple[Level, ...]
    other: Level | None = None
    missing: Level | None = None
    missing_values: tuple[Level, ...] = ()

    def __post_init__(self):
        if self.missing is not None and self._missing is None:
            if isinstance(self.missing, bool):  # meant as no
                raise ValueError(
                    f"`missing` of {self.name!r:.80} must be a level, text or a number,"
                    f" got {self.missing}: leave it out if no cell is missing."
                )
            object.__setattr__(self, "levels", (*self.levels, self.missing))
        name, levels, cells = self.name, self.levels, self._cells
        if not isinstance(name, str) or not name:
            raise ValueError("`name` of a variable must be text that is not empty.")
        if not all(map(_is_level, cells)):
            raise ValueError(
                f"`levels` of {name!r:.80}, and what stands for a missing cell, must "
                "be text, finite numbers or booleans."
            )
        if len(levels) < 2:
            raise ValueError(
                f"`levels` of {name!r:.80} must list at least two, got {len(levels)}: "
                "leave a constant out of the schema."
            )
        twice = _first_repeated(_texts(cells)) or _first_repeated(_numbers(cells))
        if twice:
            raise ValueError(
                f"`levels` of {name!r:.80} must all differ, got {twice:.80} twice."
            )
        if self.other is not None and self._other is None:
            raise ValueError(
                f"`other` of {name!r:.80} must be one of its levels, got "
                f"{self.other!r:.80}."
            )
        self._check_missing()

    def _check_missing(self) -> None:
        if self.missing is None and self.missing_values:
            raise ValueError(
                f"`missing` of {self.name!r:.80} must be given with `missing_values`."
            )
        null = [x for x in self.levels if _is_missing(x) and x != self.missing]
        if self.missing is not None and null:
            raise ValueError(
                f"`levels` of {self.name!r:.80} must not contain {null[0]!r:.80}, "
                "unless it is `missing`: readers of files take it for a missing cell."
            )

    @classmethod
    def from_json(cls, name: str, declared: Any) -> "Variable":
        """Make the variable declared by `[...]` or `{"levels": [...], …}`.

        Raises:
            ValueError: if the declaration has neither form.
        """
        if not isinstance(declared, Mapping):
            declared = {"levels": declared}
        declared = {"missing_values": [], **declared}
        lists = [declared.get("levels"), declared["missing_values"]]
        lists = [list(x) if isinstance(x, np.ndarray) else x for x in lists]
        if set(declared) - _DECLARED or not all(
            isinstance(x, list | tuple) for x in lists
        ):
            raise ValueError(
                f"`schema` must declare {name!r:.80} by a list of levels, or by "
                '{"levels": [...]} and optionally "other", "missing" and '
                '"missing_values": [...].'
            )
        levels, missing_values = (tuple(map(_plain, x)) for x in lists)
        other, missing = (_plain(declared.get(x)) for x in ("other", "missing"))
        return cls(name, levels, other, missing, missing_values)

    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads."""
        declared: dict[str, Any] = {"other": self.other, "missing": self.missing}
        declared["missing_values"] = [*self.missing_values] or None
        given = {key: x for key, x in declared.items() if x is not None}
        return {"levels": [*self.levels], **given}

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def match(self, value: object) -> int | None:
        """Return the index of the level that a value matches; None without a match.

        A value matches the level with the same text or, if there is none, the level
        with the same number in double precision (1, 1.0, True, "1" and "01" are one
        number). The index thus does not depend on the type that a reader infers from
        other records. No number matches if some level is a literal such as "0x1A". No
        number of less than double precision matches if `other` is declared.
        """
        if isinstance(value, str):
            if value in self._codes_by_text:
                return self._codes_by_text[value]
        elif self._has_literals:
            return None
        elif isinstance(value, _NARROW) and self.other is not None:
            return None
        shown = _number(value)
        near = [] if shown is None else self._near(shown, _rounding(value, shown))
        return near[0][1] if len(near) == 1 and near[0][0] == shown else None

    def code(self, value: object) -> int | None:
        """Return the index of the level of a cell: its match, or `missing` or `other`.

        A cell is missing if it has no value (None, NaN, empty text). If `missing` is
        declared, so is text that readers of files treat as missing ("NA", "null").

        Returns:
            The index, or None if the cell is rejected. If `missing` is not declared,
            missing cells are rejected. If `other` is not declared, all cells without a
            match are rejected. If `other` is declared, the rejected cells are those of
            another type (a date, bytes) and those that readers of files may convert
            differently: booleans, numbers that match several levels or differ from one
            by rounding only, numbers of less than double precision, literals such as
            "0x1A", and all numbers if a level is such a literal.
        """
        code = self.match(value)
        if code is None and self.missing is not None and _is_missing(value):
            return self._missing
        return self._other if code is None and self.is_outside(value) else code

    def is_outside(self, value: object) -> bool:
        """Whether a cell without a match would have none with any reader of files."""
        shown = _number(value)
        if shown is None:
            return isinstance(value, str) and not _LITERAL.fullmatch(value)
        if not isinstance(value, str) and (
            self._has_literals or isinstance(value, _IN_DOUBT)
        ):
            return False
        return not (math.isnan(shown) or self._near(shown, _rounding(value, shown)))

    def _near(self, shown: float, rounding: float) -> list[tuple[float, int]]:
        """Numbers and codes of up to two levels that may be rounded to `shown`."""
        slack = abs(shown) * rounding if math.isfinite(shown) else 0.0
        start = bisect.bisect_left(self._by_number, (shown - slack, 0))
        stop = bisect.bisect_right(self._by_number, (shown + slack, self.size))
        return self._by_number[start : min(stop, start + 2)]

    @cached_property
    def _has_literals(self) -> bool:
        return any(isinstance(x, str) and _LITERAL.fullmatch(x) for x in self._cells)

    @cached_property
    def _other(self) -> int | None:
        return None if self.other is None else self.match(str(self.other))

    @property
    def _missing(self) -> int | None:
        return dict(_texts(self.levels)).get(str(self.missing))

    @property
    def _cells(self) -> tuple[Level, ...]:
        return (*self.levels, *self.missing_values)

    @cached_property
    def _codes(self) -> list[Any]:
        """The level index of each of `_cells`."""
        return [*range(self.size), *[self._missing] * len(self.missing_values)]

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        return {text: self._codes[place] for text, place in _texts(self._cells)}

    @cached_property
    def _by_number(self) -> list[tuple[float, int]]:
        """The numbers in `_cells` with their codes, in increasing order."""
        shown = list(zip(map(_number, self._cells), self._codes, strict=True))
        return sorted((x, code) for x, code in shown if x is not None and x == x)


def _plain(level: Any) -> Any:
    """Convert a NumPy scalar to a Python one, which files can hold."""
    if isinstance(level, np.floating):
        return float(str(level))  # 0.1 stays 0.1, also in single precision
    return level.item() if isinstance(level, np.generic) else level


def _is_missing(cell: object) -> bool:
    shown = number(cell)
    return (shown is not None and math.isnan(shown)) or (
        isinstance(cell, str) and _NULL.fullmatch(cell) is not None
    )


def _is_level(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    return isinstance(value, str | bool | int | np.bool_ | np.integer)


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


def _rounding(cell: Any, shown: float) -> float:
    """Largest relative error of the conversion from a cell's text to its number."""
    if isinstance(cell, _NARROW):
        return float(np.finfo(cell).eps)
    return 0.0 if shown.is_integer() and abs(shown) < _EXACT_INTEGERS else _ROUNDING


def _number(cell: Any) -> float | None:
    """Apply `number`; a cell of less than 64 bits is written as a decimal first."""
    if not isinstance(cell, _NARROW) or float(cell).is_integer():
        return number(cell)
    return number(float(str(cell)))


def _first_repeated(pairs: list[tuple]) -> str | None:
    (key, times), *_ = Counter(key for key, _ in pairs).most_common(1) or [(None, 0)]
    return repr(key) if times > 1 else None
