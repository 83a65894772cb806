"""Schemas, which declare the variables of a table and encode it as an array.

A schema is never inferred from data. Encoded records are level indices or numbers.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import jax
import jax.random as jr
import numpy as np
from jaxtyping import Array, ArrayLike, Real

from dpjax._checks import typed_key
from dpjax._documents import parse_json, read_text
from dpjax._types import Key
from dpjax.data import sources
from dpjax.data.categorical import Categorical
from dpjax.data.encoding import (
    Outside,
    as_mixed,
    encode_batches,
    outside_of,
)
from dpjax.data.impossible import Combination, as_declared, checked, parse
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable, all_declared
from dpjax.data.public_lists import of_json_schema
from dpjax.tables.counts import check_records


class Schema(Mapping[str, AnyVariable]):
    """A mapping from names to variables, in the order of encoded records' columns.

    Args:
        variables: a sequence of `Variable` or `Interval`, or a mapping from names to
            declarations. A categorical variable is declared by its list of levels, or
            by `{"levels": [...]}` and optionally "other", "missing", "missing_values"
            and "codes", as for `Variable`; by `{"lower": 0, "upper": 120, "edges":
            [18, 65]}`, or "bins" in place of "edges", as for `Bins`; or by `{"lower":
            "2020-01-01", "upper": "2024-12-31", "unit": "month"}`, as for `Periods`. A
            numeric one is declared by `{"lower": 0, "upper": 120}` and optionally
            "missing", the value of cells without a number (default: the midpoint).
        impossible: combinations of levels that no record can have, from public facts:
            mappings from names of at least two categorical variables to a level or a
            list of levels, such as `{"sex": "male", "pregnant": "yes"}`.

    Raises:
        ValueError: if a variable, a name or a combination is not valid.
    """

    def __init__(
        self,
        variables: Mapping[str, Any] | Sequence[AnyVariable],
        *,
        impossible: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        every = all_declared(variables)
        self._variables = {variable.name: variable for variable in every}
        if not self._variables or len(self._variables) < len(every):
            raise ValueError("`schema` must declare variables with different names.")
        self._impossible = parse(impossible, self._variables)

    @property
    def impossible(self) -> tuple[Combination, ...]:
        """Impossible combinations, each of pairs of a name and of level indices."""
        return self._impossible

    @classmethod
    def from_json(cls, path: str | os.PathLike) -> "Schema":
        """Read a file `{"variables": {"x": {"levels": [0, 1]}, "y": {"lower": …}}}`.

        It may have a list "impossible" beside "variables".

        Raises:
            ValueError: if the file is not of this form.
        """
        document = parse_json(read_text(path, "schema"), "schema")
        if not isinstance(document, dict) or set(document) - {
            *("$schema", "impossible")
        } != {"variables"}:
            raise ValueError('`schema` must be of the form {"variables": {...}}.')
        variables = document["variables"]
        form = '{"levels": [...]} or to {"lower": …, "upper": …}'
        if not isinstance(variables, dict):
            raise ValueError(f"`schema` must map each variable to {form}.")
        for name, declaration in variables.items():
            if not isinstance(declaration, dict):
                raise ValueError(
                    f"`schema` must map each variable to {form}, {name!r:.80} is not: "
                    'levels alone are {"levels": [...]} in a file.'
                )
        return cls(variables, impossible=document.get("impossible", ()))

    @classmethod
    def from_json_schema(cls, source: Any) -> "Schema":
        """Make the schema that the JSON Schema of a record contains.

        Args:
            source: the JSON Schema as a dictionary, its path, or a pydantic model. A
                property with "enum", "const" or type "boolean" is a `Variable`, and one
                with a minimum and a maximum an `Interval`. One that may be null and has
                levels gets the level "missing".

        Raises:
            ValueError: if `source` is none of these, or a property is neither of
                finitely many values nor bounded.
        """
        return cls(of_json_schema(source))

    def to_json(self) -> dict[str, object]:
        """Return the schema as the JSON object that `from_json` reads from a file."""
        variables = {name: self[name].to_json() for name in self}
        if not self._impossible:
            return {"variables": variables}
        declared = as_declared(self._impossible, self)
        return {"variables": variables, "impossible": declared}

    @staticmethod
    def json_schema() -> dict[str, object]:
        """Return the JSON Schema (draft 2020-12) that files for `from_json` satisfy."""
        file = resources.files("dpjax.data").joinpath("table_schema.json")
        return json.loads(file.read_text("utf-8"))

    def __getitem__(self, name: str) -> AnyVariable:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __eq__(self, other: object) -> bool:
        """Whether both schemas have equal declarations in the same order."""
        if not isinstance(other, Schema):
            return NotImplemented
        same = self._impossible == other._impossible
        return same and list(self.values()) == list(other.values())

    def __repr__(self) -> str:
        domains = [f"{name}: {_domain(variable)}" for name, variable in self.items()]
        return f"Schema({', '.join(domains)})"

    def select(self, names: Collection[str]) -> "Schema":
        """Return the schema of the variables `names`, in the order of this schema.

        It has the impossible combinations of which it has all variables.
        """
        unknown = [name for name in names if name not in self]
        if unknown:
            raise ValueError(f"`names` must be declared, got {unknown[0]!r:.80}.")
        wanted = set(names)
        within = [x for x in self._impossible if {name for name, _ in x} <= wanted]
        variables = [v for v in self.values() if v.name in wanted]
        return Schema(variables, impossible=as_declared(within, self))

    def encode(
        self,
        table: sources.Table,
        *,
        ignore: str | Collection[str] = (),
        absent: str | None = None,
    ) -> Real[Array, "n d"]:
        """Encode a table as level indices or numbers, with one column per variable.

        Args:
            table: a path (CSV, CSV.gz, Parquet), an Arrow table, a DataFrame, a mapping
                of arrays, or any other source of `encode_batches`. `Variable.code`
                gives the level of a cell. In a numeric column, text must be a number
                in decimal digits, booleans are 0 and 1, and a cell without a value
                (None, NaN, empty text) becomes the public `missing`.
            ignore: undeclared columns to leave out; "*" for all.
            absent: a variable whose column is not read, but filled with level 0 if the
                variable is categorical, or with its `missing` if it is numeric.

        Returns:
            Level indices in the smallest unsigned type; or numbers, clipped to their
            bounds in double precision, then rounded to JAX's default precision. In
            single precision a value may exceed its bounds by that rounding. If some
            variables are numeric, level indices are floats too.

        Privacy:
            Not private. Whether an error is raised for a cell depends on the records,
            so only the curator may see the error. Its message never shows a value.

        Raises:
            ValueError: if a column is missing, undeclared, or of another length than
                others; if a categorical cell is missing or outside the levels and
                there is no "other"; if a numeric cell is not a number; or if a record
                has an impossible combination.
        """
        batches = list(self.encode_batches(table, ignore=ignore, absent=absent))
        joined = batches[0] if len(batches) == 1 else np.concatenate(batches)
        return jax.device_put(joined)

    def encode_batches(
        self,
        source: sources.Table,
        *,
        ignore: str | Collection[str] = (),
        absent: str | None = None,
    ) -> Iterator[Real[np.ndarray, "_ d"]]:
        """Encode a source batch by batch, so that it need not fit in memory.

        Args:
            source: a path, a folder of files or a list of these; an Arrow data set or
                reader; one table; or an iterable of tables or of encoded records.
            ignore, absent: as in `encode`.

        Yields:
            A NumPy array of encoded records for each batch; at least one array.

        Raises:
            ValueError: as `encode`; also if part of a file cannot be read, after the
                batches before it. The message names the row group or row, if known.
        """
        if absent is not None and absent not in self:
            raise ValueError(
                f"`absent` must be one of the variables, got {absent!r:.80}."
            )
        variables = list(self.values())
        batches = encode_batches(source, variables, ignore=ignore, absent=absent)
        return checked(batches, self._impossible, list(self), absent)

    def decode(
        self, records: Real[ArrayLike, "n d"], key: Key | None = None
    ) -> dict[str, np.ndarray]:
        """Return a dictionary from each variable's name to the records' values.

        Args:
            records: encoded records.
            key: a JAX key. If it is given, the value of a number in bins is uniform
                within its bin, and that of a date within its period. If it is None,
                the value is the label of the bin or period.

        Raises:
            ValueError: if the records do not fit the variables, or if the key is not
                typed.
        """
        variables = list(self.values())
        sizes = [v.size for v in variables if isinstance(v, Categorical)]
        if len(sizes) == len(variables):
            check_records(records, sizes)
        else:
            as_mixed(records, variables)  # only checks: its floats are shorter
            records = np.asarray(records, np.float64)
        if key is None or not sizes:
            shares = [None] * len(variables)
        else:
            typed_key(key=key)
            shares = np.asarray(jr.uniform(key, np.shape(records)[::-1]))
        columns = zip(variables, np.asarray(records).T, shares, strict=True)
        return {v.name: _decoded(v, column, share) for v, column, share in columns}

    def check(
        self, table: sources.Table, *, ignore: str | Collection[str] = ()
    ) -> Outside:
        """Return the cells that `encode` rejects, by variable, for the curator only.

        These are values outside the levels, and numeric cells that are not numbers.
        Numbers outside their bounds are clipped and not listed.

        Privacy:
            Not private. The result contains values of records; its `repr` says so.

        Raises:
            ValueError: if a column is missing or undeclared.
        """
        return Outside(outside_of(table, list(self.values()), ignore))


def _decoded(
    variable: AnyVariable, column: np.ndarray, shares: np.ndarray | None
) -> np.ndarray:
    if isinstance(variable, Interval):
        return column
    codes = column if column.dtype.kind in "iu" else column.astype(int)
    if shares is None:
        return variable.labels()[codes]
    return variable.values(codes, shares)


def _domain(variable: AnyVariable) -> str:
    if isinstance(variable, Categorical):
        return str(variable.size)
    return f"[{variable.lower:.12g}, {variable.upper:.12g}]"
