"""Registries of classes by name, to which other packages can add."""

__all__ = ["Registry"]

import importlib.metadata
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type)


class Registry(Generic[Kind]):
    """A mapping from names, called kinds, to classes.

    Another package can add a class by an entry point. Its name is the class's kind, and
    its group is the plural of `noun`, such as `dpjax.mechanisms`. The class is imported
    when it is first looked up.

    Args:
        noun: word for one of the classes, such as "mechanism".
        nouns: the plural of `noun`, if it is not formed with an s.
    """

    def __init__(self, noun: str, nouns: str = "") -> None:
        self._noun, self._group = noun, f"dpjax.{nouns or noun + 's'}"
        self._kinds: dict[str, Any] = {}

    def add(self, kind: Added) -> Added:
        """Register a class under its attribute `kind`; usable as a class decorator.

        Raises:
            ValueError: if another class is registered under this kind.
        """
        return self.add_as(getattr(kind, "kind"), kind)  # noqa: B009  (types hide it)

    def add_as(self, name: str, kind: Added) -> Added:
        """Register a class under a name; a class can have several names.

        Raises:
            ValueError: if another class is registered under this name.
        """
        if self._kinds.setdefault(name, kind) is not kind:
            raise ValueError(
                f"`kind` must be new for a {self._noun}, {name!r:.80} is taken."
            )
        return kind

    def __getitem__(self, name: object) -> type[Kind]:
        """Return the class that is registered under a kind.

        Raises:
            ValueError: if no class is registered under this kind.
        """
        if isinstance(name, str) and name not in self._kinds:
            for entry in self._installed():
                if entry.name == name:
                    self.add_as(name, entry.load())
        if not isinstance(name, str) or name not in self._kinds:
            raise ValueError(
                f"`kind` must be that of a {self._noun}, one of "
                f"{', '.join(self)}, got {name!r:.80}."
            )
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._kinds, *(x.name for x in self._installed())]))

    def _installed(self) -> importlib.metadata.EntryPoints:
        return importlib.metadata.entry_points(group=self._group)
