"""Columns of multiplicities, which say how many records each row stands for."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from dpjax.data import sources
from dpjax.data.encoding import AnyVariable, Beside
from dpjax.data.persons import person_of
from dpjax.data.sources.encoded_columns import read_column

MOST = 1 << 53  # records in total, exact as a double


class Multiplicities(Beside):
    """A column of integers from 0 to `most`, which is read beside the variables.

    An integer is read as `dpjax.data.persons.person_of` reads it: 7, 7.0 and "7" are
    equal.

    Raises:
        ValueError: if `name` is not the name of a column, or is the name of a variable.
    """

    def __init__(
        self,
        name: str,
        variables: Sequence[AnyVariable],
        *,
        argument: str = "multiplicity",
        most: int = MOST,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"`{argument}` must be the name of a column, text that is not empty, "
                f"got {type(name).__name__}."
            )
        if name in {variable.name for variable in variables}:
            raise ValueError(
                f"`{argument}` must name a column that is no variable, {name!r:.80} is "
                "one: rename the column."
            )
        self.name, self.argument, self._most = name, argument, most
        self._total = 0
        self._seen = np.zeros(0, np.int64)

    def see(self, table: sources.Table, place: str) -> None:
        """Read the column of a table; `of_the` then returns its integers."""
        if sources.is_array(table):
            raise ValueError(
                f"`{self.argument}` must name a column, and encoded records have no "
                "names: give the table itself, which is encoded here."
            )
        values, places = read_column(table, self.name)
        integers = np.zeros(len(values), np.int64)
        for i in np.unique(places).tolist():
            shown = person_of(values[i]) or ""
            digits = shown.isascii() and shown.isdigit()
            if not digits or len(shown) > 16 or int(shown) > self._most:
                raise ValueError(
                    f"`{self.argument}` must be an integer from 0 to {self._most} in "
                    f"every row, column {self.name!r:.80}"
                    f"{f' in {place}' if place else ''} has others."
                )
            integers[i] = int(shown)
        self._seen = integers[places]
        if float(self._total) + self._seen.sum(dtype=float) > MOST:
            raise ValueError(
                f"`{self.argument}` must have a sum of at most 2^53, column "
                f"{self.name!r:.80} has a larger one."
            )
        self._total += int(self._seen.sum())

    def of_the(self, rows: np.ndarray) -> Int64[np.ndarray, " n"]:
        """Return the integers of the rows that were encoded last."""
        seen, self._seen = self._seen, np.zeros(0, np.int64)
        if len(seen) != len(rows):
            raise ValueError(
                f"`table` must have columns of one length, not {self.name!r:.80}."
            )
        return seen

    @property
    def total(self) -> int:
        """Sum of the integers that were read."""
        return self._total
