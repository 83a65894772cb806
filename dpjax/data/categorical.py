"""The interface of categorical variables, whose cells have levels of a finite list.

To add a kind of variable, write a subclass and add it to `dpjax.data.kinds.KINDS`.
"""

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Integer, Shaped

from dpjax.data.intervals import number
from dpjax.data.marks import Marks
from dpjax.data.matching import Level

Encoder = Callable[[Sequence[Any]], list[int | None]]
"""A function from different cells to their level indices, with None if rejected."""

_REMEMBERED = 1 << 16  # cells whose codes an encoder remembers


class Categorical(abc.ABC):
    """A categorical variable: a name and a public list of levels.

    The level of a cell is a function of that cell and of public facts.

    Attributes:
        name: text that is not empty.
        levels: at least two different labels, in the order of their indices.
        missing: the level of cells without a value; None if such cells are rejected.
        marks: the text and numbers that stand for levels in cells.
        holds: what cells must be, for error messages.
        listed: whether the length of a declaration grows with the number of levels.
        mark: names that only declarations of this kind have, each at least one of them.
        keys: all names that a declaration of this kind may have.
    """

    name: str
    levels: tuple[Level, ...]
    missing: Level | None
    marks: Marks
    holds: ClassVar[str] = "declared levels"
    listed: ClassVar[bool] = True
    mark: ClassVar[set[str]]
    keys: ClassVar[set[str]]

    @classmethod
    @abc.abstractmethod
    def from_json(cls, name: str, declared: Mapping[str, Any]) -> "Categorical":
        """Make the variable `name` that a declaration describes.

        Raises:
            ValueError: if the declaration is not valid.
        """

    @abc.abstractmethod
    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads."""

    @abc.abstractmethod
    def code(self, value: object) -> int | None:
        """Return the index of the level of a cell; None if the cell is rejected."""

    def match(self, value: object) -> int | None:
        """Return the index of the level that a value stands for, or None."""
        return self.marks.matching.match(value)

    def is_outside(self, value: object) -> bool:
        """Whether a cell without a match has none, whichever reader parsed its file."""
        return self.marks.matching.is_outside(value)

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.levels)

    def encoder(self) -> Encoder:
        """Return a function that applies `code` to cells, and may remember the results.

        A new function is made for each table, so that the variable itself does not
        remember cells of records.
        """
        remembered = functools.lru_cache(_REMEMBERED, typed=True)(self.code)
        return functools.partial(_codes, self.code, remembered)

    def labels(self) -> Shaped[np.ndarray, " levels"]:
        """Return the levels as an array, of their type if all have the same type."""
        kinds = {type(level) for level in self.levels}
        return np.array(self.levels, dtype=None if len(kinds) == 1 else object)

    def values(
        self, codes: Integer[np.ndarray, " n"], shares: Float[np.ndarray, " n"]
    ) -> Shaped[np.ndarray, " n"]:
        """Return a value for each level index, in place of its label.

        Args:
            codes: level indices.
            shares: numbers in [0, 1), which choose a value if a level stands for many.
        """
        del shares
        return self.labels()[codes]

    def refusal(self, column: str, outside: Sequence[Any]) -> str:
        """Return the message for the rejected cells of a column, without a value."""
        if any(self._is_ambiguous(cell) for cell in outside):
            return (
                f"`table` must hold text, or numbers that each show one level, in "
                f"{column}: read it as text (`dtype=str`), or give the path of its "
                "file; `dpjax check`, or `Schema.check`, shows the cells."
            )
        return (
            f"`table` must hold only {self.holds}, {column} does not (or lacks a "
            f"value): correct it{self._remedies()}; `dpjax check`, or `Schema.check`, "
            "shows the values."
        )

    def _remedies(self) -> str:
        return ', or declare a "missing" level' if self.missing is None else ""

    def _is_ambiguous(self, cell: object) -> bool:
        """Whether a cell is rejected because its type hides its original text."""
        shown = number(cell)
        lacks_value = shown is not None and shown != shown
        return not (isinstance(cell, str) or lacks_value or self.is_outside(cell))


def _codes(
    code: Callable[[Any], int | None],
    remembered: Callable[[Any], int | None],
    cells: Sequence[Any],
) -> list[int | None]:
    """Apply `code` to cells, or the function that remembers its results."""
    found = []
    for cell in cells:
        try:
            found.append(remembered(cell))
        except (TypeError, ValueError):  # not hashable
            found.append(code(cell))
    return found
