"""Junction trees of tables, found on the host.

A junction tree is a forest of cliques in which any two tables with a common variable
are connected by a path of cliques that all contain it.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from dpjax._platforms import Sizes
from dpjax.tables.layout import TableLayout

MOST_CELLS = 1 << 22  # of one clique


@dataclass(frozen=True)
class JunctionTree:
    """A forest of cliques of variables; each group of a layout lies in some clique."""

    cliques: tuple[tuple[int, ...], ...]  # variables, in ascending order of depth
    parents: tuple[int, ...]  # the next clique towards the root; -1 for a root
    depths: tuple[int, ...]  # number of steps to the root
    cells: int  # of all cliques together

    @classmethod
    def of(cls, layout: TableLayout) -> "JunctionTree":
        """Return a junction tree of the groups of `layout`, with small cliques.

        Variables are eliminated greedily: the next variable adds the fewest edges
        between its neighbours; ties are resolved by the smallest table.

        Raises:
            ValueError: if a clique has more than 2^22 cells.
        """
        return _plan(layout)

    def at_once(self, sizes: Sizes) -> int:
        """Return for how many records at once the cells of all cliques are computed."""
        return max(1, sizes.numbers // (8 * self.cells))

    def separator(self, clique: int) -> tuple[int, ...]:
        """Return the variables that a clique shares with its parent clique."""
        parent = self.parents[clique]
        shared = set() if parent < 0 else set(self.cliques[parent])
        return tuple(i for i in self.cliques[clique] if i in shared)

    def holders(self, group: Iterable[int]) -> list[int]:
        """Return the indices of the cliques that contain all variables of `group`."""
        members = set(group)
        return [c for c, clique in enumerate(self.cliques) if members <= set(clique)]


@lru_cache(maxsize=64)
def _plan(layout: TableLayout) -> JunctionTree:
    cliques, neighbours = _merge(_eliminate(layout))
    sizes = [math.prod(layout.shape((*members,))) for members in cliques.values()]
    for cells in sizes:
        if cells > MOST_CELLS:
            raise ValueError(
                f"`network` must have cliques of at most {MOST_CELLS} cells when its "
                f"variables are eliminated, got one of {cells}: use fewer parents, or "
                "for a release of counts the method 'separate-tables', for others "
                "'gibbs' or 'plug-in'."
            )
    found: list[tuple[int, int, int]] = []  # depth, clique, parent
    remaining = dict.fromkeys(cliques)
    while remaining:
        part = _walk(next(iter(remaining)), neighbours)
        root = _centre(part, neighbours)
        found += [(depth, c, up) for c, (up, depth) in _walk(root, neighbours).items()]
        remaining = {c: None for c in remaining if c not in part}
    found.sort()
    places = {clique: place for place, (_, clique, _) in enumerate(found)} | {-1: -1}
    return JunctionTree(
        tuple(tuple(sorted(cliques[clique])) for _, clique, _ in found),
        tuple(places[up] for _, _, up in found),
        tuple(depth for depth, _, _ in found),
        sum(sizes),
    )


def _eliminate(layout: TableLayout) -> dict[int, set[int]]:
    """Eliminate all variables; return each with its neighbours at its elimination."""
    graph: dict[int, set[int]] = {i: set() for i in range(len(layout.sizes))}
    for group in layout.groups:
        for i in group:
            graph[i] |= {*group} - {i}
    eliminated = {}

    def cost(i):
        pairs = itertools.combinations(graph[i], 2)
        missing = sum(b not in graph[a] for a, b in pairs)
        return missing, math.prod(layout.shape((i, *graph[i]))), i

    while graph:
        chosen = min(graph, key=cost)
        around = graph.pop(chosen)
        for i in around:
            graph[i] = (graph[i] | around) - {i, chosen}
        eliminated[chosen] = around
    return eliminated


def _merge(
    eliminated: dict[int, set[int]],
) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Return the maximal cliques and their tree, by removing cliques inside a child."""
    when = {i: place for place, i in enumerate(eliminated)}
    cliques = {i: {i, *around} for i, around in eliminated.items()}
    above = {
        i: min(around, key=when.__getitem__)
        for i, around in eliminated.items()
        if around
    }
    absorbed: dict[int, int] = {}

    def now(i):
        while i in absorbed:
            i = absorbed[i]
        return i

    edges = []
    for i, up in above.items():
        child, parent = now(i), now(up)
        if parent == up and cliques[up] <= cliques[child]:
            absorbed[up] = child
        else:
            edges.append((child, up))
    neighbours: dict[int, set[int]] = {i: set() for i in cliques if i not in absorbed}
    for a, b in edges:
        neighbours[now(a)].add(now(b))
        neighbours[now(b)].add(now(a))
    return {i: cliques[i] for i in neighbours}, neighbours


def _walk(start: int, neighbours: dict[int, set[int]]) -> dict[int, tuple[int, int]]:
    """Return the parent and depth of every reachable clique, in order of depth."""
    found, queue = {start: (-1, 0)}, [start]
    for clique in queue:
        for other in sorted(neighbours[clique]):
            if other not in found:
                found[other] = clique, found[clique][1] + 1
                queue.append(other)
    return found


def _centre(part: Iterable[int], neighbours: dict[int, set[int]]) -> int:
    """Return the middle clique of a longest path."""
    one_end = list(_walk(next(iter(part)), neighbours))[-1]
    paths = _walk(one_end, neighbours)
    clique = list(paths)[-1]
    for _ in range(paths[clique][1] // 2):
        clique = paths[clique][0]
    return clique
