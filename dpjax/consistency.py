"""Tables that agree with each other, from any release: free post-processing."""

__all__ = ["consistent"]

import jax.numpy as jnp

from dpjax._types import Cells
from dpjax.projection import project
from dpjax.released import Released
from dpjax.statistics import FamilyCounts


def consistent(released: Released) -> Cells:
    """Least-squares projection onto tables that agree and have no negative cell.

    Any two tables give the same marginal over the variables that they share. Where n is
    public all of them sum to it, else the total is estimated with the rest.

    Returns:
        Real counts, laid out as `released.statistic.layout`, ready for
        `BayesNetPosterior.from_counts`.

    Privacy:
        Post-processing: costs nothing. That a table is consistent and non-negative does
        not make it exact: it still has the noise of the release.
    """
    statistic, n = released.statistic, released.n
    if isinstance(statistic, FamilyCounts):
        measured = released.values.astype(float)
        return statistic.tables(project(statistic.measured, measured, n))
    return jnp.asarray(project(statistic.layout, released.counts(), n))
