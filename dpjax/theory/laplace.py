"""How far off noisy counts are, and the posterior made of them (Algorithm 1)."""

__all__ = ["proposition_1", "theorem_1"]

import math

from dpjax._checks import whole
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import Adjacency, Epsilon, exact_epsilon
from dpjax.statistics import Statistic
from dpjax.theory._arguments import binary, probability


def proposition_1(
    statistic: Statistic, epsilon: Epsilon, adjacency: Adjacency, delta: float
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
    probability(delta)
    scale = int(statistic.sensitivity(adjacency).value) / exact_epsilon(epsilon)
    return float(scale) * math.log(statistic.length / delta)


def theorem_1(
    net: BayesNet, n: int, delta: float, prior: float = 1.0, printed: bool = False
) -> float:
    r"""The KL divergence exceeds its mean by this with probability at most δ.

    $$\sqrt{-\tfrac{1}{2} m c^2 \ln \delta}, \qquad c = (2n + 1) \ln(2\alpha + 2n + 2)$$
    in nats, for KL(exact ‖ Algorithm 1's posterior) over $m = \sum_i 2^{|\pi_i|}$ rows.
    Whatever ε is, it holds if the rows' noise is independent ("all" families measured)
    and counts are clamped to [0, n]. The paper prints c where McDiarmid's inequality
    needs c²; that bound fails, also if (2n + 1) ln[(α + n + 1)(β + n + 1)] is its c.

    A row's derivative in either count is at most ψ(2α + n) - ψ(α), so that it moves by
    at most 2n times that: less than c for α ≥ 1, but not for α = 0.1.

    Args:
        net: over binary variables.
        n: number of records, at least 1.
        delta: probability of a larger deviation, between 0 and 1.
        prior: α = β of the Beta prior of every row, at least 1.
        printed: give the paper's bound, which does not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 1.
    """
    binary(net)
    whole(1, n=n)
    probability(delta)
    if not 1 <= prior < math.inf:
        raise ValueError(f"`prior` must be at least 1 and finite, got {prior}.")
    rows = net.layout.length // 2
    c = (2 * n + 1) * math.log(2 * prior + 2 * n + 2)
    return math.sqrt(-rows * (c if printed else c * c) * math.log(delta) / 2)
