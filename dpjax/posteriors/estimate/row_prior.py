"""Priors of the rows of a network's tables: known, or learned from the release itself.

A prior may have unknown parameters, which are further coordinates of a fit.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from dpjax.data.bayes_net import BayesNet
from dpjax.tables.gathers import Gather, add, place_of_cells, take
from dpjax.tables.layout import TableLayout

_EFFECT = 0.7  # standard deviation of an effect
_CONCENTRATION = 1.0  # and of the logarithm of a concentration


class FixedPrior(NamedTuple):
    """Independent Dirichlet rows with known parameters of all cells."""

    centre: Float[Array, " c"]

    @property
    def size(self) -> int:
        """Number of unknown parameters."""
        return 0

    def log_prob(self, log_theta: Array, unknown: Array) -> Float[Array, ""]:
        """Return the log-density of the logits of all rows, up to a constant."""
        return (self.centre * log_theta).sum()

    def average(self, function: Callable[[Array], Array], unknown: Array) -> Array:
        """Return a function of the Dirichlet parameters of all cells."""
        return function(self.centre)

    def matched(self, unknown: Array) -> Float[Array, " c"]:
        """Return the Dirichlet parameters of all cells."""
        return self.centre


class LogLinearPrior(NamedTuple):
    r"""Dirichlet rows around means that are log-linear in the levels of the parents.

    The row of a variable for the levels x of its parents has the distribution
    Dirichlet$(s \phi_x)$. The logarithm of $\phi_x$ is, up to a constant, the sum of an
    effect of the variable's level and, for each parent, an effect of both levels. All
    effects, and the concentration s, are unknown: effects are normal around 0 with
    standard deviation 0.7, and the logarithm of s is normal around that of the centre's
    sum over a row, with standard deviation 1. A variable without parents has one row,
    with the parameters of the centre.

    Args:
        net: the network.
        centre: Dirichlet parameter of every cell; equal in all rows of a variable.

    Reference:
        Azzimonti, Corani & Zaffalon (2019), "Hierarchical estimation of parameters in
        Bayesian networks", for rows around a common mean, without effects of parents
        and without noise.
    """

    net: BayesNet
    centre: Float[Array, " c"]

    @property
    def size(self) -> int:
        """Number of unknown parameters: all effects, then log s of each variable."""
        return _effects_of(self.net).number + len(self.net.sizes)

    def log_prob(self, log_theta: Array, unknown: Array) -> Float[Array, ""]:
        """Return the log-density of logits and unknown parameters, up to a constant."""
        alpha, layout = self.cells(unknown), self.net.layout
        width = layout.row_sums(jnp.ones_like(alpha))
        rows = gammaln(layout.row_sums(alpha)) / width - gammaln(alpha)
        effects, logs = jnp.split(unknown, [_effects_of(self.net).number])
        normal = (effects / _EFFECT) ** 2, (logs / _CONCENTRATION) ** 2
        return (alpha * log_theta + rows).sum() - sum(x.sum() for x in normal) / 2

    def cells(self, unknown: Array) -> Float[Array, " c"]:
        """Return the Dirichlet parameter of every cell, given the unknown ones."""
        effects, layout = _effects_of(self.net), self.net.layout
        of_cells, logs = jnp.split(unknown, [effects.number])
        mean = _summed(effects.places, of_cells)
        mean = jnp.exp(mean - layout.row_maxima(mean))
        share = mean / layout.row_sums(mean)
        sums = layout.row_sums(self.centre) * jnp.exp(_summed(effects.variable, logs))
        return jnp.where(effects.several, sums * share, self.centre)

    def average(
        self, function: Callable[[Array], Array], unknown: Float[Array, "draws u"]
    ) -> Array:
        """Return the mean over all draws of a function of `cells`."""
        return jax.vmap(lambda x: function(self.cells(x)))(unknown).mean(axis=0)

    def matched(self, unknown: Float[Array, "draws u"]) -> Float[Array, " c"]:
        """Return Dirichlet parameters for draws of the unknown parameters.

        Rows with these parameters have the means of rows with those of the draws, and
        the same sums of variances.
        """
        row_sums = self.net.layout.row_sums
        alpha = jax.vmap(self.cells)(unknown)
        total = jax.vmap(row_sums)(alpha)
        share = alpha / total
        mean = share.mean(axis=0)
        within = (share * (1 - share) / (total + 1)).mean(axis=0)
        variance = row_sums(within + share.var(axis=0))
        sums = row_sums(mean * (1 - mean)) / variance - 1
        return jnp.where(_effects_of(self.net).several, sums * mean, self.centre)


RowPrior = FixedPrior | LogLinearPrior


@dataclass(frozen=True, eq=False)
class _Places:
    """For each cell, the places in a vector that are summed; 0 stands beyond it."""

    matrix: np.ndarray  # (c, k)
    length: int  # of the vector

    @cached_property
    def cells(self) -> Gather:
        """The cells of each place, repeated as often as they have it."""
        labels = self.matrix.ravel()
        cells = np.repeat(np.arange(len(self.matrix)), self.matrix.shape[1])
        inside = labels < self.length
        given = labels[inside].astype(int), cells[inside]
        return Gather.by_label(*given, self.length, len(self.matrix))


@dataclass(frozen=True)
class _Effects:
    """The effects of all variables of a network, in one vector."""

    net: BayesNet

    @cached_property
    def layout(self) -> TableLayout:
        """Tables of effects: of each variable, and of it with each of its parents."""
        groups = (
            group
            for family in self.net.families
            for group in [family[-1:], *((i, family[-1]) for i in family[:-1])]
        )
        return TableLayout(self.net.sizes, tuple(groups))

    @property
    def number(self) -> int:
        """Number of effects."""
        return self.layout.length

    @cached_property
    def places(self) -> _Places:
        """The effects of each cell."""
        cells, tables = self.net.layout, iter(range(len(self.layout.groups)))
        most = max(map(len, cells.groups))
        found = np.full((cells.length, most), self.number, np.uint32)
        for table, group in enumerate(cells.groups):
            rows = slice(cells.offsets[table], cells.offsets[table + 1])
            for column in range(len(group)):
                place = place_of_cells(cells, table, self.layout, next(tables))
                found[rows, column] = place
        return _Places(found, self.number)

    @cached_property
    def variable(self) -> _Places:
        """The variable of each cell."""
        sizes = np.diff(self.net.layout.offsets)
        of_cells = np.repeat(np.arange(sizes.size, dtype=np.uint32), sizes)
        return _Places(of_cells[:, None], sizes.size)

    @cached_property
    def several(self) -> np.ndarray:
        """Whether each cell's variable has more than one row."""
        rows = [len(family) > 1 for family in self.net.families]
        return np.array(rows)[self.variable.matrix[:, 0]]


@functools.lru_cache(maxsize=64)
def _effects_of(net: BayesNet) -> _Effects:
    return _Effects(net)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _summed(places: _Places, vector: Array) -> Array:
    """Sums of the entries of a vector that each cell has."""
    return take(jnp.append(vector, 0), places.matrix).sum(axis=-1)


# The derivative of a gather adds at positions that may be equal, in no fixed order.
# This one is a gather too.
_summed.defvjp(
    lambda places, vector: (_summed(places, vector), None),
    lambda places, _, slope: (places.cells(add, slope, 0),),
)
