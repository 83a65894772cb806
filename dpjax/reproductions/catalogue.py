"""All reproductions by name, in the order of the papers."""

__all__ = ["names", "reproduction"]

from dpjax.reproductions import errata, foulds, statements, zhang
from dpjax.reproductions.reproduction import Reproduction

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
        raise ValueError(
            f"`name` must be one of {', '.join(_ALL)}, got {name}: "
            "see dpjax reproduce --list."
        )
    return _ALL[name]
