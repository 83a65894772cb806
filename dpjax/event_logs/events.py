"""Event logs as Bayesian networks, and counts of field levels by region and time."""

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
from dpjax.data.categorical import Categorical
from dpjax.data.kinds import AnyVariable
from dpjax.data.matching import Level
from dpjax.data.records import as_records
from dpjax.data.schema import Schema
from dpjax.data.sources import Table
from dpjax.statistics import NetworkCounts, TableStatistic

_MOST_STATES = 127  # paths are stored as bytes


def event_network(
    variables: Sequence[AnyVariable] | Mapping[str, AnyVariable], region: str, time: str
) -> BayesNet:
    """Make the Bayesian network of an event log, in which region and time are parents.

    Every variable other than the region and the time is a field of an event. The table
    of a field has the field's histogram for each region and time, even without events.

    Args:
        variables: variables of the log, or its `Schema`.
        region: name of the region's variable. A hidden Markov model has a path of
            hidden states for each region.
        time: name of the time's variable, whose levels are consecutive integers.

    Privacy:
        Each field adds 2 to the L1 sensitivity of the network's `NetworkCounts` under
        replace-one, even if a record moves to another region, and 1 under add-remove.

    Raises:
        ValueError: if the region or time is unknown, there is no field, times are not
            consecutive integers, a variable is numeric, or a combination impossible.
    """
    if isinstance(variables, Schema) and variables.impossible:
        raise ValueError(
            "`variables` must have no impossible combinations in an event log: leave "
            "them out of its schema."
        )
    if isinstance(variables, Mapping):
        variables = list(variables.values())
    numeric = [x.name for x in variables if not isinstance(x, Categorical)]
    if numeric:
        raise ValueError(
            "`variables` must be categorical in an event log, but "
            f'{numeric[0]!r} is numeric: declare "edges" or "bins" with its bounds.'
        )
    categorical = tuple(x for x in variables if isinstance(x, Categorical))
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
            f"months since a public start, but {time!r} does not: declare all times, "
            "with or without events."
        )
    pair = names.index(region), names.index(time)
    parents = tuple(pair if name in fields else () for name in names)
    return BayesNet(categorical, parents)


def _has_whole_times(time: Categorical) -> bool:
    integers = [level for level in time.levels if type(level) is int]  # no booleans
    return list(time.levels) == integers and bool(np.all(np.diff(integers) == 1))


def log_variables(
    net: BayesNet, name: str = "net"
) -> tuple[Categorical, Categorical, tuple[Categorical, ...]]:
    """Return an event log's variables for the region, for the time, and for all fields.

    Args:
        net: network of the event log, from `event_network`.
        name: name of the caller's argument, for error messages.

    Raises:
        ValueError: if the network is not of an event log.
    """
    variables = net.variables
    fields = [i for i, parents in enumerate(net.parents) if parents]
    pairs = {net.parents[i] for i in fields}
    is_log = len(pairs) == 1 and len(*pairs) == 2 and len(fields) + 2 == len(variables)
    if not is_log or not _has_whole_times(variables[net.parents[fields[0]][1]]):
        raise ValueError(
            f"`{name}` must be of an event log: a network in which every field has the "
            "parents region and time, in this order, and times are consecutive "
            "integers (see `event_network`, or `dpjax release --model hmm`)."
        )
    region, time = net.parents[fields[0]]
    return variables[region], variables[time], tuple(variables[i] for i in fields)


def declared_cells(
    net: BayesNet, times: Mapping[Any, tuple] | None
) -> Bool[np.ndarray, "regions times"]:
    """Return whether each time of each region is on the region's path of hidden states.

    Args:
        net: network of an event log, from `event_network`.
        times: dictionary from region to the first and the last time of its path. The
            paths of other regions contain all times.

    Raises:
        ValueError: if a region is unknown or given twice, or its times are not ordered
            integers among the levels of the time's variable.
    """
    region, time, _ = log_variables(net)
    declared = np.ones((region.size, time.size), bool)
    for level, span in (times or {}).items():
        row = region.match(level)
        if row is None or not declared[row].all():
            raise ValueError(
                f"`times` must name distinct levels of {region.name!r}, got {level!r}."
            )
        first, last = _span(time, level, span)
        declared[row] = False
        declared[row, first : last + 1] = True
    return declared


def _span(time: Categorical, region: Level, span: tuple) -> tuple[int, int]:
    try:
        first, last = map(operator.index, span)
    except (TypeError, ValueError):
        raise ValueError(
            "`times` must give a first and a last time as integers, got "
            f"{span!r} for {region!r}."
        ) from None
    least, most = int(time.levels[0]), int(time.levels[-1])
    if not least <= first <= last <= most:
        raise ValueError(
            f"`times` must be ordered and between {least} and {most} in {time.name!r}, "
            f"got {first} to {last} for {region!r}."
        )
    return first - least, last - least


def event_counts(
    net: BayesNet, records: Records | Table
) -> Int[Array, "regions times levels"]:
    """Count the events of every region and time by the level of each field.

    Args:
        net: network of an event log, from `event_network`.
        records: encoded records, or a table with a column for each variable.

    Returns:
        Exact counts; the last axis has the levels of all fields, one after the other.

    Privacy:
        Not private: only for people who may see the records.

    Raises:
        ValueError: if the network is not of an event log, or the records do not fit it.
    """
    log_variables(net)
    return _event_counts(net, as_records(records, net.variables))


@partial(jax.jit, static_argnums=0)
def _event_counts(net: BayesNet, records: Array) -> Array:
    statistic = NetworkCounts(net)
    return cell_counts(statistic, statistic.measure(records))


def cell_counts(
    statistic: TableStatistic, values: Real[Array, "*batch m"]
) -> Real[Array, "*batch regions times levels"]:
    """Convert exact or noisy numbers of an event log's statistic to counts.

    The last axis of the result has the levels of all fields, one after the other.
    """
    tables = statistic.layout.split(statistic.tables(values))
    # Only fields have parents, and hence tables with more than one axis.
    fields = [i for i, group in enumerate(statistic.layout.groups) if len(group) > 1]
    return jnp.concatenate([tables[field] for field in fields], axis=-1)


def check_states(states: int, declared: Bool[ArrayLike, "regions times"]) -> None:
    """Check a number of hidden states.

    Raises:
        ValueError: if `states` is below 1, above 127, or above the number of true
            entries of `declared`, which has the result of `declared_cells`.
    """
    whole(1, states=states)
    try:
        most = int(np.asarray(declared).sum())
    except jax.errors.TracerArrayConversionError:  # unknown: at most all cells
        most = int(np.prod(np.shape(declared)))
    if states > min(most, _MOST_STATES):
        raise ValueError(
            f"`states` must be at most the number of cells, {most}, and "
            f"{_MOST_STATES}, got {states}."
        )
