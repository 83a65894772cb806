"""Example data with their public schemas: a real survey and a simulated event log."""

__all__ = ["fair", "simulated_events"]

from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.data.schema import Schema

if TYPE_CHECKING:
    from statsmodels.datasets import fair as _fair
else:
    try:
        from statsmodels.datasets import fair as _fair
    except Exception:  # absent or broken: `fair` raises
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
    """Load the Redbook survey of 6,366 married women; `affair` is the usual target.

    The levels are the codes of the public questionnaire.

    Returns:
        The schema, and a dictionary from each variable's name to its column.

    Raises:
        ImportError: if statsmodels, which contains the data, is not installed.

    Reference:
        Fair, "A theory of extramarital affairs" (Journal of Political Economy 1978).
    """
    if not _fair:
        raise ImportError('this data set needs statsmodels: pip install "dpjax[demo]"')
    frame: Any = _fair.load_pandas().data
    table = {name: frame[name].to_numpy() for name in _FAIR_LEVELS if name != "affair"}
    table["affair"] = (frame["affairs"].to_numpy() > 0).astype(int)
    return Schema(_FAIR_LEVELS), table


_PROVINCES = ("north", "east", "south", "west")
_MONTHS = 36
_LAWS = {  # distribution of each field in the states calm, unrest and siege
    "kind": (
        ("protest", "clash", "attack"),
        ((0.8, 0.15, 0.05), (0.3, 0.6, 0.1), (0.05, 0.35, 0.6)),
    ),
    "harmed": (
        ("none", "some", "many"),
        ((0.9, 0.08, 0.02), (0.5, 0.4, 0.1), (0.15, 0.35, 0.5)),
    ),
}


def simulated_events(seed: int = 0) -> tuple[Schema, dict[str, np.ndarray]]:
    """Simulate a log of about 3,000 events in four provinces over three years.

    Each province is in one of three hidden states (calm, unrest, siege) that persist.

    Args:
        seed: seed of the simulation.

    Returns:
        The schema, and a dictionary from name to column. The region of an event is
        `province` and its time is `month`.
    """
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 3, (len(_PROVINCES), _MONTHS))
    for month in range(1, _MONTHS):
        stays = rng.random(len(_PROVINCES)) < 0.9
        states[stays, month] = states[stays, month - 1]
    per_cell = rng.poisson(20, states.shape).ravel()
    province, month = np.divmod(np.repeat(np.arange(states.size), per_cell), _MONTHS)
    table = {"province": np.array(_PROVINCES)[province], "month": month}
    for name, (levels, laws) in _LAWS.items():
        above = np.cumsum(laws, axis=1)[states[province, month], :-1]
        code = (above < rng.random((month.size, 1))).sum(axis=1)
        table[name] = np.array(levels)[code]
    levels = {name: levels for name, (levels, _) in _LAWS.items()}
    schema = {"province": _PROVINCES, "month": tuple(range(_MONTHS)), **levels}
    return Schema(schema), table
