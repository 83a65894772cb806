"""Tables and records simulated for a plan, and errors of tables learned from them."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

from dpjax._platforms import sizes_here
from dpjax._types import Cells, Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.probabilities import sample_records
from dpjax.statistics import NetworkCounts
from dpjax.study.experiments.learners import TableLearner
from dpjax.study.metrics import table_errors
from dpjax.tables.counts import count

_FRESH = 1 << 14  # further records, from which the weights of rows are estimated
_AT_ONCE = 16  # repeats


class Simulated(NamedTuple):
    """True tables, exact counts of records, and the weight of each cell's row.

    The tables are laid out by `net.layout`, and the counts are those of
    `NetworkCounts(net).measured`. The first axis of all arrays is that of repeats.
    """

    truth: Array
    counts: Array
    weights: Array


def simulated(
    key: Key, net: BayesNet, n: int, repeats: int, tables: Cells | None = None
) -> Simulated:
    """Draw tables, unless they are given, and n records from them, for each repeat."""
    return Simulated(*_simulated(key, net, n, repeats, tables))


@eqx.filter_jit
def _simulated(
    key: Key, net: BayesNet, n: int, repeats: int, tables: Cells | None
) -> tuple[Array, Array, Array]:
    layout, measured = net.layout, NetworkCounts(net).measured

    def one(key):
        key_tables, key_records, key_fresh = jr.split(key, 3)
        truth = tables
        if truth is None:
            truth = layout.normalise(jr.exponential(key_tables, (layout.length,)))
        counts = count(sample_records(key_records, truth, net, n), measured)
        return truth, counts, row_weights(key_fresh, net, truth)

    return jax.lax.map(one, jr.split(key, repeats))


def row_weights(key: Key, net: BayesNet, truth: Cells) -> Cells:
    """Estimate the probability of each cell's row from further records."""
    fresh = count(sample_records(key, truth, net, _FRESH), net.layout)
    return net.layout.row_sums(fresh.astype(float)) / _FRESH


def errors_of_each(
    key: Key, net: BayesNet, learners: Sequence[TableLearner], data: Simulated
) -> list[Float[Array, "repeats e"]]:
    """Simulate learners, with one key for all, and return the errors of `row_errors`.

    Programs are compiled and run side by side, and compiled once for learners that
    differ only in numbers.
    """
    program: Any = _errors_of
    given = [(jr.clone(key), net, learner, data) for learner in learners]
    kinds = [_kind(learner) for learner in learners]
    firsts = [kinds.index(kind) for kind in kinds]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = {
            i: pool.submit(program.lower(*given[i]).compile)
            for i in dict.fromkeys(firsts)
        }
        runs = [  # in turn, so that none waits for one that has not begun
            pool.submit(
                lambda i, x: jax.block_until_ready(programs[i].result()(*x)), *y
            )
            for y in zip(firsts, given, strict=True)
        ]
        return [run.result() for run in runs]


def _kind(learner: TableLearner) -> tuple[Any, list]:
    """Whatever its program depends on."""
    leaves, tree = jax.tree.flatten(learner)
    return tree, [(x.shape, x.dtype) if eqx.is_array(x) else x for x in leaves]


@eqx.filter_jit  # learners that differ only in numbers share a program
def _errors_of(
    key: Key, net: BayesNet, learner: TableLearner, data: Simulated
) -> Float[Array, "repeats e"]:
    def one(given):
        key, truth, counts, weights = given
        return row_errors(net, truth, weights, learner.fit(key, counts))

    # On a CPU, a program for one repeat compiles sooner and takes as much time.
    at_once = _AT_ONCE if sizes_here().whole else None
    keys = jr.split(key, len(data.truth))
    return jax.lax.map(one, (keys, *data), batch_size=at_once)


@partial(jax.jit, static_argnums=0)
def row_errors(
    net: BayesNet, truth: Cells, weights: Cells, learned: Cells
) -> Float[Array, " e"]:
    """Return total variation and KL, averaged over rows, then KL of each variable.

    The KL of a variable is that of its rows, weighted by their probabilities. The sum
    over variables is the divergence of a record's distribution.
    """
    errors = table_errors(net.layout, truth, learned)
    terms = weights * (xlogy(truth, truth) - xlogy(truth, learned))
    parts = [table.sum() for table in net.layout.split(terms)]
    return jnp.stack([errors["total_variation"], errors["kl"], *parts])
