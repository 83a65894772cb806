"""What a posterior sample in real arithmetic costs, rounded up."""

__all__ = ["sample_cost"]

import math
from fractions import Fraction

from dpjax.families import Family, Truncation
from dpjax.privacy import REPLACE_ONE, PureDP

_MARGIN = 1e-9  # far above what double precision loses
_ROUNDING = 1 << 30  # up to multiples of 2^-30


def sample_cost(
    family: Family, adjacency: str, truncation: Truncation, temperature: float
) -> PureDP:
    r"""$2\Delta / T$ under replace-one, $\Delta / T$ under add-remove.

    Reference:
        Foulds, Geumlek, Welling & Chaudhuri (UAI-16), Theorem 2 and equation 14.
    """
    times = 2 if adjacency == REPLACE_ONE else 1
    bound = family.sampling_sensitivity(adjacency, truncation).value
    loss = times * bound / temperature * (1 + _MARGIN)
    return PureDP(Fraction(math.ceil(loss * _ROUNDING), _ROUNDING), adjacency)
