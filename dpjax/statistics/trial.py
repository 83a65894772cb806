"""Trial of a statistic on invented records, for statistics of other packages.

`dpjax.release` adds up what a statistic measures of pieces of a table, and adds noise
in proportion to the sensitivity that the statistic states. Both are promises of the
class that defines it. A trial may find records that break them. It is no proof.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int64, Real

from dpjax.data.intervals import Interval
from dpjax.data.kinds import AnyVariable
from dpjax.noise.discrete_laplace import LARGEST
from dpjax.privacy import REPLACE_ONE, Adjacency
from dpjax.statistics.base import Statistic

_MOST = 256  # different records
_ROWS = 1 << 14  # of a piece of a table
_WORK = 1 << 27  # differences of two records
_VALUES = 24  # of a variable
_SEED = 2026


def is_foreign(*things: Any) -> bool:
    """Whether the class of one of the things is not defined by dpjax."""
    return any(type(x).__module__.partition(".")[0] != "dpjax" for x in things)


def family_of(statistic: Statistic) -> Any:
    """Return the family of a statistic, or the statistic itself if it has none."""
    return getattr(statistic, "family", statistic)


def within_bounds(
    records: Real[Array, "n d"], variables: Sequence[AnyVariable]
) -> Real[Array, "n d"]:
    """Return records with numbers within their bounds, and 32-bit indices of levels.

    NaN becomes the number that is declared for missing cells.
    """
    if not any(isinstance(variable, Interval) for variable in variables):
        return records.astype(jnp.int32)
    columns = []
    for cells, variable in zip(records.astype(float).T, variables, strict=True):
        if isinstance(variable, Interval):
            missing: Any = variable.missing
            cells = jnp.where(jnp.isnan(cells), missing, cells)
            cells = jnp.clip(cells, variable.lower, variable.upper)
        columns.append(cells)
    return jnp.stack(columns, axis=1)


def check_statistic(statistic: Statistic, adjacency: Adjacency) -> None:
    """Raise `ValueError` if a statistic breaks its contract on invented records.

    The records have all combinations of some levels and numbers of the variables, or a
    fixed choice of at most 256 of them. `dpjax.release` calls this function before it
    reads a table, if the statistic or its family is of another package. It is also for
    tests of such a package. It does not find a fault that only other records show, and
    finds nothing if all records that it invents are impossible combinations.

    Args:
        statistic: the statistic.
        adjacency: "replace-one" or "add-remove".

    Privacy:
        No record is read.

    Raises:
        ValueError: if `measure` fails under `jit`, or is not `length` integers; if it
            is not the sum over the records; if a record adds more than
            `most_per_record`; or if two neighbours differ by more than `sensitivity`,
            `squared_sensitivity` or `part_sensitivity`.
    """
    try:
        _check(statistic, adjacency)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise ValueError(
            f"`what` must be hashable, a {type(statistic).__name__} is not: make its "
            "class a frozen dataclass whose fields are hashable."
        ) from None


@functools.lru_cache(maxsize=64)
def _check(statistic: Statistic, adjacency: Adjacency) -> None:
    _refuse_sizes(statistic)
    starts = np.cumsum([0, *statistic.parts.values()])[:-1]
    found = {"sensitivity": 0, "squared_sensitivity": 0, "part_sensitivity": 0}
    for apart in _apart(_of_each(statistic), adjacency):
        by_name = apart.sum(axis=1), (apart**2).sum(axis=1)
        if len(starts):
            by_name += (np.add.reduceat(apart, starts, axis=1),)
        for name, values in zip(found, by_name, strict=False):
            found[name] = max(found[name], int(values.max(initial=0)))
    for name, least in found.items():
        if least or name == "sensitivity":
            _refuse_low(statistic, name, adjacency, least)


def _refuse_sizes(statistic: Statistic) -> None:
    for name in ("length", "most_per_record"):
        size = getattr(statistic, name)
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(
                f"`{name}` of {statistic.kind} must be an integer of at least 1, got "
                f"{size!r:.40}."
            )
    if statistic.parts and sum(statistic.parts.values()) != statistic.length:
        raise ValueError(
            f"`parts` of {statistic.kind} must have lengths of sum `length`, "
            f"{statistic.length}, got {sum(statistic.parts.values())}."
        )


def _of_each(statistic: Statistic) -> Int64[np.ndarray, "k m"]:
    """Return what the statistic is of each invented record; check that it is a sum."""
    records = invented_records(statistic)
    what = f"`measure` of {statistic.kind}"
    try:
        found: Any = jax.eval_shape(statistic.measure, records)
    except Exception as error:
        raise ValueError(
            f"{what} must be a function that `jit` compiles, made of jax.numpy alone, "
            f"but raises {type(error).__name__}."
        ) from error
    kind, shape = str(getattr(found, "dtype", type(found))), getattr(found, "shape", ())
    if not kind.startswith(("int", "uint")) or shape != (statistic.length,):
        raise ValueError(
            f"{what} must return `length`, {statistic.length}, integers in one vector, "
            f"got {kind} of shape {shape}."
        )
    single = jax.jit(lambda rows: lax.map(statistic.measure, rows[:, None]))(records)
    each = np.asarray(single, np.int64)
    most = int(np.abs(each).max(initial=0))
    _refuse_less(statistic, "most_per_record", most, statistic.most_per_record)
    for places in _samples(len(each), LARGEST // statistic.most_per_record):
        whole = np.asarray(jax.jit(statistic.measure)(records[places]), np.int64)
        if not np.array_equal(whole, each[places].sum(axis=0)):
            raise ValueError(
                f"{what} must be a sum over records, since a table is measured piece "
                "by piece, but of invented records it is not the sum of what it is of "
                "each."
            )
    return each


def _samples(size: int, most: int) -> list[np.ndarray]:
    """Return places of records: none; all in turn; the first and the last, repeated."""
    rows = max(1, min(_ROWS, most))
    ends = [np.full(rows, place) for place in (0, size - 1)] if size else []
    every = [np.arange(rows) % size] if size else []
    return [np.zeros(0, int), *every, *ends]


def _apart(each: np.ndarray, adjacency: Adjacency) -> Iterator[np.ndarray]:
    """Yield absolute differences of neighbours, one neighbour for each row."""
    if adjacency == REPLACE_ONE:
        yield from (np.abs(each - one) for one in each)
    else:
        yield np.abs(each)


def _refuse_low(
    statistic: Statistic, name: str, adjacency: Adjacency, found: int
) -> None:
    stated = getattr(statistic, name)(adjacency)
    if getattr(stated, "adjacency", None) != adjacency:
        raise ValueError(
            f"`{name}` of {statistic.kind} must return a `Sensitivity` for the "
            f"adjacency it is given, {adjacency}."
        )
    _refuse_less(statistic, name, found, stated.value)


def _refuse_less(statistic: Statistic, name: str, found: int, stated: Any) -> None:
    if found > stated:
        raise ValueError(
            f"`{name}` of {statistic.kind} must be at least {found}, as invented "
            f"records show, got {stated}."
        )


def invented_records(statistic: Statistic) -> Real[Array, "k d"]:
    """Return records that the variables of a statistic allow, the same each time."""
    variables, rng = statistic.variables, np.random.default_rng(_SEED)
    columns = [_values(variable, rng) for variable in variables]
    most = math.isqrt(_WORK // max(1, statistic.length))
    most = min(_MOST, max(8, most))
    if math.prod(map(len, columns)) <= most:
        records = np.array([*itertools.product(*columns)])
    else:
        either = [(x, x[[0, -1]]) for x in columns]  # any values, and the ends
        drawn = [
            np.where(rng.random(most) < 0.5, *(rng.choice(x, most) for x in pair))
            for pair in either
        ]
        records = np.stack(drawn, axis=1)
        records[:2] = [[x[0] for x in columns], [x[-1] for x in columns]]
    net = statistic.network
    names = [variable.name for variable in variables]
    for impossible in () if net is None else net.impossible:
        hit = [np.isin(records[:, _place(x, names)], codes) for x, codes in impossible]
        records = records[~np.all(hit, axis=0)]
    return within_bounds(jnp.asarray(records), variables)


def _values(variable: AnyVariable, rng: np.random.Generator) -> np.ndarray:
    if not isinstance(variable, Interval):
        few = rng.permutation(variable.size)[:_VALUES]
        return np.unique([0, *few, variable.size - 1]).astype(np.int32)
    inner = rng.uniform(variable.lower, variable.upper, 4)
    middle = variable.lower + (variable.upper - variable.lower) / 2
    return np.array([variable.lower, variable.missing, middle, *inner, variable.upper])


def _place(variable: str | int, names: Sequence[str]) -> int:
    return variable if isinstance(variable, int) else names.index(variable)
