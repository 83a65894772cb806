"""Categorical variables: a name and the public list of its levels.

Levels are declared, never inferred from data, for the list itself could tell who is in
the table. A cell of a table is matched to a level here and nowhere else.
"""

__all__ = ["Level", "Variable"]

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np

Level = str | int | float | bool

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_LONGEST_NUMBER = 60  # characters
_EXACT = Context(prec=10_000)  # digits: more than Python makes text of


@dataclass(frozen=True)
class Variable:
    """A categorical variable.

    Args:
        name: not empty.
        levels: at least two different labels (text, finite numbers or booleans), in
            the order in which tables and files show them.
        other: the level that stands for every value outside the list; None (the
            default) refuses such values.

    Raises:
        ValueError: if a level is given twice, if a number and a text look alike, if
            there are fewer than two levels, or if `other` is not one of them.
    """

    name: str
    levels: tuple[Level, ...]
    other: Level | None = None

    def __post_init__(self):
        name, levels = self.name, self.levels
        if not isinstance(name, str) or not name:
            raise ValueError("`name` of a variable must be text that is not empty.")
        if not all(_is_level(level) for level in levels):
            raise ValueError(
                f"`levels` of {name!r:.80} must be text, finite numbers or booleans."
            )
        if len(levels) < 2:
            raise ValueError(
                f"`levels` of {name!r:.80} must list at least two, got {len(levels)}: "
                "leave a constant out of the schema."
            )
        twice = _first_repeated(_texts(levels)) or _first_repeated(_numbers(levels))
        if twice:
            raise ValueError(
                f"`levels` of {name!r:.80} must all differ, got {twice:.80} twice."
            )
        if self.other is not None and self.code(self.other) is None:
            raise ValueError(
                f"`other` of {name!r:.80} must be one of its levels, got "
                f"{self.other!r:.80}."
            )

    @classmethod
    def from_json(cls, name: str, declared: Any) -> "Variable":
        """The variable declared by `[...]` or `{"levels": [...], "other": level}`.

        Raises:
            ValueError: if the declaration is of neither form.
        """
        if not isinstance(declared, Mapping):
            declared = {"levels": declared}
        levels = declared.get("levels")
        if isinstance(levels, np.ndarray):
            levels = list(levels)
        if set(declared) - {"levels", "other"} or not isinstance(levels, list | tuple):
            raise ValueError(
                f"`schema` must declare {name!r:.80} by a list of levels, or by "
                '{"levels": [...]} and, if need be, "other".'
            )
        other = _plain(declared.get("other"))
        return cls(name, tuple(map(_plain, levels)), other)

    def to_json(self) -> dict[str, object]:
        """What `from_json` reads, as plain data."""
        other = {} if self.other is None else {"other": self.other}
        return {"levels": list(self.levels), **other}

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def code(self, value: object) -> int | None:
        """Index of the level that equals `value` as text or, if both are, as a number.

        A number matches a level by what it is worth, also one of text if no other shows
        the same number: 1 and 1.0 are the same cell, whatever type a table's column was
        given for the sake of other records.

        Returns:
            None for a value outside the list, a missing one (None, NaN) included.
        """
        if not _is_level(value):
            return None
        if isinstance(value, bool | np.bool_):
            return self._codes_by_text.get(str(value))
        if isinstance(value, str):
            code = self._codes_by_text.get(str(value))
            return self._codes_by_number.get(_number(value)) if code is None else code
        return self._codes_of_numbers.get(_number(value))

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        return dict(_texts(self.levels))

    @cached_property
    def _codes_by_number(self) -> dict[str | None, int]:
        return dict(_numbers(self.levels))

    @cached_property
    def _codes_of_numbers(self) -> dict[str | None, int | None]:
        """By the number that a level shows; None for one that several show."""
        codes = {}
        for code, level in enumerate(self.levels):
            number = None if isinstance(level, bool) else _number(level)
            if number is not None:
                codes[number] = None if number in codes else code
        return codes


def _plain(level: Any) -> Any:
    """A level as Python's own type, so that files and hashes can hold it."""
    if isinstance(level, np.floating):
        return float(str(level))  # 0.1 stays 0.1, also in single precision
    return level.item() if isinstance(level, np.generic) else level


def _is_level(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return math.isfinite(value)
    return isinstance(value, str | bool | int | np.bool_ | np.integer)


def _texts(levels: Iterable[Level]) -> list[tuple[str, int]]:
    """Every text that stands for a level, with the level's index."""
    pairs = [(str(level), code) for code, level in enumerate(levels)]
    lower = [(str(x).lower(), i) for i, x in enumerate(levels) if isinstance(x, bool)]
    return pairs + lower


def _numbers(levels: Iterable[Level]) -> list[tuple[str, int]]:
    """The value of every level that is a number, with the level's index."""
    return [
        (_value(str(level)), code)
        for code, level in enumerate(levels)
        if not isinstance(level, str | bool)
    ]


def _value(text: str) -> str:
    """The number that a text shows, in the one way that all texts of it have.

    Text, because Python's hash of it is secret: whoever writes a schema can choose
    numbers whose own hashes are all equal, and a dictionary of them is slow.
    """
    number = Decimal(text)
    return str(number.normalize(_EXACT)) if number else "0"


def _number(value: object) -> str | None:
    """The number that a cell shows; exact, so that 0.1 in a file is 0.1 in a schema."""
    text = str(value)[: _LONGEST_NUMBER + 1].strip()
    shows = len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text)
    return _value(text) if shows else None


def _first_repeated(pairs: list[tuple]) -> str | None:
    (key, times), *_ = Counter(key for key, _ in pairs).most_common(1) or [(None, 0)]
    return repr(key) if times > 1 else None
