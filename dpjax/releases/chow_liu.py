"""A tree of variables from a release of their pairs, without further privacy cost."""

import numpy as np
from jaxtyping import Float

from dpjax.data.bayes_net import BayesNet
from dpjax.releases.released import Released, consistent


def chow_liu(released: Released) -> BayesNet:
    """Find the tree with the largest mutual information of noisy tables.

    Args:
        released: a release of noisy counts with a table of each two variables, such as
            one of all marginals of order 2.

    Returns:
        A network in which each variable but the first has one parent. It is the tree
        of largest likelihood for tables that agree with the noisy ones as well as they
        can (`consistent`).

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ValueError: if the release has no table of two of its variables, or is not of
            noisy counts.

    Reference:
        Chow & Liu (IEEE Transactions on Information Theory, 1968).
    """
    layout = released.counted.layout
    count = len(released.counted.variables)
    tables = layout.split(consistent(released))
    shared: dict[tuple[int, int], float] = {}
    for group, table in zip(layout.groups, tables, strict=True):
        if len(group) == 2:
            one, other = group
            both = _information(np.asarray(table))
            shared[one, other] = shared[other, one] = both
    parents: list[tuple[int, ...]] = [()] * count
    joined, rest = [0], set(range(1, count))
    while rest:
        edges = [(x, y) for x in sorted(rest) for y in joined]
        missing = [edge for edge in edges if edge not in shared]
        if missing:
            raise ValueError(
                "`released` must have a table of each two variables, such as a release "
                "of all marginals of order 2."
            )
        variable, parent = max(edges, key=shared.__getitem__)
        parents[variable] = (parent,)
        joined.append(variable)
        rest.discard(variable)
    return BayesNet(released.counted.variables, tuple(parents))


def _information(table: Float[np.ndarray, "a b"]) -> float:
    """Return the mutual information of a table of counts, in nats."""
    law = table / max(table.sum(), 1e-300)
    apart = law.sum(axis=1, keepdims=True) * law.sum(axis=0, keepdims=True)
    kept = (law > 0) & (apart > 0)
    return float((law[kept] * np.log(law[kept] / apart[kept])).sum())
