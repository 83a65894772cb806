"""The public facts about a table: its variables and their levels, and the encoding.

A schema is declared, never inferred. It turns any table into an array of level indices,
which is what everything else in the library works on.
"""

__all__ = ["Outside", "Schema", "as_records"]

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from dpjax import columns
from dpjax._documents import parse_json, read_text
from dpjax._types import Records
from dpjax.counts import check_records
from dpjax.variables import Variable


class Schema(Mapping[str, Variable]):
    """Variables by name, in the order of the columns of encoded records.

    Args:
        variables: for each name, the list of levels, or
            `{"levels": [...], "other": level}` to map every value outside the list to
            one of its levels instead of refusing it. Or a sequence of `Variable`.

    Raises:
        ValueError: if a variable or a name is not valid.
    """

    def __init__(
        self,
        variables: Mapping[str, Any] | Sequence[Variable],
    ) -> None:
        if isinstance(variables, Mapping):
            variables = [
                x if isinstance(x, Variable) else Variable.from_json(name, x)
                for name, x in variables.items()
            ]
        self._variables = {variable.name: variable for variable in variables}
        if not self._variables or len(self._variables) < len(variables):
            raise ValueError("`schema` must declare variables with different names.")

    @classmethod
    def from_json(cls, path: str | os.PathLike) -> "Schema":
        """The schema in a file `{"variables": {"income": {"levels": [0, 1]}}}`.

        Raises:
            ValueError: if the file is not of this form.
        """
        document = parse_json(read_text(path, "schema"), "schema")
        if not isinstance(document, dict) or set(document) - {"$schema"} != {
            "variables"
        }:
            raise ValueError('`schema` must be of the form {"variables": {...}}.')
        variables = document["variables"]
        if not isinstance(variables, dict) or not all(
            isinstance(x, dict) for x in variables.values()
        ):
            raise ValueError('`schema` must map each variable to {"levels": [...]}.')
        return cls(variables)

    def to_json(self) -> dict[str, object]:
        """What `from_json` reads, as plain data."""
        return {"variables": {name: self[name].to_json() for name in self}}

    @staticmethod
    def json_schema() -> dict[str, object]:
        """JSON Schema (draft 2020-12) of the files that `from_json` reads."""
        text = resources.files("dpjax").joinpath("table_schema.json").read_text("utf-8")
        return json.loads(text)

    def __getitem__(self, name: str) -> Variable:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __eq__(self, other: object) -> bool:
        """Equal variables in the same order, for the order is that of the columns."""
        if not isinstance(other, Schema):
            return NotImplemented
        return list(self.values()) == list(other.values())

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{v.name}: {v.size}' for v in self.values())})"

    def select(self, names: Collection[str]) -> "Schema":
        """The schema of some of the variables, in this schema's order."""
        unknown = [name for name in names if name not in self]
        if unknown:
            raise ValueError(f"`names` must be declared, got {unknown[0]!r}.")
        return Schema([v for v in self.values() if v.name in set(names)])

    def encode(
        self,
        table: columns.Table,
        *,
        ignore: str | Collection[str] = (),
        absent: str | None = None,
    ) -> Integer[Array, "n d"]:
        """Level indices of a table's records, one column a variable.

        Args:
            table: a path (CSV, CSV.gz, Parquet), an Arrow table, a DataFrame, or a
                mapping of arrays. Cells match a level as text or, if both are numbers,
                as numbers.
            ignore: columns outside the schema that are to be left out; "*" for all.
            absent: a variable whose column is not read; it is encoded as level 0.

        Returns:
            An array of the smallest unsigned type that holds every index.

        Privacy:
            Not private. The error about a value outside the levels depends on the
            records: for the curator's eyes only. It never shows a value.

        Raises:
            ValueError: if a column is missing, not declared, or of unequal length, or a
                value is missing or outside the levels of a variable without "other".
        """
        if absent is not None and absent not in self:
            raise ValueError(f"`absent` must be one of the variables, got {absent!r}.")
        wanted = [name for name in self if name != absent]
        self._refuse_names(columns.column_names(table), wanted, ignore)
        table = columns.read_table(table, wanted)
        encoded, length = {}, None
        for name in wanted:
            codes, outside = self._encode_column(table, name)
            if length not in (None, len(codes)):
                raise ValueError(
                    f"`table` must have columns of one length, not {name!r}."
                )
            if outside:
                raise ValueError(
                    f"`table` must hold only declared levels, column {name!r} does not "
                    '(or lacks a value): mend it, or declare an "other" level; '
                    "`Schema.check` shows the values."
                )
            encoded[name], length = codes, len(codes)
        largest = max(variable.size for variable in self.values()) - 1
        records = np.zeros((length or 0, len(self)), np.min_scalar_type(largest))
        for i, name in enumerate(self):
            if name in encoded:
                records[:, i] = encoded[name]
        return jnp.asarray(records)

    def decode(self, records: Records) -> dict[str, np.ndarray]:
        """The levels behind encoded records: a column for each variable.

        Raises:
            ValueError: if the records are not indices of levels.
        """
        check_records(records, tuple(variable.size for variable in self.values()))
        records = np.asarray(records)
        return {v.name: _labels(v)[records[:, i]] for i, v in enumerate(self.values())}

    def check(
        self, table: columns.Table, *, ignore: str | Collection[str] = ()
    ) -> "Outside":
        """The values outside the levels, by variable: for the curator alone.

        Privacy:
            None. The result shows values of records, and says so when it is printed.

        Raises:
            ValueError: if a column is missing or not declared.
        """
        self._refuse_names(columns.column_names(table), list(self), ignore)
        table = columns.read_table(table, list(self))
        outside = {name: self._encode_column(table, name)[1] for name in self}
        return Outside({name: values for name, values in outside.items() if values})

    def _encode_column(
        self, table: columns.Table, name: str
    ) -> tuple[np.ndarray, list]:
        """Indices of a column's levels, and its values that are outside them."""
        variable = self[name]
        values, places = columns.read_column(table, name)
        codes = [variable.code(value) for value in values]
        used = set(np.unique(places).tolist())
        missing = [i in used and code is None for i, code in enumerate(codes)]
        outside = [value for value, out in zip(values, missing, strict=True) if out]
        other = variable.code(variable.other)
        if other is not None:
            outside = [value for value in outside if _is_missing(value)]
        filled = [(other or 0) if code is None else code for code in codes]
        return np.asarray(filled, np.int32)[places], outside

    def _refuse_names(
        self, present: list[str], wanted: list[str], ignore: str | Collection[str]
    ) -> None:
        ignored = {ignore} if isinstance(ignore, str) else {*ignore}
        missing = [name for name in wanted if name not in present]
        if missing:
            raise ValueError(
                f"`table` must have a column for each variable, got no {missing[0]!r}."
            )
        known = {*self, *ignored}
        unknown = [i for i, name in enumerate(present, start=1) if name not in known]
        if unknown and "*" not in ignored:  # not named: see `columns.column_names`
            raise ValueError(
                f"`table` must have only columns of the schema, column {unknown[0]} is "
                "not: declare it, drop it, or have it ignored (`Schema.encode`, "
                "--ignore)."
            )


