r"""Zhang et al.'s privacy of a posterior without truncation, from its prior alone.

A Beta prior is rarely near 0 or 1, where log-likelihoods move most. The resulting
(0, δ) is no guarantee to rely on: `theorem_4` says when it is empty, which is nearly
always. Real arithmetic, for study; nothing here is charged to a ledger.
"""

__all__ = [
    "Theorem4",
    "beta_constant",
    "beta_likelihood_ratio",
    "beta_mass",
    "lemma_3",
    "theorem_4",
]

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpjax._checks import at_least_zero, positive, whole

_KAPPA, _OMEGA = 4.91081, 1.25643  # as printed in Theorem 4
_LEAST_MASS = 1e-280  # below it the series, not the incomplete beta function
_TERMS = np.arange(1, 20_001)
_LARGEST_LOG = 709.0


@dataclass(frozen=True)
class Theorem4:
    r"""What Theorem 4, part 2, says: (0, δ) under $\sqrt{\rho}$, if it says anything.

    Attributes:
        constant: c of the prior.
        rho: largest distance of neighbours, in units of Σρᵢ.
        split: s, which the paper calls δ; None if no s in (0, 1) meets the hypothesis.
        holds: whether ρ ≤ (1 - s)c, the theorem's hypothesis.
        M: bound of the KL divergence of neighbouring posteriors; inf without a split,
            and where c is 0.
        epsilon: always 0.
        delta: √(M/2): posteriors at distance ρ differ by δ √max(ρ, 1) in total
            variation.
        vacuous: whether nothing is promised: the hypothesis fails, or δ is 1 or more.
    """

    constant: float
    rho: float
    split: float | None
    holds: bool
    M: float
    epsilon: float
    delta: float
    vacuous: bool


def beta_mass(alpha: float, beta: float, bound: float) -> float:
    r"""ξ(Θ_L): prior mass of the θ at which a Bernoulli likelihood is L-Lipschitz.

    $I_{\sigma(L)}(\alpha, \beta) - I_{\sigma(-L)}(\alpha, \beta)$, that of
    $|\ln(\theta/(1-\theta))| \le L$, with ρ(0, 1) = 1.

    Args:
        alpha: of the Beta prior, > 0.
        beta: of the Beta prior, > 0.
        bound: L, at least 0.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Assumption 2.
    """
    positive(alpha=alpha, beta=beta)
    at_least_zero(bound=bound)
    inside = special.betainc(alpha, beta, special.expit(np.array([-bound, bound])))
    return float(inside[1] - inside[0])


def beta_constant(alpha: float, beta: float, least: float) -> float:
    r"""The largest c with $\xi(\Theta_L) \ge 1 - e^{-cL}$ for all L ≥ L₀.

    $$c = \min\left(-\frac{\ln(1 - \xi(\Theta_{L_0}))}{L_0}, \alpha, \beta\right)$$
    since that ratio, as a function of L, tends to min(α, β), and rises, or first rises
    and then falls: the hazard rate of |logit θ| does so.

    Args:
        alpha: of the Beta prior, > 0.
        beta: of the Beta prior, > 0.
        least: L₀, > 0.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Assumption 2.
    """
    positive(least=least)
    inside = beta_mass(alpha, beta, least)
    log_outside = (
        math.log1p(-inside)
        if inside < 0.5
        else np.logaddexp(
            _log_tail(alpha, beta, least), _log_tail(beta, alpha, least)
        ).item()
    )
    return float(min(-log_outside / least, alpha, beta))


def lemma_3(constants: Sequence[float], least: float) -> float:
    r"""c of a network: $c' = \min_i c_i - \ln|I| / L_0$.

    A union bound: take one constant a table **row**, each with a prior of its own, and
    not one a variable. All must hold from the same L₀ on.

    Args:
        constants: c_i, at least one, > 0.
        least: L₀, > 0.

    Raises:
        ValueError: if there is none, a number is not positive, or |I| is not below
            $e^{L_0 \min_i c_i}$, so that nothing is left.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Lemma 3.
    """
    if not constants:
        raise ValueError("`constants` must be one or more, got none.")
    positive(constants=min(constants), least=least)
    constant = min(constants) - math.log(len(constants)) / least
    if constant <= 0:
        raise ValueError(
            "`least` must be above ln|I| / min c, "
            f"{math.log(len(constants)) / min(constants):.4g} here, got {least}."
        )
    return constant


