r"""Exact inference in trees of binary variables, with a public number of records n.

What a variable's children and its own table say depends on its parent's count m alone.
For a variable with children of its own it is a sum over both of its rows, coupled
through its own count k = c₀ + c₁:

$$F(m) = P(s_0 | n - m) P(s_1 | m)
  \sum_{c_0, c_1} P(c_0 | s_0, n - m) P(c_1 | s_1, m) g(c_0 + c_1),$$

with g the product of what its children say of k: n³ terms. Every count takes all n + 1
values. Laws given a total are normalised in logs; only g is not, and what is too small
beside its largest value for a floating-point number is bounded: `missed` below.
"""

__all__ = ["Branch", "Tree", "TreeLaw", "TreeSums", "grow"]

import math
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from dpjax.data.bayes_net import BayesNet
from dpjax.noise import LaplaceLaw
from dpjax.posteriors.exact.convolution import full, valid
from dpjax.posteriors.exact.rows import count_weights, even_tilt, quotient
from dpjax.statistics import TableStatistic


@dataclass(frozen=True)
class Tree:
    """A variable and the trees of its children."""

    variable: int
    children: tuple["Tree", ...]


class Branch(eqx.Module):
    """What is known of the rows of a variable with a parent.

    Args:
        given: law of the count of level 1 given the total, of both rows; a total a
            column, that of row 0 being n less that of row 1.
        message: log of what table and children say of the parent's count.
        missed: log of a bound of what the message leaves out.
        coupling: what the children say of the variable's own count, scaled.
        reach: for every count of row 0 or 1, what the other row lets it expect of that.
        joint: law of count and total, of both rows; columns as in `given`.
    """

    given: Float[Array, "rows counts totals"]
    message: Float[Array, " totals"]
    missed: Float[Array, " totals"]
    coupling: Float[Array, " counts"]
    reach: Float[Array, "rows counts totals"]
    joint: Float[Array, "rows counts totals"]


class TreeLaw(eqx.Module):
    """The posterior of the hidden counts of a tree.

    Args:
        root: law of the root's count of level 1.
        branches: by variable.
        log_evidence: log-probability of the release.
        omitted: bound of the posterior mass that was too small to be summed.
    """

    root: Float[Array, " counts"]
    branches: dict[int, Branch]
    log_evidence: Float[Array, ""]
    omitted: Float[Array, ""]


class _Table(NamedTuple):
    """Log-weights of a table's counts, and of the totals of its rows."""

    logs: Float[Array, "levels counts rows"]
    norm: Float[Array, "totals rows"]


def grow(net: BayesNet | None) -> tuple[Tree, ...] | None:
    """The trees of a network of binary variables; None if it is of another kind."""
    if (
        net is None
        or set(net.sizes) != {2}
        or any(len(parents) > 1 for parents in net.parents)
    ):
        return None

    def tree(variable: int) -> Tree:
        own = [i for i, parents in enumerate(net.parents) if variable in parents]
        return Tree(variable, tuple(tree(child) for child in own))

    return tuple(tree(i) for i, parents in enumerate(net.parents) if not parents)


class TreeSums(eqx.Module):
    """What is summed over: as `Sums`, of trees.

    Args:
        values: of the release.
        law: of every number of it.
        prior: laid out as the network's tables.
        statistic: what was measured.
        n: the number of records.
    """

    values: Float[Array, " m"]
    law: LaplaceLaw
    prior: Float[Array, " c"]
    statistic: TableStatistic = eqx.field(static=True)
    n: int = eqx.field(static=True)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The network's trees."""
        return grow(self.statistic.network) or ()

    def infer(self, given: Array | None = None) -> list[TreeLaw]:
        """The law of the hidden counts of every tree; of given tables, under these."""
        prior = self.prior if given is None else given
        return [infer_tree(tree, self, prior, given is not None) for tree in self.trees]

    def joint(self, laws: list[TreeLaw], variable: int) -> Array:
        """Law of the count of level 1 and of the total: (rows, counts, totals)."""
        for tree, law in zip(self.trees, laws, strict=True):
            if tree.variable == variable:
                return law.root[None, :, None]
            if variable in law.branches:
                joint = law.branches[variable].joint
                return jnp.stack([joint[0, :, ::-1], joint[1]])
        raise ValueError(f"`variable` must be one of the network's, got {variable}.")

    def totals(self, rows: int) -> Array:
        """Of every row and column of `joint`."""
        if rows == 1:
            return jnp.full((1, 1), self.n, jnp.int32)
        counts = jnp.arange(self.n + 1, dtype=jnp.int32)
        return jnp.broadcast_to(counts[None], (rows, self.n + 1))

    def alpha(self, variable: int) -> Array:
        """Of every row and level."""
        start, stop = self.statistic.layout.offsets[variable : variable + 2]
        return self.prior[start:stop].reshape(-1, 2)


def infer_tree(
    tree: Tree, sums: TreeSums, prior: Float[Array, " c"], given: bool
) -> TreeLaw:
    """Sum over all hidden counts: messages to the root, then laws from it.

    Args:
        tree: of the network.
        sums: the release.
        prior: laid out as the network's tables; or probabilities that are `given`.
        given: whether they are.
    """
    branches: dict[int, Branch] = {}

    def climb(node: Tree, parent: int) -> Branch:
        table = _table(node.variable, parent, sums, prior, given)
        said = _said([climb(child, node.variable) for child in node.children], sums.n)
        branches[node.variable] = _branch(table, *said, coupled=bool(node.children))
        return branches[node.variable]

    own = _table(tree.variable, None, sums, prior, given)
    logs = own.logs[1, :, 0] + own.logs[0, ::-1, 0] - own.norm[sums.n]
    messages = [climb(child, tree.variable) for child in tree.children]
    found, above = _said(messages, sums.n)
    log_evidence = logsumexp(logs + found)
    weights = jnp.exp(logs + found - log_evidence)
    odds = jnp.expm1(logsumexp(logs + above) - log_evidence)
    omitted = jnp.where(odds < 1, odds, 1)

    def descend(node: Tree, law_of_parent: Array) -> None:
        branch = branches[node.variable]
        joint = branch.given * branch.reach * law_of_parent[None, None]
        norm = (branch.given * branch.reach).sum(axis=1)[:, None]
        joint = quotient(joint, jnp.broadcast_to(norm, joint.shape))
        own = _law_of_own(branch, law_of_parent)
        branches[node.variable] = eqx.tree_at(lambda b: b.joint, branch, joint)
        for child in node.children:
            descend(child, own)

    for child in tree.children:
        descend(child, weights)
    return TreeLaw(weights, branches, log_evidence, omitted)


