"""Theorems of Zhang et al. (AAAI-16): utility bounds, Lipschitz constants, stealth."""

__all__ = [
    "CellNoise",
    "Stealth",
    "Theorem4",
    "bernoulli_constant",
    "beta_constant",
    "beta_likelihood_ratio",
    "beta_mass",
    "calibrated_increment",
    "corollary_3",
    "lemma_2",
    "lemma_3",
    "lemma_4",
    "linear_regression_constant",
    "network_constant",
    "paper_increment",
    "posterior_sample_cost",
    "proposition_1",
    "remark_1",
    "row_constant",
    "stealth",
    "stealth_probability",
    "table_1",
    "theorem_1",
    "theorem_3",
    "theorem_4",
    "truncation",
]

from dpjax.theory.lipschitz import (
    bernoulli_constant,
    lemma_2,
    linear_regression_constant,
    network_constant,
    posterior_sample_cost,
    row_constant,
    truncation,
)
from dpjax.theory.stealth import (
    Stealth,
    calibrated_increment,
    corollary_3,
    paper_increment,
    stealth,
    stealth_probability,
)
from dpjax.theory.stochastic_lipschitz import (
    Theorem4,
    beta_constant,
    beta_likelihood_ratio,
    beta_mass,
    lemma_3,
    theorem_4,
)
from dpjax.theory.utility import (
    CellNoise,
    lemma_4,
    proposition_1,
    remark_1,
    table_1,
    theorem_1,
    theorem_3,
)
