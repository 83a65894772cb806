"""Dates and times in calendar units, as categorical variables."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Integer, Shaped

from dpjax._checks import brief, one_of
from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.marks import Marks
from dpjax.data.matching import Level

_UNITS = ("year", "quarter", "month", "week", "day", "hour")
if TYPE_CHECKING:
    Day = str
    Unit = Literal["year", "quarter", "month", "week", "day", "hour"]
else:
    Day = Unit = object  # may come from a file: checked at construction

_ISO = re.compile(
    r"(?!0000)\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?)?",
    re.ASCII,
)
_HOURS = np.dtype("M8[h]")
_YEARS = np.array(["0001", "9999"], "M8[Y]")
_TYPES = {
    unit: np.dtype(f"M8[{code}]")
    for unit, code in {"year": "Y", "month": "M", "day": "D", "hour": "h"}.items()
}
_DAY = len("2024-02-29")
_MOST = 10_000  # periods


@dataclass(frozen=True)
class Periods(Categorical):
    """A date or time in periods of a calendar unit, which is a categorical variable.

    The cells are ISO 8601 text without a time zone ("2024-02-29", "2024-02-29 13:05"),
    dates, or date-times without a time zone, in the years 1 to 9999. Times before
    `lower` or after `upper` are clipped to these days. The levels are the labels of the
    periods: "2024", "2024-Q1", "2024-02", "2024-W09", "2024-02-29" or "2024-02-29T13".

    Args:
        name: name of the column, not empty.
        lower: the first day, as ISO text.
        upper: the last day, as ISO text.
        unit: "year", "quarter", "month", "week", "day" or "hour".
        missing: the level of cells without a value, one more level if it is not the
            label of a period; None (the default) rejects such cells.
        missing_values: text and numbers that also mark a missing cell. A date such as
            "9999-12-31" marks all cells with a time in the first hour of that day.

    Raises:
        ValueError: if the days are not ISO text in increasing order, there are not from
            2 to 10,000 periods, or `missing` or `missing_values` is not valid.
    """

    holds: ClassVar = (
        "dates such as 2024-02-29, without a time zone, and labels of periods"
    )
    listed: ClassVar = False
    mark: ClassVar = {"unit"}
    keys: ClassVar = {"lower", "upper", "unit", "missing", "missing_values"}

    name: str
    lower: Day
    upper: Day
    unit: Unit
    missing: Level | None = None
    missing_values: tuple[Level, ...] = ()
    levels: tuple[Level, ...] = field(init=False, repr=False, compare=False)
    marks: Marks = field(init=False, repr=False, compare=False)
    _hours: np.ndarray = field(init=False, repr=False, compare=False)
    _absent: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        one_of(_UNITS, unit=self.unit)
        lower, upper = _day(self.lower), _day(self.upper)
        if lower is None or upper is None or lower > upper:
            raise ValueError(
                f"`lower` and `upper` of {self.name!r:.80} must be days as text, such "
                f"as '2024-02-29', in this order, got {brief(self.lower)} and "
                f"{brief(self.upper)}."
            )
        hours = np.append(lower, upper + np.timedelta64(23, "h"))
        first, last = _numbers(hours, self.unit).tolist()
        if not 2 <= last - first + 1 <= _MOST:
            raise ValueError(
                f"`unit` of {self.name!r:.80} must give from 2 to {_MOST} periods "
                f"between `lower` and `upper`, got {last - first + 1}."
            )
        labels = _labels(np.arange(first, last + 1), self.unit)
        marks = Marks(self.name, labels, self.missing, self.missing_values)
        object.__setattr__(self, "levels", marks.levels)
        object.__setattr__(self, "marks", marks)
        object.__setattr__(self, "_hours", hours)
        absences = map(_hour, (marks.missing, *marks.missing_values))
        absent = [x for x in absences if x is not None]
        object.__setattr__(self, "_absent", np.array(absent, _HOURS).reshape(-1))

    @classmethod
    def from_json(cls, name: str, declared: Mapping[str, Any]) -> "Periods":
        """Make the variable declared by `{"lower": …, "upper": …, "unit": "month"}`.

        "missing" and "missing_values" are optional.

        Raises:
            ValueError: if `declared` is not of this form, or as the constructor does.
        """
        marks = declared.get("missing_values", [])
        if not {"lower", "upper", "unit"} <= set(declared) <= cls.keys or (
            not isinstance(marks, list | tuple)
        ):
            raise ValueError(
                f"`schema` must declare the periods of {name!r:.80} by "
                '{"lower": "2024-01-01", "upper": "2024-12-31", "unit": "month"} and '
                'optionally "missing" and "missing_values": [...].'
            )
        return cls(name, **{**declared, "missing_values": tuple(marks)})

    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads."""
        days = {"lower": self.lower, "upper": self.upper, "unit": self.unit}
        return {**days, **self.marks.to_json()}

    def code(self, value: object) -> int | None:
        """Return the index of the period of a cell, or of `missing`.

        Returns:
            The index; None if the cell is rejected: if it is neither a date nor a
            label, or has no value and `missing` is not declared.
        """
        found, _ = self.marks.find(value)
        hour = _hour(value)  # a date that marks a missing cell has one too
        return found if hour is None else int(self._places(hour)[0])

    def _is_ambiguous(self, cell: object) -> bool:
        del cell
        return False

    def encoder(self) -> Encoder:
        """Return a function that applies `code` to cells.

        NumPy times of one unit are encoded together, by operations on an array.
        """
        by_cell = super().encoder()

        def encode(cells: Sequence[Any]) -> list[int | None]:
            units = {getattr(cell, "dtype", None) for cell in cells}
            # Of several units, NumPy would convert all times to the finest.
            if {*map(type, cells)} != {np.datetime64} or len(units) > 1:
                return by_cell(cells)
            hours = _to_hours(np.array(cells))
            codes: list[int | None] = self._places(hours).tolist()
            for i in np.flatnonzero(np.isnat(hours)).tolist():
                codes[i] = self.code(cells[i])
            return codes

        return encode

    def values(
        self, codes: Integer[np.ndarray, " n"], shares: Float[np.ndarray, " n"]
    ) -> Shaped[np.ndarray, " n"]:
        """Return a time for each level index, uniform within its period.

        Args:
            codes: level indices.
            shares: numbers in [0, 1), the places within the periods.

        Returns:
            Times in seconds, NaT for the level `missing` if it is no period.
        """
        first, last = _numbers(self._hours, self.unit).tolist()
        starts = _starts(np.arange(first, last + 2), self.unit)
        ends = np.clip(starts, *self._hours + np.array([0, 1], "m8[h]"))
        seconds = np.append(ends.astype("M8[s]"), np.datetime64("NaT", "s"))
        codes = np.minimum(codes, last - first + 1)
        width = (seconds[1:] - seconds[:-1])[codes].astype(float)
        whole = np.nan_to_num(width * shares).astype("m8[s]")
        drawn = seconds[codes] + whole
        drawn[codes > last - first] = np.datetime64("NaT", "s")
        return drawn

    def _places(self, hours: np.ndarray) -> np.ndarray:
        clipped = np.clip(hours, *self._hours)
        places = _numbers(clipped, self.unit) - _numbers(self._hours, self.unit)[0]
        return np.where(np.isin(hours, self._absent), self.marks.missed or 0, places)


