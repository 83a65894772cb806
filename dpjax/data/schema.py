"""The public facts about a table: its variables and their domains, and the encoding.

A schema is declared, never inferred. It turns any table into an array of level indices
or of numbers, which is what everything else in the library works on.
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
from jaxtyping import Array, ArrayLike, Real

from dpjax._documents import parse_json, read_text
from dpjax._private import Unpickled
from dpjax._types import Scalar
from dpjax.data import columns
from dpjax.data.encoding import (
    AnyVariable,
    as_numbers,
    check_numbers,
    encode_batches,
    encode_table,
    of_one_kind,
    outside_of,
)
from dpjax.data.intervals import Interval
from dpjax.data.variables import Variable
from dpjax.tables.counts import check_records


class Schema(Mapping[str, AnyVariable]):
    """Variables by name, in the order of the columns of encoded records.

    Args:
        variables: for each name, the list of levels, or
            `{"levels": [...], "other": level}` to map text and numbers outside the list
            to one of its levels instead of refusing them; of a numeric variable,
            `{"lower": 0, "upper": 120}`, and "missing" if cells without a number are
            not to become the middle. Or a sequence of `Variable` and `Interval`.

    Raises:
        ValueError: if a variable or a name is not valid.
    """

    def __init__(self, variables: Mapping[str, Any] | Sequence[AnyVariable]) -> None:
        if isinstance(variables, Mapping):
            variables = [_declared(name, x) for name, x in variables.items()]
        self._variables = {variable.name: variable for variable in variables}
        if not self._variables or len(self._variables) < len(variables):
            raise ValueError("`schema` must declare variables with different names.")

    @classmethod
    def from_json(cls, path: str | os.PathLike) -> "Schema":
        """The schema in a file `{"variables": {"income": {"levels": [0, 1]}}}`.

        A numeric variable is declared by `{"lower": 0, "upper": 120}`.

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
            raise ValueError(
                '`schema` must map each variable to {"levels": [...]} or to '
                '{"lower": …, "upper": …}.'
            )
        return cls(variables)

    def to_json(self) -> dict[str, object]:
        """What `from_json` reads, as plain data."""
        return {"variables": {name: self[name].to_json() for name in self}}

    @staticmethod
    def json_schema() -> dict[str, object]:
        """JSON Schema (draft 2020-12) of the files that `from_json` reads."""
        file = resources.files("dpjax.data").joinpath("table_schema.json")
        return json.loads(file.read_text("utf-8"))

    def __getitem__(self, name: str) -> AnyVariable:
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
        domains = [f"{name}: {_domain(variable)}" for name, variable in self.items()]
        return f"Schema({', '.join(domains)})"

    def select(self, names: Collection[str]) -> "Schema":
        """The schema of some of the variables, in this schema's order."""
        unknown = [name for name in names if name not in self]
        if unknown:
            raise ValueError(f"`names` must be declared, got {unknown[0]!r:.80}.")
        wanted = set(names)
        return Schema([v for v in self.values() if v.name in wanted])

    def encode(
        self,
        table: columns.Table,
        *,
        ignore: str | Collection[str] = (),
        absent: str | None = None,
    ) -> Real[Array, "n d"]:
        """Level indices or numbers of a table's records, one column a variable.

        Args:
            table: a path (CSV, CSV.gz, Parquet), an Arrow table, a DataFrame, a mapping
                of arrays, or what else `encode_batches` takes. Cells match a level as
                `Variable.code` says. In a numeric column text must show a number in
                decimal digits, booleans are 0 and 1, and a cell without a value (None,
                NaN, empty text) becomes the public `missing`.
            ignore: columns outside the schema that are to be left out; "*" for all.
            absent: a variable that is not read, but encoded as level 0 or `missing`.

        Returns:
            Of categorical variables, an array of the smallest unsigned type that holds
            every index. Of numeric ones, numbers clipped to their bounds (infinities
            too) in double precision, then rounded to JAX's default one: single unless
            64 bits are enabled, where a value may leave its bounds by that rounding.

        Privacy:
            Not private. The error about a value outside the levels, or that is no
            number, depends on the records: for the curator's eyes only. It never shows
            a value.

        Raises:
            ValueError: if a column is missing, not declared, or of unequal length, a
                value is missing or outside the levels of a variable without "other", a
                cell of a numeric variable holds something else, or the variables are
                of both kinds.
        """
        self._check_absent(absent)
        return jax.device_put(encode_table(table, list(self.values()), ignore, absent))

    def encode_batches(
        self,
        source: columns.Table,
        *,
        ignore: str | Collection[str] = (),
        absent: str | None = None,
    ) -> Iterator[Real[np.ndarray, "_ d"]]:
        """What `encode` gives, a batch at a time: the source need not fit in memory.

        Args:
            source: a path, a folder of files or a list of these; an Arrow data set or
                reader; one table; or an iterable of tables or of encoded records.
            ignore: as in `encode`, like `absent`.
            absent: a variable whose column is not read.

        Yields:
            Arrays on the host, of batches of whatever sizes they were read in; at least
            one.

        Raises:
            ValueError: as `encode`, and if a file cannot be read, named with its row
                group or row where that is known; after the batches before it.
        """
        self._check_absent(absent)
        variables = list(self.values())
        return encode_batches(source, variables, ignore=ignore, absent=absent)

    def _check_absent(self, absent: str | None) -> None:
        if absent is not None and absent not in self:
            raise ValueError(
                f"`absent` must be one of the variables, got {absent!r:.80}."
            )

    def decode(self, records: Real[ArrayLike, "n d"]) -> dict[str, np.ndarray]:
        """The levels, or the numbers, behind encoded records: a column a variable.

        Raises:
            ValueError: if the records are not indices of levels, or not numbers, or
                the variables are of both kinds.
        """
        categorical, numeric = of_one_kind(list(self.values()))
        if numeric:
            check_numbers(records, len(self))
            numbers = np.asarray(records, np.float64)
            return {name: numbers[:, i] for i, name in enumerate(self)}
        check_records(records, tuple(variable.size for variable in categorical))
        records = np.asarray(records)
        return {v.name: _labels(v)[records[:, i]] for i, v in enumerate(categorical)}

    def check(
        self, table: columns.Table, *, ignore: str | Collection[str] = ()
    ) -> "Outside":
        """The cells that `encode` refuses, by variable: for the curator alone.

        They are the values outside the levels, and what is no number. Numbers outside
        their bounds are none of them, for they are clipped.

        Privacy:
            None. The result shows values of records, and says so when it is printed.

        Raises:
            ValueError: if a column is missing or not declared.
        """
        return Outside(outside_of(table, list(self.values()), ignore))


