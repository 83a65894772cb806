"""The statements of Zhang, Rubinstein & Dimitrakakis (AAAI-16), one by one."""

__all__ = ["ZHANG_REGISTER"]

from functools import partial

from papers.statements.register_entry import (
    CORRECTED,
    HOLDS,
    NOT_CHECKABLE,
    VACUOUS,
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
        "Laplace's utility, Fourier's stealth, the sampler's privacy and MAP rest on "
        "statements corrected below",
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
        CORRECTED,
        ("erratum-13", "zhang-corollary-1"),
        "true of counts, of which it is said; the divergence can rise, in the mean too "
        "by the upper clamp alone",
    ),
    _entry(
        "Proposition 1",
        "no update is off by more than (2|I|/ε) ln(2m/δ), with probability 1 - δ",
        HOLDS,
        ("zhang-proposition-1",),
        "nearly exact for small δ",
    ),
    _entry(
        "Theorem 1, deviation",
        "the divergence exceeds its mean by √(-½ Σc ln δ) with probability at most δ",
        CORRECTED,
        ("erratum-2",),
        "Σc² under the root",
    ),
    _entry(
        "Theorem 1, mean",
        "a row's mean divergence is at most n ln[(α + Δα)(β + Δβ)]; for n ≥ 2|I|/ε "
        "a refined bound falls exponentially in n",
        CORRECTED,
        ("erratum-12", "erratum-2", "zhang-theorem-1"),
        "the first fails in rows without records under a uniform prior, which the "
        "appendix leaves out and the experiments have, and holds with "
        "α = β = 2 in what was tried; the refined one fails there too",
    ),
    _entry(
        "Theorem 1, order",
        "the loss is O(mn ln n)[1 - exp(-nε/2|I|)] + √(-O(mn ln n) ln δ)",
        CORRECTED,
        ("erratum-12",),
        "needs n ≥ 2|I|/ε, as the sentence before it has; else no constant serves all "
        "n",
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
        "fails for small t, very loose for large",
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
    ),
    _entry(
        "Section 4.1",
        "exponential distributions are uniformly Lipschitz, Bernoulli ones are not",
        CORRECTED,
        ("erratum-14", "zhang-section-4-1"),
        "exponential ones only for bounded rates; stochastically with c = λ under a "
        "prior Exp(λ)",
    ),
    _entry(
        "Lemma 2",
        "a network of Lipschitz nodes is Lipschitz",
        VACUOUS,
        ("erratum-3", "zhang-lemma-2"),
        "for networks with edges; with distances of families it is right, and our Σ C "
        "is exact",
    ),
    _entry(
        "Lemma 3",
        "a network of stochastically Lipschitz nodes is so too, with "
        "c' = min c - ln|I|/L₀",
        HOLDS,
        ("zhang-lemma-3",),
        "rests on the distances of Lemma 2: with those of families, a constant that "
        "covers all rows, and |I| < exp(L₀ min c)",
    ),
    _entry(
        "Theorem 4, part 1",
        "a posterior sample is 2‖L‖∞ρ-DP",
        HOLDS,
        ("zhang-theorem-4",),
        "rests on the distances of Lemma 2, taken of families; 2 Σ C is less, and is "
        "attained as n grows",
    ),
    _entry(
        "Theorem 4, part 2",
        "without truncation it is (0, √(M/2))-DP",
        VACUOUS,
        ("zhang-theorem-4",),
        "√(M/2) is above 1 from two records on, and the hypothesis fails under a "
        "uniform prior",
    ),
    _entry(
        "Corollary 4",
        "Algorithm 3 is ε-DP",
        CORRECTED,
        ("erratum-4",),
        "densities move too much; masses of cells do not",
    ),
    _entry(
        "Footnote 4",
        "with a bounded score the weights of Algorithm 3 can be normalised",
        HOLDS,
        ("zhang-footnote-4",),
        "the condition is needed: a Beta(½, ½) prior has infinite weight",
    ),
    _entry(
        "Lemma 4",
        "Algorithm 3 misses the best scores with probability at most exp(-εt)/ξ(S_t)",
        CORRECTED,
        ("erratum-7",),
        "the weights' 1/(2Δ) belongs in the exponent",
    ),
    _entry(
        "Section 5.1",
        "naive Bayes has d + 1 nodes and a closure of 2d + 2; noise does not depend on "
        "n and is similar in scale for both",
        HOLDS,
        ("zhang-corollary-2", "zhang-section-5-1"),
    ),
    _entry(
        "Figure 1",
        "accuracy of naive Bayes against ε; the sampler eventually is best",
        CORRECTED,
        ("zhang-figure-1", "erratum-6"),
        "its many samples cost many times ε, and are below Laplace at ε = 30 even so",
    ),
    _entry(
        "Figure 2",
        "MSE of regression against the prior's precision",
        HOLDS,
        ("zhang-figure-2",),
        "on simulated records (the census extract does not ship with this package); "
        "the sampler's error is level up to b = 25, and rises from there",
    ),
    _entry(
        "Section 5.2",
        "privacy increases with the prior's precision, in proportion to the norm bound",
        CORRECTED,
        ("zhang-appendix-d",),
        "it increases; the cost is τ(R_y + B R_x)², not proportional to B",
    ),
    _entry(
        "Lemma A.1",
        "McDiarmid's inequality",
        HOLDS,
        ("zhang-lemma-a-1",),
        "in its usual form",
    ),
    _entry(
        "Lemmas A.2 to A.4",
        "steps of the proof of Theorem 1",
        NOT_CHECKABLE,
        (),
        "our copy of the appendix has lost their formulas; what they lead to fails",
    ),
    _entry(
        "Appendix A.3, B",
        "proofs of Theorem 3 and of Lemmas 2 and 3",
        NOT_CHECKABLE,
        (),
        "our copy has lost the formulas; what they prove is checked above",
    ),
    _entry(
        "Appendix C.1",
        "the predictive integral of naive Bayes is a product of posterior means",
        HOLDS,
        ("zhang-appendix-c-1",),
        "as exact fractions",
    ),
    _entry(
        "Appendix C.2",
        "a posterior truncated at ω = 1/(1 + exp(ε/(2(d + 1)))) gives ε-DP samples",
        HOLDS,
        ("zhang-appendix-c", "erratum-6"),
        "one sample; and the law is to be truncated, not its draws clipped",
    ),
    _entry(
        "Appendix D",
        "a regression is Lipschitz on bounded records and weights",
        HOLDS,
        ("zhang-appendix-d",),
        "our copy has lost the constant; ours is exact: ε = 121 at b = 1, 4 at b = 100",
    ),
    _entry(
        "Lemma D.1",
        "a truncated Gaussian prior is conjugate to a regression",
        HOLDS,
        ("zhang-lemma-d-1",),
    ),
)