def beta_likelihood_ratio(n: int, alpha: float, beta: float) -> float:
    r"""C_i: the largest ratio of maximum to marginal likelihood of n Bernoulli records.

    $$\max_{0 \le s \le n} \frac{(s/n)^s (1 - s/n)^{n-s} B(\alpha, \beta)}{B(\alpha + s,
    \beta + n - s)}$$ over whole data sets: a posterior is that of n records. It does
    not fall with n, so that n bounds the private size of a network's row.

    Args:
        n: number of records, at least 1.
        alpha: of the Beta prior, > 0.
        beta: of the Beta prior, > 0.

    Returns:
        The ratio; inf where it exceeds the largest float.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 4, part 2.
    """
    whole(1, n=n)
    positive(alpha=alpha, beta=beta)
    ones = np.arange(n + 1)
    most = special.xlogy(ones, ones / n) + special.xlogy(n - ones, 1 - ones / n)
    marginal = special.betaln(alpha + ones, beta + n - ones)
    return _exp(float(np.max(most - marginal)) + float(special.betaln(alpha, beta)))


def theorem_4(
    constant: float,
    least: float,
    ratios: Sequence[float],
    rho: float = 1.0,
    split: float | None = None,
) -> Theorem4:
    r"""Total variation of neighbouring posteriors without truncation: mostly vacuous.

    $$M = \left(\frac{\kappa}{c} + L_0\left(\frac{1}{1 - e^{-\omega}} + 1\right) + \ln C
    + \ln\left(\frac{e^{-L_0 s c}}{e^{-\omega(1-s)} - e^{-\omega}} + e^{L_0(1-s)c}
    \right)\right) C, \qquad C = \prod_i C_i$$
    Since M ≥ C ln C, the (0, √(M/2)) is **vacuous** once C ≥ 2.346, and for Beta priors
    it is so from n = 2 records on, whatever the prior. With ρ = 1 the hypothesis, too,
    fails whenever min(α, β) ≤ 1, uniform priors included.

    Args:
        constant: c, of `beta_constant` or `lemma_3`; if 0, it fails.
        least: L₀ of that constant, > 0.
        ratios: C_i, of `beta_likelihood_ratio`, one a table row, each ≥ 1.
        rho: largest distance ρ of neighbours, > 0; a replaced record can be at k from
            the other in a network of k variables with 0-1 distances.
        split: s in (0, 1). None: the best, 1 - ρ/c, as M falls with s.

    Raises:
        ValueError: if an argument is outside its range.

    Reference:
        Zhang, Rubinstein & Dimitrakakis (AAAI-16), Theorem 4, part 2.
    """
    at_least_zero(constant=constant)
    positive(least=least, rho=rho)
    constant, least, rho = float(constant), float(least), float(rho)
    if not ratios or not min(ratios) >= 1:
        raise ValueError("`ratios` must be one or more, each at least 1.")
    if split is not None and not 0 < split < 1:
        raise ValueError(f"`split` must be between 0 and 1, got {split}.")
    if split is None:
        holds = constant > rho
        split = (constant - rho) / constant if holds else None
    else:
        split = float(split)
        holds = rho <= (1 - split) * constant
    M = _m(constant, least, math.prod(map(float, ratios)), split)
    delta = math.sqrt(M / 2)
    vacuous = not holds or delta >= 1
    return Theorem4(constant, rho, split, holds, M, 0.0, delta, vacuous)


def _m(c: float, least: float, ratio: float, s: float | None) -> float:
    if s is None or c == 0:
        return math.inf
    log_sum = np.logaddexp(
        _OMEGA - least * s * c - math.log(math.expm1(_OMEGA * s)), least * (1 - s) * c
    ).item()
    steps = least * (1 / -math.expm1(-_OMEGA) + 1)
    return (_KAPPA / c + steps + math.log(ratio) + log_sum) * ratio


def _log_tail(alpha: float, beta: float, bound: float) -> float:
    """ln I_x(α, β) at x = σ(-L), also where I underflows."""
    x = float(special.expit(-bound))
    mass = float(special.betainc(alpha, beta, x))
    if mass > _LEAST_MASS:
        return math.log(mass)
    log_x, log_rest = -np.logaddexp(0.0, [bound, -bound])
    # 2F1(1 - β, 1; α + 1; -exp(-L)), where scipy's is not to be trusted; so far below
    # the prior's bulk its terms fall from the first
    series = np.cumprod((beta - _TERMS) / (alpha + _TERMS) * math.exp(-bound)).sum()
    scale = math.log(alpha) + special.betaln(alpha, beta)
    return float(alpha * log_x + (beta - 1) * log_rest - scale + np.log1p(series))


def _exp(log: float) -> float:
    return math.exp(log) if log < _LARGEST_LOG else math.inf
