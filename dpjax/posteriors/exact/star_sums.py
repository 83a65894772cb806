"""Sums over the hidden counts of a network of stars, and the resulting posteriors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, Int32

from dpjax._platforms import each
from dpjax._types import Key
from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.cell_laws import CellLaw, cell_law
from dpjax.posteriors.exact.components import Component, cells_of, stars
from dpjax.posteriors.exact.rows import RowLaws
from dpjax.posteriors.exact.star import StarLaw, infer
from dpjax.posteriors.exact.star_likelihood import log_likelihood
from dpjax.posteriors.exact.star_windows import guess_hub
from dpjax.posteriors.exact.stars import Leaves, Star
from dpjax.posteriors.exact.windows import Windows
from dpjax.posteriors.plug_in import draw_tables, rows_log_density
from dpjax.statistics import TableStatistic


class StarSums(eqx.Module):
    """Released counts of a network of stars, with the prior and windows of counts."""

    values: Float[Array, "*batch m"]  # released numbers
    law: LaplaceLaw  # noise of the released numbers
    prior: Float[Array, " c"]  # Dirichlet parameters of all cells
    n: Int32[Array, "*batch"] | None  # number of records; None if private
    statistic: TableStatistic = eqx.field(static=True)
    windows: Windows = eqx.field(static=True)

    @property
    def components(self) -> tuple[Component, ...]:
        """All stars of the network, each made of a hub and its leaves."""
        return stars(self.statistic.network) or ()

    def star(self, component: Component, prior: Array | None = None) -> Star:
        """Restrict the release to one star; other parameters may replace `prior`."""
        prior = self.prior if prior is None else prior
        measured = self.statistic.measured
        assert measured is not None  # `network_counts` checks this
        tables = {group: table for table, group in enumerate(measured.groups)}
        hub, *places = component.places(self.statistic.layout)
        hub = hub[:, 0, 0]
        seen = (component.hub,) in tables
        start, own = 0, jnp.zeros(len(hub), self.values.dtype)
        if seen:
            start = measured.offsets[tables[component.hub,]]
            own = self.values[start : start + len(hub)]
        groups = []
        for leaves, cells in zip(component.leaves, places, strict=True):
            starts = [measured.offsets[tables[component.hub, i]] for i in leaves]
            sizes = [self.statistic.layout.sizes[i] for i in leaves]
            noisy = cells_of(starts, len(hub), sizes, measured.length)
            noisy = self.values.at[noisy].get(mode="fill", fill_value=0)
            alpha = prior.at[cells].get(mode="fill", fill_value=0)
            law = self.law.of(np.array(starts, np.int32)[:, None])
            groups.append(Leaves(noisy.astype(float), alpha, law, tuple(sizes)))
        return Star(
            own.astype(float), prior[hub], groups, self.n, self.law.of(start),
            (seen,) * len(hub),
        )  # fmt: skip

    @jax.jit
    def infer(self) -> "InferredStars":
        """Infer the hidden counts of all stars by sums, for one release."""
        laws = [infer(self.star(part), self.windows) for part in self.components]
        return InferredStars(self, tuple(laws))

    @jax.jit
    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Return the result of `InferredStars.moments` for every stacked release."""
        batch = self.values.shape[:-1]
        flat = jax.tree.map(
            lambda x: x.reshape(-1, *x.shape[len(batch) :]),
            (self.values, self.law.rate, self.n),
        )
        results = each(
            lambda row: self._alone(*row).infer().moments(),
            flat,
            lambda sizes: sizes.weights // self._weights(),
        )
        return jax.tree.map(lambda x: x.reshape(*batch, *x.shape[1:]), results)

    def _weights(self) -> int:
        """About the number of weights of hidden counts that one release needs."""
        windows, sizes, found = self.windows, self.statistic.layout.sizes, 0
        for star in self.components:
            k = sizes[star.hub]
            found += k * (k * windows.hub + windows.records)
            for leaves in star.leaves:
                rows, k = len(leaves) * sizes[star.hub], sizes[leaves[0]]
                found += rows * k * (k * windows.cells + windows.hub)
        return found

    def _alone(self, values: Array, rate: Array, n: Array | None) -> "StarSums":
        law = LaplaceLaw(rate, self.law.discrete)
        return StarSums(values, law, self.prior, n, self.statistic, self.windows)

    @jax.jit
    def largest_guess(self) -> Float[Array, ""]:
        """Return the largest estimated count of a level of a hub, over all releases."""

        def one(*row):
            alone = self._alone(*row)
            guesses = [guess_hub(alone.star(x)).max() for x in self.components]
            return jnp.stack(guesses).max()

        for _ in self.values.shape[:-1]:
            one = jax.vmap(one)
        return one(self.values, self.law.rate, self.n).max()

    @jax.jit
    def log_density(self, theta: Array, log_evidence: Array) -> Float[Array, ""]:
        """Log-posterior density of all tables at `theta`, by Bayes' rule."""
        stars = [self.star(component, theta) for component in self.components]
        density = rows_log_density(self.prior, theta, self.statistic.layout)
        found = sum(log_likelihood(star, self.windows) for star in stars)
        return density + found - log_evidence


