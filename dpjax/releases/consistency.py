"""Tables that agree with each other, from any release: free post-processing."""

__all__ = ["consistent"]

from functools import partial

import jax
from jaxtyping import Array

from dpjax._types import Cells
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts
from dpjax.tables.projection import project


def consistent(released: Released) -> Cells:
    """Least-squares projection onto tables that agree and have no negative cell.

    Any two tables give the same marginal over the variables that they share. Where n is
    public all of them sum to it, else the total is estimated with the rest.

    Returns:
        Real counts, laid out as `released.statistic.layout`, ready for
        `PlugInPosterior.from_counts`.

    Privacy:
        Post-processing: costs nothing. That a table is consistent and non-negative does
        not make it exact: it still has the noise of the release.
    """
    statistic, n = released.counted, released.n
    if isinstance(statistic, NetworkCounts):
        return _tables(project(statistic.measured, released.values, n), statistic)
    return project(statistic.layout, released.counts(), n)


@partial(jax.jit, static_argnames="statistic")
def _tables(measured: Array, statistic: NetworkCounts) -> Array:
    return statistic.tables(measured)
