"""Utility bounds: errors of Algorithms 1-3, as printed and corrected."""

__all__ = [
    "CellNoise",
    "lemma_4",
    "proposition_1",
    "remark_1",
    "table_1",
    "theorem_1",
    "theorem_3",
]

import math
from typing import NamedTuple

from dpjax._checks import positive, whole
from dpjax._types import Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, exact_epsilon
from dpjax.statistics import FourierCoefficients, NetworkCounts, Statistic
from dpjax.theory.stealth import closure_of, corollary_3


def proposition_1(
    statistic: Statistic, epsilon: Epsilon, adjacency: Adjacency, delta: float
) -> float:
    r"""Bound the largest error of all measured numbers, with probability 1 - δ.

    $$\frac{\Delta}{\epsilon} \ln \frac{2m}{\delta}$$ where 2m is the number of measured
    integers (in the paper, two for each parent configuration of binary variables). It
    is proved for continuous Laplace noise. Rounded up to an integer, the bound also
    holds for discrete noise.

    Args:
        statistic: the measured statistic.
        epsilon: privacy loss, > 0.
        adjacency: "replace-one" or "add-remove".
        delta: probability of a larger error, between 0 and 1.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Proposition 1.
    """
    _check_probability(delta)
    scale = int(statistic.sensitivity(adjacency).value) / exact_epsilon(epsilon)
    return float(scale) * math.log(statistic.length / delta)


def theorem_1(
    net: BayesNet, n: int, delta: float, prior: float = 1.0, printed: bool = False
) -> float:
    r"""Bound how far the KL divergence exceeds its mean, with probability 1 - δ.

    $$\sqrt{-\tfrac{1}{2} m c^2 \ln \delta}, \qquad c = (2n + 1) \ln(2\alpha + 2n + 2)$$
    in nats, for KL(exact ‖ Algorithm 1's posterior) over $m = \sum_i 2^{|\pi_i|}$ rows.
    It holds for every ε if the noise of the rows is independent (`families="all"`) and
    counts are clamped to [0, n]. The paper has c where McDiarmid's inequality needs c²;
    the paper's bound fails, also with c = (2n + 1) ln[(α + n + 1)(β + n + 1)].

    The derivative of a row's term in either count is at most D = ψ(2α + n) - ψ(α), so
    that the term changes by at most 2nD: below c for α ≥ 1, but not for α = 0.1.

    Args:
        net: network of binary variables.
        n: number of records, at least 1.
        delta: probability of a larger deviation, between 0 and 1.
        prior: α = β of the Beta prior of every row, at least 1.
        printed: whether to return the paper's bound, which does not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 1.
    """
    closure_of(net)  # raises unless all variables are binary
    whole(1, n=n)
    _check_probability(delta)
    if not 1 <= prior < math.inf:
        raise ValueError(f"`prior` must be at least 1 and finite, got {prior}.")
    rows = net.layout.length // 2
    c = (2 * n + 1) * math.log(2 * prior + 2 * n + 2)
    return math.sqrt(-rows * (c if printed else c * c) * math.log(delta) / 2)


class CellNoise(NamedTuple):
    """Standard deviation of one cell of a marginal, in records.

    Attributes:
        algorithm_1: noise on the cell itself, as printed.
        algorithm_2: noise on Fourier coefficients, as printed.
        tight_fourier: noise of `FourierCoefficients`, with exact n.
    """

    algorithm_1: float
    algorithm_2: float
    tight_fourier: float


def theorem_3(
    net: BayesNet, epsilon: Epsilon, delta: float, t: float = 0.0
) -> dict[str, float]:
    r"""Bound the L1 errors of all node tables, with probability 1 - δ.

    $$\frac{4|N|}{\epsilon} \left(2^{|\pi_i|} \ln \frac{|N|}{\delta} + t|N|\right)$$ in
    records, by node name, for Algorithm 2 as printed: noise Lap(2|N|/ε) on every
    unnormalised coefficient, 4t|N|²/ε added to the constant one, no truncation. It is
    loose: by Cauchy's inequality, $2^{(|\pi_i| - 1) / 2}$ can replace $2^{|\pi_i|}$.

    Args:
        net: network of binary variables.
        epsilon: privacy loss, > 0.
        delta: probability of a larger error, between 0 and 1.
        t: parameter of the increment, at least 0.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 3.
    """
    size = len(closure_of(net))
    _check_probability(delta)
    if not 0 <= t < math.inf:
        raise ValueError(f"`t` must be at least 0 and finite, got {t}.")
    scale = float(4 * size / exact_epsilon(epsilon))
    return {
        name: scale * (2 ** len(group) * math.log(size / delta) + t * size)
        for name, group in zip(net.names, net.parents, strict=True)
    }


