"""Exact marginals against sums over all joint configurations."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import BayesNet
from dpjax.tables.layout import TableLayout
from dpjax.tables.marginals import JunctionTree, expected_tables, log_partition
from tests.helpers.networks import random_network

ROUNDING = float(200 * np.finfo(jnp.zeros(0).dtype).eps)
# Parts without connection, a group twice and one inside another.
ODD = TableLayout((2, 3, 2, 2, 4), ((1, 0), (2,), (0, 1), (2, 1), (4,), (0,)))
# A loop of six variables has to be filled in.
LOOP = TableLayout((2,) * 6, tuple((i, (i + 1) % 6) for i in range(6)))


def brute_force(layout, log_factors):
    """Log of the sum over all configurations, and all marginals."""
    states = np.indices(layout.sizes).reshape(len(layout.sizes), -1).T
    cells = np.asarray(layout.cells(states))
    scores = np.asarray(log_factors, float)[cells].sum(axis=1)
    largest = scores.max()
    weights = np.exp(scores - largest)
    total = weights.sum()
    tables = np.zeros(layout.length)
    np.add.at(tables, cells, np.broadcast_to(weights[:, None] / total, cells.shape))
    return np.log(total) + largest, tables


@partial(jax.jit, static_argnums=0)
def both(layout, log_factors):
    return log_partition(layout, log_factors), expected_tables(layout, log_factors)


def layouts(rng):
    net = random_network(rng, variables=7, most_parents=3, most_levels=3)
    return {"random": net.layout, "odd": ODD, "loop": LOOP}


@pytest.mark.parametrize("case", ["random", "odd", "loop"])
def test_marginals_are_sums_over_all_configurations(rng, case):
    layout = layouts(rng)[case]
    for spread in 1.0, 30.0:  # the second: far beyond what exp can hold
        factors = jnp.asarray(spread * rng.normal(size=layout.length), float)
        total, tables = both(layout, factors)
        known, expected = brute_force(layout, factors)
        scale = np.abs(np.asarray(factors)).max()
        np.testing.assert_allclose(total, known, rtol=ROUNDING, atol=ROUNDING * scale)
        np.testing.assert_allclose(tables, expected, atol=ROUNDING * scale)


def test_a_networks_own_tables_are_its_conditionals(rng):
    net = random_network(rng, variables=7)
    layout = net.layout
    weights = jnp.asarray(rng.gamma(1.0, size=layout.length), float)
    theta = weights / layout.row_sums(weights)
    total, tables = both(layout, jnp.log(theta))
    np.testing.assert_allclose(total, 0, atol=ROUNDING)
    back = tables / layout.row_sums(tables)
    np.testing.assert_allclose(back, theta, atol=20 * ROUNDING)


def test_derivatives_are_marginals_and_covariances(rng):
    factors = jnp.asarray(rng.normal(size=ODD.length), float)
    directions = jnp.asarray(rng.normal(size=(2, ODD.length)), float)

    @jax.jit
    def derivatives(factors):
        total = partial(log_partition, ODD)
        tables = partial(expected_tables, ODD)
        first, pull = jax.vjp(tables, factors)
        forward = jax.jvp(tables, (factors,), (directions[0],))[1]
        second = jax.jvp(jax.grad(total), (factors,), (directions[0],))[1]
        return jax.grad(total)(factors), first, forward, pull(directions[0])[0], second

    slope, tables, forward, reverse, second = derivatives(factors)
    np.testing.assert_allclose(slope, tables, atol=ROUNDING)
    states = np.indices(ODD.sizes).reshape(len(ODD.sizes), -1).T
    cells = np.asarray(ODD.cells(states))
    indicators = np.zeros((len(cells), ODD.length))
    np.add.at(indicators, (np.arange(len(cells))[:, None], cells), 1)
    scores = indicators @ np.asarray(factors, float)
    law = np.exp(scores) / np.exp(scores).sum()
    mean = law @ indicators
    covariance = (indicators * law[:, None]).T @ indicators - np.outer(mean, mean)
    known = covariance @ np.asarray(directions[0], float)
    for ours in forward, reverse, second:
        np.testing.assert_allclose(ours, known, atol=20 * ROUNDING)


def test_batches_are_a_loop(rng):
    factors = jnp.asarray(rng.normal(size=(3, LOOP.length)), float)
    totals, tables = jax.jit(jax.vmap(partial(both, LOOP)))(factors)
    for one, total, found in zip(factors, totals, tables, strict=True):
        alone = both(LOOP, one)
        np.testing.assert_allclose(total, alone[0], rtol=ROUNDING)
        np.testing.assert_allclose(found, alone[1], atol=ROUNDING)


def test_cliques_hold_every_group_and_form_a_tree(rng):
    for layout in [*layouts(rng).values(), random_network(rng, 25).layout]:
        tree = JunctionTree.of(layout)
        assert all(tree.holders(group) for group in layout.groups)
        for variable in range(len(layout.sizes)):
            holding = [c for c, clique in enumerate(tree.cliques) if variable in clique]
            tops = [
                c
                for c in holding
                if tree.parents[c] < 0 or variable not in tree.cliques[tree.parents[c]]
            ]
            assert len(tops) == 1  # connected: one of them is nearest to the root
        assert all(
            depth == (0 if up < 0 else tree.depths[up] + 1)
            for up, depth in zip(tree.parents, tree.depths, strict=True)
        )


def test_no_clique_lies_inside_its_neighbour():
    chain = TableLayout((2,) * 9, tuple((i, i + 1) for i in range(8)))
    tree = JunctionTree.of(chain)
    assert len(tree.cliques) == 8
    assert max(tree.depths) == 4  # from the middle


def test_programs_do_not_grow_with_the_number_of_tables():
    def operations(attributes):
        levels = {name: [0, 1] for name in ["t", *map(str, range(attributes))]}
        layout = BayesNet.naive_bayes(levels, "t").layout
        program = jax.make_jaxpr(partial(expected_tables, layout))
        return str(program(jnp.zeros(layout.length))).count(" = ")

    assert operations(200) == operations(20)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match=r"`log_factors` must be of shape \(26,\)"):
        expected_tables(ODD, jnp.zeros(ODD.length - 1))
    grid = [
        ((i, j), (i + a, j + b))
        for i in range(16)
        for j in range(16)
        for a, b in ((0, 1), (1, 0))
        if i + a < 16 and j + b < 16
    ]
    pairs = tuple((16 * i + j, 16 * k + l) for (i, j), (k, l) in grid)
    with pytest.raises(ValueError, match="use fewer parents"):
        expected_tables(TableLayout((3,) * 256, pairs), jnp.zeros(9 * len(pairs)))
