"""Small networks of binary variables, and all of their records."""

__all__ = [
    "ASIA",
    "CHAIN",
    "CLIQUE",
    "COIN",
    "COLLIDER",
    "FEATURES",
    "NAIVE_BAYES",
    "TINY",
    "all_records",
    "binary_network",
    "chain",
    "clique",
    "counts_of_each",
    "naive_bayes",
    "signs",
    "subsets",
]

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Int, UInt8

from dpjax.data.bayes_net import BayesNet

BITS = [0, 1]


def binary_network(size: int, parents: Mapping[int, Sequence[int]]) -> BayesNet:
    """Of the variables v0, v1, …; without parents where none are given."""
    named = {f"v{i}": [f"v{j}" for j in parents.get(i, ())] for i in range(size)}
    return BayesNet.from_parents(dict.fromkeys(named, BITS), named)


def naive_bayes(attributes: int) -> BayesNet:
    """A class and its attributes, d + 1 variables."""
    return binary_network(attributes + 1, {i: [0] for i in range(1, attributes + 1)})


def clique(size: int) -> BayesNet:
    """Every variable has all before it as parents."""
    return binary_network(size, {i: range(i) for i in range(size)})


def chain(size: int) -> BayesNet:
    """Every variable but the first has the one before it as parent."""
    return binary_network(size, {i: [i - 1] for i in range(1, size)})


FEATURES = 16  # of naive Bayes in Zhang et al.'s Figure 1
NAIVE_BAYES, CLIQUE, CHAIN = naive_bayes(FEATURES), clique(5), chain(8)
COIN = binary_network(1, {})
COLLIDER = binary_network(3, {2: [0, 1]})
ASIA = binary_network(8, {2: [0], 3: [1], 4: [1], 5: [2, 3], 6: [5], 7: [4, 5]})
TINY = {"chain": chain(3), "naive Bayes": naive_bayes(2), "collider": COLLIDER}


def all_records(net: BayesNet) -> UInt8[np.ndarray, "x d"]:
    """Every record there can be, one a row."""
    return np.array(list(itertools.product(*map(range, net.sizes))), np.uint8)


def counts_of_each(net: BayesNet) -> Int[np.ndarray, "x m"]:
    """The tables of every family, of each record on its own."""
    cells = np.asarray(net.layout.cells(all_records(net)))
    counts = np.zeros((len(cells), net.layout.length), int)
    np.put_along_axis(counts, cells, 1, axis=1)
    return counts


def subsets(group: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All of them, the empty one first, each in ascending order."""
    ordered = sorted(group)
    for size in range(len(ordered) + 1):
        yield from itertools.combinations(ordered, size)


def signs(size: int, axes: Sequence[int]) -> Int[np.ndarray, "..."]:
    """(-1)^⟨γ, x⟩ for all x of so many variables, an axis each; γ: of `axes`."""
    return 1 - 2 * (np.indices((2,) * size)[list(axes)].sum(axis=0) % 2)
