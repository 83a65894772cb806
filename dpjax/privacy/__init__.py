"""The privacy calculus: scalars and exact fractions, never a key or a record."""

__all__ = [
    "ADD_REMOVE",
    "ADJACENCIES",
    "REPLACE_ONE",
    "BudgetExceeded",
    "Epsilon",
    "Ledger",
    "PureDP",
    "Sensitivity",
    "exact_epsilon",
]

from dpjax.privacy.adjacency import ADD_REMOVE, ADJACENCIES, REPLACE_ONE
from dpjax.privacy.guarantee import Epsilon, PureDP, exact_epsilon
from dpjax.privacy.ledger import BudgetExceeded, Ledger
from dpjax.privacy.sensitivity import Sensitivity
