"""Columns of integers that are read with the variables, but are none of them."""

import abc

import numpy as np
from jaxtyping import Int64

from dpjax.data import sources


class Beside(abc.ABC):
    """A column that has an integer for each row.

    Args:
        name: name of the column.
        argument: the argument that names the column.
    """

    def __init__(self, name: str, argument: str) -> None:
        self.name, self.argument = name, argument
        self._seen = np.zeros(0, np.int64)

    @abc.abstractmethod
    def integer(self, cell: object, where: str) -> int:
        """Return the integer of a cell; raise `ValueError` if there is none."""

    def see(self, table: sources.Table, where: str) -> None:
        """Read the column of a table; `of_the` then returns its integers.

        Args:
            table: a table of the source.
            where: the `where` of the table's part of the source, for messages.
        """
        if sources.is_array(table):
            raise ValueError(
                f"`{self.argument}` must name a column, and encoded records have no "
                "names: give the table itself, which is encoded here."
            )
        values, places = sources.read_column(table, self.name)
        integers = np.zeros(len(values), np.int64)
        for i in np.unique(places).tolist():
            integers[i] = self.integer(values[i], where)
        self._seen = integers[places]

    def of_the(self, rows: np.ndarray) -> Int64[np.ndarray, " n"]:
        """Return the integers of the rows that were encoded last."""
        seen, self._seen = self._seen, np.zeros(0, np.int64)
        if len(seen) != len(rows):
            raise ValueError(
                f"`table` must have columns of one length, not {self.name!r:.80}."
            )
        return seen
