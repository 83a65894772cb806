"""What Zhang et al. say of the utility of Algorithm 1's posteriors."""

__all__ = ["LEMMA_A_1", "THEOREM_1"]

import math

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

from papers.beta import divergence
from papers.numbers import mean_and_error, table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting

Array = Float[np.ndarray, "..."]

_PRIOR = 2.0  # α = β
_ROWS = (
    (50, (0, 0), 1, 1.0),
    (50, (50, 0), 1, 1.0),
    (50, (25, 25), 1, 1.0),
    (50, (0, 0), 17, 1.0),
    (1000, (0, 0), 17, 0.5),
    (1000, (500, 500), 17, 0.5),
)


def _theorem_1(setting: Setting) -> Reproduced:
    draws = 20_000 if setting.quick else 200_000
    rng, rows = setting.rng(), []
    for n, counts, variables, epsilon in _ROWS:
        exact, scale = np.array(counts, float), 2 * variables / epsilon
        noisy = exact + rng.laplace(0, scale, (draws, 2))
        mean, error = mean_and_error(
            divergence(_PRIOR + exact[None], _PRIOR + np.clip(noisy, 0, n))
        )
        printed = n * math.log((_PRIOR + exact).prod())
        refined = math.log((_PRIOR + n + 1) ** 2) * n / 2 * math.exp(-n / scale)
        facts = (n, *counts, variables, epsilon)
        rows.append((*facts, mean, error, printed, refined))
    n, _, _, variables, epsilon, mean, error, printed, refined = np.array(rows).T
    large = n >= 2 * variables / epsilon
    claims = [
        Claim.positive(
            "the mean divergence of a row is at most n ln[(α + Δα)(β + Δβ)], in every "
            "row tried",
            printed - mean,
            error,
        ),
        Claim.positive(
            "for n ≥ 2|I|/ε it is at most ln[(α + n + 1)(β + n + 1)] (n/2) "
            "exp(-nε/2|I|)",
            (refined - mean)[large],
            error[large],
            expected="fails",
        ),
        Claim.positive(
            "that fails for all rows of n = 1,000: the mean does not fall "
            "exponentially in n",
            (mean - refined)[n == 1000],
            error[n == 1000],
            by="dpjax",
        ),
    ]
    names = "n,zeros,ones,variables,epsilon,mean,standard_error,printed,refined"
    return Reproduced(
        _theorem_1_words(draws, rows), {"": table(names.split(","), rows)}, {}, claims
    )


def _theorem_1_words(draws: int, rows: list[tuple]) -> str:
    n, *_, variables, epsilon, mean, _, printed, refined = rows[-1]
    return (
        f"Mean KL divergence of one row of Algorithm 1, {draws:,} draws, with prior "
        f"Beta({_PRIOR:g}, {_PRIOR:g}): the appendix assumes parameters beyond a "
        "function's one turning point (our copy has lost the formula; that of Γ is "
        f"1.46). At n = {n:,}, |I| = {variables}, ε = {epsilon:g} and equal counts the "
        f"mean is {mean:.1f} nats; the bound is {printed:.0f} and its refinement "
        f"{refined:.4f}. Under a uniform prior the first bound fails as well "
        "(`python -m papers erratum-12`), as does the theorem's other part "
        "(`erratum-2`)."
    )


def _lemma_a_1(setting: Setting) -> Reproduced:
    rows = []
    for delta in np.geomspace(1e-6, 0.9, 12).tolist():
        for n in (1, 5, 20, 100):
            root = math.sqrt(-n * math.log(delta) / 2)
            above = math.ceil(n / 2 + root - 1e-9) - 1
            rows.append((f"ones of {n} coins", delta, float(binom.sf(above, n, 0.5))))
        for name, weights in (
            ("weighted", 2.0 ** np.arange(10)),
            ("even", np.ones(10)),
        ):
            sums = _outcomes(2, 10) @ weights
            root = math.sqrt(-(weights**2).sum() * math.log(delta) / 2)
            rows.append((f"{name} sum of 10 bits", delta, _tail(sums, root)))
        throws = np.sort(_outcomes(3, 8), axis=1)
        empty = 2 - (np.diff(throws, axis=1) != 0).sum(axis=1)
        root = math.sqrt(-8 * math.log(delta) / 2)
        rows.append(("empty bins of 3 after 8 balls", delta, _tail(empty, root)))
    delta, found = np.array([row[1:] for row in rows]).T
    wide = np.full(30, 10.0)
    heads = _half_mean_tail(30, math.sqrt(-wide.sum() * math.log(0.05) / 2) / 10)
    return Reproduced(
        "McDiarmid's inequality by enumeration, in its usual form (our copy of the "
        f"appendix has lost the formula): of {len(rows)} tails the nearest to its "
        f"bound δ has {max(found / delta):.2f} of it. With Σ c in place of Σ c², 30 "
        "coins that count 10 each exceed the bound for δ = 0.05 with probability "
        f"{heads:.2f}.",
        {"": table(("function", "delta", "probability"), rows)},
        {},
        _lemma_a_1_claims(found, delta, heads),
    )


def _lemma_a_1_claims(found, delta, heads) -> list[Claim]:
    return [
        Claim.certain(
            "P(f ≥ E f + √(-½ Σ c² ln δ)) ≤ δ for four functions of independent "
            "variables and twelve δ, by enumeration",
            bool((found <= delta).all()),
        ),
        Claim.certain(
            "with Σ c under the root, as Theorem 1 uses it, it fails: 30 coins that "
            "count 10 each",
            heads > 0.05,
            by="dpjax",
        ),
    ]


def _outcomes(levels: int, number: int) -> np.ndarray:
    return np.indices((levels,) * number).reshape(number, -1).T


def _tail(values: np.ndarray, distance: float) -> float:
    return float((values >= values.mean() + distance - 1e-9).mean())


def _half_mean_tail(coins: int, distance: float) -> float:
    """P(ones of fair coins ≥ mean + distance)."""
    return float(binom.sf(math.ceil(coins / 2 + distance - 1e-9) - 1, coins, 0.5))


THEOREM_1 = Reproduction(
    "zhang-theorem-1",
    "The mean divergence of Algorithm 1's posterior",
    "Zhang et al., Theorem 1, the bounds of the mean",
    _theorem_1,
)
LEMMA_A_1 = Reproduction(
    "zhang-lemma-a-1",
    "McDiarmid's inequality",
    "Zhang et al., Lemma A.1",
    _lemma_a_1,
)
