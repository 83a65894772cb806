"""Statements of Zhang, Rubinstein & Dimitrakakis (AAAI-16), up to their section 3."""

__all__ = ["ZHANG_REGISTER"]

from functools import partial

from papers.statements.register_entry import (
    CORRECTED,
    HOLDS,
    ZHANG,
    Statement,
)

_entry = partial(Statement, ZHANG)

ZHANG_REGISTER: tuple[Statement, ...] = (
    _entry(
        "Table 1",
        "privacy and utility of the four mechanisms",
        CORRECTED,
        (
            "zhang-table-1",
            "erratum-1",
            "erratum-3",
            "erratum-4",
            "erratum-7",
            "erratum-12",
        ),
        "Laplace's deviation, Fourier's stealth and MAP rest on statements corrected "
        "below; the sampler's 2L is no cost in the sense of Definition 1",
        "those of its statements; of the sampler (2L, 0) under the pseudo-metric ρ",
    ),
    _entry(
        "Example 1",
        "a Beta prior is updated by counts",
        HOLDS,
        ("zhang-appendix-c-1",),
    ),
    _entry(
        "Lemma 1",
        "one record changes the updates by at most 2|I| in L1",
        HOLDS,
        ("zhang-lemma-1",),
        "attained; less with maximal families alone",
        "neighbours by the replacement of one record; Bernoulli variables",
    ),
    _entry(
        "Corollary 1",
        "Algorithm 1 is ε-DP",
        HOLDS,
        ("zhang-corollary-1",),
        "the exact loss is ε",
    ),
    _entry(
        "Section 3.1",
        "truncation only improves utility, and does not affect privacy",
        HOLDS,
        ("erratum-13", "zhang-corollary-1"),
        "not of the divergence, which can rise, in the mean too by the upper clamp "
        "alone",
        "read of counts, among whose bounds it stands",
    ),
    _entry(
        "Proposition 1",
        "no update is off by more than (2|I|/ε) ln(2m/δ), with probability 1 - δ",
        HOLDS,
        ("zhang-proposition-1",),
        "nearly exact for small δ",
        "δ in (0, 1)",
    ),
    _entry(
        "Theorem 1, deviation",
        "the divergence exceeds its mean by √(-½ Σc ln δ) with probability at most δ",
        CORRECTED,
        ("erratum-2",),
        "Σc² under the root; the printed bound is exceeded where tables are spread, "
        "and not by records of fair bits or of tables from Beta(5, 5)",
        "independent noise of the rows; its appendix: α and β beyond the turning point "
        "of a function (2 would do)",
    ),
    _entry(
        "Theorem 1, mean",
        "a row's mean divergence is at most U = n ln[(α + Δα)(β + Δβ)]",
        HOLDS,
        ("erratum-12", "zhang-theorem-1"),
        "in what was tried with α = β = 2; under a uniform prior, which the "
        "experiments have, not in rows without records, where U = 0",
        "its appendix: α and β beyond the turning point of a function (2 would do)",
    ),
    _entry(
        "Theorem 1, refined mean",
        "a row's mean divergence is at most ln[(α + n + 1)(β + n + 1)] (n/2) "
        "exp(-nε/2|I|)",
        CORRECTED,
        ("zhang-theorem-1", "erratum-2"),
        "it does not fall exponentially in n, at α = β = 2 neither",
        "n ≥ 2|I|/ε; its appendix: α and β beyond the turning point of a function",
    ),
    _entry(
        "Theorem 1, order",
        "the loss is O(mn ln n)[1 - exp(-nε/2|I|)] + √(-O(mn ln n) ln δ)",
        HOLDS,
        ("erratum-12",),
        "a constant of 2 serves a row; without the condition none serves all n",
        "n ≥ 2|I|/ε, of the sentence before it",
    ),
    _entry(
        "Theorem 1, in-degree",
        "bounds are better for networks with a smaller average in-degree",
        CORRECTED,
        ("erratum-18",),
        "m, the sum of 2^|π|, counts: 521 at an average of .9, and 35 at 1.7",
        "no condition",
    ),
    _entry(
        "Theorem 2",
        "a marginal is in the span of the coefficients inside it",
        HOLDS,
        ("zhang-theorem-2",),
        "in exact integers, for all tables of five variables",
    ),
    _entry(
        "Corollary 2",
        "coefficients with noise 2|N|/ε, and Algorithm 2, are ε-DP",
        HOLDS,
        ("zhang-corollary-2",),
        "loose: 2|N| is never attained; our sensitivity is exact",
    ),
    _entry(
        "Remark 1",
        "|N| ≤ |I| 2^(1 + max indegree); the noise compares favourably with "
        "Algorithm 1's",
        CORRECTED,
        ("zhang-corollary-2", "erratum-8"),
        "the size holds; scales of unlike units are compared, and the condition is off "
        "by one",
        "no variable is child to more than half the graph",
    ),
    _entry(
        "Consistency",
        "perturbed tables are consistent, with possibly negative cells",
        HOLDS,
        ("zhang-consistency",),
        "to the last integer",
    ),
    _entry(
        "Corollary 3",
        "an increment of 4t|N|²/ε leaves no cell negative with probability 1 - exp(-t)",
        CORRECTED,
        ("erratum-1",),
        "fails for small t, up to .188 in a clique of five; very loose for large t",
        "t > 0",
    ),
    _entry(
        "Non-negativity",
        "truncating instead sacrifices stealth but not privacy",
        HOLDS,
        ("zhang-consistency", "zhang-corollary-1"),
    ),
    _entry(
        "Theorem 3",
        "a table is off by at most (4|N|/ε)(2^π ln(|N|/δ) + t|N|) in L1",
        HOLDS,
        ("zhang-theorem-3",),
        "for all families at once; loose",
        "δ in (0, 1)",
    ),
)
