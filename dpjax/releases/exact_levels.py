"""Levels of variables, as release files in the canonical form of RFC 8785 state them.

That form writes 1.0 as 1, and has no integers beyond 2^53. A level that it would change
is an object with the number as text, such as {"number": "1.0"}.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dpjax._documents import parse_json
from dpjax.noise.discrete_laplace import WIDEST

_LISTS, _ONES = ("levels", "missing_values"), ("other", "missing")


def exact_level(level: Any) -> Any:
    """Return a level so that RFC 8785 does not change it."""
    whole = isinstance(level, float) and level.is_integer()
    long = isinstance(level, int) and abs(level) > WIDEST
    return {"number": repr(level)} if whole or long else level


def parsed_level(level: Any) -> Any:
    """Return the level from which `exact_level` makes this entry of a file."""
    if not isinstance(level, dict):
        return level
    return parse_json(level["number"], "number")


def with_levels(
    content: Mapping[str, Any], change: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return the content of a release file with each of its levels changed."""
    changed = {"variables": [_changed(x, change) for x in content["variables"]]}
    if "impossible" in content:
        changed["impossible"] = [
            {name: [*map(change, levels)] for name, levels in one.items()}
            for one in content["impossible"]
        ]
    return {**content, **changed}


def _changed(
    variable: Mapping[str, Any], change: Callable[[Any], Any]
) -> dict[str, Any]:
    if set(variable) <= {"name", "lower", "upper", "missing"}:  # numbers, no levels
        return dict(variable)
    codes = variable.get("codes", {})
    changed = {
        **{key: [*map(change, variable.get(key, ()))] for key in _LISTS},
        **{key: change(variable.get(key)) for key in _ONES},
        "codes": {code: change(level) for code, level in codes.items()},
    }
    return {key: changed.get(key, entry) for key, entry in variable.items()}
