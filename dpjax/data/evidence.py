"""Encoding of incomplete records, in which some levels or numbers are unknown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, Integer, Real

from dpjax.data import sources
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Encoder
from dpjax.data.encoding import as_mixed
from dpjax.data.impossible import refuse_records
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable
from dpjax.data.matching import is_missing
from dpjax.data.mixed_net import MixedNet
from dpjax.data.schema import Schema

UNKNOWN = -1
"""What stands for the level of a variable that is not known; NaN for a number."""


def encode_evidence(
    table: sources.Table, schema: Schema, unread: str | None = None
) -> Real[np.ndarray, "n d"]:
    """Encode a table whose columns may be absent and whose cells may be missing.

    Args:
        table: a table of any source of `Schema.encode`, a mapping from names to single
            values for one record, or an array of level indices with -1 for an unknown
            level. Columns that are not of the schema are ignored.
        schema: the variables. A missing cell of a variable with levels and a declared
            `missing` has that level, and is unknown otherwise. A missing number is
            unknown. If there are numeric variables, the result is of floats, with NaN
            for an unknown number, and so is a given array.
        unread: a variable that is unknown in all records; its column is not read.

    Raises:
        ValueError: if a cell has none of the levels, an index is no level, or columns
            have different lengths. The message shows no cell.
    """
    variables = list(schema.values())
    if sources.is_array(table):
        found = _of_array(np.asarray(table), variables)
    else:
        if isinstance(table, Mapping):
            _refuse_levels(table, variables)
            table = {x: [v] if _is_one(v) else v for x, v in table.items()}
        found = np.concatenate([*_blocks(table, variables, unread)])
    if unread is not None:
        place = list(schema).index(unread)
        found[:, place] = _unknown(1, variables)[0, place]
    return found


def has_unknown(records: Any) -> bool:
    """Return whether an array has unknown levels; a traced one seems to have none."""
    if not np.issubdtype(records.dtype, np.signedinteger):
        return False
    try:
        return bool((records < 0).any())
    except jax.errors.ConcretizationTypeError:
        return False


def evidence_of(net: BayesNet | MixedNet, evidence: Any) -> Real[Array, "n d"]:
    """Encode known values of a network's variables; None and {} are one without any.

    Raises:
        ValueError: if a dictionary names an unknown variable, or as `encode_evidence`.
    """
    if evidence is None or (isinstance(evidence, Mapping) and not evidence):
        return jnp.asarray(_unknown(1, net.variables))
    if isinstance(evidence, Mapping):
        unknown = [name for name in evidence if name not in net.names]
        if unknown:
            raise ValueError(
                "`evidence`, or `given`, must name variables of the network that have "
                f"levels, got {unknown[0]!r:.80}: these are "
                f"{', '.join(net.names):.200}."
            )
    return jnp.asarray(encode_evidence(evidence, net.schema))


def completed(
    net: BayesNet, table: sources.Table, target: str | None = None
) -> tuple[Integer[Array, "n d"], Int32[Array, "n d"] | None]:
    """Encode records with level 0 for unknown levels, and the evidence if it matters.

    The evidence is None if only the target is unknown, if there is one. Records of
    which all else is known are refused if they have an impossible combination.
    """
    schema = net.schema
    known = encode_evidence(table, schema, unread=target)
    records = np.maximum(known, 0).astype(np.min_scalar_type(max(net.sizes) - 1))
    whole = (known < 0).sum(axis=1) == (target is not None)
    refuse_records(records[whole], schema.impossible, list(schema), target)
    return jnp.asarray(records), None if whole.all() else jnp.asarray(known)


def _blocks(
    table: sources.Table, variables: Sequence[AnyVariable], unread: str | None
) -> Iterator[Real[np.ndarray, "n d"]]:
    """Encode the blocks of all parts of a table, and one without rows."""
    yield _unknown(0, variables)
    for part in sources.parts(table):
        wanted = [x.name for x in variables if x.name in part.names()]
        for one in part.read(wanted) if wanted else [{}]:
            yield _of_table(one, variables, unread, part.place)


def _refuse_levels(given: Mapping, variables: Sequence[AnyVariable]) -> None:
    """Raise `ValueError` if a variable's single value is no level, or no number."""
    for variable in variables:
        value = given.get(variable.name)
        if not isinstance(value, str):
            continue
        if not _encoded({variable.name: [value]}, variable)[1]:
            continue
        wanted = "a number"
        if not isinstance(variable, Interval):
            levels = ", ".join(map(str, variable.levels))
            wanted = f"one of its levels, which are {levels:.200}"
        name = f"{variable.name!r:.80}"
        raise ValueError(f"`evidence`, or `given`, must give {name} {wanted}.")


