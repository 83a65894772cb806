"""Everything that is asked of the exact posterior of a network of stars, compiled."""

__all__ = [
    "Inferred",
    "count_laws",
    "draw",
    "infer_all",
    "largest_guess",
    "log_density",
    "marginal",
    "moments",
    "quantiles",
    "rank_in",
]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Int32

from dpjax._types import Key
from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.cell_laws import CellLaw, cell_law
from dpjax.posteriors.exact.forests import Component, Sums
from dpjax.posteriors.exact.rows import row_laws
from dpjax.posteriors.exact.star import Group, StarLaw, guess_hub, infer
from dpjax.posteriors.exact.star_draws import draw_counts
from dpjax.posteriors.plug_in import draw_tables, rows_log_density

_RELEASES_AT_ONCE = 8  # of a stack: more leave the cache


class Inferred(eqx.Module):
    """What was summed over, and what came of it: compiled once for all questions.

    Args:
        sums: the release, its law and a prior.
        laws: of every star's hidden counts.
    """

    sums: Sums
    laws: tuple[StarLaw, ...]

    @property
    def stars(self) -> list[tuple[Component, StarLaw]]:
        """Every star and its law."""
        return list(zip(self.sums.components, self.laws, strict=True))


def _infer(sums: Sums, component: Component, given: Array | None = None) -> StarLaw:
    """The law of a star's hidden counts; if tables are given, under these."""
    return infer(component.star(sums, given), sums.windows)


@jax.jit
def infer_all(sums: Sums) -> Inferred:
    """The laws of the hidden counts of all stars, of one release."""
    return Inferred(sums, tuple(map(partial(_infer, sums), sums.components)))


def rank_in(
    sums: Sums, place: Int[Array, ""], t: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, "3"]]:
    """The distribution function of a probability at a traced place, and the omitted.

    Of many one is evaluated, by `lax.switch`: not under `vmap`.
    """
    branches, owner = [], np.zeros(sums.layout.length, np.int32)
    index = np.zeros((2, sums.layout.length), np.int32)
    omitted = jnp.zeros(3)
    for component, law in infer_all(sums).stars:
        omitted = omitted + law.omitted
        groups = zip(component.places(sums.layout), law.groups(), strict=True)
        for places, (rows, other, start, ratio) in groups:
            owner[places] = len(branches)
            index[:, places] = np.indices((len(places), places[0].size)).reshape(
                2, *places.shape
            )

            def cdf(where, rows=rows, other=other, start=start, ratio=ratio):
                return cell_law(rows, other, start, ratio, *where).cdf(t)

            branches.append(cdf)
    cell, row = jnp.asarray(index)[:, place]
    return lax.switch(jnp.asarray(owner)[place], branches, (cell, row)), omitted


def moments(sums: Sums) -> tuple[Array, Array, Array, Array]:
    """First and second moments, log-evidence, and parts of what is omitted."""
    batch = sums.values.shape[:-1]
    return _many_moments(sums) if batch else _moments(infer_all(sums))


@jax.jit
def _many_moments(sums: Sums) -> tuple[Array, Array, Array, Array]:
    batch = sums.values.shape[:-1]
    stacked = (sums.values, sums.law.rate, sums.n)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[len(batch) :]), stacked)

    def one(row):
        values, rate, n = row
        law = LaplaceLaw(rate, sums.law.discrete)
        alone = Sums(values, law, sums.prior, n, sums.statistic, sums.windows)
        return _moments(infer_all(alone))

    results = lax.map(one, flat, batch_size=_RELEASES_AT_ONCE)
    return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), results)


@jax.jit
def largest_guess(sums: Sums) -> Float[Array, ""]:
    """The most records that a level of a hub is guessed to have, over a stack."""
    batch = sums.values.shape[:-1]

    def one(values, rate, n):
        law = LaplaceLaw(rate, sums.law.discrete)
        alone = Sums(values, law, sums.prior, n, sums.statistic, sums.windows)
        guesses = [guess_hub(part.star(alone)).max() for part in sums.components]
        return jnp.stack(guesses).max()

    for _ in batch:
        one = jax.vmap(one)
    return one(sums.values, sums.law.rate, sums.n).max()


