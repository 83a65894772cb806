"""Columns of multiplicities, which say how many records each row stands for."""

from collections.abc import Sequence

from dpjax.data import sources
from dpjax.data.beside import Beside
from dpjax.data.encoding import AnyVariable
from dpjax.data.persons import person_of

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
        super().__init__(name, argument)
        self._most, self.total = most, 0  # the sum of what was read

    def integer(self, cell: object, where: str) -> int:
        """Return the integer that a cell shows."""
        shown = person_of(cell) or ""
        digits = shown.isascii() and shown.isdigit()
        if not digits or len(shown) > 16 or int(shown) > self._most:
            raise ValueError(
                f"`{self.argument}` must be an integer from 0 to {self._most} in every "
                f"row, column {self.name!r:.80}{where} has others."
            )
        return int(shown)

    def see(self, table: sources.Table, where: str) -> None:
        """Read the column of a table, and add its integers to the total."""
        super().see(table, where)
        if float(self.total) + self._seen.sum(dtype=float) > MOST:
            raise ValueError(
                f"`{self.argument}` must have a sum of at most 2^53, column "
                f"{self.name!r:.80} has a larger one."
            )
        self.total += int(self._seen.sum())