def _is_one(value: object) -> bool:
    """Whether a value is one cell and not a column."""
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _unknown(n: int, variables: Sequence[AnyVariable]) -> Real[np.ndarray, "n d"]:
    """Return n records of which nothing is known."""
    numeric = [isinstance(variable, Interval) for variable in variables]
    record = np.where(numeric, np.nan, UNKNOWN) if any(numeric) else UNKNOWN
    dtype = float if any(numeric) else np.int32
    return np.full((n, len(variables)), record, dtype)


def _of_array(
    records: np.ndarray, variables: Sequence[AnyVariable]
) -> Real[np.ndarray, "n d"]:
    sizes = [x.size for x in variables if not isinstance(x, Interval)]
    if len(sizes) < len(variables):
        levels = [not isinstance(variable, Interval) for variable in variables]
        known = np.where(levels & (records == UNKNOWN), 0, records)
        as_mixed(known, variables)
        return records.astype(float)
    if records.ndim != 2 or records.shape[1] != len(sizes) or records.dtype.kind != "i":
        raise ValueError(
            f"`evidence` must be signed integers of shape (n, {len(sizes)}), level "
            f"indices or -1, got {records.dtype} of shape {records.shape}."
        )
    if ((records < UNKNOWN) | (records >= np.array(sizes))).any():
        raise ValueError(
            "`evidence` must hold indices of levels, or -1 for unknown ones: encode it "
            "with the schema."
        )
    return records.astype(np.int32)


def _of_table(
    table: sources.Table,
    variables: Sequence[AnyVariable],
    unread: str | None,
    place: str,
) -> Real[np.ndarray, "n d"]:
    names, columns = {*sources.InMemoryTable(table).names()}, {}
    for variable in variables:
        if variable.name in names and variable.name != unread:
            codes, outside = _encoded(table, variable)
            if outside:
                where = f"column {variable.name!r:.80}" + (place and f" of {place}")
                raise ValueError(variable.refusal(where, outside))
            columns[variable.name] = codes
    lengths = {len(codes) for codes in columns.values()}
    if not lengths:
        beside = "" if unread is None else f", beside {unread!r:.80}"
        raise ValueError(
            f"`evidence` must have a column of the schema{beside}, got none."
        )
    if len(lengths) > 1:
        raise ValueError("`evidence` must have columns of one length, got several.")
    found = _unknown(lengths.pop(), variables)
    for i, variable in enumerate(variables):
        if variable.name in columns:
            found[:, i] = columns[variable.name]
    return found


def _encoded(table: sources.Table, variable: AnyVariable) -> tuple[np.ndarray, list]:
    """Encode a column, with what stands for what is unknown in missing cells."""
    if isinstance(variable, Interval):
        numbers, outside = sources.read_numbers(table, variable.name)
        numbers = np.asarray(numbers, np.float64)
        return np.clip(numbers, variable.lower, variable.upper), outside
    encode = _Incomplete(variable.encoder(), variable.size)
    codes, outside = sources.encode_column(table, variable, encode)
    codes = codes.astype(np.int32)
    return np.where(codes == variable.size, UNKNOWN, codes), outside


class _Incomplete:
    """An encoder that gives missing cells without a level the index after the last."""

    def __init__(self, encode: Encoder, size: int):
        self._encode, self._size = encode, size

    def __call__(self, cells: Sequence[object]) -> list[int | None]:
        codes = self._encode(cells)
        for i, code in enumerate(codes):
            if code is None and (cells[i] is None or is_missing(cells[i])):
                codes[i] = self._size
        return codes
