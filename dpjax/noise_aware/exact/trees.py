r"""Exact inference in trees of binary variables, with a public number of records n.

What a variable's children and its own table say depends on its parent's count m alone.
For a variable with children of its own it is a sum over both of its rows, coupled
through its own count k = c₀ + c₁:

$$F(m) = P(s_0 | n - m) P(s_1 | m)
  \sum_{c_0, c_1} P(c_0 | s_0, n - m) P(c_1 | s_1, m) g(c_0 + c_1),$$

with g the product of what its children say of k: n³ terms. Every count takes all n + 1
values.
"""

__all__ = ["Branch", "Tree", "TreeLaw", "grow", "infer_tree"]

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from dpjax.graph import BayesNet
from dpjax.noise_aware.exact.convolution import full, valid
from dpjax.noise_aware.exact.rows import (
    Rows,
    count_weights,
    even_tilt,
    quotient,
)
from dpjax.noise_aware.laws import LaplaceLaw
from dpjax.statistics import FamilyCounts


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
        coupling: what the children say of the variable's own count, scaled.
        reach: for every count of row 0 or 1, what the other row lets it expect of that.
        joint: law of count and total, of both rows; columns as in `given`.
    """

    given: Float[Array, "rows counts totals"]
    message: Float[Array, " totals"]
    coupling: Float[Array, " counts"]
    reach: Float[Array, "rows counts totals"]
    joint: Float[Array, "rows counts totals"]


class TreeLaw(eqx.Module):
    """The posterior of the hidden counts of a tree.

    Args:
        root: law of the root's count of level 1.
        branches: by variable.
        log_evidence: log-probability of the release.
    """

    root: Float[Array, " counts"]
    branches: dict[int, Branch]
    log_evidence: Float[Array, ""]


def grow(net: BayesNet) -> tuple[Tree, ...] | None:
    """The trees of a network of binary variables; None if it is of another kind."""
    if set(net.sizes) != {2} or any(len(parents) > 1 for parents in net.parents):
        return None

    def tree(variable: int) -> Tree:
        own = [i for i, parents in enumerate(net.parents) if variable in parents]
        return Tree(variable, tuple(tree(child) for child in own))

    return tuple(tree(i) for i, parents in enumerate(net.parents) if not parents)


def infer_tree(
    tree: Tree,
    statistic: FamilyCounts,
    values: Float[Array, " m"],
    law: LaplaceLaw,
    prior: Float[Array, " c"],
    n: int,
    given: bool = False,
) -> TreeLaw:
    """Sum over all hidden counts: messages to the root, then laws from it.

    Args:
        tree: of the network.
        statistic: what was measured.
        values: the release.
        law: of its noise.
        prior: laid out as `statistic.layout`; or probabilities that are `given`.
        n: the number of records.
        given: whether they are.
    """
    branches: dict[int, Branch] = {}

    def climb(node: Tree, parent: int) -> Array:
        rows = _rows(node.variable, parent, statistic, values, law, prior, n, given)
        coupling = jnp.zeros(n + 1)
        for child in node.children:
            coupling += climb(child, node.variable)
        branches[node.variable] = _branch(rows, coupling, bool(node.children))
        return branches[node.variable].message

    root = _rows(tree.variable, None, statistic, values, law, prior, n, given)
    logs = jnp.log(root.weights[1, :, 0]) + jnp.log(root.weights[0, ::-1, 0])
    logs -= root.log_norm(jnp.full(1, n, jnp.int32), 1)[0]
    for child in tree.children:
        logs += climb(child, tree.variable)
    log_evidence = logsumexp(logs)
    weights = jnp.exp(logs - log_evidence)

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
    return TreeLaw(weights, branches, log_evidence)


def _rows(
    variable: int,
    parent: int | None,
    statistic: FamilyCounts,
    values: Array,
    law: LaplaceLaw,
    prior: Array,
    n: int,
    given: bool,
) -> Rows:
    """Weights of a variable's hidden counts: one row, or one a level of its parent."""
    group = (variable,) if parent is None else (parent, variable)
    measured = statistic.measured
    shape = (1 if parent is None else 2, 2)
    size = 2 * shape[0]
    start = statistic.layout.offsets[variable]
    alpha = prior[start : start + size].reshape(shape).T
    counts = jnp.arange(n + 1, dtype=jnp.int32).astype(float)[None, :, None]
    counts = jnp.broadcast_to(counts, (2, n + 1, shape[0]))
    most = jnp.full(shape[0], n, jnp.int32)
    guess = jnp.full(shape[0], max(n / shape[0], 0.5))
    guess = even_tilt(alpha.sum(axis=0), guess, jnp.zeros_like(most), most, given)
    logs = count_weights(counts, alpha, guess, alpha.sum(axis=0), given)
    if group in measured.groups:
        place = measured.offsets[measured.groups.index(group)]
        noisy = values[place : place + size].reshape(shape).T
        logs += law.log_prob(jnp.broadcast_to(noisy[:, None], counts.shape), counts)
    lowest = jnp.zeros((2, shape[0]), jnp.int32)
    tail = jnp.full((2, shape[0]), -jnp.inf)
    return Rows.from_logs(logs, lowest, tail, alpha, guess, given)


def _branch(rows: Rows, coupling: Array, coupled: bool) -> Branch:
    """Laws given the totals of both rows, and the message to the parent."""
    n = rows.window - 1
    counts = jnp.arange(n + 1, dtype=jnp.int32)
    rest = counts[None] - counts[:, None]  # of a total, the count of level 0
    other = jnp.where(
        rest >= 0, rows.weights[0][jnp.clip(rest, 0, n)].transpose(2, 0, 1), 0
    )
    weights = rows.weights[1].T[:, :, None] * other
    sums = weights.sum(axis=1)
    given = quotient(weights, jnp.broadcast_to(sums[:, None], weights.shape))
    message = jnp.log(sums) - rows.log_norm(jnp.zeros(2, jnp.int32), n + 1).T
    given = jnp.stack([given[0, :, ::-1], given[1]])
    message = message[0, ::-1] + message[1]
    largest = coupling.max()
    scaled = jnp.exp(coupling - largest)
    reach = jnp.ones_like(given)
    if coupled:
        reach = jnp.stack([_reach(given[1], scaled), _reach(given[0], scaled)])
        message += jnp.log((given[1] * reach[1]).sum(axis=0)) + largest
    return Branch(given, message, scaled, reach, given)


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
