"""Lists of releases that have one posterior."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import jax.core
import jax.numpy as jnp

from dpjax.mechanisms import ExactMechanism
from dpjax.privacy import REPLACE_ONE, Guarantee, basic, parallel
from dpjax.releases.released import Released

Tables = tuple[tuple[Released, ...], ...]
"""Releases of each table of records."""


def tables_of(releases: Any, disjoint: Any) -> Tables:
    """Sort a list of releases by the table of records that they are of.

    Args:
        releases: releases. If `disjoint`, an entry may be a list of the releases of one
            table of records.
        disjoint: whether no record is in the tables of two entries.

    Raises:
        ValueError: if an argument has another type, a release is stacked or given
            twice, or releases differ in their variables, adjacency or unit of
            protection, or those of one table in their public number of records, or one
            of several releases of a table is of sampled records.
    """
    if not isinstance(disjoint, bool):
        raise ValueError(
            "`disjoint` must say whether the releases are of tables without a common "
            f"record (True) or of one table (False), got {disjoint!r}."
        )
    entries = [x if isinstance(x, list | tuple) else [x] for x in releases]
    together = [one for entry in entries for one in entry]
    if len({*map(_content, together)}) < len(together):
        raise ValueError(
            "`released` must not have one release, or a copy, twice: give it once. "
            "Different releases of equal numbers need an `about` that differs."
        )
    tables = tuple(map(tuple, entries if disjoint else [together]))
    for found in tables or ((),):
        for one in found or (None,):
            if not isinstance(one, Released):
                raise ValueError(
                    "`released` must be a release, or a list of releases, got "
                    f"{'an empty list' if one is None else type(one).__name__}."
                )
            if jnp.ndim(one.values) > 1:
                raise ValueError(
                    "`released` must not be stacked in a list: give each one apart."
                )
    _check(tables)
    return tuple(tuple(_with_earlier(found)) for found in tables)


def _with_earlier(found: Iterable[Released]) -> Iterable[Released]:
    """Return releases and, each once, those from which their networks were learned."""
    chains = [one.chain for one in found]
    earlier = {_content(x) for chain in chains for x in chain[:-1]}

    def name(one: Released) -> object:
        content = _content(replace(one, about=(), hidden_states=None))
        return content if content in earlier else id(one)

    return {name(x): x for chain in chains for x in chain}.values()


def _content(one: Any) -> object:
    """Return what tells a release from others: its file's content, if it has one."""
    if not isinstance(one, Released) or jnp.ndim(one.values) > 1:
        return id(one)
    traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(one))
    exact = isinstance(one.mechanism, ExactMechanism) and not traced
    return one.to_text() if exact else id(one)


def _check(tables: Tables) -> None:
    first = tables[0][0]
    for found in tables:
        several = len(found) > 1
        for one in found:
            sampled = one.sampled is not None
            if one.statistic.variables != first.statistic.variables:
                raise differing("variables, in the same order")
            if one.adjacency != first.adjacency:
                raise differing("adjacency")
            if one.contributions != first.contributions:
                raise differing("`contributions`")
            if one.n != found[0].n:
                raise differing("number of records, if they are of one table")
            if sampled and several:
                raise ValueError(
                    "`released` must have one release of a table whose records were "
                    "sampled, since other releases are of other records: infer from "
                    "one alone."
                )


def differing(what: str) -> ValueError:
    """Return the error for releases that differ in something."""
    return ValueError(
        f"`released` must be releases of the same {what}: infer from the others alone."
    )


def cost_of(tables: Tables) -> Guarantee:
    """Return the privacy cost of all releases together, for a person.

    The costs of releases of one table of records are added. Of several tables, which
    have no record in common, the largest cost counts: a neighbouring data set differs
    in one table, since the table that a record is in is public.

    Raises:
        ValueError: if there are several tables and a cost is not of pure DP.
    """
    costs = [basic(*(x.guarantee_of_row() for x in found)) for found in tables]
    first = tables[0][0]
    adjacency, rows = first.adjacency, first.contributions
    if len(costs) == 1:
        return costs[0].of_group(rows)
    parts = "index" if adjacency == REPLACE_ONE else "value"
    return parallel(costs, parts, adjacency).of_group(rows)
