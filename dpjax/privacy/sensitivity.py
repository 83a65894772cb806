"""By how much one record can move a statistic.

The number never travels without the adjacency for which it holds.
"""

__all__ = ["Sensitivity"]

import equinox as eqx

from dpjax._checks import one_of, positive
from dpjax._types import Scalar
from dpjax.privacy.adjacency import ADJACENCIES, Adjacency


class Sensitivity(eqx.Module):
    r"""$\Delta = \max_{D \sim D'} \|T(D) - T(D')\|_1$ of a statistic T.

    Args:
        value: $\Delta$, in the units of the statistic, > 0.
        adjacency: "replace-one" or "add-remove": which D and D' are neighbours.
        tight: whether some pair of neighbours attains it (else it is a bound).

    Raises:
        ValueError: if `value` is not positive or `adjacency` is not one of the two.
    """

    value: Scalar
    adjacency: Adjacency = eqx.field(static=True)
    tight: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        positive(sensitivity=self.value)
        one_of(ADJACENCIES, adjacency=self.adjacency)
