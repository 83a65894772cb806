"""Probabilities under a network's tables, given the levels of some of its variables.

Unknown levels are summed out by a junction tree. The levels that are known enter as
factors of single variables, so that one compiled program serves all patterns of them.
"""

from collections.abc import Callable, Collection
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int32

from dpjax._platforms import Sizes, each
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.tables.gathers import take
from dpjax.tables.layout import TableLayout
from dpjax.tables.marginals import JunctionTree, log_tables

_NEVER = -1e6  # logarithm that stands for the probability 0


def indices(net: BayesNet, target: Any) -> tuple[int, ...]:
    """Return the indices of the variables that are named: one, or a list of several.

    Raises:
        ValueError: if a name is of no variable or is given twice, or there is none.
    """
    alone = isinstance(target, str) or not isinstance(target, Collection)
    names: list[Any] = [target] if alone else [*target]
    group = tuple(net.index(name) for name in names)
    if not group or len({*group}) < len(group):
        raise ValueError(f"`target` must be different variables, got {names}.")
    return group


@partial(jax.jit, static_argnames=("net", "group", "factored"))
def log_joint(
    theta: Float[Array, " c"],
    evidence: Int32[Array, "n d"],
    net: BayesNet,
    group: tuple[int, ...],
    factors: Float[Array, "n f"] | None = None,
    factored: tuple[tuple[int, ...], ...] = (),
) -> Float[Array, "n k"]:
    """Log-probabilities of each record's known levels with each cell of a group.

    Args:
        theta: probabilities of all tables, in the order of `net.layout`.
        evidence: level indices, or -1 where they are not known.
        net: the network.
        group: the variables whose joint levels are the cells.
        factors: logarithms of further factors of each record's probability.
        factored: groups of variables, each with a table of factors.
    """
    layout = _layout(net, (*factored, group))
    cells = int(np.diff(layout.offsets)[-1])
    return _logs(theta, evidence, net, layout, layout.length - cells, factors)


@partial(jax.jit, static_argnames=("net", "factored"))
def log_pairs(
    theta: Float[Array, " c"],
    evidence: Int32[Array, "n d"],
    net: BayesNet,
    factors: Float[Array, "n f"] | None = None,
    factored: tuple[tuple[int, ...], ...] = (),
) -> Float[Array, "n k"]:
    """Log-probabilities of each record's known levels with each level of a variable.

    The arguments are those of `log_joint`. The columns are the levels of all variables,
    in order, and then the cells of the groups `factored`.
    """
    layout = _layout(net, factored)
    return _logs(theta, evidence, net, layout, layout.offsets[len(net.sizes)], factors)


def _logs(
    theta: Array,
    evidence: Array,
    net: BayesNet,
    layout: TableLayout,
    start: int,
    factors: Array | None,
) -> Array:
    """Return the logarithms of the tables of `layout` from the cell `start` on."""
    none = jnp.zeros((len(evidence), 0), theta.dtype)

    def one(given):
        record, more = given
        return log_tables(layout, _factors(theta, net, layout, record, more))[start:]

    given = evidence, none if factors is None else factors
    return each(one, given, JunctionTree.of(layout).at_once)


@partial(jax.jit, static_argnames=("net", "largest"))
def complete(
    key: Key,
    theta: Float[Array, " c"],
    evidence: Int32[Array, "n d"],
    net: BayesNet,
    *,
    largest: bool,
) -> Int32[Array, "n d"]:
    """Fill in unknown levels, one variable after the other.

    If `largest`, the records are the most probable ones with the known levels.
    Otherwise they are drawn from their joint distribution given the known levels.
    """
    layout, families = _layout(net), len(net.families)
    offsets = np.asarray(layout.offsets[families:-1], np.int32)
    last, widest = int(layout.length - offsets[0]) - 1, max(net.sizes)
    levels = jnp.arange(widest, dtype=jnp.int32)
    places = jnp.minimum(offsets[:, None] - offsets[0] + levels[None], last)
    allowed = levels[None] < np.asarray(net.sizes, np.int32)[:, None]

    def one(given):
        record, noise = given

        def step(record, i):
            factors = _factors(theta, net, layout, record)
            tables = log_tables(layout, factors, largest=largest)[offsets[0] :]
            logs = jnp.where(allowed[i], tables[places[i]], -jnp.inf)
            chosen = jnp.argmax(logs if largest else logs + noise[i])
            level = jnp.where(record[i] < 0, chosen.astype(jnp.int32), record[i])
            return record.at[i].set(level), None

        order = jnp.arange(len(net.names), dtype=jnp.int32)
        return lax.scan(step, record, order)[0]

    noise = jr.gumbel(key, (len(evidence), len(net.names), widest))
    return each(one, (evidence, noise), JunctionTree.of(layout).at_once)


def refuse_contradictions(log_joint: Float[Array, "*shape k"]) -> None:
    """Raise `ValueError` if the known levels of a record have the probability 0."""
    try:
        impossible = np.asarray(log_joint).max(axis=-1) < _NEVER / 2
    except jax.errors.TracerArrayConversionError:
        return
    if impossible.any():
        raise ValueError(
            "`evidence` must be possible under the tables of the posterior, "
            f"{impossible.sum()} of {impossible.size} records are not: leave some of "
            "their levels unknown."
        )


@lru_cache(maxsize=64)
def _layout(net: BayesNet, groups: tuple[tuple[int, ...], ...] = ()) -> TableLayout:
    """Node tables, the tables of single variables, and those of further groups."""
    singles = tuple((i,) for i in range(len(net.sizes)))
    return TableLayout(net.sizes, (*net.families, *singles, *groups))


def tables_at_once(net: BayesNet, group: tuple[int, ...]) -> Callable[[Sizes], int]:
    """Return for how many records at once `log_joint` computes tables."""
    return JunctionTree.of(_layout(net, (group,))).at_once


def _factors(
    theta: Array, net: BayesNet, layout: TableLayout, record: Array, *more: Array
) -> Array:
    """Logarithms of all tables of `layout`, given the known levels of one record."""
    variables = np.repeat(np.arange(len(net.sizes), dtype=np.uint32), net.sizes)
    levels = np.concatenate([np.arange(size, dtype=np.int32) for size in net.sizes])
    known = take(record, variables)
    agrees = (known < 0) | (known == jnp.asarray(levels))
    tables = jnp.maximum(jnp.log(theta), _NEVER)
    singles = jnp.where(agrees, 0, _NEVER).astype(tables.dtype)
    given = [tables, singles, *more]
    rest = layout.length - sum(x.size for x in given)
    return jnp.concatenate([*given, jnp.zeros(rest, tables.dtype)])
