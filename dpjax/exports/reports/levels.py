"""Probabilities of all pairs of levels under the posterior means of a network."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, Integer, Real

from dpjax.data.bayes_net import BayesNet
from dpjax.data.evidence import evidence_of
from dpjax.data.mixed_net import MixedNet
from dpjax.posteriors.priors import flatten
from dpjax.posteriors.queries import log_pairs

_BINS = 10  # of a numeric leaf


class Levels(NamedTuple):
    """All levels of all variables in a row, those of numeric leaves last.

    Attributes:
        names: names of the variables.
        labels: for each variable, the names of its levels, or of the bins of a leaf.
        columns: for each variable, its column in encoded records.
        edges: for each numeric leaf, the inner edges of its bins.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    columns: tuple[int, ...]
    edges: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, posterior: Any) -> "Levels":
        """Return the levels of a posterior's network."""
        net: BayesNet | MixedNet = posterior.net
        leaves = net.leaves if isinstance(net, MixedNet) else ()
        ends = [np.linspace(x.lower, x.upper, _BINS + 1) for x in leaves]
        discrete = net.discrete if isinstance(net, MixedNet) else net
        variables = (*discrete.variables, *leaves)
        return cls(
            tuple(variable.name for variable in variables),
            (*(x.levels for x in discrete.variables), *map(_bins, ends)),
            tuple([*net.names].index(variable.name) for variable in variables),
            tuple(x[1:-1] for x in ends),
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each variable."""
        return tuple(map(len, self.labels))

    @property
    def starts(self) -> tuple[int, ...]:
        """Index of the first level of each variable."""
        return tuple(itertools.accumulate(self.sizes, initial=0))[:-1]

    def codes(self, records: Real[ArrayLike, "n d"]) -> Integer[np.ndarray, "n d"]:
        """Return the index of each record's level, or bin, of each variable."""
        columns = np.asarray(records)[:, self.columns].T
        whole = len(columns) - len(self.edges)
        binned = [
            np.searchsorted(edges, x, side="right")
            for edges, x in zip(self.edges, columns[whole:], strict=True)
        ]
        return np.stack([*columns[:whole].astype(np.int64), *binned], axis=1)

    def distances(self, differences: Float[np.ndarray, "k k"]) -> np.ndarray:
        """Return the half sums of absolute differences for each pair of variables.

        Those of single variables are on the diagonal.
        """
        rows = np.add.reduceat(differences, self.starts, axis=0)
        return np.add.reduceat(rows, self.starts, axis=1) / 2

    def probabilities(
        self, posterior: Any, given: Mapping[str, Any]
    ) -> Float[np.ndarray, "k k"]:
        """Return the probabilities of pairs of levels under the posterior means.

        Two levels of one variable have the probability 0, and each level with itself
        its own. All are conditional on the levels `given`.
        """
        mixed = isinstance(posterior.net, MixedNet)
        discrete = posterior.discrete if mixed else posterior
        groups = posterior.net.leaf_parents if mixed else ()
        leaves = [*posterior.leaves.values()] if mixed else []
        laws = [
            np.maximum(leaf.in_bins(edges), 0)
            for leaf, edges in zip(leaves, self.edges, strict=True)
        ]
        net = discrete.net
        evidence, factors, possible = self._conditions(net, given, laws)
        theta = flatten(net, discrete.mean(), "mean")
        logs = log_pairs(theta, evidence, net, factors, groups)
        ends = np.cumsum([sum(net.sizes), *(len(law) for law in laws)])
        levels, *rows = np.split(np.exp(np.asarray(logs, float)), ends[:-1], axis=1)
        joint = [
            levels,
            *(np.matmul(x, law) for x, law in zip(rows, laws, strict=True)),
        ]
        found = np.concatenate(joint, axis=1) * possible[:, None]
        first = net.sizes[0]
        for start in self.starts[len(net.sizes) :]:
            own = slice(start, start + _BINS)
            found[own, own] = np.diag(found[:first, own].sum(axis=0))
        return found / found[:first, :first].sum()

    def _conditions(
        self, net: BayesNet, given: Mapping[str, Any], laws: list[np.ndarray]
    ) -> tuple[Any, Any, np.ndarray]:
        """Return what is known if each level is, and whether `given` allows it."""
        whole, size = sum(net.sizes), sum(self.sizes)
        known = np.repeat(np.asarray(evidence_of(net, given or None)), size, axis=0)
        owners = np.repeat(np.arange(len(net.sizes)), net.sizes)
        levels = np.concatenate([np.arange(k) for k in net.sizes])
        places = np.arange(whole), owners
        possible = np.ones(size)
        possible[:whole] = (known[places] < 0) | (known[places] == levels)
        known[places] = levels
        factors = np.zeros((size, sum(map(len, laws))))
        row, column = whole, 0
        with np.errstate(divide="ignore"):
            for law in laws:
                own = slice(row, row + _BINS), slice(column, column + len(law))
                factors[own] = np.maximum(np.log(law.T), -1e6)
                row, column = row + _BINS, column + len(law)
        return jnp.asarray(known), jnp.asarray(factors), possible


def _bins(ends: np.ndarray) -> tuple[str, ...]:
    return tuple(f"{a:g} to {b:g}" for a, b in itertools.pairwise(ends))
