"""Priors of the rows of a network's tables: known, or learned from the release itself.

A prior may have unknown parameters, which are further coordinates of a fit.
"""

__all__ = ["FixedPrior", "RowPrior", "SharedPrior"]

import functools
import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float

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

    def log_prob(
        self, log_theta: Array, unknown: Array, shared: Bool[Array, ""]
    ) -> Array:
        """Return the log-density of the logits of all rows, up to a constant."""
        return (self.centre * log_theta).sum()

    def cells(self, log_theta: Array, unknown: Array) -> Float[Array, " c"]:
        """Return the Dirichlet parameter of every cell."""
        return self.centre


class SharedPrior(NamedTuple):
    r"""Dirichlet rows of which those of a variable may share mean and concentration.

    For each variable with parents there are two cases, each with probability 1/2. In
    one, its rows are independent and have the parameters of the centre. In the other
    one, they have the distribution Dirichlet$(s \phi)$ with unknown s and φ: the
    logarithm of s is normal around that of the centre's sum over a row, with standard
    deviation 1, and φ has the distribution Dirichlet(2, …, 2). A variable without
    parents has one row, with the parameters of the centre.

    Args:
        net: the network.
        centre: Dirichlet parameter of every cell; equal in all rows of a variable.

    Reference:
        Azzimonti, Corani & Zaffalon (2019), "Hierarchical estimation of parameters in
        Bayesian networks", for rows with a common mean, without noise.
    """

    net: BayesNet
    centre: Float[Array, " c"]

    @property
    def size(self) -> int:
        """Number of unknown parameters: one for each level of each variable.

        They are the logits of φ, up to their sum over the levels, which determines s.
        """
        return _levels_of(self.net).layout.length

    def log_prob(
        self, log_theta: Array, unknown: Array, shared: Bool[Array, ""]
    ) -> Array:
        """Return the log-density of logits and unknown parameters, up to a constant.

        Args:
            log_theta: logarithms of all probabilities.
            unknown: the unknown parameters.
            shared: whether the rows of all variables are taken to share a mean. A fit
                that starts with the mixture finds no means to share.
        """
        levels = _levels_of(self.net)
        log_phi, scale = self._parameters(unknown)
        together, alone = self._cases(log_theta, unknown)
        both = jnp.where(shared, together, jnp.logaddexp(together, alone))
        rows = jnp.where(levels.several, both, alone) - scale**2 / 2
        return (_LEVEL * log_phi + rows / levels.width).sum()

    def cells(self, log_theta: Array, unknown: Array) -> Float[Array, " c"]:
        """Return the expected Dirichlet parameter of every cell, given the tables."""
        levels = _levels_of(self.net)
        together, alone = self._cases(log_theta, unknown)
        share = jnp.where(levels.several, jax.nn.sigmoid(together - alone), 0)
        centre = take(self.centre, levels.first)
        mixed = centre + share * (self._alpha(unknown) - centre)
        return take(mixed, levels.place)

    def _cases(self, log_theta: Array, unknown: Array) -> tuple[Array, Array]:
        """Log-densities of all rows of each level's variable, in both cases."""
        levels = _levels_of(self.net)
        sums = cast(Array, _by_level(levels, log_theta))

        def density(alpha: Array) -> Array:
            cells = levels.layout.row_sums(alpha * sums - levels.rows * gammaln(alpha))
            return cells + levels.rows * gammaln(levels.layout.row_sums(alpha))

        together = density(self._alpha(unknown)) + math.log(_SHARED)
        return together, density(take(self.centre, levels.first)) + math.log1p(-_SHARED)

    def _parameters(self, unknown: Array) -> tuple[Array, Array]:
        """Log φ, and log s in standard deviations, which is repeated for each level."""
        levels = _levels_of(self.net)
        shifted = unknown - levels.layout.row_maxima(unknown)
        log_phi = shifted - jnp.log(levels.layout.row_sums(jnp.exp(shifted)))
        return log_phi, levels.layout.row_sums(unknown) / np.sqrt(levels.width)

    def _alpha(self, unknown: Array) -> Array:
        """The Dirichlet parameters s φ by level."""
        levels = _levels_of(self.net)
        log_phi, scale = self._parameters(unknown)
        total = levels.layout.row_sums(take(self.centre, levels.first))
        return total * jnp.exp(log_phi + scale)


RowPrior = FixedPrior | SharedPrior


@dataclass(frozen=True)
class _Levels:
    """The levels of all variables of a network, in one vector."""

    net: BayesNet

    @cached_property
    def layout(self) -> TableLayout:
        """One row for each variable."""
        sizes = self.net.sizes
        return TableLayout(sizes, tuple((i,) for i in range(len(sizes))))

    @cached_property
    def place(self) -> np.ndarray:
        """The level of each cell."""
        layout = self.net.layout
        table = np.repeat(np.arange(len(self.net.sizes)), np.diff(layout.offsets))
        inside = np.arange(layout.length) - np.asarray(layout.offsets)[table]
        level = inside % np.asarray(self.net.sizes)[table]
        return (np.asarray(self.layout.offsets)[table] + level).astype(np.uint32)

    @cached_property
    def first(self) -> np.ndarray:
        """The first cell of each level."""
        return np.unique(self.place, return_index=True)[1].astype(np.uint32)

    @cached_property
    def rows(self) -> np.ndarray:
        """The number of rows of each level's variable."""
        return np.bincount(self.place).astype(float)

    @cached_property
    def several(self) -> np.ndarray:
        """Whether each level's variable has more than one row."""
        return self.rows > 1

    @cached_property
    def width(self) -> np.ndarray:
        """The number of levels of each level's variable."""
        return np.repeat(self.net.sizes, self.net.sizes).astype(float)

    @cached_property
    def cells(self) -> Gather:
        """The cells of each level."""
        length = self.net.layout.length
        places = np.arange(length)
        return Gather.by_label(self.place, places, self.layout.length, length)


@functools.lru_cache(maxsize=64)
def _levels_of(net: BayesNet) -> _Levels:
    return _Levels(net)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _by_level(levels: _Levels, cells: Array) -> Array:
    """Sums over the cells of each level."""
    return levels.cells(add, cells, 0)


# The derivative of a gather adds at positions that may be equal, in no fixed order.
# This one is a gather too.
_by_level.defvjp(
    lambda levels, cells: (_by_level(levels, cells), None),
    lambda levels, _, slope: (take(slope, levels.place),),
)
