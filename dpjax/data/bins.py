"""Numbers in bins: categorical variables whose levels are ranges with public edges."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float, Integer, Shaped

from dpjax._checks import brief
from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.intervals import Bound, Interval
from dpjax.data.marks import Marks
from dpjax.data.matching import (
    EXACT_INTEGERS,
    ROUNDING,
    Level,
    least_error,
    rounding,
    shown_by,
)

if TYPE_CHECKING:
    Edges = tuple[float, ...]
else:
    Edges = object  # may come from a file: checked at construction

_PLAIN = {int, float, np.float64}
_MOST = 10_000  # bins


@dataclass(frozen=True)
class Bins(Categorical):
    """A number in bins with public edges, which is a categorical variable.

    The bins are half-open, [lower, e₁), [e₁, e₂), …, except for the last one, which
    includes the upper bound. Numbers outside the bounds are clipped to them. A number
    that is below an edge by no more than rounding (a relative difference of 2^-49)
    counts as the edge. A number of less than double precision is rejected if rounding
    could have moved it from one bin to another. The levels are the bins' labels, such
    as "[18, 25)", and cells may also be labels.

    Args:
        name: name of the column, not empty.
        lower: smallest value, in the variable's unit; smaller values are clipped to it.
        upper: largest value, above `lower`; larger values are clipped to it.
        edges: the inner edges, in increasing order, at least one.
        missing: the level of cells without a number, one more level if it is not the
            label of a bin; None (the default) rejects such cells.
        missing_values: text and numbers that also mark a missing cell.

    Raises:
        ValueError: if the bounds are not finite and increasing, if the edges are not
            numbers between them in increasing order, if there are more than 10,000
            bins, or if `missing` or `missing_values` is not valid.
    """

    holds: ClassVar = "numbers and labels of bins"
    mark: ClassVar = {"edges", "bins"}
    keys: ClassVar = {"lower", "upper", *mark, "missing", "missing_values"}

    name: str
    lower: Bound
    upper: Bound
    edges: Edges
    missing: Level | None = None
    missing_values: tuple[Level, ...] = ()
    levels: tuple[Level, ...] = field(init=False, repr=False, compare=False)
    marks: Marks = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        bounds = Interval(self.name, self.lower, self.upper)  # checks them
        edges = self.edges
        if not isinstance(edges, Sequence | np.ndarray) or isinstance(edges, str):
            edges = ()
        shown = [shown_by(x) for x in edges if not isinstance(x, str | bool)]
        inner = tuple(x for x in shown if x is not None)
        ends = (bounds.lower, *inner, bounds.upper)
        pairs = list(itertools.pairwise(ends))
        with np.errstate(over="ignore"):
            increasing = all(np.float32(a) < np.float32(b) for a, b in pairs)
        if not 1 <= len(inner) == len(edges) < _MOST or not increasing:
            raise ValueError(
                f"`edges` of {self.name!r:.80} must be from 1 to {_MOST - 1} numbers "
                "above `lower` and below `upper`, in increasing order also in single "
                "precision."
            )
        labels = tuple(f"[{_text(a)}, {_text(b)})" for a, b in pairs)
        labels = (*labels[:-1], labels[-1][:-1] + "]")
        for key, value in (("lower", ends[0]), ("upper", ends[-1]), ("edges", inner)):
            object.__setattr__(self, key, value)
        marks = Marks(self.name, labels, self.missing, self.missing_values)
        object.__setattr__(self, "levels", marks.levels)
        object.__setattr__(self, "marks", marks)

    @classmethod
    def from_json(cls, name: str, declared: Mapping[str, Any]) -> "Bins":
        """Make the variable declared by `{"lower": 0, "upper": 99, "edges": [18]}`.

        `"bins": 10` in place of "edges" gives ten bins of equal width. "missing" and
        "missing_values" are optional.

        Raises:
            ValueError: if `declared` is not of this form, or as the constructor does.
        """
        if not {"lower", "upper"} <= set(declared) <= cls.keys or (
            ("edges" in declared) == ("bins" in declared)
        ):
            raise ValueError(
                f"`schema` must declare the bins of {name!r:.80} by "
                '{"lower": …, "upper": …, "edges": [...]}, or "bins": 10 in place of '
                '"edges", and optionally "missing" and "missing_values": [...].'
            )
        given = dict(declared)
        if "bins" in given:
            bounds = Interval(name, given["lower"], given["upper"])
            given["edges"] = _equal_widths(bounds, given.pop("bins"))
        marks = given.pop("missing_values", [])
        if not all(
            isinstance(x, list | tuple | np.ndarray) for x in (marks, given["edges"])
        ):
            raise ValueError(
                f"`edges` and `missing_values` of {name!r:.80} must be lists."
            )
        edges = tuple(given.pop("edges"))
        return cls(name, **given, edges=edges, missing_values=tuple(marks))

    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads, with the edges."""
        bins = {"lower": self.lower, "upper": self.upper, "edges": [*self.edges]}
        return {**bins, **self.marks.to_json()}

    def code(self, value: object) -> int | None:
        """Return the index of the bin of a cell, or of `missing`.

        Returns:
            The index; None if the cell is rejected: if it is neither a number nor a
            label, if it has no value and `missing` is not declared, or if readers of
            files may round its text to different bins.
        """
        found, clear = self.marks.find(value)
        shown = shown_by(value) if clear else None
        if shown is None:
            return found
        errors = rounding(value, shown), least_error(value)
        places, clear = self._places(np.array([shown]), *errors)
        return int(places[0]) if clear[0] else None

    def encoder(self) -> Encoder:
        """Return a function that applies `code` to cells.

        Plain numbers are encoded together, by operations on an array.
        """
        by_cell = super().encoder()

        def encode(cells: Sequence[Any]) -> list[int | None]:
            if self.marks.matching.has_numbers or not {*map(type, cells)} <= _PLAIN:
                return by_cell(cells)
            try:
                numbers = np.array(cells, np.float64)
            except OverflowError:  # an integer beyond double precision
                return by_cell(cells)
            whole = (numbers == np.floor(numbers)) & (abs(numbers) < EXACT_INTEGERS)
            places, clear = self._places(numbers, np.where(whole, 0.0, ROUNDING))
            codes: list[int | None] = places.tolist()
            for i in np.flatnonzero(~clear | np.isnan(numbers)).tolist():
                codes[i] = self.code(cells[i])
            return codes

        return encode

    def values(
        self, codes: Integer[np.ndarray, " n"], shares: Float[np.ndarray, " n"]
    ) -> Shaped[np.ndarray, " n"]:
        """Return a number for each level index, uniform within its bin.

        If the edges are whole numbers, a number that is rounded down stays in its bin.

        Args:
            codes: level indices.
            shares: numbers in [0, 1), the places within the bins.

        Returns:
            Numbers in double precision, NaN for the level `missing` if it is no bin.
        """
        low = np.array([self.lower, *self.edges, np.nan])
        high = np.array([*self.edges, self.upper, np.nan])
        codes = np.minimum(codes, len(low) - 1)
        drawn = low[codes] + (high - low)[codes] * shares
        most = np.nextafter(high - 4 * ROUNDING * abs(high), -np.inf)
        return np.minimum(drawn, most[codes])

    def _places(
        self, numbers: np.ndarray, relative: float | np.ndarray, smallest: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bin of each number, and whether rounding cannot change the bin.

        Readers round a number by at most the error `relative` times its magnitude, or
        by `smallest` if that is larger.

        A bin begins two roundings (of a double) below its edge. Therefore a double that
        was computed to equal the edge is in one bin for all readers, and only doubles
        that differ from the edge by more than rounding may be put into either bin.
        """
        clipped, edges = np.clip(numbers, self.lower, self.upper), np.array(self.edges)
        starts = edges - 2 * ROUNDING * abs(edges)
        slack = np.maximum(abs(clipped) * relative, smallest)
        least = np.searchsorted(starts, clipped - slack, side="right")
        return least, least == np.searchsorted(starts, clipped + slack, side="right")


def _equal_widths(bounds: Interval, bins: object) -> list[float]:
    number = int(bins) if isinstance(bins, np.integer) else bins
    if type(number) is not int or not 2 <= number <= _MOST:
        raise ValueError(
            f"`bins` of {bounds.name!r:.80} must be a whole number from 2 to {_MOST}, "
            f"got {brief(bins)}."
        )
    lower, upper = (Fraction(str(x)) for x in (bounds.lower, bounds.upper))
    return [float(lower + (upper - lower) * i / number) for i in range(1, number)]


def _text(bound: float) -> str:
    return str(int(bound)) if bound.is_integer() and abs(bound) < 1e15 else str(bound)
