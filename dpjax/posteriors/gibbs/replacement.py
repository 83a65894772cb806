"""The part of a Gibbs sweep that replaces hidden records, and sums over blocks of them.

Records are replaced in turn, and whether one is replaced depends on those before it. A
CPU decides in that order. An accelerator decides for all records at once, as if what is
known of the earlier decisions were right, and again until no decision changes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array

from dpjax._platforms import Sizes, by_platform
from dpjax._types import Key
from dpjax.data.probabilities import sample_records
from dpjax.posteriors.laws import joint_law_of
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic

_NUMBERS_AT_ONCE = 1 << 22  # bounds memory, whatever the number of records
_ROUNDS = 4  # of decisions between two looks at whether they change

Decisions = tuple[Array, Array]  # total after all records, and which are replaced


def replace_records(
    key: Key,
    released: Released,
    theta: Array,
    hidden: tuple[Array, Array, Array],
    proposals: int,
) -> tuple[Array, Array, Array]:
    """Propose new values of some records in turn, and accept each by Metropolis' rule.

    The records are consecutive, from a place that does not depend on their values.
    Those after the first n are not in the statistic: their proposals are accepted.

    Args:
        key: typed JAX key.
        released: a release for a network, with noise of a known distribution.
        theta: probabilities of all tables, from which proposals are drawn.
        hidden: the records, their number n, and the statistic of the first n.
        proposals: number of records, at most that of all records.

    Returns:
        The new records, their statistic, and the accepted share of the proposals.
    """
    key_place, key_records, key_accept = jr.split(key, 3)
    records, n, total = hidden
    drawn = sample_records(key_records, theta, released.net, proposals)
    start = jnp.zeros((), jnp.int32)
    if proposals < records.shape[0]:
        start = _place(key_place, n, proposals)
    former = lax.dynamic_slice_in_dim(records, start, proposals)
    counted = start + jnp.arange(proposals, dtype=jnp.int32) < n
    # No gain exceeds infinity.
    thresholds = jnp.where(counted, -jr.exponential(key_accept, (proposals,)), jnp.inf)

    def one_block(total: Array, inputs: tuple[Array, ...]) -> Decisions:
        former, drawn, thresholds = inputs
        moves = contributions(released.counted, drawn)
        moves = moves - contributions(released.counted, former)
        return by_platform(partial(decide, released), total, (moves, thresholds))

    inputs = (former, drawn, thresholds)
    total, taken = over_blocks(one_block, total, inputs, released.counted)
    kept = jnp.where((taken | ~counted)[:, None], drawn, former)
    records = lax.dynamic_update_slice_in_dim(records, kept, start, 0)
    share = taken.sum().astype(float) / jnp.maximum(counted.sum(), 1).astype(float)
    return records, total, share


def _place(key: Key, n: Array, proposals: int) -> Array:
    """First record of one of the fewest blocks that cover n; the last ends with it."""
    blocks = jnp.maximum(-(-n // proposals), 1)
    place = proposals * jr.randint(key, (), 0, blocks, jnp.int32)
    return jnp.clip(place, 0, jnp.maximum(n - proposals, 0))


def decide(
    released: Released, sizes: Sizes, total: Array, inputs: tuple[Array, Array]
) -> Decisions:
    """Decide in turn whether moves of a statistic are made, given the ones before.

    On accelerators, each round decides about all moves, given the totals that follow
    from the decisions of the round before. Decisions that depend only on right ones are
    right, so that after k rounds the first k are, and decisions that do not change are
    all right. The noise's rate of change is nearly constant between the released
    numbers and the totals, so that few rounds are needed unless ε is large.

    Args:
        released: the release that the total is compared with.
        sizes: those of the platform.
        total: statistic before the first move.
        inputs: for each record its move, and what the gain in the log-density of the
            released numbers must exceed.
    """
    law = joint_law_of(released)
    moves, _ = inputs

    def accepts(total: Array, inputs: tuple[Array, Array]) -> Array:
        move, threshold = inputs
        return threshold < law.gain(released.values, total, total + move)

    def one(total: Array, inputs: tuple[Array, Array]) -> Decisions:
        taken = accepts(total, inputs)
        return jnp.where(taken, total + inputs[0], total), taken

    if not sizes.whole:
        return lax.scan(one, total, inputs)

    def again(taken: Array) -> Array:
        steps = jnp.where(taken[:, None], moves, 0)
        before = total[None] + jnp.cumsum(steps, axis=0) - steps
        return jax.vmap(accepts)(before, inputs)

    def rounds(carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        done, _, taken = carried
        for _ in range(_ROUNDS - 1):
            taken = again(taken)
        last = again(taken)
        return done + _ROUNDS, (last != taken).any(), last

    def unsettled(carried: tuple[Array, Array, Array]) -> Array:
        done, changing, _ = carried
        return changing & (done <= len(moves))

    start = (jnp.zeros((), jnp.int32), jnp.asarray(True), inputs[1] < jnp.inf)
    taken = lax.while_loop(unsettled, rounds, start)[2]
    made = jnp.where(taken[:, None], moves, 0)
    return total + made.sum(axis=0, dtype=jnp.int32), taken


def over_blocks(
    function: Callable[[Any, Any], Any],
    carry: Any,
    inputs: tuple[Array, ...],
    statistic: TableStatistic,
) -> tuple[Any, Any]:
    """`lax.scan` over blocks of records; the last block is padded with zeros."""
    number = inputs[0].shape[0]
    blocks = -(-number * statistic.length // _NUMBERS_AT_ONCE)
    size = -(-number // blocks)

    def fold(x: Array) -> Array:
        padding = [(0, blocks * size - number)] + [(0, 0)] * (x.ndim - 1)
        return jnp.pad(x, padding).reshape(blocks, size, *x.shape[1:])

    carry, outputs = lax.scan(function, carry, jax.tree.map(fold, inputs))
    return carry, jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:number], outputs)


def contributions(statistic: TableStatistic, records: Array) -> Array:
    """What each record adds to the statistic."""
    return jax.vmap(lambda record: statistic.measure(record[None]))(records)


def log_law(released: Released, total: Array) -> Array:
    """Log-density of the released numbers, given the exact statistic."""
    return joint_law_of(released).joint_log_prob(released.values, total)
