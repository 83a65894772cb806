"""Guarantees, their composition, sensitivities and ledgers, in exact numbers."""

__all__ = [
    "ADD_REMOVE",
    "ADJACENCIES",
    "GUARANTEES",
    "REPLACE_ONE",
    "ZCDP",
    "Adjacency",
    "ApproximateDP",
    "BudgetExceeded",
    "Charge",
    "Epsilon",
    "Guarantee",
    "Law",
    "Ledger",
    "PureDP",
    "Sensitivity",
    "accounting",
    "advanced",
    "basic",
    "budget_of",
    "converged_within",
    "exact_epsilon",
    "exponential_above",
    "guarantee_of",
    "hockey_stick",
    "in_words",
    "joint",
    "largest_log_ratio",
    "logarithm_above",
    "parallel",
    "root_above",
    "rounded_up",
    "rows_of",
    "subsampled",
    "unit_of",
    "zcdp_budget",
]

from typing import TYPE_CHECKING

from dpjax._later import names_of
from dpjax.privacy.composition import (
    advanced,
    basic,
    converged_within,
    parallel,
    subsampled,
)
from dpjax.privacy.concentrated import ZCDP, zcdp_budget
from dpjax.privacy.guarantee import GUARANTEES, Guarantee, Law, guarantee_of, in_words
from dpjax.privacy.kinds import (
    ApproximateDP,
    PureDP,
    budget_of,
    hockey_stick,
    joint,
    largest_log_ratio,
)
from dpjax.privacy.ledger import BudgetExceeded, Ledger
from dpjax.privacy.ledger_lines import Charge
from dpjax.privacy.rounding import (
    Epsilon,
    exact_epsilon,
    exponential_above,
    logarithm_above,
    root_above,
    rounded_up,
)
from dpjax.privacy.sensitivity import (
    ADD_REMOVE,
    ADJACENCIES,
    REPLACE_ONE,
    Adjacency,
    Sensitivity,
)
from dpjax.privacy.unit import rows_of, unit_of

if TYPE_CHECKING:
    from dpjax.privacy import accounting

# The module needs an optional package.
__getattr__, __dir__ = names_of(__name__, {}, ("accounting",))
