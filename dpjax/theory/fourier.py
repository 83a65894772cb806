"""How far off noisy Fourier coefficients are, cell by cell (Algorithm 2)."""

__all__ = ["CellNoise", "remark_1", "theorem_3"]

import math
from typing import NamedTuple

from dpjax.data.bayes_net import BayesNet
from dpjax.privacy import REPLACE_ONE, Epsilon, exact_epsilon
from dpjax.statistics import FourierCoefficients
from dpjax.theory._arguments import closure_of, probability


class CellNoise(NamedTuple):
    """Standard deviation of one cell of a marginal, in records.

    Attributes:
        algorithm_1: noise on the cell itself, as printed.
        algorithm_2: noise on Fourier coefficients, as printed.
        tight_fourier: with `FourierCoefficients`' sensitivity, and n not noised.
    """

    algorithm_1: float
    algorithm_2: float
    tight_fourier: float


def theorem_3(
    net: BayesNet, epsilon: Epsilon, delta: float, t: float = 0.0
) -> dict[str, float]:
    r"""With probability at least 1 - δ no family's table is off by more, in L1.

    $$\frac{4|N|}{\epsilon} \left(2^{|\pi_i|} \ln \frac{|N|}{\delta} + t|N|\right)$$ in
    records, by the variable's name, for Algorithm 2 as printed: noise Lap(2|N|/ε) on
    every unnormalised coefficient, 4t|N|²/ε more on the constant one, no truncation.
    It is loose: by Cauchy's inequality $2^{(|\pi_i| - 1) / 2}$ does for $2^{|\pi_i|}$.

    Args:
        net: over binary variables.
        epsilon: privacy loss, > 0.
        delta: probability of a larger error, between 0 and 1.
        t: of the increment, at least 0.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 3.
    """
    size = len(closure_of(net))
    probability(delta)
    if not 0 <= t < math.inf:
        raise ValueError(f"`t` must be at least 0 and finite, got {t}.")
    scale = float(4 * size / exact_epsilon(epsilon))
    return {
        name: scale * (2 ** len(group) * math.log(size / delta) + t * size)
        for name, group in zip(net.names, net.parents, strict=True)
    }


def remark_1(net: BayesNet, epsilon: Epsilon) -> dict[str, CellNoise]:
    r"""Noise per cell of each family's marginal, Laplace against Fourier.

    $$\sqrt{2}\, 2k / \epsilon, \qquad \sqrt{2^{1 - m}}\, 2|N| / \epsilon, \qquad
    \sqrt{2 (2^m - 1)}\, 2^{-m} \Delta_1 / \epsilon$$ for k binary variables and a
    family of m, before any truncation; by the name of the family's variable. The paper
    compares the scale of coefficients divided by $2^{k/2}$ with that of counts instead.

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