class InferredStars(eqx.Module):
    """Posterior of the hidden counts and tables of all stars, given one release."""

    sums: StarSums
    laws: tuple[StarLaw, ...]

    @property
    def stars(self) -> list[tuple[Component, StarLaw]]:
        """All stars, each with the posterior distributions of its hidden counts."""
        return list(zip(self.sums.components, self.laws, strict=True))

    def groups(self) -> list[tuple[np.ndarray, RowLaws]]:
        """Return groups of equal rows, with their cells' indices in `net.layout`."""
        layout = self.sums.statistic.layout
        return [
            pair
            for component, law in self.stars
            for pair in zip(component.places(layout), law.groups, strict=True)
        ]

    @jax.jit
    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Return posterior summaries of the probabilities of all tables.

        They are means of the probabilities, means of their squares, the log-evidence,
        and bounds of three parts of the omitted posterior mass.
        """
        layout = self.sums.statistic.layout
        first = second = jnp.zeros(layout.length)
        evidence, omitted = jnp.zeros(()), jnp.zeros(3)
        for places, group in self.groups():
            once, twice = group.moments()
            first = first.at[places].set(once.reshape(places.shape))
            second = second.at[places].set(twice.reshape(places.shape))
        for law in self.laws:
            evidence, omitted = evidence + law.log_evidence, omitted + law.omitted
        return first, second, evidence, omitted

    def marginal(self, place: int) -> CellLaw:
        """Return the posterior of the probability at index `place` of `net.layout`."""
        for places, group in self.groups():
            found = np.flatnonzero(places.reshape(-1) == place)
            if found.size:
                cell, row = divmod(int(found[0]), places[0].size)
                return marginal(group, jnp.int32(cell), jnp.int32(row))
        raise ValueError(f"`place` must be a cell of the layout, got {place}.")

    @jax.jit
    def quantiles(self, q: Float[Array, ""]) -> Float[Array, " c"]:
        """Return the posterior q-quantile of every probability."""
        result = jnp.zeros(self.sums.statistic.layout.length)
        for places, group in self.groups():
            used = np.flatnonzero(places < len(result))
            found = quantiles(group, q, jnp.asarray(used, jnp.int32))
            result = result.at[places.reshape(-1)[used]].set(found)
        return result

    @jax.jit
    def count_laws(self) -> tuple[Int32[Array, " c"], Float[Array, "c w"]]:
        """Return each cell's smallest hidden count, and probabilities from it on."""
        length, windows = self.sums.statistic.layout.length, self.sums.windows
        lowest = jnp.zeros(length, jnp.int32)
        width = max(windows.cells, windows.hub)
        laws = jnp.zeros((length, width))
        for places, group in self.groups():
            law = jnp.swapaxes(group.counts(), 1, 2)
            law = jnp.pad(law, ((0, 0), (0, 0), (0, width - law.shape[2])))
            laws = laws.at[places].set(law.reshape(*places.shape, width))
            first = group.rows.lowest.reshape(places.shape)
            lowest = lowest.at[places].set(first)
        return lowest, laws

    @jax.jit
    def draw(self, key: Key) -> Float[Array, " c"]:
        """Draw all tables once from the posterior, in the order of `net.layout`."""
        key_counts, key_tables = jr.split(key)
        layout = self.sums.statistic.layout
        counts = jnp.zeros(layout.length)
        keys = jr.split(key_counts, len(self.laws))
        for key_star, (component, law) in zip(keys, self.stars, strict=True):
            drawn = law.draw_counts(key_star)
            for places, cells in zip(component.places(layout), drawn, strict=True):
                cells = cells.reshape(places.shape).astype(float)
                counts = counts.at[places].set(cells)
        return draw_tables(key_tables, self.sums.prior + counts, layout)


marginal = jax.jit(cell_law)
"""Function from a group of rows to the posterior of the probability in a cell."""


@jax.jit
def quantiles(
    group: RowLaws, q: Array, places: Int32[Array, " c"]
) -> Float[Array, " c"]:
    """Return the posterior q-quantiles of probabilities of a group of rows.

    The place of a probability is its index in the flat array of cells and rows.
    """
    width = group.rows.weights.shape[2]

    def one(place):
        return cell_law(group, place // width, place % width).quantile(q)

    return lax.map(one, places)


def rank_in(
    sums: StarSums, place: Int[Array, ""], t: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, "3"]]:
    """Return the posterior probability that a table's probability is at most t.

    Args:
        sums: the sums over hidden counts, from `sums_of`.
        place: index of the probability in the network's layout; may be traced.
        t: a number between 0 and 1.

    Returns:
        The posterior probability, and bounds of three parts of the omitted mass.
    """
    inferred, length = sums.infer(), sums.statistic.layout.length
    branches, owner = [], np.zeros(length, np.int32)
    index = np.zeros((2, length), np.int32)
    for places, group in inferred.groups():
        used = places < length
        owner[places[used]] = len(branches)
        cells = np.indices((len(places), places[0].size)).reshape(2, *places.shape)
        index[:, places[used]] = cells[:, used]
        branches.append(lambda where, group=group: cell_law(group, *where).cdf(t))
    cell, row = jnp.asarray(index)[:, place]
    below = lax.switch(jnp.asarray(owner)[place], branches, (cell, row))
    return below, sum((law.omitted for law in inferred.laws), jnp.zeros(3))
