r"""Lower bounds of a loss from how often events were seen.

A guarantee bounds how far apart the probabilities p and q of any event under two
neighbours are: $\ln(p / q) \le \epsilon$ if it is pure. What p and q show is shown by
Clopper–Pearson bounds too, of p from below and of q from above, each at half of the
level.
"""

__all__ = ["loss_bounds"]

import numpy as np
from jaxtyping import Float64, Real
from scipy import special

from dpjax.privacy import Guarantee

Numbers = Real[np.ndarray, "*shape"]


def loss_bounds(
    first: Numbers,
    second: Numbers,
    draws: tuple[int, int],
    level: float,
    claim: Guarantee,
) -> Float64[np.ndarray, "*shape"]:
    """Lower bounds of the loss, each wrong with a probability of at most `level`.

    Args:
        first: how often events were seen under one data set.
        second: how often under its neighbour.
        draws: of the first and of the second.
        level: the probability of error.
        claim: the guarantee whose divergence is the loss.

    Returns:
        -inf where nothing is shown.

    Reference:
        Clopper & Pearson, Biometrika 26 (1934), for the bounds of a proportion.
    """
    least = _below(first, draws[0], level / 2)
    most = 1 - _below(draws[1] - second, draws[1], level / 2)
    return claim.divergence_of_events(least, most)


def _below(seen: Numbers, draws: int, level: float) -> Float64[np.ndarray, "*shape"]:
    """Clopper and Pearson's lower bound of a probability."""
    some = np.maximum(seen, 1)
    bound = special.betaincinv(some, draws - some + 1, level)
    return np.where(seen > 0, bound, 0.0)
