"""Posteriors by brute force: a sum over all data sets that a release may hide.

A data set matters only through how often each joint state occurs in it, so the sum runs
over those counts, in NumPy, with a law of noise of its own: nothing of what is tested.
"""

import itertools
import math
from typing import NamedTuple

import jax
import numpy as np
from scipy import special

from dpjax.statistics import TableStatistic


class HiddenCounts(NamedTuple):
    counts: np.ndarray  # of every joint state, a row a data set
    weights: np.ndarray  # its posterior probability
    statistics: np.ndarray  # its exact statistic
    mean: np.ndarray  # of all parameters, laid out as the network's layout
    sd: np.ndarray
    log_evidence: float  # up to the law's constant

    @property
    def n(self):
        return self.counts.sum(axis=1)

    def law_of_n(self):
        return np.bincount(self.n, self.weights)


def joint_states(net):
    """All records, in C order."""
    return np.array(list(itertools.product(*map(range, net.sizes))), np.int32)


def compositions(n, parts):
    """All ways to write n as an ordered sum of so many parts ≥ 0."""
    places = itertools.combinations(range(n + parts - 1), parts - 1)
    bars = np.array(list(places), int).reshape(math.comb(n + parts - 1, n), parts - 1)
    ends = np.full((len(bars), 1), n + parts - 1)
    return np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1


def prior_law(net, n, prior=1.0):
    """All data sets of n records as counts of states, and their prior predictive."""
    counts = compositions(n, math.prod(net.sizes))
    return counts, np.exp(_log_prior_predictive(net, counts, _cells(net), prior))


def hidden_counts(released, prior=1.0, most=None):
    """The posterior over data sets; where n is hidden, of at most `most` records."""
    net, statistic = released.net, released.statistic
    sizes = range(most + 1) if released.n is None else [int(released.n)]
    states = math.prod(net.sizes)
    counts = np.concatenate([compositions(n, states) for n in sizes])
    cells, parts = _cells(net), contributions(statistic)
    exact = counts @ parts
    mechanism = released.mechanism
    rate = float(mechanism.guarantee().epsilon) / float(mechanism.sensitivity.value)
    logs = _log_prior_predictive(net, counts, cells, prior)
    logs = logs - rate * np.abs(np.asarray(released.values) - exact).sum(axis=1)
    evidence = special.logsumexp(logs)
    weights = np.exp(logs - evidence)
    updated = prior + counts @ cells
    sums = _row_sums(net, updated)
    first, second = updated / sums, updated * (updated + 1) / (sums * (sums + 1))
    mean = weights @ first
    sd = np.sqrt(weights @ second - mean**2)
    return HiddenCounts(counts, weights, exact, mean, sd, float(evidence))


def contributions(statistic: TableStatistic):
    """What one record of each joint state adds to the statistic."""
    states = joint_states(statistic.network)[:, None]
    return np.asarray(jax.jit(jax.vmap(statistic.measure))(states), int)


def _cells(net):
    """Which cells of the families one record of each joint state adds to."""
    states = joint_states(net)
    cells = np.zeros((len(states), net.layout.length))
    for table, family in enumerate(net.families):
        shape = [net.sizes[i] for i in family]
        place = np.ravel_multi_index(tuple(states[:, i] for i in family), shape)
        cells[np.arange(len(states)), net.layout.offsets[table] + place] = 1
    return cells


def _row_sums(net, vectors):
    rows = net.layout.rows
    member = rows[:, None] == rows[None, :]
    return vectors @ member


def _log_prior_predictive(net, counts, cells, prior):
    """Of unordered data sets, given how many records they have."""
    updated = prior + counts @ cells
    before = np.broadcast_to(prior, updated.shape[1:]).astype(float)
    widths = _row_sums(net, np.ones(updated.shape[1]))  # a row comes once a cell
    logs = special.gammaln(updated) - special.gammaln(before)
    totals = special.gammaln(_row_sums(net, before[None]))
    totals = (totals - special.gammaln(_row_sums(net, updated))) / widths
    orders = special.gammaln(counts.sum(axis=1) + 1)
    orders = orders - special.gammaln(counts + 1).sum(axis=1)
    return (logs + totals).sum(axis=1) + orders
