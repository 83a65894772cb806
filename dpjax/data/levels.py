"""Categorical variables with a public list of levels, and codes that stand for them.

Levels are declared and never inferred, since a list inferred from data reveals records.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpjax.data.categorical import Categorical
from dpjax.data.marks import Marks
from dpjax.data.matching import Level, is_level, is_missing, plain
from dpjax.data.public_lists import code_list


@dataclass(frozen=True)
class Variable(Categorical):
    """A categorical variable with listed levels.

    Args:
        name: text that is not empty.
        levels: at least two different labels (text, finite numbers or booleans), in
            the order of their indices.
        other: the level of text and numbers that are not in the list; None (the
            default) rejects them.
        missing: the level of cells without a value, appended to the levels if it is not
            in the list; None (the default) rejects such cells.
        missing_values: text and numbers that also mark a missing cell.
        codes: pairs of text or a number and the level that it stands for, for lists of
            many codes with few levels, such as the chapters of a classification.

    Raises:
        ValueError: if there are fewer than two levels; if `levels`, `missing_values`
            and `codes` contain the same text or number twice; if `other` or the level
            of a code is not a level; or if a level or code that does not stand for
            `missing` is text that software for CSV files reads as a missing cell, such
            as "NA".
    """

    mark: ClassVar = {"levels", "codes"}
    keys: ClassVar = {*mark, "other", "missing", "missing_values"}

    name: str
    levels: tuple[Level, ...]
    other: Level | None = None
    missing: Level | None = None
    missing_values: tuple[Level, ...] = ()
    codes: tuple[tuple[Level, Level], ...] = ()
    marks: Marks = field(init=False, repr=False, compare=False)
    _other: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        marks = Marks(
            *(self.name, self.levels, self.missing, self.missing_values, self.codes),
            narrow=self.other is None,
        )
        object.__setattr__(self, "levels", marks.levels)
        object.__setattr__(self, "codes", tuple(sorted(self.codes, key=str)))
        object.__setattr__(self, "marks", marks)
        other = None if self.other is None else marks.place(self.other, "other")
        object.__setattr__(self, "_other", other)

    @classmethod
    def from_json(cls, name: str, declared: Any) -> "Variable":
        """Make the variable declared by `[...]` or `{"levels": [...], …}`.

        If there is a dictionary "codes" from code to level, "levels" may be absent: the
        levels are then those of the codes, in the order in which they first occur.

        Raises:
            ValueError: if the declaration has none of these forms.
        """
        if not isinstance(declared, Mapping):
            declared = {"levels": declared}
        codes, known = declared.get("codes", {}), None
        if isinstance(codes, Mapping) and all(map(is_level, codes.values())):
            known = [*dict.fromkeys(codes.values())]
        declared = {"missing_values": [], "levels": known or None, **declared}
        lists = [declared["levels"], declared["missing_values"]]
        lists = [list(x) if isinstance(x, np.ndarray) else x for x in lists]
        if (
            set(declared) - cls.keys
            or known is None
            or not all(isinstance(x, list | tuple) for x in lists)
        ):
            raise ValueError(
                f"`schema` must declare {name!r:.80} by a list of levels, or by "
                '{"levels": [...]} and optionally "other", "missing", '
                '"missing_values": [...] and "codes": {code: level}.'
            )
        levels, missing_values = (tuple(map(plain, x)) for x in lists)
        other, missing = (plain(declared.get(x)) for x in ("other", "missing"))
        pairs = ((plain(x), plain(level)) for x, level in codes.items())
        stands = tuple((x, level) for x, level in pairs if str(x) != str(level))
        return cls(name, levels, other, missing, missing_values, stands)

    @classmethod
    def from_code_list(cls, name: str, path: str | os.PathLike) -> "Variable":
        """Read the levels of a variable, or its codes and their levels, from a file.

        Args:
            name: name of the variable.
            path: CSV with a header line, and in each row a code and, in a second
                column, the level that it stands for; without a second column, codes are
                levels. Or JSON (`.json`): a list of levels, or an object from code to
                level.

        Raises:
            ValueError: if the file is not of this form, or the constructor refuses it.
        """
        return cls.from_json(name, code_list(path))

    def to_json(self) -> dict[str, object]:
        """Return the declaration that `from_json` reads."""
        other = {} if self.other is None else {"other": self.other}
        codes = {"codes": {str(code): level for code, level in self.codes}}
        shown = {**other, **self.marks.to_json(), **(codes if self.codes else {})}
        return {"levels": [*self.levels], **shown}

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
        code = self.marks.matching.match(value)
        if code is None and self.missing is not None and is_missing(value):
            return self.marks.missed
        return self._other if code is None and self.is_outside(value) else code

    def _remedies(self) -> str:
        if self.other is None:
            other = ', or declare an "other" level for values that are not listed'
        else:
            other = ', since "other" excludes ambiguous numbers'
        return super()._remedies() + other