@dataclass(frozen=True, repr=False)
class Outside(Unpickled):
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
    rows: Real[ArrayLike, "n d"] | columns.Table,
    variables: Sequence[AnyVariable],
    absent: str | None = None,
    ignore: str | Collection[str] = (),
) -> Real[Array, "n d"]:
    """Encoded records as they are, if valid; any other table encoded.

    An array of numbers is valid if it has a column for each numeric variable. It is not
    clipped: that is for the statistic to do.

    Raises:
        ValueError: if the rows do not fit the variables.
    """
    schema = Schema(variables)
    if not isinstance(rows, np.ndarray | jax.Array):
        return schema.encode(rows, absent=absent, ignore=ignore)
    categorical, numeric = of_one_kind(variables)
    if numeric:
        rows = as_numbers(rows, len(numeric))
    if absent is not None and rows.shape[1:] == (len(schema),):
        index = list(schema).index(absent)
        rows = _fill(rows, index, numeric[index].missing if numeric else 0)
    if categorical:
        check_records(rows, tuple(variable.size for variable in categorical))
    return jnp.asarray(rows)


@jax.jit
def _fill(rows: Array, column: Scalar, value: Scalar) -> Array:
    """One value in one column, by one program whichever it is."""
    return rows.at[:, column].set(jnp.asarray(value).astype(rows.dtype))


def _declared(name: str, declared: Any) -> AnyVariable:
    """A variable as it is, or the one of a declaration, whose keys tell its kind."""
    if isinstance(declared, Variable | Interval):
        return declared
    if not isinstance(declared, Mapping):
        return Variable.from_json(name, declared)
    numeric = "lower" in declared or "upper" in declared
    if numeric == ("levels" in declared):
        raise ValueError(
            f'`schema` must declare {name!r:.80} either by "levels" or by "lower" and '
            f'"upper", got {"both" if numeric else "neither"}.'
        )
    return (Interval if numeric else Variable).from_json(name, declared)


def _domain(variable: AnyVariable) -> str:
    """What `repr` shows: the number of levels, or the bounds."""
    if isinstance(variable, Variable):
        return str(variable.size)
    return f"[{variable.lower:.12g}, {variable.upper:.12g}]"


def _labels(variable: Variable) -> np.ndarray:
    """Levels as an array, of objects if text and numbers are mixed."""
    kinds = {type(level) for level in variable.levels}
    return np.array(variable.levels, dtype=None if len(kinds) == 1 else object)
