"""The kinds of variables that a schema can declare."""

from collections.abc import Collection, Mapping
from typing import Any

from dpjax.data.bins import Bins
from dpjax.data.categorical import Categorical
from dpjax.data.intervals import Interval
from dpjax.data.levels import Variable
from dpjax.data.periods import Periods
from dpjax.data.public_lists import of_type

AnyVariable = Categorical | Interval

KINDS: list[type[Categorical]] = [Variable, Bins, Periods]
"""Kinds of categorical variables, which the names in a declaration tell apart."""


def declared(name: str, declaration: Any) -> AnyVariable:
    """Return a variable, or make one of the kind that the declaration's names imply.

    Raises:
        ValueError: if the declaration is of no kind, or of two, or has an unknown name.
    """
    if isinstance(declaration, AnyVariable):
        return declaration
    declaration = of_type(name, declaration)
    if not isinstance(declaration, Mapping):
        return Variable.from_json(name, declaration)
    known = {"lower", "upper"}.union(*(kind.keys for kind in KINDS))
    for other in (x for x in declaration if x not in known):
        raise ValueError(
            f"`schema` must declare {name!r:.80} by names among "
            f"{', '.join(sorted(known))}, got {other!r:.80}."
        )
    implied = [kind for kind in KINDS if kind.mark & set(declaration)]
    bounds = {"lower", "upper"} & set(declaration)
    if bounds and not implied:
        return Interval.from_json(name, declaration)
    if len(implied) == 1 and bounds <= implied[0].keys:
        return implied[0].from_json(name, declaration)
    raise ValueError(
        f'`schema` must declare {name!r:.80} by "levels", or by "lower" and "upper" '
        'alone, with "edges" or with "unit", got '
        f"{'two' if implied else 'none'} of these."
    )


def all_declared(variables: Any) -> list[AnyVariable]:
    """Return variables, or make those that a mapping from names declares.

    Raises:
        ValueError: if a declaration is not valid, or a variable is none.
    """
    if isinstance(variables, Mapping):
        return [declared(name, x) for name, x in variables.items()]
    several = isinstance(variables, Collection)
    if not several or not all(isinstance(x, AnyVariable) for x in variables):
        raise ValueError(
            "`variables` must be a list of `Variable` and `Interval`, or a mapping "
            f"from names to declarations, got {type(variables).__name__}."
        )
    return [*variables]
