"""Predictions of records from the exact posterior of a network of stars."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Integer

from dpjax._platforms import Sizes, each
from dpjax.posteriors.exact.components import Component
from dpjax.posteriors.exact.convolution import take, valid
from dpjax.posteriors.exact.rows import RowLaws, quotient
from dpjax.posteriors.exact.star import StarLaw
from dpjax.posteriors.exact.star_sums import InferredStars


@partial(jax.jit, static_argnames="target")
def predict(
    inferred: InferredStars, records: Integer[Array, "n d"], target: int
) -> Float[Array, "n levels"]:
    """Predictive probabilities of the target's levels, given all other variables."""
    for component, law in inferred.stars:
        if target == component.hub or target in sum(component.leaves, ()):
            score = _scorer(component, law)
            number = inferred.sums.statistic.layout.sizes[target]
            levels = jnp.arange(number, dtype=jnp.int32)

            def one(record, score=score, levels=levels):
                moved = jax.vmap(lambda level: record.at[target].set(level))(levels)
                return jax.nn.softmax(jax.vmap(score)(moved))

            numbers = _numbers(inferred, component) * number
            size = partial(_at_once, numbers)
            return each(one, records.astype(jnp.int32), size)
    raise ValueError(f"`target` must be a variable, got {target}.")


@jax.jit
def log_likelihood(
    inferred: InferredStars, records: Integer[Array, "n d"]
) -> Float[Array, " n"]:
    """Return the log of the posterior predictive probability of each record."""
    total = jnp.zeros(len(records))
    for component, law in inferred.stars:
        numbers, score = _numbers(inferred, component), _scorer(component, law)
        size = partial(_at_once, numbers)
        total += each(score, records.astype(jnp.int32), size)
    return total


def _numbers(inferred: InferredStars, component: Component) -> int:
    """Numbers that the prediction of a record with one level holds."""
    leaves, kept = sum(map(len, component.leaves)), inferred.sums.windows.kept
    return kept * (leaves + 1)


def _at_once(numbers: int, sizes: Sizes) -> int:
    return sizes.numbers // numbers


def _scorer(component: Component, law: StarLaw):
    """Make a function from a record to the log-probability of one star's variables."""
    log_weights = jnp.log(_hub_weights(law))
    tables = [jnp.log(_means_by_total(group)) for group in law.groups[1:]]

    def score(record):
        level = record[component.hub]
        total = log_weights[level]
        for leaves, table in zip(component.leaves, tables, strict=True):
            rows = jnp.arange(len(leaves), dtype=jnp.int32) * len(log_weights) + level
            cells = record[np.asarray(leaves, np.int32)]
            total = total + table[:, cells, rows].sum(axis=1)
        return logsumexp(total)

    return score


def _hub_weights(law: StarLaw) -> Float[Array, "levels kept"]:
    """Probability of each hub count, times its level's expected probability."""
    hub, *leaves = law.groups
    rows, ratio = hub.rows, hub.ratio
    places = jnp.arange(len(ratio), dtype=jnp.int32)[:, None]
    whole = rows.alpha.sum() + (hub.start[0] + places).astype(float)
    kept = leaves[0].ratio.shape[0] if leaves else rows.window
    first = leaves[0].start[: len(rows.alpha)] if leaves else rows.lowest[:, 0]
    laws = RowLaws(rows, hub.others, hub.first, hub.start, ratio / whole).counts()[
        ..., 0
    ]
    laws = take(laws.T, first - rows.lowest[:, 0], kept).T
    counts = first[:, None] + jnp.arange(kept, dtype=jnp.int32)[None]
    return laws * (rows.alpha + counts.astype(float))


def _means_by_total(laws: RowLaws) -> Float[Array, "kept cells rows"]:
    rows, length = laws.rows, len(laws.ratio)
    counts = jnp.arange(rows.window, dtype=jnp.int32)[:, None]

    def one(cell):
        a = rows.alpha[cell][None] + (rows.lowest[cell][None] + counts).astype(float)
        return valid(rows.weights[cell] * a, laws.meeting(cell), length)

    cells = jnp.arange(len(laws.others), dtype=jnp.int32)
    table = jnp.moveaxis(lax.map(one, cells), 0, 1)
    return quotient(table, jnp.broadcast_to(table.sum(axis=1)[:, None], table.shape))
