"""One Gibbs sweep over a network's tables and the hidden records behind a release.

The sweep works for any table statistic and any noise with a known distribution. It uses
a record's contribution to the statistic, and the likelihood of a release given the
statistic.
"""

import contextlib

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Int

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.probabilities import sample_records
from dpjax.posteriors.gibbs.replacement import (
    contributions,
    log_law,
    over_blocks,
    replace_records,
)
from dpjax.posteriors.laws import joint_law_of
from dpjax.posteriors.plug_in import draw_tables
from dpjax.privacy import ADD_REMOVE
from dpjax.releases.released import Released
from dpjax.statistics import TableStatistic


class LatentRecords(eqx.Module):
    """State of a Gibbs chain, with a network's tables and a release's hidden records.

    Args:
        records: level indices of records. The first n records are the hidden data set;
            the others become part of it if n increases.
        n: number of records in the hidden data set.
        theta: probabilities of all tables, in the order of `net.layout`.
        statistic: the exact statistic of the hidden data set.

    Privacy:
        Post-processing of a release has no privacy cost.
    """

    records: Int[Array, "capacity d"]
    n: Int[Array, ""]
    theta: Float[Array, " m"]
    statistic: Int[Array, " s"]


class SweepInfo(eqx.Module):
    r"""Diagnostics of one Gibbs sweep (see `gibbs_step`).

    Args:
        acceptance: accepted share of the proposals for hidden records.
        log_law: log-likelihood $\ln q(s \mid t)$ of the released numbers s given the
            hidden statistic t after the sweep.
        full: whether a private number n of hidden records reached the capacity, which
            would truncate its distribution, or a public n exceeds the capacity.
    """

    acceptance: Float[Array, ""]
    log_law: Float[Array, ""]
    full: Array


def gibbs_start(
    key: Key, released: Released, prior: Float[Array, "*m"], capacity: int
) -> LatentRecords:
    """Draw a chain's first tables from the prior, and first records from the tables.

    A private number n of records is uniform between 0 and a bound, which is 4 noise
    scales more than the largest released total of a table, or the capacity if smaller.

    Args:
        key: typed JAX key.
        released: a release for a network, with noise of a known distribution.
        prior: Dirichlet parameter of all cells, or an array of one parameter for each
            cell in the order of `net.layout`.
        capacity: largest number of hidden records; at least n under replace-one.

    Raises:
        ValueError: if the distribution of the noise is not known, the release is not
            for a network, or the capacity is below 1 or below an n that is not traced.
    """
    typed_key(key=key)
    check_capacity(capacity, released)
    joint_law_of(released)
    statistic, net = released.counted, released.net
    key_theta, key_records, key_n = jr.split(key, 3)
    concentration = jnp.broadcast_to(prior, (net.layout.length,))
    theta = draw_tables(key_theta, concentration, net.layout)
    records = sample_records(key_records, theta, net, capacity)
    if released.adjacency == ADD_REMOVE:
        most = jnp.minimum(highest_total(released, 4), capacity)
        n = jnp.round(most * jr.uniform(key_n)).astype(jnp.int32)
    else:
        n = jnp.asarray(released.n, jnp.int32)
    return LatentRecords(records, n, theta, _measure(statistic, records, n))


def gibbs_step(
    key: Key,
    state: LatentRecords,
    released: Released,
    prior: Float[Array, "*m"],
    *,
    proposals: int | None = None,
) -> tuple[LatentRecords, SweepInfo]:
    r"""Run one Gibbs sweep, which leaves the posterior given the release invariant.

    1. Draw the tables from their Dirichlet distribution given the hidden records.
    2. For each of some hidden records in turn, draw a new record from the tables, and
       accept it with probability $\min(1, q(s \mid t') / q(s \mid t))$. Here q is the
       density of the released numbers s given the exact statistic, which is t before
       and t' after the replacement. Under replace-one the two data sets are neighbours,
       so that the privacy guarantee makes the probability at least $e^{-\epsilon}$;
       under add-remove the probability is at least $e^{-2\epsilon}$.
    3. Under add-remove, draw the hidden number of records from its exact conditional
       distribution.

    On a CPU, q is evaluated twice for each proposal and number, and three times under
    add-remove. An accelerator evaluates it as often as needed to decide about all
    records at once as if in turn, in few kernels, and more often if ε is larger.

    Args:
        key: typed JAX key.
        state: state from `gibbs_start` or from the previous sweep.
        released: a release for a network, with noise of a known distribution.
        prior: Dirichlet parameter of all cells, or an array of one parameter for each
            cell in the order of `net.layout`.
        proposals: number of records that are proposed to be replaced. They are
            consecutive, from a random place. None means all records.

    Returns:
        The new state, and diagnostics of the sweep.

    Raises:
        ValueError: if `proposals` is below 1, or given under add-remove, where records
            after the first n must all be drawn from the new tables.
    """
    typed_key(key=key)
    check_proposals(proposals, released)
    key_theta, key_records, key_n = jr.split(key, 3)
    statistic, net = released.counted, released.net
    capacity = state.records.shape[0]
    # Tables from Fourier coefficients have rounding errors: round to whole numbers.
    counts = jnp.round(
        statistic.tables(state.statistic, state.n).astype(state.theta.dtype)
    )
    theta = draw_tables(key_theta, prior + counts, net.layout)
    hidden = (state.records, state.n, state.statistic)
    most = capacity if proposals is None else min(proposals, capacity)
    records, total, share = replace_records(key_records, released, theta, hidden, most)
    state = LatentRecords(records, state.n, theta, total)
    full = state.n > capacity
    if released.adjacency == ADD_REMOVE:
        state = _resize(key_n, released, state)
        full = state.n >= capacity
    return state, SweepInfo(share, log_law(released, state.statistic), full)


