"""Event logs as networks: which fields are counted in which cells."""

__all__ = ["cell_counts", "event_network", "fields_of"]

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Real

from dpjax._checks import one_of
from dpjax.graph import BayesNet
from dpjax.statistics import FamilyCounts
from dpjax.variables import Variable


def event_network(variables: Sequence[Variable], region: str, time: str) -> BayesNet:
    """The network whose families are the histograms of every field in every cell.

    A cell is a region at a time: the public product of all levels of both, whether any
    event is in it or not. All other variables are fields of an event.

    Args:
        variables: of the log.
        region: name of the variable that tells which path an event is on.
        time: name of the one that tells when; its levels are consecutive integers.

    Privacy:
        Family counts of this network have sensitivity 2 a field under replace-one, even
        if a record moves to another cell, and 1 a field under add-remove.

    Raises:
        ValueError: if there is no such region or time, no field, or times are not
            consecutive integers.
    """
    names = [variable.name for variable in variables]
    one_of(names, region=region, time=time)
    fields = [name for name in names if name not in (region, time)]
    if region == time or not fields:
        raise ValueError(
            "`variables` must have a region, a time and at least one further field."
        )
    times = variables[names.index(time)].levels
    start = times[0]
    if not isinstance(start, int) or list(times) != list(
        range(start, start + len(times))
    ):
        raise ValueError(
            f"`time` must have consecutive integers as levels, such as months since a "
            f"public start: {time!r} has not. Declare all, events or not."
        )
    pair = names.index(region), names.index(time)
    parents = tuple(pair if name in fields else () for name in names)
    return BayesNet(tuple(variables), parents)


def fields_of(net: BayesNet) -> tuple[int, ...]:
    """Which variables are fields of an event.

    Raises:
        ValueError: if the network is not one of `event_network`.
    """
    fields = [i for i, parents in enumerate(net.parents) if parents]
    pairs = {net.parents[i] for i in fields}
    if len(pairs) != 1 or len(*pairs) != 2 or len(fields) + 2 != len(net.names):
        raise ValueError(
            "`released` must be of an event log: of a network in which every field has "
            "region and time as parents, in this order (see `event_network`)."
        )
    return tuple(fields)


def cell_counts(
    statistic: FamilyCounts, values: Real[Array, "*batch m"]
) -> Real[Array, "*batch regions times levels"]:
    """Counts of all levels of all fields, one after the other, in every cell."""
    tables = statistic.layout.split(statistic.tables(values))
    return jnp.concatenate(
        [tables[field] for field in fields_of(statistic.net)], axis=-1
    )
