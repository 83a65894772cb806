"""Numeric variables: a name and public bounds, to which every value is clipped.

Bounds are declared, never inferred from data, for the smallest and the largest value of
a table are somebody's. What a cell becomes depends on that cell alone.
"""

__all__ = ["Interval", "number"]

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Bound = float
else:
    Bound = object  # it may come from a file: checked at construction

_LARGEST = float(np.finfo(np.float32).max)
_NUMBER = re.compile(
    r"[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
_BOOLEANS = {"true": 1.0, "false": 0.0}
_REAL = bool | int | float | Decimal | np.bool_ | np.integer | np.floating
_MISSING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}  # pandas may be absent


@dataclass(frozen=True)
class Interval:
    """A numeric variable.

    Args:
        name: not empty.
        lower: smallest value, in the variable's own unit; what is below becomes it.
        upper: largest value, above `lower`; what is above becomes it.
        missing: what stands for a cell without a number; None: the middle.

    Raises:
        ValueError: if the bounds are crossed, not finite or, in single precision,
            equal, or `missing` is outside of them.
    """

    name: str
    lower: Bound
    upper: Bound
    missing: Bound | None = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name:
            raise ValueError("`name` of a variable must be text that is not empty.")
        lower, upper = _bound(self.lower), _bound(self.upper)
        if lower is None or upper is None or np.float32(lower) >= np.float32(upper):
            raise ValueError(
                f"`lower` and `upper` of {self.name!r:.80} must be finite numbers, the "
                "lower below the upper also in single precision, got "
                f"{_shown(self.lower)} and {_shown(self.upper)}."
            )
        middle = lower + (upper - lower) / 2
        missing = middle if self.missing is None else _bound(self.missing)
        if missing is None or not lower <= missing <= upper:
            raise ValueError(
                f"`missing` of {self.name!r:.80} must be a number within its bounds, "
                f"got {_shown(self.missing)}."
            )
        for field, value in (("lower", lower), ("upper", upper), ("missing", missing)):
            object.__setattr__(self, field, value)

    @classmethod
    def from_json(cls, name: str, declared: Mapping[str, Any]) -> "Interval":
        """The variable declared by `{"lower": 0, "upper": 120}`.

        Raises:
            ValueError: if the declaration is not of that form, "missing" apart.
        """
        if {"lower", "upper"} - set(declared) or set(declared) - {
            *("lower", "upper", "missing")
        }:
            raise ValueError(
                f"`schema` must declare the number {name!r:.80} by "
                '{"lower": …, "upper": …} and, if need be, "missing".'
            )
        return cls(name, **declared)

    def to_json(self) -> dict[str, object]:
        """What `from_json` reads, as plain data."""
        return {"lower": self.lower, "upper": self.upper, "missing": self.missing}

    def clip(self, values: Any) -> np.ndarray:
        """Values within the bounds, in double precision; NaN becomes `missing`."""
        values = np.asarray(values, np.float64)
        filled = np.where(np.isnan(values), self.missing, values)
        return np.clip(filled, self.lower, self.upper) + 0.0  # -0.0 becomes 0.0


def number(cell: object) -> float | None:
    """The number in a cell of any type, as the nearest one of double precision.

    Text shows a number in decimal digits, with an exponent or without, or as nan, inf,
    true or false in any case. Booleans, also in text, are 0 and 1.

    Returns:
        NaN for a cell without a value (None, NaN, empty text), an infinity for a number
        beyond double precision, None for anything else.
    """
    if isinstance(cell, str):
        return _shown_by(cell.strip())
    if isinstance(cell, _REAL) and not isinstance(cell, np.timedelta64):
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
        except ValueError:  # a signalling NaN
            return math.nan
    return math.nan if type(cell).__name__ in _MISSING else None


def _shown_by(text: str) -> float | None:
    if not text:
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else _BOOLEANS.get(text.lower())


def _bound(value: object) -> float | None:
    """A declared number, or None if it is none or not finite in single precision."""
    real = isinstance(value, int | float | np.integer | np.floating)
    if not real or isinstance(value, bool | np.timedelta64):
        return None
    if not -_LARGEST <= value <= _LARGEST:
        return None
    return float(str(value))  # 0.1 stays 0.1, also in single precision


def _shown(value: object) -> str:
    return f"{value!r:.40}"
