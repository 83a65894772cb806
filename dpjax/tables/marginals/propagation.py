"""Belief propagation on a junction tree, for sums over all joint configurations.

All cliques of one depth are processed together, by gathers over flat vectors with
indices from the host. A compiled program grows with the depth of the tree, not with the
number of tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax.tables.gathers import (
    Gather,
    add,
    agreeing_cells,
    log_add,
    place_of_cells,
    take,
)
from dpjax.tables.layout import TableLayout
from dpjax.tables.marginals.junction_tree import JunctionTree


def log_partition(
    layout: TableLayout, log_factors: Float[Array, " m"]
) -> Float[Array, ""]:
    r"""Compute $\log Z = \log \sum_x \exp \sum_g f_g(x_g)$.

    The sum over x is over all joint configurations of the variables, and the sum over g
    is over the groups of `layout`; $x_g$ are the levels of the variables in g.

    Args:
        layout: layout of the factors; groups may overlap, repeat or contain each other.
        log_factors: finite tables $f_g$ of all groups, in one flat vector.

    Returns:
        $\log Z$. Its gradient is `expected_tables`.

    Raises:
        ValueError: if `log_factors` does not fit the layout, or a clique of the tree
            has more than 2^22 cells.

    Reference:
        Lauritzen & Spiegelhalter (JRSS B 50, 1988).
    """
    _check(layout, log_factors)
    return _collect(_steps(layout), log_factors)[2]


def expected_tables(
    layout: TableLayout, log_factors: Float[Array, " m"]
) -> Float[Array, " m"]:
    r"""Compute the marginals of all groups under $p(x) \propto \exp \sum_g f_g(x_g)$.

    Arguments, notation and errors are those of `log_partition`. Each returned table
    sums to 1, and tables agree on common variables up to rounding. If the factors are
    the log-probabilities of a Bayesian network's node tables, and 0 for other groups,
    the result is the network's marginals.
    """
    _check(layout, log_factors)
    steps = _steps(layout)
    beliefs, messages, _ = _collect(steps, log_factors)
    return steps.wanted(add, jnp.exp(_distribute(steps, beliefs, messages)), 0.0)


def log_tables(
    layout: TableLayout, log_factors: Float[Array, " m"], *, largest: bool = False
) -> Float[Array, " m"]:
    r"""Compute the log of a sum for each cell of all groups.

    The sum is that of $\exp \sum_g f_g(x_g)$ over all joint configurations x that have
    the cell. If `largest`, it is the largest term instead of the sum. Arguments,
    notation and errors are those of `log_partition`.
    """
    _check(layout, log_factors)
    steps, reduce = _steps(layout), _greatest if largest else log_add
    beliefs, messages, total = _collect(steps, log_factors, reduce)
    found = _distribute(steps, beliefs, messages, reduce)
    return steps.wanted(reduce, found, -np.inf) + total


def _greatest(matrix: Array) -> Array:
    return matrix.max(axis=-1)


def _check(layout: TableLayout, log_factors: Array) -> None:
    if jnp.shape(log_factors) != (layout.length,):
        raise ValueError(
            f"`log_factors` must be of shape ({layout.length},), one number for each "
            f"cell, got {jnp.shape(log_factors)}."
        )


@dataclass(frozen=True, eq=False)
class _Level:
    """Indices of the cliques of one depth, and of the separators to their parents.

    They map a cell to the cells that agree with it: `from_own` and `from_above` from a
    separator to its clique and to the clique's parent, `received` and `down` from a
    clique to the separators of its children and to its own separator.
    """

    cells: slice  # part of the vector of all cliques' cells
    from_own: Gather | None
    from_above: Gather | None
    received: Gather | None
    down: np.ndarray | None


@dataclass(frozen=True, eq=False)
class _Steps:
    assigned: Gather
    levels: tuple[_Level, ...]
    roots: Gather
    component: np.ndarray
    wanted: Gather


def _collect(
    steps: _Steps, log_factors: Array, reduce: Callable[[Array], Array] = log_add
) -> tuple[list, list, Array]:
    """Return the beliefs and messages towards the roots, and the log total sum."""
    beliefs, messages, below = [], [], None
    potentials = steps.assigned(add, log_factors, 0.0)
    for level in reversed(steps.levels):
        belief = potentials[level.cells]
        if below is not None and level.received is not None:
            belief = belief + level.received(add, below, 0.0)
        beliefs.append(belief)
        if level.from_own is not None:
            below = level.from_own(reduce, belief, -np.inf)
            messages.append(below)
    total = steps.roots(reduce, beliefs[-1], -np.inf)
    return beliefs[::-1], messages[::-1], total.sum()


def _distribute(
    steps: _Steps,
    beliefs: list,
    messages: list,
    reduce: Callable[[Array], Array] = log_add,
) -> Array:
    """Return the log-probabilities of all cliques' cells, from the roots down."""
    total = steps.roots(reduce, beliefs[0], -np.inf)
    above = beliefs[0] - take(total, steps.component)
    found = [above]
    for level, belief, message in zip(
        steps.levels[1:], beliefs[1:], messages, strict=True
    ):
        if level.from_above is None or level.down is None:
            continue
        gained = level.from_above(reduce, above, -np.inf) - message
        above = belief + take(gained, level.down)
        found.append(above)
    return jnp.concatenate(found)


