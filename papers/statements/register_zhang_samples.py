"""Statements of Zhang, Rubinstein & Dimitrakakis (AAAI-16), from their section 4 on."""

__all__ = ["ZHANG_SAMPLES_REGISTER"]

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

ZHANG_SAMPLES_REGISTER: tuple[Statement, ...] = (
    _entry(
        "Section 4.1",
        "exponential distributions are uniformly Lipschitz, Bernoulli ones are not",
        CORRECTED,
        ("erratum-14", "zhang-section-4-1"),
        "exponential ones only for bounded rates; stochastically with c = λ under a "
        "prior Exp(λ)",
        "Assumption 1: one L for any θ",
    ),
    _entry(
        "Lemma 2",
        "a network of Lipschitz nodes is Lipschitz",
        VACUOUS,
        ("erratum-3", "zhang-lemma-2"),
        "for networks with edges; with distances of families it is right, and our Σ C "
        "is exact",
        "|ln p(xᵢ|x_πᵢ) - ln p(yᵢ|y_πᵢ)| ≤ Lᵢ ρᵢ(xᵢ, yᵢ) for all x, y",
    ),
    _entry(
        "Lemma 3",
        "a network of stochastically Lipschitz nodes is so too, with "
        "c' = min c - ln|I|/L₀",
        HOLDS,
        ("zhang-lemma-3",),
        "rests on the distances of Lemma 2: with those of families, a constant that "
        "covers all rows",
        "|I| ≤ exp(L₀ min c), where < is needed",
    ),
    _entry(
        "Theorem 4, part 1",
        "a posterior sample is 2‖L‖∞ρ-DP",
        HOLDS,
        ("zhang-theorem-4",),
        "rests on the distances of Lemma 2, taken of families; 2 Σ C is less, and is "
        "attained as n grows",
        "the conditions of Lemma 2",
    ),
    _entry(
        "Theorem 4, part 2",
        "without truncation it is (0, √(M/2))-DP",
        VACUOUS,
        ("zhang-theorem-4",),
        "√(M/2) is above 1 from two records on, and the hypothesis fails under a "
        "uniform prior",
        "the conditions of Lemma 3; ρ ≤ (1 - δ)c for some δ in (0, 1)",
    ),
    _entry(
        "Theorem 4, order of M",
        "M = O((1/c + ln C + L₀) C)",
        CORRECTED,
        ("erratum-19",),
        "for a kept split δ it grows like c, 2,955 times that at c = 10,000; right for "
        "δ = 1 - ρ/c",
        "ρ ≤ (1 - δ)c for some δ in (0, 1)",
    ),
    _entry(
        "Corollary 4",
        "Algorithm 3 is ε-DP",
        CORRECTED,
        ("erratum-4",),
        "densities move too much; masses of cells do not",
        "the assumptions of Theorem 4",
    ),
    _entry(
        "Footnote 4",
        "with a bounded score the weights of Algorithm 3 can be normalised",
        HOLDS,
        ("zhang-footnote-4",),
        "the condition is needed: a Beta(½, ½) prior has infinite weight",
        "u(D, θ) ≤ M",
    ),
    _entry(
        "Lemma 4",
        "Algorithm 3 misses the best scores with probability at most exp(-εt)/ξ(S_t)",
        CORRECTED,
        ("erratum-7",),
        "the weights' 1/(2Δ) belongs in the exponent",
        "t > 0",
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
        "averaged over many samples, as drawn, it is, up to the axis' end at ε = 10; "
        "they cost many times ε, and one sample is below Laplace throughout",
        "uniform priors, 50 of 1,000 records, ε from .1 to 10; samples are repeated "
        "and averaged (Appendix C.2)",
    ),
    _entry(
        "Figure 2",
        "MSE of regression against the prior's precision",
        HOLDS,
        ("zhang-figure-2",),
        "on simulated records (the census extract does not ship with this package); "
        "the sampler's error is level up to b = 25, and rises from there",
        "b from 0 to 100, weights within 10/√b",
    ),
    _entry(
        "Section 5.2",
        "privacy increases with the prior's precision, in proportion to the norm bound",
        CORRECTED,
        ("zhang-appendix-d",),
        "it increases; the cost is τ(R_y + B R_x)², not proportional to B",
        "records of norm 1, noise of precision 1, weights of a bounded norm",
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
        "the posterior is truncated, by rejection",
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
