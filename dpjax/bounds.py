"""Utility theory: how far off a release can be, before any data is seen."""

__all__ = ["proposition_1"]

import math

from dpjax.privacy import Epsilon, exact_epsilon
from dpjax.statistics import Statistic


def proposition_1(
    statistic: Statistic,
    epsilon: Epsilon,
    adjacency: str,
    delta: float,
) -> float:
    r"""With probability at least 1 - δ no measured number is off by more than this.

    $$\frac{\Delta}{\epsilon} \ln \frac{2m}{\delta}$$ with 2m the number of measured
    integers (two a parent configuration for binary variables, where all families are
    measured, as in the paper). Proved for continuous Laplace noise. For the discrete
    noise of a release, round it up to an integer: then it holds too.

    Args:
        statistic: what is measured.
        epsilon: privacy loss, > 0.
        adjacency: "replace-one" or "add-remove".
        delta: probability of a larger error, between 0 and 1.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Proposition 1.
    """
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must be between 0 and 1, got {delta}.")
    scale = int(statistic.sensitivity(adjacency).value) / exact_epsilon(epsilon)
    return float(scale) * math.log(statistic.length / delta)