def _hour(cell: object) -> np.ndarray | None:
    """Return the hour of a date or time in an array; None for another cell."""
    if isinstance(cell, np.datetime64):
        hour = _to_hours(np.array([cell]))
        return None if np.isnat(hour[0]) else hour
    if isinstance(cell, datetime.date):
        cell = cell.isoformat()  # with the time zone, if it has one
    if not isinstance(cell, str) or not _ISO.fullmatch(cell.strip()):
        return None
    try:
        return np.array([np.datetime64(cell.strip()[:13], "h")])
    except ValueError:  # no such day
        return None


def _to_hours(times: np.ndarray) -> np.ndarray:
    """Convert times of any unit; NaT for those outside the years that text can show."""
    years, hours = times.astype("M8[Y]"), np.full(times.shape, "NaT", _HOURS)
    inside = (years >= _YEARS[0]) & (years <= _YEARS[1])
    hours[inside] = times[inside].astype(_HOURS)
    return hours


def _day(text: object) -> np.ndarray | None:
    return _hour(text) if isinstance(text, str) and len(text) == _DAY else None


def _numbers(hours: np.ndarray, unit: Unit) -> np.ndarray:
    """Return the number of each hour's period, counted from a fixed period."""
    if unit == "week":  # 1970-01-01 was a Thursday
        return (hours.astype(_TYPES["day"]).astype(int) + 3) // 7
    if unit == "quarter":
        return hours.astype(_TYPES["month"]).astype(int) // 3
    return hours.astype(_TYPES[unit]).astype(int)


def _starts(numbers: np.ndarray, unit: Unit) -> np.ndarray:
    """Return the first hours of periods."""
    if unit == "week":
        return (7 * numbers - 3).astype(_TYPES["day"]).astype(_HOURS)
    if unit == "quarter":
        return (3 * numbers).astype(_TYPES["month"]).astype(_HOURS)
    return numbers.astype(_TYPES[unit]).astype(_HOURS)


def _labels(numbers: np.ndarray, unit: Unit) -> list[str]:
    starts = _starts(numbers, unit)
    if unit == "week":
        weeks = [day.isocalendar() for day in starts.astype(datetime.date)]
        return [f"{week.year:04}-W{week.week:02}" for week in weeks]
    if unit == "quarter":
        years = np.datetime_as_string(starts, "Y")
        return [f"{year}-Q{i % 4 + 1}" for year, i in zip(years, numbers, strict=True)]
    return np.datetime_as_string(starts.astype(_TYPES[unit])).tolist()
