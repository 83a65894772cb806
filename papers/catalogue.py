"""All reproductions by name, in the order of the papers."""

__all__ = ["names", "reproduction"]

import difflib

from papers import errata, foulds, statements, zhang
from papers.reproduction import Reproduction

_ALL: dict[str, Reproduction] = {
    one.name: one
    for room in (zhang, foulds, errata, statements)
    for one in room.REPRODUCTIONS
}


def names() -> tuple[str, ...]:
    """Of all reproductions."""
    return tuple(_ALL)


def reproduction(name: str) -> Reproduction:
    """The one of that name.

    Raises:
        ValueError: if there is none.
    """
    if name not in _ALL:
        near = difflib.get_close_matches(name, _ALL) or [*_ALL][:3]
        raise ValueError(
            "`name` must be one of python -m papers --list, such as "
            f"{', '.join(near)}, got {name:.40}."
        )
    return _ALL[name]
