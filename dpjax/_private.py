"""What keeps objects to themselves: no pickles, and no arrays in what is printed."""

__all__ = ["Unpickled", "shapes_only"]

from typing import Any, ClassVar, NoReturn

import equinox as eqx


class Unpickled:
    """Of a class that holds records, exact numbers or a release: it is not pickled.

    A pickle holds all that an object does, and reading one runs whatever it says; files
    of this library hold what may be shown, and are checked. Copies are the object
    itself.
    """

    _instead: ClassVar[str] = "give others the release, or a file of it"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"`{type(self).__name__}` must not be pickled, nor sent to a process by "
            f"one: {self._instead}."
        )

    def __copy__(self) -> "Unpickled":
        return self

    def __deepcopy__(self, memo: object) -> "Unpickled":
        return self


def shapes_only(self: Any) -> str:
    """A `repr` with the shapes of arrays instead of what they hold."""
    return eqx.tree_pformat(self)
