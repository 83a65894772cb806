"""Adjacency of data sets, and sensitivity of a statistic to one record.

The adjacency has no default anywhere, because the meaning of ε depends on it.
"""

from typing import TYPE_CHECKING, Literal

import equinox as eqx

from dpjax._checks import one_of, positive
from dpjax._types import Scalar

if TYPE_CHECKING:
    Adjacency = Literal["add-remove", "replace-one"]
else:
    Adjacency = str  # checked at each use, with an error that gives a remedy

REPLACE_ONE: Adjacency = "replace-one"
"""Neighbours differ in the values of one record; the number of records is public."""

ADD_REMOVE: Adjacency = "add-remove"
"""Neighbours differ by one record; the number of records is private, maybe 0."""

ADJACENCIES = (REPLACE_ONE, ADD_REMOVE)
"""All definitions of neighbouring data sets."""


class Sensitivity(eqx.Module):
    r"""L1 sensitivity $\Delta = \max_{D \sim D'} \|T(D) - T(D')\|_1$ of a statistic T.

    Args:
        value: $\Delta$, in the units of the statistic, > 0.
        adjacency: which D and D' are neighbours, "replace-one" or "add-remove".
        tight: whether a pair of neighbours attains Δ; otherwise Δ is an upper bound.

    Raises:
        ValueError: if `value` is not positive or `adjacency` is not one of the two.
    """

    value: Scalar
    adjacency: Adjacency = eqx.field(static=True)
    tight: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        positive(sensitivity=self.value)
        one_of(ADJACENCIES, adjacency=self.adjacency)
