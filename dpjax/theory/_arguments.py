"""Checks and conversions of the arguments of several bounds."""

__all__ = ["binary", "closure_of", "probability"]

from dpjax.data.bayes_net import BayesNet, maximal_groups
from dpjax.tables.fourier_basis import DownwardClosure


def probability(delta: float) -> None:
    """Raise `ValueError` unless `delta` is between 0 and 1."""
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must be between 0 and 1, got {delta}.")


def binary(net: BayesNet) -> None:
    """Raise `ValueError` unless every variable has two levels."""
    if set(net.sizes) != {2}:
        raise ValueError(f"`net` must have two levels per variable, got {net.sizes}.")


def closure_of(net: BayesNet) -> DownwardClosure:
    """Return the index set of Algorithm 2's coefficients."""
    binary(net)
    groups = maximal_groups(net.families)
    return DownwardClosure(net.sizes, tuple(tuple(sorted(group)) for group in groups))
