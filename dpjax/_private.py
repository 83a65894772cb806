"""Protection of objects with private content: no pickling, no values in a `repr`."""

__all__ = ["Unpickled", "shapes_only"]

from typing import Any, ClassVar, NoReturn

import equinox as eqx


class Unpickled:
    """Base of classes that hold records, exact numbers or a release; forbids pickling.

    A pickle contains all private fields, and reading a pickle can run any code. This
    library's own files hold only public content, which is checked when it is read. A
    copy is the object itself.
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
    """Return a `repr` with the shapes of arrays instead of their values."""
    return eqx.tree_pformat(self)
