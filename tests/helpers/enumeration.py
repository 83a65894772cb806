"""Posteriors of hidden data by brute force: all multisets of records, tiny domains."""

import functools
import itertools

import numpy as np
from scipy.special import gammaln, logsumexp


@functools.lru_cache(maxsize=64)
def tables_of_all_data(net, n):
    """Counts of all families, a row a multiset of n records, and log-multiplicity."""
    states = np.array(list(itertools.product(*map(range, net.sizes))))
    cells = np.asarray(net.layout.cells(states))
    one = np.zeros((len(states), net.layout.length))
    np.put_along_axis(one, cells, 1, axis=1)
    multisets = list(itertools.combinations_with_replacement(range(len(states)), n))
    chosen = np.array(multisets, int).reshape(len(multisets), n)
    times = np.stack([(chosen == state).sum(axis=1) for state in range(len(states))], 1)
    multiplicity = gammaln(n + 1) - gammaln(times + 1).sum(axis=1)
    return times @ one, multiplicity, times, states


def measured(statistic, n):
    """The exact statistic of every multiset of n records."""
    _, _, times, states = tables_of_all_data(statistic.network, n)
    one = np.stack([np.asarray(statistic.measure(state[None])) for state in states])
    return times @ one


class Enumerated:
    """The posterior given a release, over all data sets of the given sizes.

    With several sizes, each has prior weight 1.
    """

    def __init__(self, statistic, values, log_prob, prior, sizes):
        net = statistic.network
        layout = net.layout
        self.layout, self.prior = layout, np.broadcast_to(prior, (layout.length,))
        first = np.flatnonzero(np.diff(layout.rows, prepend=-1))
        logs, counts = [], []
        for n in sizes:
            tables, multiplicity, _, _ = tables_of_all_data(net, n)
            a = self.prior + tables
            marginal = (gammaln(a) - gammaln(self.prior)).sum(axis=1)
            rows = self.rows(a)
            marginal -= (gammaln(rows) - gammaln(self.rows(self.prior)))[:, first].sum(
                1
            )
            law = log_prob(np.asarray(values, float), measured(statistic, n)).sum(
                axis=1
            )
            logs.append(marginal + multiplicity + law)
            counts.append(tables)
        logs, self.counts = np.concatenate(logs), np.concatenate(counts)
        self.log_evidence = logsumexp(logs)
        self.weights = np.exp(logs - self.log_evidence)

    def rows(self, vectors):
        rows = self.layout.rows
        one = np.zeros((len(rows), rows[-1] + 1))
        one[np.arange(len(rows)), rows] = 1
        return vectors @ one @ one.T

    def moments(self):
        a, whole = self.prior + self.counts, self.rows(self.prior + self.counts)
        first = self.weights @ (a / whole)
        return first, self.weights @ (a * (a + 1) / whole / (whole + 1))

    def log_density(self, theta):
        """Of all tables, a mixture of products of Dirichlet rows."""
        a = self.prior + self.counts
        first = np.flatnonzero(np.diff(self.layout.rows, prepend=-1))
        logs = ((a - 1) * np.log(theta) - gammaln(a)).sum(axis=1)
        logs += gammaln(self.rows(a))[:, first].sum(axis=1)
        return logsumexp(logs, b=self.weights)

    def law_of_count(self, cell):
        return np.bincount(self.counts[:, cell].astype(int), self.weights)

    def predictive(self, states):
        """Probability of each state of all variables, parameters summed out."""
        cells = np.asarray(self.layout.cells(np.asarray(states)))
        a, whole = self.prior + self.counts, self.rows(self.prior + self.counts)
        means = a / whole
        return np.stack(
            [(self.weights * means[:, cell].prod(axis=1)).sum() for cell in cells]
        )