@lru_cache(maxsize=64)
def _steps(layout: TableLayout) -> _Steps:
    tree = JunctionTree.of(layout)
    cliques = TableLayout(layout.sizes, tree.cliques)
    depths = np.asarray(tree.depths)
    owners = _assign(layout, tree, cliques)
    levels = [_level(tree, cliques, depth) for depth in range(max(depths) + 1)]
    roots = [
        np.arange(*cliques.offsets[c : c + 2]) for c in np.flatnonzero(depths == 0)
    ]
    assigned = [(clique, table) for table, clique in enumerate(owners)]
    return _Steps(
        _gather_into(cliques, layout, assigned),
        tuple(levels),
        Gather.of(roots, cliques.offsets[int((depths == 0).sum())]),
        np.repeat(np.arange(len(roots), dtype=np.uint32), [len(r) for r in roots]),
        Gather.of(
            [
                places
                for table, group in enumerate(layout.groups)
                for places in agreeing_cells(cliques, owners[table], group)
            ],
            cliques.length,
        ),
    )


def _assign(layout: TableLayout, tree: JunctionTree, cliques: TableLayout) -> list[int]:
    """For each table, a smallest clique that contains it, with balanced loads."""
    load, owners = np.zeros(len(tree.cliques), int), []
    cells = np.diff(cliques.offsets)
    for group in layout.groups:
        owner = min(tree.holders(group), key=lambda c: (cells[c], load[c], c))
        load[owner] += 1
        owners.append(owner)
    return owners


def _level(tree: JunctionTree, every: TableLayout, depth: int) -> _Level:
    above, here, below = (
        [c for c, d in enumerate(tree.depths) if d == depth + step]
        for step in (-1, 0, 1)
    )
    cliques = TableLayout(every.sizes, tuple(tree.cliques[c] for c in here))
    cells = slice(every.offsets[here[0]], every.offsets[here[-1] + 1])
    children = [(here.index(tree.parents[c]), i) for i, c in enumerate(below)]
    incoming = TableLayout(every.sizes, tuple(map(tree.separator, below)))
    received = _gather_into(cliques, incoming, children) if below else None
    if not above:
        return _Level(cells, None, None, received, None)
    separators = TableLayout(every.sizes, tuple(map(tree.separator, here)))
    parents = TableLayout(every.sizes, tuple(tree.cliques[c] for c in above))
    from_own, from_above, down = [], [], []
    for i, group in enumerate(separators.groups):
        parent = above.index(tree.parents[here[i]])
        from_own += agreeing_cells(cliques, i, group)
        from_above += agreeing_cells(parents, parent, group)
        down.append(place_of_cells(cliques, i, separators, i))
    return _Level(
        cells,
        Gather.of(from_own, cliques.length),
        Gather.of(from_above, parents.length),
        received,
        np.concatenate(down),
    )


def _gather_into(
    cliques: TableLayout, tables: TableLayout, pairs: list[tuple[int, int]]
) -> Gather:
    """For each cell of the cliques, the agreeing cells of the paired tables."""
    lists: list[list[int]] = [[] for _ in range(cliques.length)]
    for clique, table in pairs:
        start = cliques.offsets[clique]
        for cell, place in enumerate(
            place_of_cells(cliques, clique, tables, table), start
        ):
            lists[cell].append(int(place))
    padded = [np.asarray(places or [tables.length], np.uint32) for places in lists]
    return Gather.of(padded, tables.length)
