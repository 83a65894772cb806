"""Draws of the hidden counts of a star, cell by cell, and what they say of records."""

__all__ = ["conditional_means", "draw_counts", "hub_weights"]

import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float, Int32

from dpjax._types import Key
from dpjax.posteriors.exact.convolution import take, valid
from dpjax.posteriors.exact.rows import Rows, later, quotient, row_laws
from dpjax.posteriors.exact.star import StarLaw


def draw_counts(key: Key, law: StarLaw) -> list[Int32[Array, "cells rows"]]:
    """One draw of all hidden counts: of the hub, then of the groups of leaves."""
    key_records, key_hub, *keys = jr.split(key, 2 + len(law.leaves))
    places = _draw_place(key_records, law.records_law)
    hub = _draw_rows(key_hub, law.hub, law.records + places)
    drawn = [hub]
    for key_leaves, rows in zip(keys, law.leaves, strict=True):
        totals = jnp.tile(hub[:, 0], rows.scale.size // len(hub))
        drawn.append(_draw_rows(key_leaves, rows, totals))
    return drawn


def _draw_rows(
    key: Key, rows: Rows, totals: Int32[Array, " rows"]
) -> Int32[Array, "cells rows"]:
    """Counts of all cells given what they sum to, one after the other."""
    cells, after = len(rows.weights), later(rows)
    rest, counts = totals, []
    for cell, key_cell in enumerate(jr.split(key, cells)):
        least = rows.lowest[cell:].sum(axis=0, dtype=jnp.int32)
        start = rest - least - (rows.window - 1)
        met = take(after[cell], start, rows.window)[::-1]
        place = _draw_place(key_cell, rows.weights[cell] * met)
        counts.append(rows.lowest[cell] + place)
        rest = rest - counts[-1]
    return jnp.stack(counts)


def _draw_place(key: Key, weights: Float[Array, "t rows"]) -> Int32[Array, " rows"]:
    """The place of one entry of each row, drawn in proportion to its weight."""
    above = jnp.cumsum(weights, axis=0)
    level = above[-1] * (1 - jr.uniform(key, above[-1].shape))  # never 0
    return (above < level[None]).sum(axis=0, dtype=jnp.int32)


def hub_weights(law: StarLaw) -> Float[Array, "levels kept"]:
    """Of every level and its count: their law, times how probable the level is then."""
    start, ratio = law.records[None], law.records_ratio
    places = jnp.arange(len(ratio), dtype=jnp.int32)[:, None]
    whole = law.hub.alpha.sum() + (law.records + places).astype(float)
    kept = law.leaf_ratios[0].shape[0] if law.leaves else law.hub.window
    first = law.kept if law.leaves else law.hub.lowest[:, 0]
    laws = row_laws(law.hub, law.hub_others, start, ratio / whole)[..., 0]
    laws = take(laws.T, first - law.hub.lowest[:, 0], kept).T
    counts = first[:, None] + jnp.arange(kept, dtype=jnp.int32)[None]
    return laws * (law.hub.alpha + counts.astype(float))


def conditional_means(law: StarLaw) -> list[Float[Array, "kept cells rows"]]:
    """Expected probabilities of every group of leaves, given the totals of its rows."""
    return [_means_by_total(*group) for group in law.groups()[1:]]


def _means_by_total(rows: Rows, others: Array, start: Array, ratio: Array) -> Array:
    length, counts = len(ratio), jnp.arange(rows.window, dtype=jnp.int32)[:, None]
    first = start - rows.least - (rows.window - 1)

    def one(cell):
        a = rows.alpha[cell][None] + (rows.lowest[cell][None] + counts).astype(float)
        met = take(others[cell], first, length + rows.window - 1)
        return valid(rows.weights[cell] * a, met, length)

    cells = jnp.arange(len(others), dtype=jnp.int32)
    table = jnp.moveaxis(lax.map(one, cells), 0, 1)
    return quotient(table, jnp.broadcast_to(table.sum(axis=1)[:, None], table.shape))