def _table(
    variable: int, parent: int | None, sums: TreeSums, prior: Array, given: bool
) -> _Table:
    """Weights of a variable's hidden counts: one row, or one a level of its parent."""
    group = (variable,) if parent is None else (parent, variable)
    n, measured = sums.n, sums.statistic.measured
    assert measured is not None  # as `family_counts` has it
    shape = (1 if parent is None else 2, 2)
    size = 2 * shape[0]
    start = sums.statistic.layout.offsets[variable]
    alpha = prior[start : start + size].reshape(shape).T
    counts = jnp.arange(n + 1, dtype=jnp.int32).astype(float)[None, :, None]
    counts = jnp.broadcast_to(counts, (2, n + 1, shape[0]))
    most = jnp.full(shape[0], n, jnp.int32)
    guess, whole = jnp.full(shape[0], max(n / shape[0], 0.5)), alpha.sum(axis=0)
    guess = even_tilt(whole, guess, jnp.zeros_like(most), most, given)
    logs = count_weights(counts, alpha, guess, whole, given)
    norm = count_weights(counts[0], whole, guess, whole, given)
    if group in measured.groups:
        place = measured.offsets[measured.groups.index(group)]
        noisy = sums.values[place : place + size].reshape(shape).T
        own = sums.law.of(place)  # one rate for all of a table
        logs += own.log_prob(jnp.broadcast_to(noisy[:, None], counts.shape), counts)
    return _Table(logs, norm)


def _said(branches: list[Branch], n: int) -> tuple[Array, Array]:
    """What children say together of their parent's count, in logs, and at most."""
    found = above = jnp.zeros(n + 1)
    for branch in branches:
        found += branch.message
        above += jnp.logaddexp(branch.message, branch.missed)
    return found, above


def _branch(table: _Table, coupling: Array, above: Array, coupled: bool) -> Branch:
    """Laws given the totals of both rows, and the message to the parent.

    Args:
        table: of the variable.
        coupling: what the children say of its count, in logs.
        above: a bound of the same.
        coupled: whether there are children.
    """
    n = table.logs.shape[1] - 1
    given, message = _given_totals(table)
    largest = _finite(coupling.max())
    scaled = jnp.exp(coupling - largest)
    reach, missed = jnp.ones_like(given), jnp.full_like(message, -jnp.inf)
    if coupled:
        reach = jnp.stack([_reach(given[1], scaled), _reach(given[0], scaled)])
        # Of two laws and what children say, (n + 1)² terms, a factor may be too small.
        tiny = 3 * float(jnp.finfo(scaled.dtype).tiny) * (n + 1) ** 2
        lost = above + jnp.log(-jnp.expm1(jnp.minimum(coupling - above, 0)))
        lost = jnp.where(jnp.isneginf(above), -jnp.inf, lost).max()
        missed = message + jnp.logaddexp(lost, largest + math.log(tiny))
        message += jnp.log((given[1] * reach[1]).sum(axis=0)) + largest
    return Branch(given, message, missed, scaled, reach, given)


def _given_totals(table: _Table) -> tuple[Array, Array]:
    """Laws of level 1 of both rows given their totals, and log P(released | totals)."""
    n = table.logs.shape[1] - 1
    counts = jnp.arange(n + 1, dtype=jnp.int32)
    rest = counts[None] - counts[:, None]  # of a total, the count of level 0
    other = table.logs[0][jnp.clip(rest, 0, n)].transpose(2, 0, 1)
    logs = table.logs[1].T[:, :, None] + jnp.where(rest >= 0, other, -jnp.inf)
    most = _finite(logs.max(axis=1))
    weights = jnp.exp(logs - most[:, None])
    sums = weights.sum(axis=1)
    given = quotient(weights, jnp.broadcast_to(sums[:, None], weights.shape))
    message = jnp.log(sums) + most - table.norm.T
    given = jnp.stack([given[0, :, ::-1], given[1]])
    return given, message[0, ::-1] + message[1]


def _finite(logs: Array) -> Array:
    """What logs may be taken relative to."""
    return jnp.where(jnp.isfinite(logs), logs, 0)


def _reach(law: Array, coupling: Array) -> Float[Array, "counts totals"]:
    """What each count of one row lets expect of the coupling, the other's law given."""
    n = len(coupling) - 1
    series = jnp.pad(coupling, (0, n))[:, None]
    return valid(law[::-1], jnp.broadcast_to(series, (2 * n + 1, n + 1)), n + 1)


def _law_of_own(branch: Branch, law_of_parent: Array) -> Float[Array, " counts"]:
    """Law of a variable's own count."""
    n = len(law_of_parent) - 1
    sums = full(branch.given[0], branch.given[1])[: n + 1] * branch.coupling[:, None]
    ratio = quotient(law_of_parent, sums.sum(axis=0))
    return (sums * ratio[None]).sum(axis=1)
