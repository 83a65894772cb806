"""Everything that is asked of the exact posterior of a tree, compiled."""

__all__ = [
    "count_laws",
    "draw",
    "log_density",
    "marginal",
    "moments",
    "quantiles",
]

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from jax import lax
from jaxtyping import Array, Float

from dpjax._types import Key
from dpjax.families.log_densities import dirichlet_log_density
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.posteriors.exact.trees import Tree, TreeLaw, TreeSums
from dpjax.posteriors.plug_in import draw_tables


@eqx.filter_jit
def moments(sums: TreeSums) -> tuple[Array, Array, Array, Array]:
    """First and second moments, log-evidence, and a bound of what is omitted."""
    laws, firsts, seconds = sums.infer(), [], []
    for variable in range(len(sums.statistic.variables)):
        joint, alpha = sums.joint(laws, variable), sums.alpha(variable)
        whole = alpha.sum(axis=1)[:, None] + sums.totals(len(alpha)).astype(float)
        counts = jnp.arange(sums.n + 1, dtype=jnp.int32).astype(float)
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


@partial(jax.jit, static_argnames="table")
def marginal(sums: TreeSums, table: int, row: Array, level: Array) -> CellLaw:
    """The law of one probability."""
    return _cell_law(sums, sums.infer(), table, row, level)


def _cell_law(
    sums: TreeSums, laws: list[TreeLaw], table: int, row: Array, level: Array
) -> CellLaw:
    joint, alpha = sums.joint(laws, table), sums.alpha(table)
    totals = sums.totals(len(alpha))[row]
    counts = jnp.arange(sums.n + 1, dtype=jnp.int32)
    places = jnp.where(level == 1, counts[:, None], totals[None] - counts[:, None])
    found = jnp.take_along_axis(joint[row], jnp.clip(places, 0, sums.n), axis=0)
    weights = jnp.where(places >= 0, found, 0).T
    a = alpha[row, level] + counts.astype(float)
    return CellLaw(weights, a, alpha[row].sum() + totals.astype(float))


@jax.jit
def quantiles(sums: TreeSums, q: Array) -> Float[Array, " c"]:
    """Of all probabilities, one after the other."""
    laws, parts = sums.infer(), []
    for table in range(len(sums.statistic.variables)):

        def one(cell, table=table):
            law = _cell_law(sums, laws, table, cell // 2, cell % 2)
            return law.quantile(q)

        cells = 2 * len(sums.alpha(table))
        parts.append(lax.map(one, jnp.arange(cells, dtype=jnp.int32)))
    return jnp.concatenate(parts)


@jax.jit
def count_laws(sums: TreeSums) -> Float[Array, "c counts"]:
    """Of every cell, the law of its count, from 0 to n."""
    laws = sums.infer()
    cells = [
        _cell_law(sums, laws, table, jnp.int32(i // 2), jnp.int32(i % 2))
        for table in range(len(sums.statistic.variables))
        for i in range(2 * len(sums.alpha(table)))
    ]
    return jnp.stack([cell.weights.sum(axis=0) for cell in cells])


@jax.jit
def draw(key: Key, sums: TreeSums) -> Float[Array, " c"]:
    """Counts from the root to the leaves, then tables."""
    key_tables, *keys = jr.split(key, 2 * len(sums.statistic.variables) + 1)
    drawn: dict[int, Array] = {}

    def choose(key: Key, weights: Array) -> Array:
        return jr.categorical(key, jnp.log(weights)).astype(jnp.int32)

    def descend(node: Tree, law: TreeLaw, own: Array) -> None:
        for child in node.children:
            branch = law.branches[child.variable]
            given = branch.given[:, :, own]
            key_one, key_zero = keys[2 * child.variable : 2 * child.variable + 2]
            one = choose(key_one, given[1] * branch.reach[1, :, own])
            later = jnp.pad(branch.coupling, (0, sums.n + 1))
            later = lax.dynamic_slice_in_dim(later, one, sums.n + 1)
            zero = choose(key_zero, given[0] * later)
            level_one = jnp.stack([zero, one])
            totals = jnp.stack([sums.n - own, own])
            cells = jnp.stack([totals - level_one, level_one], axis=1)
            drawn[child.variable] = cells.reshape(-1)
            descend(child, law, zero + one)

    for tree, law in zip(sums.trees, sums.infer(), strict=True):
        own = choose(keys[2 * tree.variable], law.root)
        drawn[tree.variable] = jnp.stack([sums.n - own, own])
        descend(tree, law, own)
    counts = jnp.concatenate([drawn[i] for i in sorted(drawn)])
    layout = sums.statistic.layout
    return draw_tables(key_tables, sums.prior + counts.astype(float), layout)


@jax.jit
def log_density(sums: TreeSums, theta: Array, log_evidence: Array) -> Float[Array, ""]:
    """By Bayes' rule: the prior's, and the release given the tables."""
    rows = dirichlet_log_density(theta.reshape(-1, 2), sums.prior.reshape(-1, 2))
    given = sum((law.log_evidence for law in sums.infer(theta)), jnp.zeros(()))
    return rows.sum() + given - log_evidence
