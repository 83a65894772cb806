"""Encoding of tables as arrays of level indices or of numbers within bounds.

The code of a cell depends only on that cell and the schema: otherwise one record could
change the codes of all others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from dpjax._checks import of_type
from dpjax._private import Unpickled
from dpjax.data import sources
from dpjax.data.beside import Beside
from dpjax.data.categorical import Categorical, Encoder
from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable
from dpjax.tables.counts import check_records

_MOST_LEVELS = 1 << 24  # of a column of floats, which are then exact


def of_one_kind(
    variables: Sequence[AnyVariable],
) -> tuple[list[Categorical], list[Interval]]:
    """Return the categorical and the numeric variables, one list of which is empty."""
    categorical = [v for v in variables if isinstance(v, Categorical)]
    numeric = [v for v in variables if isinstance(v, Interval)]
    if categorical and numeric:
        raise ValueError(
            "`schema` must have variables of one kind here, got levels for "
            f"{categorical[0].name!r:.80} and bounds for {numeric[0].name!r}: "
            "`Schema.select` those of one kind."
        )
    return categorical, numeric


def encode_batches(
    source: sources.Table,
    variables: Sequence[AnyVariable],
    *,
    ignore: str | Collection[str] = (),
    absent: str | None = None,
    beside: Beside | None = None,
) -> Iterator[np.ndarray]:
    """Yield arrays of encoded records, in the order of the source.

    Args:
        source, ignore, absent: as in `Schema.encode_batches`.
        variables: the columns of the records.
        beside: reader of a further column, which sees each table before it is encoded.
    """
    empty = True
    read = [variable for variable in variables if variable.name != absent]
    encoders = {v.name: v.encoder() for v in variables if isinstance(v, Categorical)}
    wanted = read if beside is None else [*read, beside]
    known = {x.name for x in (*variables, *wanted)}
    for part, table in _tables(source, wanted, known, ignore):
        if beside is not None:
            beside.see(table, part.where)
        if sources.is_array(table):
            yield _checked_array(table, variables)
            empty = False
            continue
        encoded = {}
        for variable in read:
            column, outside = _encoded(table, variable, encoders)
            _check_length(column, next(iter(encoded.values()), column), variable)
            if outside:
                column = f"column {variable.name!r:.80}{part.where}"
                raise ValueError(variable.refusal(column, outside))
            encoded[variable.name] = column
        yield _in_columns(encoded, variables)
        empty = False
    if empty:
        yield _in_columns({}, variables)


@dataclass(frozen=True, repr=False)
class Outside(Unpickled):
    """Cells that a schema rejects, by variable; they are private values of records."""

    values: dict[str, list]

    def __bool__(self) -> bool:
        """Whether the schema rejects any cell."""
        return bool(self.values)

    def __repr__(self) -> str:
        found = [f"{name!r}: {values}" for name, values in self.values.items()]
        lines = ["NOT PRIVATE, for the curator alone.", *(found or ["nothing"])]
        return "\n".join(lines)


def outside_of(
    source: sources.Table,
    variables: Sequence[AnyVariable],
    ignore: str | Collection[str],
) -> dict[str, list]:
    """Return the cells that `encode_batches` rejects, by the name of their variable."""
    outside = {variable.name: [] for variable in variables}
    encoders = {v.name: v.encoder() for v in variables if isinstance(v, Categorical)}
    for _, table in _tables(source, variables, set(outside), ignore):
        if sources.is_array(table):
            raise ValueError("`table` must have columns with names, got an array.")
        for variable in variables:
            known = outside[variable.name]
            seen = {(type(cell), str(cell)) for cell in known}
            cells = _encoded(table, variable, encoders)[1]
            known += [x for x in cells if (type(x), str(x)) not in seen]
    return {name: cells for name, cells in outside.items() if cells}


def as_numbers(
    records: ArrayLike, width: int
) -> Float[Array, "n d"] | Float[np.ndarray, "n d"]:
    """Check that `records` have shape (n, width); return them unclipped, as floats."""
    check_numbers(records, width)
    if not isinstance(records, np.ndarray):
        return jnp.asarray(records).astype(float)
    with np.errstate(over="ignore"):  # on the host, since JAX would wrap wide integers
        records = records.astype(np.dtype(jnp.result_type(float)))
    return np.ma.filled(records, np.nan)


def as_mixed(
    records: ArrayLike, variables: Sequence[AnyVariable], absent: str | None = None
) -> Float[Array, "n d"] | Float[np.ndarray, "n d"]:
    """Check records of level indices and numbers; return them unclipped, as floats.

    The column `absent` is not checked. Level indices are whole numbers.
    """
    records = as_numbers(records, len(variables))
    numpy = np if isinstance(records, np.ndarray) else jnp
    places = [i for i, v in enumerate(variables) if isinstance(v, Categorical)]
    sizes = [
        None if v.name == absent else v.size
        for v in variables
        if isinstance(v, Categorical)
    ]
    columns = records[:, np.array(places, int)]
    whole = (columns == numpy.floor(columns)) & (abs(columns) < _MOST_LEVELS)
    check_records(numpy.where(whole, columns, -1).astype(np.int32), sizes)
    return records


def check_numbers(records: ArrayLike, width: int) -> None:
    """Raise `ValueError` unless `records` are real numbers of shape (n, width)."""
    shape, dtype = np.shape(records), getattr(records, "dtype", None)
    if len(shape) != 2 or shape[1] != width:
        raise ValueError(
            f"`records` must have shape (n, {width}), one column per variable, got "
            f"{shape}."
        )
    kinds = (jnp.floating, jnp.integer)
    if dtype is None or not any(jnp.issubdtype(dtype, kind) for kind in kinds):
        raise ValueError(f"`records` must be real numbers, got {dtype}.")


def _encoded(
    table: sources.Table, variable: AnyVariable, encoders: Mapping[str, Encoder]
) -> tuple[np.ndarray, list]:
    if isinstance(variable, Interval):
        numbers, others = sources.read_numbers(table, variable.name)
        return variable.clip(numbers), others
    return sources.encode_column(table, variable, encoders[variable.name])


def _tables(
    source: sources.Table,
    wanted: Sequence[AnyVariable | Beside],
    known: set[str],
    ignore: str | Collection[str],
) -> Iterator[tuple[sources.Part, sources.Table]]:
    """Yield tables or arrays of records, each with the part that it comes from."""
    names = [variable.name for variable in wanted]
    known = known_names(known, ignore)
    for part in sources.parts(source):
        if not (
            isinstance(part, sources.InMemoryTable) and sources.is_array(part.table)
        ):
            for beside in (x for x in wanted if isinstance(x, Beside)):
                _check_beside(beside, part)
            check_columns(part, names, known)
        for table in part.read(names):
            yield part, table


_ONE_COLUMN = " It has one column: the cells of a CSV line are separated by commas."


def known_names(declared: set[str], ignore: str | Collection[str]) -> set[str]:
    """Return the declared names of columns and those to ignore, one or several.

    Raises:
        ValueError: if a declared column is to be ignored.
    """
    of_type(Collection, "name the columns to ignore, or '*' for all", ignore=ignore)
    ignored = {ignore} if isinstance(ignore, str) else {*ignore}
    for name in sorted(declared & ignored):
        raise ValueError(
            f"`ignore` must not name a column that is used, got {name!r:.80}: leave it "
            "out of the schema or the network to release nothing of it."
        )
    return declared | ignored


def _check_beside(beside: Beside, part: sources.Part) -> None:
    if beside.name not in part.names():
        raise ValueError(
            f"`{beside.argument}` must name a column of the table, got no "
            f"{beside.name!r:.80}{part.where}."
        )


def check_columns(part: sources.Part, names: Sequence[str], known: set[str]) -> None:
    """Raise `ValueError` unless a part has the columns `names` and no unknown ones."""
    present = part.names()
    missing = [name for name in names if name not in present]
    if missing:
        in_file = not isinstance(part, sources.InMemoryTable)
        raise ValueError(
            "`table` must have a column for each variable, got no "
            f"{missing[0]!r:.80}{part.where}."
            + _ONE_COLUMN
            * (in_file and len(present) == 1 < len(names))
        )
    unknown = [i for i, name in enumerate(present, start=1) if name not in known]
    if unknown and "*" not in known:  # by number: see `sources.in_memory.check_names`
        raise ValueError(
            f"`table` must have only columns of the schema, column {unknown[0]} "
            f"{part.where.lstrip() + ' ' if part.place else ''}is not: declare "
            "it, drop it, or ignore it (`ignore` or --ignore)."
        )


def _checked_array(records: ArrayLike, variables: Sequence[AnyVariable]) -> np.ndarray:
    if any(isinstance(variable, Interval) for variable in variables):
        return np.asarray(as_mixed(records, variables))
    categorical, _ = of_one_kind(variables)
    check_records(records, tuple(variable.size for variable in categorical))
    return np.asarray(records)


def _in_columns(
    encoded: Mapping[str, np.ndarray], variables: Sequence[AnyVariable]
) -> np.ndarray:
    """Join columns, in the smallest type that holds every index, or in floats."""
    length = len(next(iter(encoded.values()), ()))
    numeric = any(isinstance(v, Interval) for v in variables)
    sizes = [v.size for v in variables if isinstance(v, Categorical)]
    indices = np.min_scalar_type(max(sizes, default=1) - 1)
    records = np.empty((length, len(variables)), float if numeric else indices)
    for i, variable in enumerate(variables):
        default = variable.missing if isinstance(variable, Interval) else 0
        records[:, i] = encoded.get(variable.name, default)
    return records


def _check_length(column: np.ndarray, first: np.ndarray, variable: AnyVariable) -> None:
    if len(column) != len(first):
        raise ValueError(
            f"`table` must have columns of one length, not {variable.name!r:.80}."
        )
