"""Protection of objects with private content: no pickling, no values in a `repr`."""

from typing import Any, ClassVar, NoReturn

import equinox as eqx


class Unpickled:
    """Base class that forbids pickling, for objects with private fields or releases.

    A pickle would contain all private fields, and reading a pickle can run any code.
    Copying such an object returns the object itself.
    """

    _instead: ClassVar[str] = "give others the release, or a file of it"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"`{type(self).__name__}` must not be pickled, nor sent to another process "
            f"as a pickle: {self._instead}."
        )

    def __copy__(self) -> "Unpickled":
        return self

    def __deepcopy__(self, memo: object) -> "Unpickled":
        return self


def shapes_only(self: Any) -> str:
    """Return a `repr` of an object with the shapes of arrays, not their values."""
    return eqx.tree_pformat(self)


def cost_in_words(paid: Any) -> str:
    """Return the guarantee of a mechanism or a release in words, for its `repr`."""
    try:
        return str(paid.guarantee()).replace(" = ", "=")
    except (TypeError, ValueError):
        return "stacked or traced"
