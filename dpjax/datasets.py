"""Real data sets that ship inside dependencies, with their public schema."""

__all__ = ["fair"]

from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.schema import Schema

if TYPE_CHECKING:
    from statsmodels.datasets import fair as _fair
else:
    try:
        from statsmodels.datasets import fair as _fair
    except Exception:  # absent or broken: said when the data are wanted
        _fair = None

_FAIR_LEVELS = {
    "rate_marriage": (1, 2, 3, 4, 5),
    "age": (17.5, 22, 27, 32, 37, 42),
    "yrs_married": (0.5, 2.5, 6, 9, 13, 16.5, 23),
    "children": (0, 1, 2, 3, 4, 5.5),
    "religious": (1, 2, 3, 4),
    "educ": (9, 12, 14, 16, 17, 20),
    "occupation": (1, 2, 3, 4, 5, 6),
    "occupation_husb": (1, 2, 3, 4, 5, 6),
    "affair": (0, 1),
}


def fair() -> tuple[Schema, dict[str, np.ndarray]]:
    """The Redbook survey of 6,366 married women, and whether they had any affair.

    The levels are the codes of the questionnaire, written down here as public facts.

    Returns:
        The schema (target `affair`) and the table, a column for each variable.

    Raises:
        ImportError: if statsmodels, which carries the data, is not installed.

    Reference:
        Fair, "A theory of extramarital affairs" (Journal of Political Economy 1978).
    """
    if not _fair:
        raise ImportError('this data set needs statsmodels: pip install "dpjax[demo]"')
    frame: Any = _fair.load_pandas().data
    table = {name: frame[name].to_numpy() for name in _FAIR_LEVELS if name != "affair"}
    table["affair"] = (frame["affairs"].to_numpy() > 0).astype(int)
    return Schema(_FAIR_LEVELS), table
