r"""Exact inference in trees of binary variables, with a public number of records n.

The count of a variable is its number of records with level 1. F(m) is the likelihood of
the released tables of a variable and its descendants given the count m of its parent.
The variable's table has a row for each level of the parent, with released numbers s₀
and s₁ and hidden counts c₀ and c₁. F is a sum over both hidden counts:

$$F(m) = P(s_0 | n - m) P(s_1 | m)
  \sum_{c_0, c_1} P(c_0 | s_0, n - m) P(c_1 | s_1, m) g(c_0 + c_1),$$

where g is the product of the functions F of its children. With n + 1 values of every
count, there are n³ terms. Distributions given a total are normalised in logs. g is
scaled by its largest value, and `missed` bounds the values of g that underflow.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.exact.convolution import valid
from dpjax.posteriors.exact.rows import quotient


@dataclass(frozen=True)
class Tree:
    """A variable of a network, and the trees of its children."""

    variable: int
    children: tuple["Tree", ...]


class Branch(eqx.Module):
    """Distributions of a variable's hidden counts; the module defines F and g."""

    # Law of the count of level 1 given the total, for both rows; one column for each
    # total of row 1. The total of row 0 is n minus this total.
    given: Float[Array, "rows counts totals"]
    message: Float[Array, " totals"]  # log F for each count of the parent
    missed: Float[Array, " totals"]  # log bound of the terms omitted from F
    coupling: Float[Array, " counts"]  # scaled g for each count of the variable
    # Expectation of g over one row, given each count of the other row.
    reach: Float[Array, "rows counts totals"]
    joint: Float[Array, "rows counts totals"]  # joint law of count and total


class TreeLaw(eqx.Module):
    """Posterior of the hidden counts of a tree of binary variables, given a release."""

    root: Float[Array, " counts"]  # law of the root's count of level 1
    branches: dict[int, Branch]  # by variable
    log_evidence: Float[Array, ""]  # log-probability of the release
    omitted: Float[Array, ""]  # bound of the mass that underflows


class Table(NamedTuple):
    """Log-weights of a binary variable's hidden counts, and of its rows' totals."""

    logs: Float[Array, "levels counts rows"]
    norm: Float[Array, "totals rows"]


def grow(net: BayesNet | None) -> tuple[Tree, ...] | None:
    """Return the trees of a network of binary variables, or None for other networks."""
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


def infer_tree(tree: Tree, table: Callable[[int, int | None], Table]) -> TreeLaw:
    """Infer all hidden counts of a tree by sums from the leaves to the root and back.

    `table(variable, parent)` returns the weights of a variable's hidden counts.
    """
    branches: dict[int, Branch] = {}

    def climb(node: Tree, parent: int) -> Branch:
        own = table(node.variable, parent)
        below = _product([climb(child, node.variable) for child in node.children], n)
        branches[node.variable] = _branch(own, *below, coupled=bool(node.children))
        return branches[node.variable]

    root = table(tree.variable, None)
    n = root.logs.shape[1] - 1
    logs = root.logs[1, :, 0] + root.logs[0, ::-1, 0] - root.norm[n]
    messages = [climb(child, tree.variable) for child in tree.children]
    found, above = _product(messages, n)
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


def _product(branches: list[Branch], n: int) -> tuple[Array, Array]:
    found = above = jnp.zeros(n + 1)
    for branch in branches:
        found += branch.message
        above += jnp.logaddexp(branch.message, branch.missed)
    return found, above


def _branch(table: Table, coupling: Array, above: Array, coupled: bool) -> Branch:
    """Compute distributions given the totals of both rows, and log F.

    `coupling` is log g and `above` is its upper bound. `coupled` is whether there are
    children.
    """
    n = table.logs.shape[1] - 1
    given, message = _given_totals(table)
    largest = _finite(coupling.max())
    scaled = jnp.exp(coupling - largest)
    reach, missed = jnp.ones_like(given), jnp.full_like(message, -jnp.inf)
    if coupled:
        reach = jnp.stack([_reach(given[1], scaled), _reach(given[0], scaled)])
        # Each of (n + 1)² terms, products of two laws and g, may underflow.
        tiny = 3 * float(jnp.finfo(scaled.dtype).tiny) * (n + 1) ** 2
        lost = above + jnp.log(-jnp.expm1(jnp.minimum(coupling - above, 0)))
        lost = jnp.where(jnp.isneginf(above), -jnp.inf, lost).max()
        missed = message + jnp.logaddexp(lost, largest + math.log(tiny))
        message += jnp.log((given[1] * reach[1]).sum(axis=0)) + largest
    return Branch(given, message, missed, scaled, reach, given)


def _given_totals(table: Table) -> tuple[Array, Array]:
    """Return distributions of each row's count of level 1, given the row's total.

    Also return the log-likelihood for each total; the totals of both rows sum to n.
    """
    n = table.logs.shape[1] - 1
    counts = jnp.arange(n + 1, dtype=jnp.int32)
    rest = counts[None] - counts[:, None]  # count of level 0 in each total
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
    return jnp.where(jnp.isfinite(logs), logs, 0)


def _reach(law: Array, coupling: Array) -> Float[Array, "counts totals"]:
    """Expectation of g over one row's count, given each count of the other row."""
    n = len(coupling) - 1
    series = jnp.pad(coupling, (0, n))[:, None]
    return valid(law[::-1], jnp.broadcast_to(series, (2 * n + 1, n + 1)), n + 1)


def _law_of_own(branch: Branch, law_of_parent: Array) -> Float[Array, " counts"]:
    n = len(law_of_parent) - 1
    series = jnp.pad(branch.given[1], ((n, 0), (0, 0)))
    sums = valid(branch.given[0], series, n + 1, at_once=8) * branch.coupling[:, None]
    ratio = quotient(law_of_parent, sums.sum(axis=0))
    return (sums * ratio[None]).sum(axis=1)
