"""Priors of the rows of a network's tables: known, or learned from the release itself.

A prior may have unknown parameters, which are further coordinates of a fit. Each has a
standard normal distribution, or nearly so, where nothing is known.
"""

__all__ = ["FixedPrior", "LearnedPrior", "RowPrior"]

import functools
import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from dpjax.data.bayes_net import BayesNet
from dpjax.tables.gathers import Gather, add, take
from dpjax.tables.layout import TableLayout

_SHARED = 0.5  # prior probability that the rows of a variable share a mean
_LEVEL = 2.0  # Dirichlet parameter of the mean row, of each level


class FixedPrior(NamedTuple):
    """Independent Dirichlet rows with known parameters of all cells."""

    centre: Float[Array, " c"]

    @property
    def size(self) -> int:
        """Number of unknown parameters."""
        return 0

    def log_prob(self, log_theta: Array, unknown: Array, early: Array) -> Array:
        """Return the log-density of the logits of all rows, up to a constant."""
        return (self.centre * log_theta).sum()

    def cells(self, log_theta: Array, unknown: Array) -> Float[Array, " c"]:
        """Return the Dirichlet parameter of every cell."""
        return self.centre


class LearnedPrior(NamedTuple):
    r"""Dirichlet rows whose mean and concentration the rows of a variable share.

    The rows of a variable with parents have the distribution Dirichlet$(s \phi)$ with
    unknown s and φ. The logarithm of s is normal around that of the sum of the centre's
    parameters in a row, with standard deviation 1, and φ has a Dirichlet distribution
    with parameter 2. A variable without parents has one row, with the centre's
    parameters.

    Reference:
        Azzimonti, Corani & Zaffalon (2019), "Hierarchical estimation of parameters in
        Bayesian networks", for the model without noise.
    """

    net: BayesNet
    centre: Float[Array, " c"]

    @property
    def size(self) -> int:
        """Number of unknown parameters: for each variable log s, then all of φ."""
        levels = _levels_of(self.net)
        return len(self.net.sizes) + levels.layout.length

    def log_prob(self, log_theta: Array, unknown: Array, early: Array) -> Array:
        """Return the log-density of the logits and the unknown parameters."""
        levels = _levels_of(self.net)
        _, log_phi, logits = self._parameters(unknown)
        shared, alone = self._both(log_theta, unknown)
        both = jnp.where(early, shared, jnp.logaddexp(shared, alone))
        rows = jnp.where(levels.several, both, alone)
        # Logits of φ are determined up to a constant: `loose` keeps it near 0.
        width = jnp.asarray(levels.width, alone.dtype)
        loose = (levels.layout.row_sums(logits) / width) ** 2 / width
        spread = unknown[: len(self.net.sizes)]
        means = (_LEVEL * log_phi - loose / 2).sum()
        return rows.sum() + means - (spread**2).sum() / 2

    def cells(self, log_theta: Array, unknown: Array) -> Float[Array, " c"]:
        """Return the expected Dirichlet parameter of every cell, given the tables."""
        levels = _levels_of(self.net)
        shared, alone = self._both(log_theta, unknown)
        share = jnp.where(levels.several, jax.nn.sigmoid(shared - alone), 0.0)
        share = _spread(levels, share)
        alpha = self._parameters(unknown)[0]
        centre = take(self.centre, levels.first)
        return take(centre + share * (alpha - centre), levels.place)

    def _both(self, log_theta: Array, unknown: Array) -> tuple[Array, Array]:
        """By variable, log-densities of rows that share a mean, and that do not."""
        levels = _levels_of(self.net)
        sums = _summed(levels, log_theta)
        rows = jnp.asarray(levels.rows, sums.dtype)
        each = jnp.asarray(levels.rows[levels.heads], sums.dtype)

        def density(alpha):
            cells = _total(levels, alpha * sums - rows * gammaln(alpha))
            return cells + each * gammaln(_total(levels, alpha))

        shared = density(self._parameters(unknown)[0]) + math.log(_SHARED)
        alone = density(take(self.centre, levels.first)) + math.log1p(-_SHARED)
        return shared, alone

    def _parameters(self, unknown: Array) -> tuple[Array, Array, Array]:
        """Dirichlet parameters by level, log φ and the logits of φ."""
        levels, number = _levels_of(self.net), len(self.net.sizes)
        layout, centre = levels.layout, take(self.centre, levels.first)
        logits = unknown[number:]
        shifted = logits - layout.row_maxima(logits)
        log_phi = shifted - jnp.log(layout.row_sums(jnp.exp(shifted)))
        log_s = jnp.log(layout.row_sums(centre)) + _spread(levels, unknown[:number])
        alpha = jnp.where(levels.rows > 1, jnp.exp(log_s + log_phi), centre)
        return alpha, log_phi, logits


