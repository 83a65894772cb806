"""Event logs as networks: which fields are counted in which cells."""

__all__ = [
    "cell_counts",
    "check_states",
    "declared_cells",
    "event_counts",
    "event_network",
    "log_variables",
]

import operator
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Int, Real

from dpjax._checks import one_of, whole
from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.columns import Table
from dpjax.data.encoding import AnyVariable
from dpjax.data.schema import as_records
from dpjax.data.variables import Level, Variable
from dpjax.statistics import NetworkCounts

_MOST_STATES = 127  # paths are kept as bytes


def event_network(
    variables: Sequence[AnyVariable] | Mapping[str, AnyVariable], region: str, time: str
) -> BayesNet:
    """The network whose families are the histograms of every field in every cell.

    A cell is a region at a time: the public product of all levels of both, whether any
    event is in it or not. All other variables are fields of an event.

    Args:
        variables: of the log, or its `Schema`.
        region: name of the variable that tells which path an event is on.
        time: name of the one that tells when; its levels are consecutive integers.

    Privacy:
        Family counts of this network have sensitivity 2 a field under replace-one, even
        if a record moves to another cell, and 1 a field under add-remove.

    Raises:
        ValueError: if there is no such region or time, no field, times are not
            consecutive integers, or a variable is numeric.
    """
    if isinstance(variables, Mapping):
        variables = list(variables.values())
    numeric = [x.name for x in variables if not isinstance(x, Variable)]
    if numeric:
        raise ValueError(
            f"`variables` must have levels in an event log, got bounds for "
            f"{numeric[0]!r}: declare bins of the numbers as levels."
        )
    categorical = tuple(x for x in variables if isinstance(x, Variable))
    names = [variable.name for variable in variables]
    one_of(names, region=region, time=time)
    fields = [name for name in names if name not in (region, time)]
    if region == time or not fields:
        raise ValueError(
            "`variables` must have a region, a time and at least one further field."
        )
    if not _has_whole_times(categorical[names.index(time)]):
        raise ValueError(
            "`time` must have consecutive integers as levels, such as range(36) for "
            f"months since a public start: {time!r} has not. Declare all, with events "
            "or not."
        )
    pair = names.index(region), names.index(time)
    parents = tuple(pair if name in fields else () for name in names)
    return BayesNet(categorical, parents)


def _has_whole_times(time: Variable) -> bool:
    integers = [level for level in time.levels if type(level) is int]  # no booleans
    return list(time.levels) == integers and bool(np.all(np.diff(integers) == 1))


def log_variables(
    net: BayesNet, name: str = "net"
) -> tuple[Variable, Variable, tuple[Variable, ...]]:
    """Region, time and fields of an event log.

    Args:
        net: of the log.
        name: of the argument, in errors.

    Raises:
        ValueError: if the network is not one of `event_network`.
    """
    variables = net.variables
    fields = _fields_of(net)
    pairs = {net.parents[i] for i in fields}
    is_log = len(pairs) == 1 and len(*pairs) == 2 and len(fields) + 2 == len(variables)
    if not is_log or not _has_whole_times(variables[net.parents[fields[0]][1]]):
        raise ValueError(
            f"`{name}` must be of an event log: of a network in which every field has "
            "region and time as parents, in this order, times being consecutive "
            "integers (see `event_network`, or `dpjax release --model hmm`)."
        )
    region, time = net.parents[fields[0]]
    return variables[region], variables[time], tuple(variables[i] for i in fields)


def _fields_of(net: BayesNet) -> list[int]:
    return [i for i, parents in enumerate(net.parents) if parents]


def declared_cells(
    net: BayesNet, times: Mapping[Any, tuple] | None
) -> Bool[np.ndarray, "regions times"]:
    """Which cells are on a region's path.

    Args:
        net: of an event log.
        times: of the regions named the first and the last time, both included; of all
            others every time is declared.

    Raises:
        ValueError: if a region is unknown or named twice, or its times are not whole
            numbers in order among the declared ones.
    """
    region, time, _ = log_variables(net)
    declared = np.ones((region.size, time.size), bool)
    for level, span in (times or {}).items():
        row = region.match(level)
        if row is None or not declared[row].all():
            raise ValueError(
                f"`times` must name regions, levels of {region.name!r}, once each, "
                f"got {level!r}."
            )
        first, last = _span(time, level, span)
        declared[row] = False
        declared[row, first : last + 1] = True
    return declared


def _span(time: Variable, region: Level, span: tuple) -> tuple[int, int]:
    """Places of a region's first and last time among the declared ones."""
    try:
        first, last = map(operator.index, span)
    except (TypeError, ValueError):
        raise ValueError(
            "`times` must be a first and a last time, whole numbers, got "
            f"{span!r} for {region!r}."
        ) from None
    least, most = int(time.levels[0]), int(time.levels[-1])
    if not least <= first <= last <= most:
        raise ValueError(
            f"`times` must run from a first to a last {time.name!r} of {least} to "
            f"{most}, got {first} to {last} for {region!r}."
        )
    return first - least, last - least


def event_counts(
    net: BayesNet, records: Records | Table
) -> Int[Array, "regions times levels"]:
    """Exact counts of all levels of all fields, one after the other, in every cell.

    Args:
        net: of an event log.
        records: encoded, or a table whose columns are the variables.

    Privacy:
        Not private: for evaluation by who may see the records.

    Raises:
        ValueError: if the records do not fit the network, or it is not of events.
    """
    log_variables(net)
    return _event_counts(net, as_records(records, net.variables))


@partial(jax.jit, static_argnums=0)
def _event_counts(net: BayesNet, records: Array) -> Array:
    statistic = NetworkCounts(net)
    return cell_counts(statistic, statistic.measure(records))


def cell_counts(
    statistic: NetworkCounts, values: Real[Array, "*batch m"]
) -> Real[Array, "*batch regions times levels"]:
    """Counts of all levels of all fields, one after the other, in every cell."""
    tables = statistic.layout.split(statistic.tables(values))
    return jnp.concatenate(
        [tables[field] for field in _fields_of(statistic.net)], axis=-1
    )


def check_states(states: int, declared: Bool[ArrayLike, "regions times"]) -> None:
    """Refuse fewer states than one, or more than there are declared cells.

    Raises:
        ValueError: as said.
    """
    whole(1, states=states)
    try:
        most = int(np.asarray(declared).sum())
    except jax.errors.TracerArrayConversionError:  # not known here: all of them
        most = int(np.prod(np.shape(declared)))
    if states > min(most, _MOST_STATES):
        raise ValueError(
            f"`states` must be at most the number of cells, {most}, and "
            f"{_MOST_STATES}, got {states}."
        )
