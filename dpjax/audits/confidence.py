r"""From how often an event was seen to how much privacy was certainly lost.

If a mechanism is (ε, δ)-differentially private then $p \le e^\epsilon q + \delta$ for
the probabilities p and q of any event under two neighbours. So $\ln((p - \delta) / q)$
is a lower bound of ε, also of Clopper–Pearson bounds of p, from below, and of q, from
above, each at half of the level.
"""

__all__ = ["loss_bounds"]

import numpy as np
from jaxtyping import Float64, Real
from scipy import special

Numbers = Real[np.ndarray, "*shape"]


def loss_bounds(
    first: Numbers,
    second: Numbers,
    draws: tuple[int, int],
    level: float,
    delta: float,
) -> Float64[np.ndarray, "*shape"]:
    """Lower bounds of ε, each wrong with a probability of at most `level`.

    Args:
        first: how often events were seen under one data set.
        second: how often under its neighbour.
        draws: of the first and of the second.
        level: the probability of error.
        delta: δ.

    Returns:
        -inf where nothing is shown.

    Reference:
        Clopper & Pearson, Biometrika 26 (1934), for the bounds of a proportion.
    """
    least = _below(first, draws[0], level / 2)
    most = 1 - _below(draws[1] - second, draws[1], level / 2)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(least - delta, 0)) - np.log(most)


def _below(seen: Numbers, draws: int, level: float) -> Float64[np.ndarray, "*shape"]:
    """Clopper and Pearson's lower bound of a probability."""
    some = np.maximum(seen, 1)
    bound = special.betaincinv(some, draws - some + 1, level)
    return np.where(seen > 0, bound, 0.0)
