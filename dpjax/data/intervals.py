"""Numeric variables, which have a name and public bounds that clip every value.

Bounds are declared and never inferred, since the extreme values of a table reveal
records. The number of a cell depends on no other cell.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax._documents import is_text

if TYPE_CHECKING:
    Bound = float
else:
    Bound = object  # may come from a file: checked at construction

_LARGEST = float(np.finfo(np.float32).max)
_NUMBER = re.compile(
    r"[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
_BOOLEANS = {"true": 1.0, "false": 0.0}
_REAL = bool | int | float | Decimal | np.bool_ | np.integer | np.floating
_MISSING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}  # pandas may be absent


@dataclass(frozen=True)
class Interval:
    """A numeric variable with public bounds.

    Args:
        name: name of the column, not empty.
        lower: smallest value, in the variable's unit; smaller values are clipped to it.
        upper: largest value, above `lower`; larger values are clipped to it.
        missing: value for cells without a number; None means the bounds' midpoint.

    Raises:
        ValueError: if the bounds are not finite or not increasing in single precision,
            or `missing` is outside the bounds.
    """

    name: str
    lower: Bound
    upper: Bound
    missing: Bound | None = None

    def __post_init__(self):
        if not is_text(self.name) or not self.name:
            raise ValueError("`name` of a variable must be text that is not empty.")
        lower, upper = _bound(self.lower), _bound(self.upper)
        if lower is None or upper is None or np.float32(lower) >= np.float32(upper):
            raise ValueError(
                f"`lower` and `upper` of {self.name!r:.80} must be finite numbers, the "
                "lower below the upper also in single precision, got "
                f"{_shown(self.lower)} and {_shown(self.upper)}; days take a unit."
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
        """Make the variable declared by `{"lower": 0, "upper": 120, "missing": 60}`.

        Raises:
            ValueError: if `declared` is not of this form ("missing" is optional).
        """
        if not {"lower", "upper"} <= set(declared) <= {"lower", "upper", "missing"}:
            raise ValueError(
                f"`schema` must declare the number {name!r:.80} by "
                '{"lower": …, "upper": …} and optionally "missing", or with "edges" or '
                '"bins" for its levels.'
            )
        return cls(name, **declared)

    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads."""
        return {"lower": self.lower, "upper": self.upper, "missing": self.missing}

    def refusal(self, column: str, outside: Sequence[Any]) -> str:
        """Return the message for the rejected cells of a column, without a value."""
        del outside
        return (
            f"`table` must hold only numbers in {column}, but some cell is not one: "
            "correct it; `dpjax check`, or `Schema.check`, shows the cells."
        )

    def clip(self, values: Any) -> np.ndarray:
        """Replace NaN by `missing`, and clip values to the bounds, in 64-bit floats."""
        values = np.asarray(values, np.float64)
        filled = np.where(np.isnan(values), self.missing, values)
        return np.clip(filled, self.lower, self.upper) + 0.0  # -0.0 becomes 0.0


def number(cell: object) -> float | None:
    """Return the number in a cell of any type, rounded to double precision.

    Text is a number if it consists of decimal digits, with an optional exponent, or is
    nan, inf, true or false in any case. Booleans, also as text, are 0 and 1. A cell
    without a value (None, NaN, empty text) gives NaN, and any other cell gives None.
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
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return math.nan if np.isnat(cell) else None
    return math.nan if type(cell).__name__ in _MISSING else None


def _shown_by(text: str) -> float | None:
    if not text:
        return math.nan
    return float(text) if _NUMBER.fullmatch(text) else _BOOLEANS.get(text.lower())


def _bound(value: object) -> float | None:
    """Return a declared bound as a float; None if not finite in single precision."""
    real = isinstance(value, int | float | np.integer | np.floating)
    if not real or isinstance(value, bool | np.timedelta64):
        return None
    if not -_LARGEST <= value <= _LARGEST:
        return None
    return float(str(value))  # 0.1 stays 0.1, also in single precision


def _shown(value: object) -> str:
    return f"{value!r:.40}"
