"""Error bounds of the algorithms of Zhang et al. (AAAI-16), printed and corrected."""

import math
from typing import NamedTuple

from dpjax._checks import positive, probability, whole
from dpjax._types import Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE, Adjacency, Epsilon, exact_epsilon
from dpjax.statistics import FourierCoefficients, NetworkCounts, Statistic
from dpjax.theory.stealth import closure_of, corollary_3


def proposition_1(
    statistic: Statistic, epsilon: Epsilon, adjacency: Adjacency, delta: float
) -> float:
    r"""Bound a released statistic's largest absolute noise, with probability 1 - δ.

    $$\frac{\Delta}{\epsilon} \ln \frac{2m}{\delta}$$ where Δ is the sensitivity of the
    statistic, and 2m its number of entries (two for each row of a network's tables, if
    variables are binary). The bound is proved for continuous Laplace noise. Rounded up
    to an integer, it also holds for discrete noise.

    Args:
        statistic: statistic to which the noise is added.
        epsilon: privacy loss, > 0.
        adjacency: "replace-one" or "add-remove".
        delta: probability of a larger error, between 0 and 1.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Proposition 1.
    """
    probability(delta=delta)
    scale = int(statistic.sensitivity(adjacency).value) / exact_epsilon(epsilon)
    return float(scale) * math.log(statistic.length / delta)


def theorem_1(
    net: BayesNet, n: int, delta: float, prior: float = 1.0, printed: bool = False
) -> float:
    r"""Bound how far a KL divergence exceeds its mean, with probability 1 - δ.

    The divergence is KL(exact ‖ noisy) for posteriors of a network's parameters with
    exact and with noisy counts (Zhang et al., Algorithm 1). The bound in nats is
    $$\sqrt{-\tfrac{1}{2} m c^2 \ln \delta}, \qquad c = (2n + 1) \ln(2\alpha + 2n + 2)$$
    for $m = \sum_i 2^{|\pi_i|}$ table rows, where variable i has $|\pi_i|$ parents. It
    holds for every ε if the noise of the rows is independent (`families="all"`) and
    counts are clamped to [0, n]. The printed bound has c, but McDiarmid's inequality
    needs c². It fails, also with c = (2n + 1) ln[(α + n + 1)(β + n + 1)].

    With the digamma function ψ, a row's term of the divergence has derivatives of at
    most D = ψ(2α + n) - ψ(α) in its counts, and changes by at most 2nD. This number is
    below c for α ≥ 1, but not for α = 0.1.

    Args:
        net: network of binary variables.
        n: number of records, at least 1.
        delta: probability of a larger deviation, between 0 and 1.
        prior: α, if the prior of every row is Beta(α, α), at least 1.
        printed: whether to return the printed bound, which does not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 1.
    """
    closure_of(net)  # raises unless all variables are binary
    whole(1, n=n)
    probability(delta=delta)
    if not 1 <= prior < math.inf:
        raise ValueError(f"`prior` must be at least 1 and finite, got {prior}.")
    rows = net.layout.length // 2
    c = (2 * n + 1) * math.log(2 * prior + 2 * n + 2)
    return math.sqrt(-rows * (c if printed else c * c) * math.log(delta) / 2)


class CellNoise(NamedTuple):
    """Standard deviations of the noise of a table cell, by algorithm, in records.

    Attributes:
        algorithm_1: with noise on the cell itself, as Zhang et al. (AAAI-16) print it.
        algorithm_2: with noise on Fourier coefficients, as Zhang et al. print it.
        tight_fourier: with the noise of `FourierCoefficients`, for public n.
    """

    algorithm_1: float
    algorithm_2: float
    tight_fourier: float


def theorem_3(
    net: BayesNet, epsilon: Epsilon, delta: float, t: float = 0.0
) -> dict[str, float]:
    r"""Bound the L1 errors of Algorithm 2's node tables, with probability 1 - δ.

    $$\frac{4|N|}{\epsilon} \left(2^{|\pi_i|} \ln \frac{|N|}{\delta} + t|N|\right)$$ in
    records, for node i with $|\pi_i|$ parents. Algorithm 2 of Zhang et al. adds noise
    Lap(2|N|/ε) to each of |N| unnormalised Fourier coefficients and 4t|N|²/ε to the
    constant coefficient, and does not truncate. The bound is loose: by Cauchy's
    inequality, $2^{(|\pi_i| - 1) / 2}$ can replace $2^{|\pi_i|}$.

    Args:
        net: network of binary variables.
        epsilon: privacy loss, > 0.
        delta: probability of a larger error, between 0 and 1.
        t: number t of the formula, at least 0.

    Returns:
        Dictionary from node name to the bound.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 3.
    """
    size = len(closure_of(net))
    probability(delta=delta)
    if not 0 <= t < math.inf:
        raise ValueError(f"`t` must be at least 0 and finite, got {t}.")
    scale = float(4 * size / exact_epsilon(epsilon))
    return {
        name: scale * (2 ** len(group) * math.log(size / delta) + t * size)
        for name, group in zip(net.names, net.parents, strict=True)
    }


def remark_1(net: BayesNet, epsilon: Epsilon) -> dict[str, CellNoise]:
    r"""Compute the noise of table cells for Algorithms 1 and 2 of Zhang et al.

    $$\sqrt{2}\, 2k / \epsilon, \qquad \sqrt{2^{1 - m}}\, 2|N| / \epsilon, \qquad
    \sqrt{2 (2^m - 1)}\, 2^{-m} \Delta_1 / \epsilon$$ are the standard deviations in
    `CellNoise`, before truncation, for k binary variables, a table of m variables and
    |N| coefficients with sensitivity $\Delta_1$. Instead, Zhang et al. compare the
    scale of coefficients divided by $2^{k/2}$ with the scale of counts. The result is a
    dictionary from node name to the noise of this node's table.

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
    r"""Bound the probability of an exponential mechanism's score 2t below the maximum.

    $$P(S_{2t}^c) \le \frac{e^{-st}}{\xi(S_t)}, \qquad s = \frac{\epsilon}{2 \Delta},
    \qquad S_t = \{\theta : u(\theta) > \max u - t\}$$ where θ is drawn with probability
    $\propto \xi(\theta)\, e^{s u(\theta)}$, for a base measure ξ and a score u, and
    $S^c$ is the complement of S. Reason: the total weight is at most $\xi(S_{2t}^c)\,
    e^{s (\max u - 2t)}$ outside of $S_{2t}$ and at least $\xi(S_t)\, e^{s (\max u -
    t)}$ in $S_t$. The printed lemma has $e^{-\epsilon t}$, without $2 \Delta$, and can
    fail if $2 \Delta > 1$.

    Args:
        mass_of_good_set: base measure $\xi(S_t)$ of scores within t of the maximum,
            above 0 and at most 1.
        t: half of the difference from the maximum, in units of the score, > 0.
        epsilon: privacy loss, > 0.
        sensitivity: $\Delta$, the largest change of a score by one record, > 0.
        printed: whether to return the printed bound, which does not hold.

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
    """Compare privacy and utility bounds of noisy counts and Fourier coefficients.

    The result is a list of one JSON-ready dictionary for each mechanism. Keys are names
    of functions in `dpjax.theory`, which explain the arguments. "theorem_1_printed" and
    "corollary_3" are printed statements that do not hold.

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
