"""Sums over the hidden counts of trees, and the resulting posterior distributions."""

import bisect
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.families.log_densities import dirichlet_log_density
from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.count_weights import poisson
from dpjax.posteriors.exact.rows import count_weights, even_tilt
from dpjax.posteriors.exact.trees import Table, Tree, TreeLaw, grow, infer_tree
from dpjax.posteriors.plug_in import draw_tables
from dpjax.statistics import TableStatistic


class TreeSums(eqx.Module):
    """Released counts of a network of trees of binary variables, with the prior."""

    values: Float[Array, " m"]  # released numbers
    law: LaplaceLaw  # noise of the released numbers
    prior: Float[Array, " c"]  # Dirichlet parameters of all cells
    statistic: TableStatistic = eqx.field(static=True)
    n: int = eqx.field(static=True)  # number of records

    @property
    def trees(self) -> tuple[Tree, ...]:
        """All trees of the network, whose roots are variables without parents."""
        return grow(self.statistic.network) or ()

    def infer(self, given: Array | None = None) -> list[TreeLaw]:
        """Infer the hidden counts of all trees, from the prior or given tables."""
        table = partial(self._table, given)
        return [infer_tree(tree, table) for tree in self.trees]

    def joint(self, laws: list[TreeLaw], variable: int) -> Array:
        """Joint posterior of level 1's count and the total, (rows, counts, totals)."""
        for tree, law in zip(self.trees, laws, strict=True):
            if tree.variable == variable:
                return law.root[None, :, None]
            if variable in law.branches:
                joint = law.branches[variable].joint
                return jnp.stack([joint[0, :, ::-1], joint[1]])
        raise ValueError(f"`variable` must be one of the network's, got {variable}.")

    def totals(self, rows: int) -> Array:
        """Return the total of a row for every index of the last axis of `joint`."""
        if rows == 1:
            return jnp.full((1, 1), self.n, jnp.int32)
        counts = jnp.arange(self.n + 1, dtype=jnp.int32)
        return jnp.broadcast_to(counts[None], (rows, self.n + 1))

    def alpha(self, variable: int) -> Array:
        """Return the Dirichlet parameters of a variable's table, (rows, levels)."""
        start, stop = self.statistic.layout.offsets[variable : variable + 2]
        return self.prior[start:stop].reshape(-1, 2)

    def _table(self, given: Array | None, variable: int, parent: int | None) -> Table:
        """Weights of a variable's hidden counts, with a row for each parent level."""
        group = (variable,) if parent is None else (parent, variable)
        n, measured = self.n, self.statistic.measured
        assert measured is not None  # `network_counts` checks this
        shape = (1 if parent is None else 2, 2)
        size = 2 * shape[0]
        start = self.statistic.layout.offsets[variable]
        prior = self.prior if given is None else given
        alpha = prior[start : start + size].reshape(shape).T
        counts = jnp.arange(n + 1, dtype=jnp.int32).astype(float)[None, :, None]
        counts = jnp.broadcast_to(counts, (2, n + 1, shape[0]))
        most = jnp.full(shape[0], n, jnp.int32)
        guess, whole = jnp.full(shape[0], max(n / shape[0], 0.5)), alpha.sum(axis=0)
        if given is None:
            guess = even_tilt(whole, guess, jnp.zeros_like(most), most)
            logs = count_weights(counts, alpha, guess, whole)
            norm = count_weights(counts[0], whole, guess, whole)
        else:
            logs = poisson(counts, (alpha / whole[None] * guess[None])[:, None])
            norm = poisson(counts[0], guess[None])
        if group in measured.groups:
            place = measured.offsets[measured.groups.index(group)]
            noisy = self.values[place : place + size].reshape(shape).T
            own = self.law.of(place)  # all cells of a table have one rate
            logs += own.log_prob(jnp.broadcast_to(noisy[:, None], counts.shape), counts)
        return Table(logs, norm)

    @jax.jit
    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Return posterior summaries of the probabilities of all tables.

        They are means of the probabilities, means of their squares, the log-evidence,
        and a bound of the omitted posterior mass.
        """
        laws, firsts, seconds = self.infer(), [], []
        for variable in range(len(self.statistic.variables)):
            joint, alpha = self.joint(laws, variable), self.alpha(variable)
            whole = alpha.sum(axis=1)[:, None] + self.totals(len(alpha)).astype(float)
            counts = jnp.arange(self.n + 1, dtype=jnp.int32).astype(float)
            a = (alpha[:, 1, None] + counts[None])[..., None]
            first = (joint * a / whole[:, None]).sum(axis=(1, 2))
            both = joint * a * (a + 1) / (whole * (whole + 1))[:, None]
            second = both.sum(axis=(1, 2))
            firsts.append(jnp.stack([1 - first, first], axis=1).reshape(-1))
            rest = 1 - 2 * first + second
            seconds.append(jnp.stack([rest, second], axis=1).reshape(-1))
        evidence = sum((law.log_evidence for law in laws), jnp.zeros(()))
        omitted = sum((law.omitted for law in laws), jnp.zeros(()))
        return jnp.concatenate(firsts), jnp.concatenate(seconds), evidence, omitted

    def marginal(self, place: int) -> CellLaw:
        """Return the posterior of the probability at index `place` of `net.layout`."""
        offsets = self.statistic.layout.offsets
        table = bisect.bisect_right(offsets, place) - 1
        row, level = divmod(place - offsets[table], 2)
        return self._marginal(table, jnp.int32(row), jnp.int32(level))

    @partial(jax.jit, static_argnames="table")
    def _marginal(self, table: int, row: Array, level: Array) -> CellLaw:
        return self._cell_law(self.infer(), table, row, level)

    def _cell_law(
        self, laws: list[TreeLaw], table: int, row: Array, level: Array
    ) -> CellLaw:
        joint, alpha = self.joint(laws, table), self.alpha(table)
        totals = self.totals(len(alpha))[row]
        counts = jnp.arange(self.n + 1, dtype=jnp.int32)
        places = jnp.where(level == 1, counts[:, None], totals[None] - counts[:, None])
        found = jnp.take_along_axis(joint[row], jnp.clip(places, 0, self.n), axis=0)
        weights = jnp.where(places >= 0, found, 0).T
        a = alpha[row, level] + counts.astype(float)
        return CellLaw(weights, a, alpha[row].sum() + totals.astype(float))

    @jax.jit
    def quantiles(self, q: Array) -> Float[Array, " c"]:
        """Return the posterior q-quantile of every probability."""
        laws, parts = self.infer(), []
        for table in range(len(self.statistic.variables)):

            def one(cell, table=table):
                law = self._cell_law(laws, table, cell // 2, cell % 2)
                return law.quantile(q)

            cells = 2 * len(self.alpha(table))
            parts.append(lax.map(one, jnp.arange(cells, dtype=jnp.int32)))
        return jnp.concatenate(parts)

    @jax.jit
    def count_laws(self) -> tuple[Array, Float[Array, "c counts"]]:
        """Return each cell's smallest count, 0, and probabilities of hidden counts."""
        laws = self.infer()
        cells = [
            self._cell_law(laws, table, jnp.int32(i // 2), jnp.int32(i % 2))
            for table in range(len(self.statistic.variables))
            for i in range(2 * len(self.alpha(table)))
        ]
        laws = jnp.stack([cell.weights.sum(axis=0) for cell in cells])
        return jnp.zeros(len(cells), jnp.int32), laws

    @jax.jit
    def draw(self, key: Key) -> Float[Array, " c"]:
        """Draw hidden counts from root to leaves, then all tables given the counts."""
        key_tables, *keys = jr.split(key, 2 * len(self.statistic.variables) + 1)
        drawn: dict[int, Array] = {}

        def choose(key: Key, weights: Array) -> Array:
            return jr.categorical(key, jnp.log(weights)).astype(jnp.int32)

        def descend(node: Tree, law: TreeLaw, own: Array) -> None:
            for child in node.children:
                branch = law.branches[child.variable]
                given = branch.given[:, :, own]
                key_one, key_zero = keys[2 * child.variable : 2 * child.variable + 2]
                one = choose(key_one, given[1] * branch.reach[1, :, own])
                later = jnp.pad(branch.coupling, (0, self.n + 1))
                later = lax.dynamic_slice_in_dim(later, one, self.n + 1)
                zero = choose(key_zero, given[0] * later)
                level_one = jnp.stack([zero, one])
                totals = jnp.stack([self.n - own, own])
                cells = jnp.stack([totals - level_one, level_one], axis=1)
                drawn[child.variable] = cells.reshape(-1)
                descend(child, law, zero + one)

        for tree, law in zip(self.trees, self.infer(), strict=True):
            own = choose(keys[2 * tree.variable], law.root)
            drawn[tree.variable] = jnp.stack([self.n - own, own])
            descend(tree, law, own)
        counts = jnp.concatenate([drawn[i] for i in sorted(drawn)])
        layout = self.statistic.layout
        return draw_tables(key_tables, self.prior + counts.astype(float), layout)

    @jax.jit
    def log_density(self, theta: Array, log_evidence: Array) -> Float[Array, ""]:
        """Log-posterior density of all tables at `theta`, by Bayes' rule."""
        rows = dirichlet_log_density(theta.reshape(-1, 2), self.prior.reshape(-1, 2))
        given = sum((law.log_evidence for law in self.infer(theta)), jnp.zeros(()))
        return rows.sum() + given - log_evidence