def check_capacity(capacity: int, released: Released) -> None:
    """Raise `ValueError` if `capacity` is less than 1 or than a known public n."""
    whole(1, capacity=capacity)
    with contextlib.suppress(jax.errors.ConcretizationTypeError):
        n = 0 if released.n is None else int(released.n)
        if capacity < n:
            raise ValueError(f"`capacity` must be at least n, {n}, got {capacity}.")


def check_proposals(proposals: int | None, released: Released) -> None:
    """Raise `ValueError` unless `gibbs_step` accepts this number of proposals."""
    if proposals is None:
        return
    whole(1, proposals=proposals)
    if released.adjacency == ADD_REMOVE:
        raise ValueError(
            f"`proposals` must be None under add-remove, got {proposals}: all hidden "
            "records are proposed to be replaced."
        )


def _resize(key: Key, released: Released, state: LatentRecords) -> LatentRecords:
    r"""Draw the number n of records from its exact conditional distribution.

    The prior of n is flat on n ≥ 0. Given the tables θ, all C records $x_i$ of the
    state are independent draws from the tables, including the records after the first
    n, on which the release s does not depend. With $t_n$ the statistic of the first n
    records, the joint density is
    $p(\theta) \prod_{i \le C} p(x_i | \theta) q(s | t_n)$. As the records are ordered,
    the conditional probability of n is proportional to $q(s | t_n)$. The n with the
    largest $\ln q(s | t_n)$ plus Gumbel noise is a draw from this distribution.
    """
    statistic = released.counted
    gumbels = jr.gumbel(key, (state.records.shape[0] + 1,))
    sizes = jnp.arange(1, gumbels.shape[0], dtype=jnp.int32)
    none = jnp.zeros_like(state.statistic)
    best = (log_law(released, none) + gumbels[0], jnp.zeros_like(state.n), none)

    def one_block(carry, inputs):
        best, total = carry
        records, gumbels, sizes = inputs
        totals = total[None] + jnp.cumsum(contributions(statistic, records), axis=0)
        scores = jax.vmap(lambda total: log_law(released, total))(totals) + gumbels
        place = jnp.argmax(jnp.where(sizes > 0, scores, -jnp.inf))
        here = (scores[place], sizes[place], totals[place])
        larger = (here[0] > best[0]) & (here[1] > 0)
        best = jax.tree.map(lambda a, b: jnp.where(larger, a, b), here, best)
        return (best, totals[-1]), ()

    inputs = (state.records, gumbels[1:], sizes)
    (best, _), _ = over_blocks(one_block, (best, none), inputs, statistic)
    return LatentRecords(state.records, best[1], state.theta, best[2])


def _measure(statistic: TableStatistic, records: Array, n: Array) -> Array:
    hidden = jnp.arange(records.shape[0], dtype=jnp.int32) < n

    def one_block(total, inputs):
        records, hidden = inputs
        parts = jnp.where(hidden[:, None], contributions(statistic, records), 0)
        return total + parts.sum(axis=0, dtype=jnp.int32), ()

    none = jnp.zeros(statistic.length, jnp.int32)
    return over_blocks(one_block, none, (records, hidden), statistic)[0]


def highest_total(released: Released, scales: int) -> Float[Array, ""]:
    """Return the largest sum of a table's positive cells plus `scales` noise scales."""
    layout = released.net.layout
    cells = released.counted.tables(released.values.astype(float), released.n)
    tables = np.repeat(np.arange(len(layout.groups)), np.diff(layout.offsets))
    sums = jax.ops.segment_sum(jnp.maximum(cells, 0), tables, len(layout.groups))
    return sums.max() + scales * law_scale(released).max()


def law_scale(released: Released) -> Float[Array, " s"]:
    """Scale of Laplace noise that is about as wide as each number's."""
    shape = jnp.shape(released.values)
    scale = joint_law_of(released).noise_scale(jnp.asarray(released.values, float))
    return jnp.broadcast_to(scale, shape)
