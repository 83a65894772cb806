"""Encoding of incomplete records, in which the levels of some variables are unknown."""

__all__ = [
    "UNKNOWN",
    "completed",
    "encode_evidence",
    "evidence_of",
    "has_unknown",
]

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, Integer

from dpjax.data import sources
from dpjax.data.bayes_net import BayesNet
from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.encoding import of_one_kind
from dpjax.data.impossible import refuse_records
from dpjax.data.matching import is_missing
from dpjax.data.schema import Schema

UNKNOWN = -1
"""What stands for the level of a variable that is not known."""


def encode_evidence(
    table: sources.Table, schema: Schema, unread: str | None = None
) -> Int32[np.ndarray, "n d"]:
    """Encode a table whose columns may be absent and whose cells may be missing.

    Args:
        table: a table of any source of `Schema.encode`, a mapping from names to single
            values for one record, or an array of level indices with -1 for an unknown
            level. Columns that are not of the schema are ignored.
        schema: the variables, which have levels. A missing cell of a variable with a
            declared `missing` has that level, and is unknown otherwise.
        unread: a variable that is unknown in all records; its column is not read.

    Raises:
        ValueError: if a cell has none of the levels, an index is no level, or columns
            have different lengths. The message shows no cell.
    """
    variables, _ = of_one_kind(list(schema.values()))
    if sources.is_array(table):
        found = _of_array(np.asarray(table), variables)
    else:
        if isinstance(table, Mapping):
            table = {x: [v] if _is_one(v) else v for x, v in table.items()}
        found = np.concatenate([*_blocks(table, variables, unread)])
    if unread is not None:
        found[:, list(schema).index(unread)] = UNKNOWN
    return found


def has_unknown(records: Any) -> bool:
    """Return whether an array has unknown levels; a traced one seems to have none."""
    if not np.issubdtype(records.dtype, np.signedinteger):
        return False
    try:
        return bool((records < 0).any())
    except jax.errors.ConcretizationTypeError:
        return False


def evidence_of(net: BayesNet, evidence: Any) -> Int32[Array, "n d"]:
    """Encode known levels of a network's variables; None is one record without any.

    Raises:
        ValueError: if a dictionary names an unknown variable, or as `encode_evidence`.
    """
    if evidence is None:
        return jnp.full((1, len(net.names)), UNKNOWN, jnp.int32)
    if isinstance(evidence, Mapping):
        unknown = [name for name in evidence if name not in net.names]
        if unknown:
            raise ValueError(
                "`evidence` must name variables of the network, got "
                f"{unknown[0]!r:.80}."
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
    table: sources.Table, variables: Sequence[Categorical], unread: str | None
) -> Iterator[Int32[np.ndarray, "n d"]]:
    """Encode the blocks of all parts of a table, and one without rows."""
    yield np.zeros((0, len(variables)), np.int32)
    for part in sources.parts(table):
        wanted = [x.name for x in variables if x.name in part.names()]
        for one in part.read(wanted) if wanted else [{}]:
            yield _of_table(one, variables, unread, part.place)


def _is_one(value: object) -> bool:
    """Whether a value is one cell and not a column."""
    return isinstance(value, str | bytes) or not hasattr(value, "__len__")


def _of_array(
    records: np.ndarray, variables: Sequence[Categorical]
) -> Int32[np.ndarray, "n d"]:
    sizes = [variable.size for variable in variables]
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
    variables: Sequence[Categorical],
    unread: str | None,
    place: str,
) -> Int32[np.ndarray, "n d"]:
    names, columns = {*sources.InMemoryTable(table).names()}, {}
    for variable in variables:
        if variable.name in names and variable.name != unread:
            encode = _Incomplete(variable)
            codes, outside = sources.encode_column(table, variable, encode)
            if outside:
                where = f"column {variable.name!r:.80}" + (place and f" of {place}")
                raise ValueError(variable.refusal(where, outside))
            columns[variable.name] = codes
    lengths = {len(codes) for codes in columns.values()}
    if len(lengths) != 1:
        raise ValueError(
            "`evidence` must have at least one column of the schema, and columns of "
            f"one length, got {len(columns)} columns of {len(lengths)} lengths."
        )
    found = np.full((lengths.pop(), len(variables)), UNKNOWN, np.int32)
    for i, variable in enumerate(variables):
        if variable.name in columns:
            codes = columns[variable.name].astype(np.int32)
            found[:, i] = np.where(codes == variable.size, UNKNOWN, codes)
    return found


class _Incomplete:
    """An encoder that gives missing cells without a level the index after the last."""

    def __init__(self, variable: Categorical):
        self._encode: Encoder = variable.encoder()
        self._size = variable.size

    def __call__(self, cells: Sequence[object]) -> list[int | None]:
        codes = self._encode(cells)
        for i, code in enumerate(codes):
            if code is None and (cells[i] is None or is_missing(cells[i])):
                codes[i] = self._size
        return codes
