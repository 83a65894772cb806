"""Scores of the parents that a variable may get, for a private choice.

The score of an edge is the L1 distance between the counts of a table and the counts
that an earlier release lets expect, which is what a table with the edge would repair,
minus a public penalty: the noise that the larger table would have.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int64

from dpjax._types import Records
from dpjax.data.bayes_net import BayesNet
from dpjax.data.probabilities import sample_records
from dpjax.noise.exact_choice import Bits, softmax, system_bits
from dpjax.noise.keys import study_key
from dpjax.privacy import REPLACE_ONE, Adjacency
from dpjax.releases.released import Released, consistent
from dpjax.tables.counts import count_batches
from dpjax.tables.layout import TableLayout

_DRAWN, _NUMBERS = 1 << 20, 1 << 26  # records, and levels, of an expected table
MOST_CELLS = 1 << 14  # of a table

Edge = tuple[int, int]
"""The indices of a variable and of a new parent."""

Scores = dict[Edge, int]

Expected = tuple[np.ndarray, float]
"""Drawn records, and the number of records for which they stand."""


def distance_sensitivity(adjacency: Adjacency) -> int:
    """Return the sensitivity of the L1 distance between a table and a fixed one.

    A replaced record changes two counts of the table by 1, an added or removed record
    changes one count by 1, and the fixed table does not depend on the records.
    """
    return 2 if adjacency == REPLACE_ONE else 1


def chosen(
    scores: Sequence[int],
    epsilon: Fraction,
    adjacency: Adjacency,
    bits: Bits = system_bits,
) -> int:
    """Draw an index by the exponential mechanism, exactly.

    Args:
        scores: L1 distances from fixed tables minus public numbers, as integers.
        epsilon: ε > 0 of the draw.
        adjacency: which data sets are neighbours.
        bits: source of random bits.

    Privacy:
        The index is drawn with probability proportional to $e^{\\epsilon s / 2\\Delta}$
        for a score s with the sensitivity Δ. This is ε-DP, and ε²/8-zCDP, since the
        log-ratios of the probabilities under two neighbours are in an interval of
        length ε.

    Reference:
        McSherry & Talwar (FOCS 2007), Theorem 6; Cesar & Rogers (ALT 2021).
    """
    unit = epsilon / (2 * distance_sensitivity(adjacency))
    return softmax(scores, unit, bits)[0]


def expected_records(released: Released) -> Expected:
    """Draw records from the tables of a release, and return the number n of records.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    net, counts = released.net, consistent(released)
    theta = net.layout.normalise(jnp.asarray(counts) + 1)
    many = min(_DRAWN, _NUMBERS // len(net.names))
    drawn = sample_records(study_key(0), theta, net, many)
    return np.asarray(drawn), number_of_records(released)


def number_of_records(released: Released) -> float:
    """Return the number of records, or its least-squares estimate; at least 1.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    if released.n is not None:
        return max(float(released.n), 1.0)
    table = consistent(released)[: released.net.layout.offsets[1]]
    return max(float(table.sum()), 1.0)


def scores_of(
    net: BayesNet,
    edges: Sequence[Edge],
    records: Records,
    expected: Expected,
    noise: float,
) -> Scores:
    """Compute the scores of edges; those with too large a table are left out.

    Args:
        net: the network to which edges are added.
        edges: the edges.
        records: the sensitive records, encoded.
        expected: the result of `expected_records`.
        noise: mean absolute noise of a cell of the tables that are released next.

    Privacy:
        Not private: `chosen` draws from scores. Which edges are left out, and the
        penalties, are public. Each score has the sensitivity `distance_sensitivity`.
    """
    kept = [edge for edge in edges if cells_of(net, edge) <= MOST_CELLS]
    if not kept:
        return {}
    layout = TableLayout(net.sizes, tuple(_family(net, edge) for edge in kept))
    far = _distances(layout, records, *expected)
    sizes = [cells_of(net, edge) for edge in kept]
    added = [x - x // net.sizes[y] for x, (_, y) in zip(sizes, kept, strict=True)]
    pairs = zip(kept, far.tolist(), added, strict=True)
    return {edge: score - round(noise * cells) for edge, score, cells in pairs}


def cells_of(net: BayesNet, edge: Edge) -> int:
    """Return the number of cells of a variable's table after an edge is added."""
    return math.prod(net.sizes[i] for i in _family(net, edge))


def _family(net: BayesNet, edge: Edge) -> tuple[int, ...]:
    variable, parent = edge
    return (*net.parents[variable], parent, variable)


def _distances(
    layout: TableLayout, records: Records, drawn: np.ndarray, n: float
) -> Int64[np.ndarray, " t"]:
    """Return the L1 distance of each table's counts from the expected counts.

    The distance that Poisson counts of these expectations have on average is
    subtracted: that of a normal law of the same variance, or twice an expectation below
    it.
    """
    levels = np.min_scalar_type(max(layout.sizes) - 1)
    kind = np.result_type(np.asarray(records).dtype, levels)  # one program counts both
    counts, found = (
        count_batches([np.asarray(x, kind)], layout) for x in (records, drawn)
    )
    expected = found * (n / len(drawn))
    apart = np.abs(counts - np.rint(expected).astype(np.int64))
    usual = np.minimum(np.sqrt(2 * expected / np.pi), 2 * expected)  # if all is right
    starts = layout.offsets[:-1]
    usual = np.rint(np.add.reduceat(usual, starts)).astype(np.int64)
    return np.add.reduceat(apart, starts) - usual