@jax.jit
def _moments(inferred: Inferred) -> tuple[Array, Array, Array, Array]:
    layout = inferred.sums.layout
    first = second = jnp.zeros(layout.length)
    evidence, omitted = jnp.zeros(()), jnp.zeros(3)
    for component, law in inferred.stars:
        for place, (once, twice) in zip(
            component.places(layout), law.moments(), strict=True
        ):
            first = first.at[place].set(once.reshape(place.shape))
            second = second.at[place].set(twice.reshape(place.shape))
        evidence = evidence + law.log_evidence
        omitted = omitted + law.omitted
    return first, second, evidence, omitted


def marginal(inferred: Inferred, place: int) -> CellLaw:
    """The law of the probability at a place of the layout."""
    for component, law in inferred.stars:
        groups = zip(component.places(inferred.sums.layout), law.groups(), strict=True)
        for places, group in groups:
            found = np.flatnonzero(places.reshape(-1) == place)
            if found.size:
                width = places.shape[1] * places.shape[2]
                cell, row = divmod(int(found[0]), width)
                return _cell_law(group, jnp.int32(cell), jnp.int32(row))
    raise ValueError(f"`place` must be a cell of the layout, got {place}.")


@jax.jit
def _cell_law(group: Group, cell: Array, row: Array) -> CellLaw:
    return cell_law(*group, cell, row)


@jax.jit
def quantiles(inferred: Inferred, q: Float[Array, ""]) -> Float[Array, " c"]:
    """Of all probabilities, one after the other."""
    layout = inferred.sums.layout
    result = jnp.zeros(layout.length)
    for component, law in inferred.stars:
        for places, group in zip(component.places(layout), law.groups(), strict=True):
            result = result.at[places].set(_quantiles(group, q).reshape(places.shape))
    return result


def _quantiles(group: Group, q: Array) -> Float[Array, "cells rows"]:
    cells, _, width = group[0].weights.shape

    def one(index):
        return cell_law(*group, index // width, index % width).quantile(q)

    indices = jnp.arange(cells * width, dtype=jnp.int32)
    return lax.map(one, indices).reshape(cells, width)


@jax.jit
def count_laws(inferred: Inferred) -> tuple[Int32[Array, " c"], Float[Array, "c w"]]:
    """Of every cell, the first count of its window, and the law from there."""
    layout, windows = inferred.sums.layout, inferred.sums.windows
    lowest = jnp.zeros(layout.length, jnp.int32)
    width = max(windows.cells, windows.hub)
    laws = jnp.zeros((layout.length, width))
    for component, star_law in inferred.stars:
        groups = zip(component.places(layout), star_law.groups(), strict=True)
        for places, group in groups:
            law = jnp.swapaxes(row_laws(*group), 1, 2)
            law = jnp.pad(law, ((0, 0), (0, 0), (0, width - law.shape[2])))
            laws = laws.at[places].set(law.reshape(*places.shape, width))
            first = group[0].lowest.reshape(places.shape)
            lowest = lowest.at[places].set(first)
    return lowest, laws


@jax.jit
def draw(key: Key, inferred: Inferred) -> Float[Array, " c"]:
    """One draw of all tables."""
    key_counts, key_tables = jr.split(key)
    layout = inferred.sums.layout
    counts = jnp.zeros(layout.length)
    keys = jr.split(key_counts, len(inferred.laws))
    for key_star, (component, law) in zip(keys, inferred.stars, strict=True):
        drawn = draw_counts(key_star, law)
        for places, cells in zip(component.places(layout), drawn, strict=True):
            counts = counts.at[places].set(cells.reshape(places.shape).astype(float))
    return draw_tables(key_tables, inferred.sums.prior + counts, layout)


@jax.jit
def log_density(sums: Sums, theta: Array, log_evidence: Array) -> Float[Array, ""]:
    """Of all tables, by Bayes' rule: the prior's, and the release given the tables."""
    prior, layout = sums.prior, sums.layout
    laws = [_infer(sums, component, theta) for component in sums.components]
    density = rows_log_density(prior, theta, layout)
    return density + sum(law.log_evidence for law in laws) - log_evidence
