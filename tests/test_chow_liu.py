"""Trees from noisy tables of pairs: those of largest likelihood, by brute force."""

import itertools

import numpy as np
import pytest

import dpjax as dp
from dpjax.releases import chow_liu
from tests.test_learn import CHAIN, TRUE, chain, edges_of


def pairs(table, schema=CHAIN, epsilon=20, mechanism="k-norm", order=2):
    recipe = dp.recipes.recipe_of(mechanism)
    statistic = recipe.marginals(schema, order, "replace-one")
    return dp.release(
        statistic, table, epsilon=epsilon, adjacency="replace-one", mechanism=mechanism
    )


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["k-norm", "fourier"])
def test_the_tree_of_a_chain_is_found(mechanism):
    net = chow_liu(pairs(chain(), mechanism=mechanism))
    assert edges_of(net) == TRUE
    assert [len(group) for group in net.parents] == [0, 1, 1, 1, 1]


def likelihood(records, parents):
    """Log-likelihood of records under the tree with the tables that fit them best."""
    total = 0.0
    for child, group in enumerate(parents):
        for levels in itertools.product((0, 1, 2), repeat=len(group)):
            kept = (records[:, list(group)] == levels).all(axis=1)
            counts = np.bincount(records[kept, child], minlength=3).astype(float)
            counts = counts[counts > 0]
            total += float((counts * np.log(counts / max(counts.sum(), 1))).sum())
    return total


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_no_other_tree_has_a_larger_likelihood(seed):
    """Among all trees of four variables, nearly without noise."""
    rng = np.random.default_rng(seed)
    schema = dp.Schema({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2]})
    records = rng.integers(0, (2, 3, 2, 3), (3000, 4))
    for child, parent in ((1, 0), (2, 3), (3, 0)):
        same = rng.random(3000) < rng.uniform(0.3, 0.8)
        moved = records[:, parent] % (2, 3, 2, 3)[child]
        records[:, child] = np.where(same, moved, records[:, child])
    found = chow_liu(pairs(np.tile(records, (100, 1)), schema, 100, "fourier"))
    edges = [*itertools.combinations(range(4), 2)]
    best = max(
        likelihood(records, parents)
        for chosen in itertools.combinations(edges, 3)
        if (parents := rooted(chosen)) is not None
    )
    assert likelihood(records, found.parents) == pytest.approx(best, rel=1e-5)


def rooted(edges):
    """The parents of a tree with the root 0; None if the edges are no tree."""
    parents, joined = [()] * 4, [0]
    while True:
        new = [
            (x, y)
            for a, b in edges
            for x, y in ((a, b), (b, a))
            if y in joined and x not in joined
        ]
        if not new:
            return tuple(parents) if len(joined) == 4 else None
        variable, parent = new[0]
        parents[variable] = (parent,)
        joined.append(variable)


@pytest.mark.slow
def test_a_release_without_all_pairs_is_refused():
    with pytest.raises(ValueError, match="`released` must have a table of each two"):
        chow_liu(pairs(chain(), order=1))
    net = dp.BayesNet.from_parents(CHAIN, {"a": ["b"], "c": ["b"], "d": [], "e": []})
    some = dp.release(net, chain(), epsilon=1, adjacency="replace-one")
    with pytest.raises(ValueError, match="`released` must have a table of each two"):
        chow_liu(some)
