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
    "accounting",
    "advanced",
    "basic",
    "converged_within",
    "exact_epsilon",
    "exponential_above",
    "logarithm_above",
    "parallel",
    "repeated",
    "root_above",
    "rounded_up",
    "subsampled",
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
from dpjax.privacy.rounding import (
    exponential_above,
    logarithm_above,
    root_above,
    rounded_up,
)
from dpjax.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from dpjax.privacy import accounting


def __getattr__(name: str) -> object:
    """The module with an optional package, when it is first wanted."""
    if name == "accounting":
        return importlib.import_module("dpjax.privacy.accounting")
    raise AttributeError(f"module 'dpjax.privacy' has no attribute {name!r}")
