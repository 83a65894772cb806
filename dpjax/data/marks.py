"""The text and numbers that stand for the levels of a variable in cells."""

from collections.abc import Iterable, Sequence
from typing import Any

from dpjax._documents import is_text
from dpjax.data.matching import (
    Level,
    Matching,
    is_level,
    is_missing,
    repeated,
    shown_by,
)


class Marks:
    """The levels of a variable, and the text and numbers that stand for them in cells.

    Args:
        name: name of the variable, for messages.
        levels: the labels, in the order of their indices.
        missing: the level of cells without a value, appended to the levels if it is not
            in the list; None rejects such cells.
        missing_values: text and numbers that also mark a missing cell.
        codes: pairs of text or a number and the level that it stands for.
        narrow: whether numbers of less than double precision match.

    Attributes:
        missed: the index of the level for missing cells; None without one.
        matching: the codes of all that stands for a level.

    Raises:
        ValueError: as `Variable` does.
    """

    def __init__(
        self,
        name: str,
        levels: Any,
        missing: Level | None = None,
        missing_values: Any = (),
        codes: Any = (),
        narrow: bool = True,
    ) -> None:
        if not is_text(name) or not name:
            raise ValueError("`name` of a variable must be text that is not empty.")
        lists = {"levels": levels, "missing_values": missing_values, "codes": codes}
        for key, given in lists.items():
            if not isinstance(given, Sequence) or isinstance(given, str):
                raise ValueError(f"`{key}` of {name!r:.80} must be a list.")
        self.name, self.levels = name, tuple(levels)
        self.missing, self.missing_values = missing, tuple(missing_values)
        if missing is not None and str(missing) not in map(str, self.levels):
            if isinstance(missing, bool):  # meant as no
                raise ValueError(
                    f"`missing` of {name!r:.80} must be a level, text or a number,"
                    f" got {missing}: leave it out if no cell is missing."
                )
            self.levels = (*self.levels, missing)
        self._of_levels = Matching(self.levels, tuple(range(len(self.levels))))
        self.missed = None if missing is None else self.place(missing)
        marks = (*self.levels, *missing_values, *(code for code, _ in codes))
        self._check(marks)
        missed = [self.missed] * len(missing_values)
        coded = [self.place(level, "codes") for _, level in codes]
        if missing is None and missing_values:
            raise ValueError(
                f"`missing` of {name!r:.80} must be given with `missing_values`."
            )
        places: tuple[Any, ...] = (*range(len(self.levels)), *missed, *coded)
        self.matching = Matching(marks, places, narrow)
        self._refuse_null(zip(marks, places, strict=True))

    def _check(self, marks: tuple[Level, ...]) -> None:
        if not all(map(is_level, marks)):
            raise ValueError(
                f"`levels` of {self.name!r:.80}, and what stands for a missing cell, "
                "must be text, finite numbers or booleans."
            )
        if len(self.levels) < 2:
            raise ValueError(
                f"`levels` of {self.name!r:.80} must list at least two, got "
                f"{len(self.levels)}: declare them, or leave a constant out."
            )
        twice = repeated(marks)
        if twice:
            raise ValueError(
                f"`levels` of {self.name!r:.80} must all differ, got {twice:.80} twice."
            )

    def _refuse_null(self, places: Iterable[tuple[Level, int]]) -> None:
        null = [x for x, i in places if i != self.missed and is_missing(x)]
        if self.missing is not None and null:
            raise ValueError(
                f"`levels` of {self.name!r:.80} must not contain {null[0]!r:.80}, "
                "unless it is `missing`: readers of files take it for a missing cell."
            )

    def place(self, level: Level | None, key: str = "") -> int | None:
        """Return the index of a level; raise if it is unknown and `key` is given."""
        place = self._of_levels.match(str(level))
        if key and place is None:
            raise ValueError(
                f"`{key}` of {self.name!r:.80} must be one of its levels, got "
                f"{level!r:.80}."
            )
        return place

    def find(self, value: object) -> tuple[int | None, bool]:
        """Return the level of a cell that shows a mark or has no value.

        Returns:
            The index of the level, or None; and whether the cell is another one, whose
            value no reader of files would take for a mark.
        """
        code = self.matching.match(value)
        if code is not None:
            return code, False
        if is_missing(value):
            return self.missed, False
        shown = shown_by(value)
        return None, shown is None or self.matching.is_clear(shown, value)

    def to_json(self) -> dict[str, object]:
        """Return what a declaration says of missing cells."""
        if self.missing is None:
            return {}
        values = {"missing_values": [*self.missing_values]}
        return {"missing": self.missing, **(values if self.missing_values else {})}