def remark_1(net: BayesNet, epsilon: Epsilon) -> dict[str, CellNoise]:
    r"""Compare the noise per cell of Algorithms 1 and 2, for each node table.

    $$\sqrt{2}\, 2k / \epsilon, \qquad \sqrt{2^{1 - m}}\, 2|N| / \epsilon, \qquad
    \sqrt{2 (2^m - 1)}\, 2^{-m} \Delta_1 / \epsilon$$ for k binary variables and a table
    over m of them, before any truncation, by the name of the node. Instead, the paper
    compares the scale of coefficients divided by $2^{k/2}$ with the scale of counts.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Remark 1.
    """
    size, exact = len(closure_of(net)), exact_epsilon(epsilon)
    fourier = FourierCoefficients.of_network(net, REPLACE_ONE)
    change = 2 * int(fourier.sensitivity(REPLACE_ONE).value)  # of c, not (n - c) / 2
    noise = {}
    for name, group in zip(net.names, net.parents, strict=True):
        cells = 2 ** (len(group) + 1)
        noise[name] = CellNoise(
            math.sqrt(2) * float(2 * len(net.names) / exact),
            math.sqrt(2 / cells) * float(2 * size / exact),
            math.sqrt(2 * (cells - 1)) / cells * float(change / exact),
        )
    return noise


def lemma_4(
    mass_of_good_set: Scalar,
    t: Scalar,
    epsilon: Epsilon,
    sensitivity: Scalar,
    printed: bool = False,
) -> float:
    r"""Bound the probability that the exponential mechanism's score is 2t too low.

    $$P(S_{2t}^c) \le \frac{e^{-st}}{\xi(S_t)}, \qquad s = \frac{\epsilon}{2 \Delta},
    \qquad S_t = \{\theta : u(\theta) > \max u - t\}$$ where θ is drawn with probability
    $\propto \xi(\theta)\, e^{s u(\theta)}$, since the total weight is at most
    $\xi(S_{2t}^c)\, e^{s (\max u - 2t)}$ outside of $S_{2t}$ and at least
    $\xi(S_t)\, e^{s (\max u - t)}$ in $S_t$. The paper's lemma has $e^{-\epsilon t}$,
    without the $2 \Delta$ of its Algorithm 3, and can fail if $2 \Delta > 1$.

    Args:
        mass_of_good_set: $\xi(S_t)$ of the base measure, above 0 and at most 1.
        t: half of the shortfall, in units of the score, > 0.
        epsilon: privacy loss, > 0.
        sensitivity: $\Delta$, the largest change of a score by one record, > 0.
        printed: whether to return the paper's bound, which does not hold.

    Returns:
        The bound, which is vacuous if it is 1 or more.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Lemma 4.
    """
    positive(t=t, sensitivity=sensitivity)
    if not 0 < mass_of_good_set <= 1:
        raise ValueError(
            f"`mass_of_good_set` must be above 0 and at most 1, got {mass_of_good_set}."
        )
    rate = float(exact_epsilon(epsilon)) / (1 if printed else 2 * float(sensitivity))
    return math.exp(-rate * float(t)) / float(mass_of_good_set)


def table_1(
    net: BayesNet, n: int, epsilon: Epsilon, delta: float, t: float, prior: float = 1.0
) -> list[dict[str, object]]:
    """Compare privacy and utility of Algorithms 1 and 2, one JSON-ready row each.

    Entries and arguments are those of the functions above. "theorem_1_printed" and
    "corollary_3" are statements of the paper that do not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Table 1.
    """
    privacy = {"epsilon": float(exact_epsilon(epsilon)), "delta": 0.0}
    counts = NetworkCounts(net, "all")
    laplace = {
        "proposition_1": proposition_1(counts, epsilon, REPLACE_ONE, delta),
        "theorem_1": theorem_1(net, n, delta, prior),
        "theorem_1_printed": theorem_1(net, n, delta, prior, printed=True),
    }
    fourier = {
        "theorem_3": theorem_3(net, epsilon, delta, t),
        "corollary_3": corollary_3(t),
    }
    return [
        {"mechanism": "laplace", "privacy": privacy, **laplace},
        {"mechanism": "fourier", "privacy": privacy, **fourier},
    ]


def _check_probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must be between 0 and 1, got {delta}.")