RowPrior = FixedPrior | LearnedPrior


@dataclass(frozen=True)
class _Levels:
    """The levels of all variables of a network, in one vector, and their cells."""

    net: BayesNet

    @cached_property
    def layout(self) -> TableLayout:
        sizes = self.net.sizes
        return TableLayout(sizes, tuple((i,) for i in range(len(sizes))))

    @cached_property
    def place(self) -> np.ndarray:
        """The level of each cell."""
        layout = self.net.layout
        cells = np.arange(layout.length)
        table = np.repeat(np.arange(len(self.net.sizes)), np.diff(layout.offsets))
        inside = cells - np.asarray(layout.offsets)[table]
        level = inside % np.asarray(self.net.sizes)[table]
        return (np.asarray(self.layout.offsets)[table] + level).astype(np.uint32)

    @cached_property
    def first(self) -> np.ndarray:
        """The first cell of each level."""
        return np.unique(self.place, return_index=True)[1].astype(np.uint32)

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of rows of each level's variable."""
        return np.bincount(self.place)

    @cached_property
    def heads(self) -> np.ndarray:
        """The first level of each variable."""
        return np.asarray(self.layout.offsets[:-1])

    @cached_property
    def several(self) -> np.ndarray:
        """Whether each variable has more than one row."""
        return self.rows[self.heads] > 1

    @cached_property
    def width(self) -> np.ndarray:
        """The number of levels of each level's variable."""
        return np.asarray(self.net.sizes)[self.layout.rows]

    @cached_property
    def by_level(self) -> Gather:
        """The cells of each level."""
        length = self.net.layout.length
        return Gather.by_label(
            self.place, np.arange(length), self.layout.length, length
        )

    @cached_property
    def by_variable(self) -> Gather:
        """The levels of each variable."""
        length = self.layout.length
        variables = len(self.net.sizes)
        return Gather.by_label(
            self.layout.rows, np.arange(length), variables, length
        )


@functools.lru_cache(maxsize=64)
def _levels_of(net: BayesNet) -> _Levels:
    return _Levels(net)


# The derivative of a gather is a sum over positions that may be equal, which adds in no
# fixed order. These two are each other's derivative, and only gather.


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _summed(levels: _Levels, cells: Array) -> Array:
    """Sums over the cells of each level."""
    return levels.by_level(add, cells, 0)


_summed.defvjp(
    lambda levels, cells: (_summed(levels, cells), None),
    lambda levels, _, slope: (take(slope, levels.place),),
)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _spread(levels: _Levels, variables: Array) -> Array:
    """For each level, the entry of its variable."""
    return take(variables, levels.layout.rows.astype(np.uint32))


_spread.defvjp(
    lambda levels, variables: (_spread(levels, variables), None),
    lambda levels, _, slope: (levels.by_variable(add, slope, 0),),
)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _total(levels: _Levels, each: Array) -> Array:
    """Sums over the levels of each variable."""
    return levels.by_variable(add, each, 0)


_total.defvjp(
    lambda levels, each: (_total(levels, each), None),
    lambda levels, _, slope: (take(slope, levels.layout.rows.astype(np.uint32)),),
)
