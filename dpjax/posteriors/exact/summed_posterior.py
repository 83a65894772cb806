"""What posteriors of networks share that sum over all hidden counts."""

__all__ = ["SummedPosterior"]

import abc
import operator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import one_of
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior
from dpjax.posteriors.exact.cell_laws import CellLaw
from dpjax.releases.released import Released


class SummedPosterior(NetworkPosterior):
    """The posterior of all tables, given noisy counts and the law of their noise.

    A subclass has the fields below, and sums over the hidden exact counts.
    """

    released: eqx.AbstractVar[Released]
    prior: eqx.AbstractVar[Array]
    first: eqx.AbstractVar[Array]
    second: eqx.AbstractVar[Array]
    log_evidence: eqx.AbstractVar[Array]
    omitted: eqx.AbstractVar[Array]

    @abc.abstractmethod
    def _marginal(self, table: int, place: int) -> CellLaw:
        """The law of the probability at a place of the layout, in a table."""

    @abc.abstractmethod
    def _count_laws(self) -> tuple[Array, Float[Array, "c counts"]]:
        """The first count of every cell's window, and the law from there on."""

    @property
    def net(self) -> BayesNet:
        """The network."""
        return self.released.net

    def marginal(self, name: str, cell: tuple[int, ...]) -> CellLaw:
        """The law of one probability: `.cdf(t)`, `.quantile(q)`, `.log_prob(t)`.

        Args:
            name: of the variable.
            cell: indices of the levels of its parents, in order, and of its own.

        Raises:
            ValueError: if there is no such cell.
        """
        one_of(self.net.names, name=name)
        table = self.net.index(name)
        shape = self.net.layout.shape(self.net.families[table])
        try:
            place = np.ravel_multi_index(tuple(map(operator.index, cell)), shape)
        except (TypeError, ValueError):
            raise ValueError(
                f"`cell` must be indices of a cell of a table {shape}: the levels of "
                f"the parents of {name!r}, in order, then its own."
            ) from None
        return self._marginal(table, self.net.layout.offsets[table] + int(place))

    def hidden_counts(self) -> dict[str, tuple[Array, Array]]:
        """By table, the first count of each cell's window, and the law from there on.

        The law of a count is on the last axis, after the axes of the table.
        """
        lowest, laws = self._count_laws()
        columns = [self.net.layout.split(law) for law in laws.T]
        tables = [jnp.stack(table, axis=-1) for table in zip(*columns, strict=True)]
        pairs = zip(self.net.layout.split(lowest), tables, strict=True)
        return dict(zip(self.net.names, pairs, strict=True))

    def _mean(self) -> Array:
        return self.first

    def _sd(self) -> Array:
        return jnp.sqrt(jnp.maximum(self.second - self.first**2, 0))
