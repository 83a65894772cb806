r"""Utility theory: how far off a release can be, before any data is seen.

Theorem 1 and Corollary 3 of the paper do not hold as printed: they are given as printed
and corrected, side by side. Where no adjacency is asked for, it is replace-one.
"""

__all__ = [
    "CellNoise",
    "corollary_3",
    "proposition_1",
    "remark_1",
    "stealth_probability",
    "table_1",
    "theorem_1",
    "theorem_3",
]

import functools
import itertools
import math
from typing import NamedTuple

import jax.random as jr
import numpy as np

from dpjax._checks import one_of, positive, typed_key, whole
from dpjax._types import Key
from dpjax.fourier_basis import DownwardClosure, from_coefficients
from dpjax.graph import BayesNet, maximal_groups
from dpjax.privacy import REPLACE_ONE, Epsilon, exact_epsilon
from dpjax.statistics import FamilyCounts, FourierCoefficients, Statistic

_MOST_STATES = 1 << 26  # of one table in an elimination, all draws together


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


def proposition_1(
    statistic: Statistic, epsilon: Epsilon, adjacency: str, delta: float
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
    _probability(delta)
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
    _binary(net)
    whole(1, n=n)
    _probability(delta)
    if not 1 <= prior < math.inf:
        raise ValueError(f"`prior` must be at least 1 and finite, got {prior}.")
    rows = net.layout.length // 2
    c = (2 * n + 1) * math.log(2 * prior + 2 * n + 2)
    return math.sqrt(-rows * (c if printed else c * c) * math.log(delta) / 2)


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
    size = len(_closure(net))
    _probability(delta)
    if not 0 <= t < math.inf:
        raise ValueError(f"`t` must be at least 0 and finite, got {t}.")
    scale = float(4 * size / exact_epsilon(epsilon))
    return {
        name: scale * (2 ** len(group) * math.log(size / delta) + t * size)
        for name, group in zip(net.names, net.parents, strict=True)
    }


def corollary_3(t: float) -> float:
    """The paper's probability 1 - exp(-t) that an increment of t > 0 gives stealth.

    That is, that 4t|N|²/ε more records leave no cell of Algorithm 2 negative. It fails
    for small t and is far too low for larger ones: see `stealth_probability`.

    Raises:
        ValueError: if `t` is not positive.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    positive(t=t)
    return -math.expm1(-t)


def stealth_probability(
    key: Key, net: BayesNet, t: float, draws: int = 100_000, tables: str = "families"
) -> float:
    r"""Simulated probability that an increment of t leaves no cell negative.

    That of Algorithm 2 as printed: noise Lap(2|N|/ε) on every unnormalised coefficient,
    4t|N|²/ε more on the constant one; ε cancels. It is that of an empty data set, and
    for families' tables a lower bound for any other. A full table is rebuilt from |N|
    coefficients only, and with data can have negative cells even without noise.

    Args:
        key: typed, for the simulation.
        net: over binary variables.
        t: > 0.
        draws: of the simulation; the standard error is at most 1/√(4 draws).
        tables: "families", or "full" for the one table over all variables.

    Raises:
        ValueError: if an argument is outside its range, or a "full" table's moral graph
            too dense for so many draws.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Corollary 3.
    """
    typed_key(key=key)
    positive(t=t)
    whole(1, draws=draws)
    one_of(("families", "full"), tables=tables)
    closure = _closure(net)
    noise = np.asarray(jr.laplace(key, (draws, len(closure))))
    lowest = _lowest_of_families if tables == "families" else _lowest_of_all
    return float(np.mean(lowest(closure, noise) >= -2 * t * len(closure)))


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
    size, exact = len(_closure(net)), exact_epsilon(epsilon)
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


def table_1(
    net: BayesNet, n: int, epsilon: Epsilon, delta: float, t: float, prior: float = 1.0
) -> list[dict[str, object]]:
    """Privacy and utility of Algorithms 1 and 2 as printed: a row each, fit for JSON.

    Entries and arguments are named after the functions above; "theorem_1_printed" and
    "corollary_3" are the paper's statements that do not hold.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Table 1.
    """
    privacy = {"epsilon": float(exact_epsilon(epsilon)), "delta": 0.0}
    counts = FamilyCounts(net, "all")
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


def _probability(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"`delta` must be between 0 and 1, got {delta}.")


def _binary(net: BayesNet) -> None:
    if set(net.sizes) != {2}:
        raise ValueError(f"`net` must have two levels a variable, got {net.sizes}.")


def _closure(net: BayesNet) -> DownwardClosure:
    _binary(net)
    groups = maximal_groups(net.families)
    return DownwardClosure(net.sizes, tuple(tuple(sorted(group)) for group in groups))


def _lowest_of_families(closure: DownwardClosure, noise: np.ndarray) -> np.ndarray:
    """For each draw, the lowest numerator of a family's cell."""
    return from_coefficients(closure.layout, noise[:, closure.slots]).min(axis=1)


def _lowest_of_all(closure: DownwardClosure, noise: np.ndarray) -> np.ndarray:
    """For each draw, the lowest numerator of the full table: by elimination."""
    layout, axes = closure.layout, set(range(1, len(closure.sizes) + 1))
    own = np.zeros((len(noise), layout.length), noise.dtype)
    own[:, closure.owners] = noise  # each in one table: these sum to the full one
    shares = from_coefficients(layout, own)
    tables = []
    spans = itertools.pairwise(layout.offsets)
    for group, (start, stop) in zip(layout.groups, spans, strict=True):
        shape = [2 if axis - 1 in group else 1 for axis in sorted(axes)]
        tables.append(shares[:, start:stop].reshape(-1, *shape))
    while axes:
        scopes = {
            axis: np.broadcast_shapes(*(x.shape for x in tables if x.shape[axis] == 2))
            for axis in axes
        }
        axis = min(axes, key=lambda axis: math.prod(scopes[axis]))
        if math.prod(scopes[axis]) > _MOST_STATES:
            raise ValueError(f"`draws` must be fewer for this `net`, got {len(noise)}.")
        total = functools.reduce(np.add, (x for x in tables if x.shape[axis] == 2))
        tables = [x for x in tables if x.shape[axis] == 1]
        tables.append(total.min(axis=axis, keepdims=True))
        axes.remove(axis)
    return functools.reduce(np.add, tables).ravel()
