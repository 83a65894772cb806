"""Neighbouring data sets, and the largest privacy loss between them, by enumeration.

A law is a function from exact data to the law of an output. If an output has several
independent parts, `laws` has a law for each, and data are the exact parts.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from dpjax.noise import tables
from tests.helpers.networks import measure


def all_records(net):
    return list(itertools.product(*map(range, net.sizes)))


def records_array(data, net):
    return np.array(data, np.uint8).reshape(-1, len(net.sizes))


def data_sets(records, sizes):
    """Every data set of these sizes, sorted."""
    for n in sizes:
        yield from itertools.combinations_with_replacement(sorted(records), n)


def neighbours(data, records, adjacency):
    """Every data set that differs by one record; the others keep their places."""
    if adjacency == "add-remove":
        yield from ((*data[:i], *data[i + 1 :]) for i in range(len(data)))
        yield from ((*data, record) for record in records)
    else:
        for i, record in itertools.product(range(len(data)), records):
            yield (*data[:i], record, *data[i + 1 :])


def neighbouring_pairs(sets, records, adjacency):
    """Every ordered pair of different neighbours among these data sets.

    If all of them are sorted, neighbours are sorted too.
    """
    sets = set(sets)
    in_order = all(data == tuple(sorted(data)) for data in sets)
    pairs = {
        (data, tuple(sorted(other)) if in_order else other)
        for data in sets
        for other in neighbours(data, records, adjacency)
    }
    return [(a, b) for a, b in pairs if a != b and b in sets]


def group_pairs(sets, adjacency, k):
    """Every ordered pair of data sets that differ by the rows of one person, at most k.

    They are multisets, in order: k rows are replaced, or k added or removed.
    """
    sets = list(sets)
    records = sorted({record for data in sets for record in data})
    counts = np.array([[data.count(x) for x in records] for data in sets])
    change = counts[None] - counts[:, None]
    come, gone = (np.maximum(x, 0).sum(-1) for x in (change, -change))
    alike = come == gone if adjacency == "replace-one" else (come == 0) | (gone == 0)
    near = alike & (np.maximum(come, gone) <= k) & (come + gone > 0)
    return [(sets[a], sets[b]) for a, b in np.argwhere(near)]


@functools.cache
def measured_pairs(statistic, net, adjacency, most=2):
    """The exact vectors of all neighbours of at most so many records."""
    records = all_records(net)
    sets = list(data_sets(records, range(most + 1)))
    vectors = {
        data: tuple(measure(statistic, records_array(data, net)).tolist())
        for data in sets
    }
    pairs = neighbouring_pairs(sets, records, adjacency)
    return {(vectors[a], vectors[b]) for a, b in pairs}


def worst_ratio(laws, pairs):
    """Largest ratio of an output's probabilities, exactly; ∞ if one is impossible.

    A law is a dictionary from outputs to probabilities.
    """

    @functools.cache
    def ratio(law, one, other):
        p, q = law(one), law(other)
        return max(p[y] / q[y] if q.get(y) else math.inf for y in p if p[y])

    return max(
        math.prod(ratio(*part) for part in parts if part[1] != part[2])
        for parts in _parts(laws, pairs)
    )


def worst_loss(laws, pairs):
    """Largest difference of an output's log-probabilities, given as arrays."""

    @functools.cache
    def losses(law, one, other):
        change = law(one) - law(other)
        return change.max(), -change.min()

    return max(
        np.sum([losses(*part) for part in parts], axis=0).max()
        for parts in _parts(laws, pairs)
    )


def _parts(laws, pairs):
    """Law, exact value and neighbour's value of every part."""
    one = callable(laws)
    for a, b in pairs:
        yield [(laws, a, b)] if one else list(zip(laws, a, b, strict=True))


def assert_spends_exactly(epsilon, worst):
    bound = Fraction(epsilon)
    assert worst <= tables.exp_lower_bound(bound), "more than ε is lost"
    assert worst >= tables._exp(bound * Fraction(99, 100)), "noise is wasted"


def changes(statistic):
    """The differences of the contrasts of all neighbours."""
    layout = statistic.counted
    cells = np.asarray(layout.cells(np.array(all_records(statistic), np.uint8)))
    counts = np.zeros((len(cells), layout.length), np.int64)
    np.put_along_axis(counts, cells, 1, axis=1)
    vectors = np.array([statistic.of_counts(x, 1) for x in counts])
    if statistic.adjacency == "add-remove":
        return np.concatenate([vectors, -vectors]).tolist()
    return np.concatenate([vectors - x for x in vectors]).tolist()
