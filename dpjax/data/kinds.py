"""The kinds of variables that a schema can declare."""

__all__ = ["KINDS", "AnyVariable", "declared"]

from collections.abc import Mapping
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
        ValueError: if the declaration is of no kind, or of two.
    """
    if isinstance(declaration, AnyVariable):
        return declaration
    declaration = of_type(name, declaration)
    if not isinstance(declaration, Mapping):
        return Variable.from_json(name, declaration)
    implied = [kind for kind in KINDS if kind.mark & set(declaration)]
    bounds = bool({"lower", "upper"} & set(declaration))
    if len(implied) > 1 or not (implied or bounds) or (Variable in implied and bounds):
        raise ValueError(
            f'`schema` must declare {name!r:.80} either by "levels" or by "lower" and '
            f'"upper", got {"both" if implied else "neither"}.'
            if len(implied) < 2 or Variable in implied
            else f"`schema` must declare {name!r:.80} by a unit or by edges, got both."
        )
    kind = implied[0] if implied else Interval
    return kind.from_json(name, declaration)
