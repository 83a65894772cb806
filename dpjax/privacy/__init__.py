"""The privacy calculus: scalars and exact fractions, never a key or a record."""

__all__ = [
    "ADD_REMOVE",
    "ADJACENCIES",
    "REPLACE_ONE",
    "ApproximateDP",
    "BudgetExceeded",
    "Epsilon",
    "Ledger",
    "PureDP",
    "Sensitivity",
    "Theorem4",
    "accounting",
    "advanced",
    "basic",
    "bernoulli_constant",
    "beta_constant",
    "beta_likelihood_ratio",
    "beta_mass",
    "converged_within",
    "exact_epsilon",
    "exponential_above",
    "lemma_2",
    "lemma_3",
    "linear_regression_constant",
    "logarithm_above",
    "network_constant",
    "parallel",
    "posterior_sample_cost",
    "repeated",
    "root_above",
    "rounded_up",
    "row_constant",
    "subsampled",
    "theorem_4",
    "truncation",
]

import importlib
from typing import TYPE_CHECKING

from dpjax.privacy.adjacency import ADD_REMOVE, ADJACENCIES, REPLACE_ONE
from dpjax.privacy.composition import advanced, basic, parallel, repeated, subsampled
from dpjax.privacy.guarantee import (
    ApproximateDP,
    Epsilon,
    PureDP,
    converged_within,
    exact_epsilon,
)
from dpjax.privacy.ledger import BudgetExceeded, Ledger
from dpjax.privacy.lipschitz import (
    bernoulli_constant,
    lemma_2,
    linear_regression_constant,
    network_constant,
    posterior_sample_cost,
    row_constant,
    truncation,
)
from dpjax.privacy.rounding import (
    exponential_above,
    logarithm_above,
    root_above,
    rounded_up,
)
from dpjax.privacy.sensitivity import Sensitivity
from dpjax.privacy.stochastic_lipschitz import (
    Theorem4,
    beta_constant,
    beta_likelihood_ratio,
    beta_mass,
    lemma_3,
    theorem_4,
)

if TYPE_CHECKING:
    from dpjax.privacy import accounting


def __getattr__(name: str) -> object:
    """The module with an optional package, when it is first wanted."""
    if name == "accounting":
        return importlib.import_module("dpjax.privacy.accounting")
    raise AttributeError(f"module 'dpjax.privacy' has no attribute {name!r}")
