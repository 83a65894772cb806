"""The statements of Foulds, Geumlek, Welling & Chaudhuri (UAI-16), one by one."""

__all__ = ["FOULDS_REGISTER"]

from functools import partial

from papers.statements.register_entry import (
    CORRECTED,
    FOULDS,
    HOLDS,
    NOT_CHECKABLE,
    Statement,
)

_entry = partial(Statement, FOULDS)

FOULDS_REGISTER: tuple[Statement, ...] = (
    _entry(
        "Section 2.1",
        "the Laplace and the exponential mechanism are ε-DP",
        HOLDS,
        ("foulds-section-2-1",),
    ),
    _entry(
        "Theorem 1",
        "two mechanisms together cost (ε₁ + ε₂, δ₁ + δ₂)",
        HOLDS,
        ("foulds-theorem-1",),
    ),
    _entry(
        "Section 2.2, equations 6 to 10",
        "posterior sampling is an exponential mechanism, from uniform at ε = 0 to the "
        "mode as ε grows; q samples cost q times as much",
        HOLDS,
        ("foulds-section-2-2",),
    ),
    _entry(
        "Theorem 2",
        "a posterior sample is 2C-DP, C the largest log-ratio of two records",
        HOLDS,
        ("foulds-theorem-2",),
        "under add-remove another constant, the range over θ of a record's "
        "log-likelihood, is the cost",
        "any prior; C bounds all log-ratios of two records",
    ),
    _entry(
        "Theorem 3",
        "a posterior sample is 4B-DP, B the largest log-likelihood in magnitude",
        HOLDS,
        ("foulds-theorem-3",),
        "never less than Theorem 2 gives",
    ),
    _entry(
        "Equations 12 and 13",
        "the sensitivity of an exponential family's posterior",
        HOLDS,
        ("foulds-section-3-1",),
        "ln h cancels in a posterior and may be left out",
    ),
    _entry(
        "Equation 14",
        "a sample at T = 2Δ/ε costs ε",
        HOLDS,
        ("foulds-section-3-1",),
    ),
    _entry(
        "Equation 15",
        "Beta-Bernoulli on [a₀, 1 - a₀]: Δ = ln((1 - a₀)/a₀), unbounded at a₀ = 0",
        HOLDS,
        ("foulds-section-3-1",),
        "the printed h(x) = 0 is a misprint for 1",
    ),
    _entry(
        "Section 3.2",
        "the flattening by T is not slack: an adversary's loss approaches the worst "
        "case as N grows",
        HOLDS,
        ("foulds-section-3-2",),
    ),
    _entry(
        "Equations 16 and 17",
        "noisy sufficient statistics; the sensitivity does not depend on N, and is 2 "
        "for a Beta posterior",
        HOLDS,
        ("foulds-section-3-2",),
    ),
    _entry(
        "Table 1",
        "the Laplace mechanism and OPS side by side",
        HOLDS,
        ("foulds-table-1",),
        "the efficiency 1 of Laplace is its posterior mean's; a sample of it has 2",
    ),
    _entry(
        "Figure 1",
        "private posteriors of a coin: OPS is flatter by T",
        HOLDS,
        ("foulds-figure-1",),
    ),
    _entry(
        "Figure 2",
        "OPS is better only at N ≲ 10; Laplace converges to the non-private posterior; "
        "OPS behaves as one of fewer observations",
        HOLDS,
        ("foulds-figure-2",),
    ),
    _entry(
        "Lemma 1",
        "the expected divergence of the perturbed posterior tends to 0, for noise that "
        "does not depend on N",
        CORRECTED,
        ("foulds-lemma-1", "erratum-17"),
        "if the perturbed parameter is one of a posterior, as after a projection; a "
        "parenthesis of the printed posterior is misplaced: ΣS(x) + αχ",
        "a minimal family, its six conditions, noise of finite covariance whose law "
        "does not depend on N",
    ),
    _entry(
        "Corollary 2",
        "the Laplace mechanism meets Lemma 1's condition on the noise",
        CORRECTED,
        ("foulds-corollary-2", "erratum-17"),
        "its noise can leave the parameter space, or depends on the data by the "
        "projection of equation 16",
        "a finite sensitivity; a minimal family or identifiable parameters",
    ),
    _entry(
        "Theorem 4",
        "the Laplace mechanism has the asymptotic posterior N(θ₀, 2I⁻¹/N), a sample "
        "of it relative efficiency 2",
        CORRECTED,
        ("foulds-theorems-4-5", "erratum-16", "erratum-17"),
        "the efficiency holds; the normal law is that of a sample about the truth, not "
        "a posterior's; as Lemma 1, with a projection",
        "the assumptions of Lemma 1",
    ),
    _entry(
        "Theorem 5",
        "OPS at T has the asymptotic posterior N(θ*, (1 + T)I⁻¹/N), a sample of it "
        "relative efficiency 1 + T",
        CORRECTED,
        ("foulds-theorems-4-5", "erratum-15", "erratum-16"),
        "the efficiency holds; the normal law is that of a sample about the truth, not "
        "a posterior's",
        "T ≥ 1; of Lemma 1, a prior with support on a neighbourhood of θ*, so that the "
        "truth is inside of the truncated support",
    ),
    _entry(
        "Section 3.3, after Theorem 5",
        "the variances of the sampled and the true posterior have a ratio of (1 + T)/2",
        CORRECTED,
        ("erratum-16",),
        "of T; (1 + T)/2 is that of the samples' squared errors",
        "T > 1",
    ),
    _entry(
        "Remark 1",
        "the Laplace mechanism's posterior mean has 1",
        HOLDS,
        ("foulds-theorems-4-5",),
        assumes="the assumptions of Lemma 1",
    ),
    _entry(
        "Proposition 3",
        "samples within δ in L1 of an ε-DP law are (ε, (1 + e^ε)δ)-DP",
        HOLDS,
        ("foulds-proposition-3",),
        "half of it in L1, as total variation is what counts; a parenthesis of the "
        "printed formula is misplaced",
    ),
    _entry(
        "Equations 18 to 20",
        "a Gibbs update costs 2Δ, Δ no larger than that of the joint",
        HOLDS,
        ("foulds-section-4-1",),
    ),
    _entry(
        "Section 4.1, scan",
        "a pass over one latent a record costs 2Δ",
        HOLDS,
        ("foulds-section-4-1",),
        assumes="each latent variable is associated with its own data point alone",
    ),
    _entry(
        "Sections 4.1 and 5, parallel composition",
        "parts of the data cost what the dearest does",
        HOLDS,
        ("erratum-11",),
        "for the paper's own model; of others, where a record's values choose its part "
        "a replaced one is in two: twice the dearest part under add-remove",
    ),
    _entry(
        "Section 4.1, random scan",
        "updating Q of N costs 4ΔQ/N",
        CORRECTED,
        ("erratum-5",),
        "the state shows who was updated: 2Δ",
        "the current values of all variables are publicly known",
    ),
    _entry(
        "Section 4, Metropolis-Hastings",
        "it has privacy guarantees too",
        NOT_CHECKABLE,
        ("erratum-9", "foulds-section-4-metropolis"),
        "the supplement, which has the proof, is not among our sources. A caution: "
        "min(1, r) can lose everything; Barker's acceptance and lazy ones cost an "
        "update's price",
    ),
    _entry(
        "Section 4, annealed importance sampling",
        "it has privacy guarantees too",
        NOT_CHECKABLE,
        (),
        "the supplement, which has the proof, is not among our sources",
    ),
    _entry(
        "Section 4.2",
        "chains on privatised statistics cost nothing more, converged or not",
        HOLDS,
        ("foulds-section-4-2",),
        "post-processing",
    ),
    _entry(
        "Section 5, preprocessing",
        "empty timesteps and near-empty regions are removed",
        CORRECTED,
        ("erratum-10",),
        "that looks at the data: the public product of regions and months is kept",
        "the models are private; the evaluation may reveal information",
    ),
    _entry(
        "Section 5, worst case",
        "200 sweeps cost at most 400ε if the chain has not converged",
        HOLDS,
        ("foulds-section-4-1",),
        "two updates a sweep",
    ),
    _entry(
        "Figures 3 to 5",
        "states of the Iraq war and their emissions",
        NOT_CHECKABLE,
        ("foulds-figures-3-5",),
        "the war logs are not among our data; the figures are made of simulated events",
        "the war logs; 2 states, ε = 5",
    ),
    _entry(
        "Section 5, ten states",
        "given ten states, the private model uses 2 or 3, the non-private one all: "
        "noise is a regulariser",
        NOT_CHECKABLE,
        ("foulds-figures-3-5",),
        "of the war logs; on simulated events and on those of Syria it does not come "
        "out",
        "the war logs; 10 states, ε = 5",
    ),
    _entry(
        "Figure 6",
        "held-out likelihood against ε: Laplace is better than OPS where counts are "
        "large",
        NOT_CHECKABLE,
        ("foulds-figure-6",),
        "of the war logs; so it is on simulated events, and on those of Syria but for "
        "the hidden Markov model at ε = .1, where OPS leads",
        "the war logs; 10 states, ε from .1 to 10",
    ),
    _entry(
        "Figure 6, high privacy",
        "on Iraq Laplace leads particularly in the high-privacy regime",
        NOT_CHECKABLE,
        ("foulds-figure-6",),
        "of the war logs; on simulated events the lead is larger at large ε",
        "the war logs; 10 states, ε from .1 to 10",
    ),
    _entry(
        "Figure 7",
        "the last sample is noisier than the estimate from the last hundred",
        NOT_CHECKABLE,
        ("foulds-figure-7",),
        "of the war logs; so it is on simulated events and on those of Syria",
        "the war log of Afghanistan; ε = 5, a₀ = 1/(100 K)",
    ),
    _entry(
        "Section 5, runtime",
        "OPS roughly doubled the runtime, the Laplace mechanism did not greatly affect "
        "it",
        NOT_CHECKABLE,
        ("foulds-section-5-runtime",),
        "of the paper's own program; here OPS takes several times as long",
        "200 sweeps on the war logs",
    ),
)