@dataclass(frozen=True, repr=False)
class Outside:
    """Values outside a schema, by variable. Shows values of records: not private."""

    values: dict[str, list]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.values)

    def __repr__(self) -> str:
        found = [f"{name!r}: {values}" for name, values in self.values.items()]
        lines = ["NOT PRIVATE, for the curator alone.", *(found or ["nothing"])]
        return "\n".join(lines)


def as_records(
    rows: Records | columns.Table,
    variables: Sequence[Variable],
    absent: str | None = None,
    ignore: str | Collection[str] = (),
) -> Integer[Array, "n d"]:
    """Encoded records as they are, if valid; any other table encoded.

    Raises:
        ValueError: if the rows do not fit the variables.
    """
    schema = Schema(variables)
    if not isinstance(rows, np.ndarray | jax.Array):
        return schema.encode(rows, absent=absent, ignore=ignore)
    if absent is not None and rows.shape[1:] == (len(schema),):
        rows = jnp.asarray(rows).at[:, list(schema).index(absent)].set(0)
    check_records(rows, tuple(variable.size for variable in variables))
    return jnp.asarray(rows)


def _is_missing(value: object) -> bool:
    """Whether a cell has no value, which "other" does not stand for."""
    plain = isinstance(value, str | bool | int | float | np.generic)
    return not plain or bool(value != value) or bool(value == "")


def _labels(variable: Variable) -> np.ndarray:
    """Levels as an array, of objects if text and numbers are mixed."""
    kinds = {type(level) for level in variable.levels}
    return np.array(variable.levels, dtype=None if len(kinds) == 1 else object)
