r"""Privacy of a posterior without truncation, from its prior, by Zhang et al.

A Beta prior has little mass near 0 or 1, where log-likelihoods change most. The
resulting (0, δ)-bound is almost always vacuous, as `theorem_4` reports. It is for study
only: it assumes exact arithmetic, and no ledger is charged.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpjax._checks import at_least_zero, positive, probability, whole
from dpjax._later import special

_KAPPA, _OMEGA = 4.91081, 1.25643  # as printed in Theorem 4
_LEAST_MASS = 1e-280  # below it, the series replaces the incomplete beta function
_TERMS = np.arange(1, 20_001)
_LARGEST_LOG = 709.0


@dataclass(frozen=True)
class Theorem4:
    r"""Result of Theorem 4, part 2, of Zhang et al. (AAAI-16), on posteriors' privacy.

    Posteriors of data sets at distance ρ differ by at most δ √max(ρ, 1) in total
    variation.

    Attributes:
        constant: constant c of the prior, from `beta_constant` or `lemma_3`.
        rho: largest distance ρ of neighbouring data sets, summed over variables.
        split: free number s in (0, 1), which Zhang et al. call δ; None if no s meets
            the hypothesis.
        holds: whether the theorem's hypothesis ρ ≤ (1 - s)c is true.
        M: bound of the KL divergence of neighbouring posteriors; inf if `split` is None
            or c is 0.
        epsilon: always 0.
        delta: δ = √(M/2).
        vacuous: whether the hypothesis fails or δ is 1 or more.
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
    r"""Return the Beta prior's probability of $|\ln(\theta/(1-\theta))| \le L$.

    For these θ, the Bernoulli log-likelihoods of 0 and 1 differ by at most L. The
    probability is $I_{\sigma(L)}(\alpha, \beta) - I_{\sigma(-L)}(\alpha, \beta)$, with
    the logistic function σ and the regularised incomplete beta function I.

    Args:
        alpha, beta: parameters of the Beta prior, > 0.
        bound: the Lipschitz bound L, at least 0.

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
    r"""Return the largest c with $\xi(L) \ge 1 - e^{-cL}$ for all L ≥ L₀.

    Here ξ(L) is `beta_mass`, the prior probability of |logit θ| ≤ L. The result is
    $$c = \min\left(-\frac{\ln(1 - \xi(L_0))}{L_0}, \alpha, \beta\right)$$
    since $-\ln(1 - \xi(L)) / L$ tends to min(α, β) for large L and, like the hazard
    rate of |logit θ|, either increases, or increases and then decreases.

    Args:
        alpha, beta: parameters of the Beta prior, > 0.
        least: the number L₀ from which on the inequality holds, > 0.

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
    r"""Combine constants $c_i$ of priors to $\min_i c_i - \ln|I| / L_0$ for a network.

    It is a union bound over the |I| **rows** of all conditional probability tables,
    each with its own prior, and not over variables.

    Args:
        constants: constant $c_i$ > 0 of each row, from `beta_constant`; at least one.
        least: the number L₀ > 0 for which the $c_i$ were computed.

    Raises:
        ValueError: if there is no constant, or an argument or the result is not > 0.

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
    r"""Return the largest ratio of maximum to marginal likelihood of n binary records.

    $$\max_{0 \le s \le n} \frac{(s/n)^s (1 - s/n)^{n-s} B(\alpha, \beta)}{B(\alpha + s,
    \beta + n - s)}$$ for a Beta(α, β) prior and s ones. It does not decrease with n, so
    the number of all records can replace the private number of records in a table row.

    Args:
        n: number of records, at least 1.
        alpha, beta: parameters of the Beta prior, > 0.

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
    r"""Bound the total variation √(M/2) of neighbouring posteriors, not truncated.

    $$M = \left(\frac{\kappa}{c} + L_0\left(\frac{1}{1 - e^{-\omega}} + 1\right) + \ln C
    + \ln\left(\frac{e^{-L_0 s c}}{e^{-\omega(1-s)} - e^{-\omega}} + e^{L_0(1-s)c}
    \right)\right) C, \qquad C = \prod_i C_i$$
    Since M ≥ C ln C, the bound (0, √(M/2)) is **vacuous** for C ≥ 2.346, and so for
    every Beta prior from n = 2 records on. With ρ = 1 the hypothesis ρ ≤ (1 - s)c also
    fails if min(α, β) ≤ 1, as for uniform priors. κ = 4.91081 and ω = 1.25643.

    Args:
        constant: constant c of the prior, from `beta_constant` or `lemma_3`; if 0, the
            hypothesis fails.
        least: the number L₀ > 0 for which `constant` was computed.
        ratios: $C_i$ of each table row, from `beta_likelihood_ratio`, each ≥ 1.
        rho: largest distance ρ of neighbouring data sets, > 0. It is k if one record of
            k variables is replaced and each differing variable counts 1.
        split: free number s in (0, 1). None: the best s, 1 - ρ/c, as M decreases in s.

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
    if split is None:
        holds = constant > rho
        split = (constant - rho) / constant if holds else None
    else:
        probability(split=split)
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
    """ln I_x(α, β) at x = σ(-L), also where I_x underflows."""
    x = float(special.expit(-bound))
    mass = float(special.betainc(alpha, beta, x))
    if mass > _LEAST_MASS:
        return math.log(mass)
    log_x, log_rest = -np.logaddexp(0.0, [bound, -bound])
    # Series of 2F1(1 - β, 1; α + 1; -exp(-L)), where SciPy's function is unreliable.
    # So far in the tail of the prior, the terms decrease from the first term on.
    series = np.cumprod((beta - _TERMS) / (alpha + _TERMS) * math.exp(-bound)).sum()
    scale = math.log(alpha) + special.betaln(alpha, beta)
    return float(alpha * log_x + (beta - 1) * log_rest - scale + np.log1p(series))


def _exp(log: float) -> float:
    return math.exp(log) if log < _LARGEST_LOG else math.inf
