"""What Zhang et al. say of naive Bayes: predictions, and samples that are cut at ω."""

__all__ = ["APPENDIX_C", "APPENDIX_C_1"]

import math
from fractions import Fraction

import jax.numpy as jnp
import numpy as np

from dpjax.audits import largest_loss, neighbouring
from dpjax.posteriors import PlugInPosterior
from dpjax.privacy import REPLACE_ONE
from dpjax.theory import (
    bernoulli_constant,
    network_constant,
    posterior_sample_cost,
    truncation,
)
from papers.networks import TINY, all_records, counts_of_each
from papers.numbers import table
from papers.reproduction import Claim, Reproduced, Reproduction, Setting
from papers.statements.zhang_sampling import grid_law

_NET = TINY["naive Bayes"]
_BUDGETS = ("0.5", "1", "2", "5", "10")
_EDGE, _SIZES = Fraction(1, 5), (10, 100, 1000)


def _appendix_c(setting: Setting) -> Reproduced:
    variables, rows = len(_NET.names), []
    for budget in map(Fraction, _BUDGETS):
        omega = truncation(2, budget / (2 * variables))
        formula = 1 / (1 + math.exp(float(budget) / (2 * variables)))
        constant = network_constant([bernoulli_constant(omega)] * variables)
        cost = float(posterior_sample_cost(constant, REPLACE_ONE).epsilon)
        pairs = neighbouring(_NET.sizes, 2, REPLACE_ONE)
        loss, _ = largest_loss(grid_law(_NET, float(omega)), pairs)
        rows.append((float(budget), float(omega), formula, cost, loss))
    budget, omega, formula, cost, loss = np.array(rows).T
    clipped = [(n, _clipped_loss(n)) for n in _SIZES]
    limit = 2 * float(bernoulli_constant(_EDGE))
    wide = {e: float(truncation(2, Fraction(e) / 34)) for e in (1, 10, 100)}
    words = ", ".join(f"{one:.1f} at n = {n}" for n, one in clipped)
    return Reproduced(
        "Naive Bayes with two attributes, all neighbours of two records: at ε = "
        f"{budget[1]:g} the least probability is {omega[1]:.4f} and the exact loss of "
        f"a sample {loss[1]:.3f}; at ε = {budget[-1]:g}, {omega[-1]:.4f} and "
        f"{loss[-1]:.3f}. With 16 attributes ω is {wide[1]:.3f}, {wide[10]:.3f} and "
        f"{wide[100]:.3f} at ε = 1, 10 and 100. Truncation has to renormalise: of a "
        f"coin whose draws are clipped to [{float(_EDGE)}, {float(1 - _EDGE)}] the "
        f"loss at the edge is {words}, against 2C = {limit:.2f}.",
        {
            "": table(("epsilon", "omega", "formula", "cost", "loss"), rows),
            "clipped": table(("n", "loss"), clipped),
        },
        {},
        _appendix_c_claims(loss, budget, omega, formula, cost, wide, limit, clipped),
    )


def _appendix_c_claims(
    loss, budget, omega, formula, cost, wide, limit, clipped
) -> list[Claim]:
    return [
        Claim.certain(
            "truncated at ω = 1/(1 + exp(ε/(2(d + 1)))) a sample is ε-DP: no output "
            "tells any two neighbours apart by more (d = 2, n = 2, five budgets)",
            bool((loss <= budget).all()),
        ),
        Claim.certain(
            "that ω is 2(d + 1) ln((1 - ω)/ω) = ε solved, to rounding",
            bool(np.allclose(omega, formula, rtol=1e-9) and (cost <= budget).all())
            and bool((cost > budget * (1 - 1e-8)).all()),
        ),
        Claim.certain(
            "for small ε the least probability is large: 0.49 at ε = 1 with 16 "
            "attributes",
            round(wide[1], 2) == 0.49,
        ),
        Claim.certain(
            "to clip draws of the whole posterior at ω instead is not private: the "
            "loss at the edge grows like ln n, past 2C, at n = 10, 100 and 1000",
            all(one > limit for _, one in clipped)
            and [one for _, one in clipped] == sorted(one for _, one in clipped),
            by="dpjax",
        ),
    ]


def _clipped_loss(n: int) -> float:
    """ln of the ratio of P(θ ≥ 1 - a₀), no ones of n against one: in fractions.

    P(Beta(1 + s, 1 + n - s) ≥ x) is that of at most s successes in n + 1 with chance x.
    """
    low = _EDGE
    none = low ** (n + 1)
    one = none + (n + 1) * (1 - low) * low**n
    ratio = one / none
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _appendix_c_1(setting: Setting) -> Reproduced:
    every, each = all_records(_NET), counts_of_each(_NET)
    data = setting.rng().integers(0, len(every), 12)
    counts = each[data].sum(axis=0)
    posterior = PlugInPosterior.from_counts(_NET, jnp.asarray(counts))
    predicted = np.asarray(posterior.predict_proba(every, _NET.names[0]), float)
    joint = [_evidence(counts + one) / _evidence(counts) for one in each]
    half = len(every) // 2  # the class is the first variable
    exact = [x / (x + y) for x, y in zip(joint[:half], joint[half:], strict=True)]
    rows = [
        ("".join(map(str, record[1:])), float(p), float(q))
        for record, p, q in zip(every[:half], exact, predicted[:half, 0], strict=True)
    ]
    gap = max(abs(p - q) for _, p, q in rows)
    means = [_product_of_means(counts, one) for one in each]
    claims = [
        Claim.certain(
            "the predictive integral decouples into a product of posterior means: "
            "equal to the ratio of evidences with and without the record, as fractions",
            means == joint,
        ),
        Claim.certain(
            "predict_proba is that predictive, to rounding", gap < 1e-5, by="dpjax"
        ),
    ]
    return Reproduced(
        "The posterior predictive of the class given two attributes after 12 records, "
        "by sequential updates of Beta priors in exact fractions and by the library: "
        f"largest difference {gap:.1e}.",
        {"": table(("attributes", "exact", "library"), rows)},
        {},
        claims,
    )


def _evidence(counts: np.ndarray) -> Fraction:
    """∏ B(1 + zeros, 1 + ones) over rows: the integral of the likelihood."""
    total = Fraction(1)
    for zeros, ones in counts.reshape(-1, 2).tolist():
        total *= Fraction(
            math.factorial(zeros) * math.factorial(ones),
            math.factorial(zeros + ones + 1),
        )
    return total


def _product_of_means(counts: np.ndarray, record: np.ndarray) -> Fraction:
    """Of the entries that the record is in."""
    total = Fraction(1)
    rows = zip(counts.reshape(-1, 2).tolist(), record.reshape(-1, 2), strict=True)
    for pair, chosen in rows:
        for count, inside in zip(pair, chosen.tolist(), strict=True):
            if inside:
                total *= Fraction(1 + count, 2 + sum(pair))
    return total


APPENDIX_C = Reproduction(
    "zhang-appendix-c",
    "Where to truncate naive Bayes for a budget ε",
    "Zhang et al., Appendix C.2",
    _appendix_c,
)
APPENDIX_C_1 = Reproduction(
    "zhang-appendix-c-1",
    "The predictive posterior of naive Bayes",
    "Zhang et al., Appendix C.1 and Example 1",
    _appendix_c_1,
)
