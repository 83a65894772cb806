"""Windows of a star's hidden counts, and the law of the noise at these counts."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, Shaped

from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.stars import Leaves, Star
from dpjax.posteriors.exact.windows import Windows


class LeafCells(NamedTuple):
    """The cells of a group of leaves; a row is of one leaf and a level of the hub."""

    values: Float[Array, "cells rows"]
    alpha: Float[Array, "cells rows"]
    noise: LaplaceLaw  # with a rate for each row
    lowest: Int32[Array, "cells rows"]  # the first count of every cell's window
    largest: Int32[Array, "one rows"]  # the largest total of a row
    counts: Float[Array, "cells window rows"]
    logs: Float[Array, "cells window rows"]  # of the noise that makes counts the values
    padding: np.ndarray

    def unpadded(self, logs: Array) -> Array:
        """Replace the log-weights of cells of padding, which have no records."""
        none = jnp.where(self.counts == 0, 0, -jnp.inf)
        return jnp.where(self.padding[:, None], none, logs)


def guess_hub(star: Star) -> Float[Array, " levels"]:
    """Estimate the counts of the hub's levels by medians over all measured tables."""
    looks = [group.values.sum(axis=0) for group in star.leaves]
    if all(star.seen):
        looks.append(star.values[None])
    elif not looks:  # two levels, of which only one was measured
        seen = jnp.asarray(star.seen)
        assert star.n is not None
        rest = star.n.astype(float) * star.step - star.values[::-1]
        looks.append(jnp.where(seen, star.values, rest)[None])
    estimates = jnp.concatenate(looks) / star.step
    if star.n is None:
        return jnp.maximum(jnp.median(estimates, axis=0), 0.5)
    n = star.n.astype(float)
    missing = (n - estimates.sum(axis=1, keepdims=True)) / estimates.shape[1]
    most = jnp.maximum(n - 0.5, 0.5)
    return jnp.clip(jnp.median(estimates + missing, axis=0), 0.5, most)


def hub_window(star: Star, guess: Array, length: int) -> Int32[Array, " levels"]:
    """First counts of the hub's windows, which are mirrored for two levels."""
    lowest = jnp.maximum(jnp.round(guess).astype(jnp.int32) - length // 2, 0)
    if star.n is None:
        return lowest
    spare = star.n + 1 - length
    lowest = jnp.minimum(lowest, jnp.maximum(spare, 0))
    if len(lowest) != 2:
        return lowest
    return jnp.stack([jnp.maximum(spare - lowest[1], 0), lowest[1]])


def first_record(star: Star, length: int) -> Int32[Array, ""]:
    """Return the first number of records of its window; the number itself if public."""
    if star.n is not None:
        return star.n
    middle = jnp.round(star.guess_records()).astype(jnp.int32)
    return jnp.maximum(middle - length // 2, 0)


def log_law(
    star: Star, counts: Float[Array, "levels hub"]
) -> Float[Array, "levels hub"]:
    """Log-law of the noise that makes counts of the hub's levels the released ones."""
    values = jnp.broadcast_to(star.values[:, None], counts.shape)
    logs = star.noise.log_prob(values, counts * star.step)
    logs = jnp.where(jnp.asarray(star.seen)[:, None], logs, 0)
    if star.n is None:
        return logs
    return jnp.where(counts <= star.n.astype(float), logs, -jnp.inf)


def leaf_cells(
    star: Star, group: Leaves, lowest_of_hub: Int32[Array, " levels"], windows: Windows
) -> LeafCells:
    """Choose the windows of the hidden counts of leaves, given that of the hub."""
    cells = group.values.shape[0]
    values, alpha = group.values.reshape(cells, -1), group.alpha.reshape(cells, -1)
    largest = by_row(lowest_of_hub + (windows.hub - 1), group)[None]
    middle = jnp.clip(jnp.round(values / star.step), -(2**30), 2**30).astype(jnp.int32)
    lowest = jnp.minimum(middle - windows.cells // 2, largest + 1 - windows.cells)
    padding = np.repeat(group.is_padding, group.values.shape[2], axis=1)
    lowest = jnp.where(padding, 0, jnp.maximum(lowest, 0))
    counts = (lowest[:, None] + steps(windows.cells)[None, :, None]).astype(float)
    rates = jnp.broadcast_to(group.noise.rate, group.values.shape[1:]).reshape(-1)
    noise = LaplaceLaw(rates, group.noise.discrete)
    seen = jnp.broadcast_to(values[:, None], counts.shape)
    logs = noise.log_prob(seen, counts * star.step)
    return LeafCells(values, alpha, noise, lowest, largest, counts, logs, padding)


def steps(length: int) -> Int32[Array, " length"]:
    """Return the integers from 0 to `length` - 1."""
    return jnp.arange(length, dtype=jnp.int32)


def by_row(
    of_levels: Shaped[Array, "*shape levels"], group: Leaves
) -> Shaped[Array, "*shape rows"]:
    """Repeat values of the hub's levels for all rows of a group of leaves."""
    return jnp.tile(of_levels, group.values.shape[1])


def by_level(
    of_rows: Float[Array, "hub rows"], group: Leaves
) -> Float[Array, "levels hub"]:
    """Sum values of all rows of a group over its leaves."""
    _, leaves, levels = group.values.shape
    return of_rows.reshape(-1, leaves, levels).sum(axis=1).T
