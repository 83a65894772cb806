"""Registries of classes by name, to which other packages can add."""

__all__ = ["Registry"]

import importlib.metadata
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type)


class Registry(Generic[Kind]):
    """A mapping from names, called kinds, to classes.

    Another package adds a class by an entry point, whose name is the kind, of a group
    such as `dpjax.mechanisms`. The class is loaded when it is first looked up.

    Args:
        noun: what the classes are, such as "mechanism"; the group's name is its plural.
        nouns: the plural, if it is not the noun with an s.
    """

    def __init__(self, noun: str, nouns: str = "") -> None:
        self._noun, self._group = noun, f"dpjax.{nouns or noun + 's'}"
        self._kinds: dict[str, Any] = {}

    def add(self, kind: Added) -> Added:
        """Register a class under its `kind`; it may be used as a decorator.

        Raises:
            ValueError: if another class has that kind.
        """
        return self.add_as(getattr(kind, "kind"), kind)  # noqa: B009  (types hide it)

    def add_as(self, name: str, kind: Added) -> Added:
        """Register a class under a name; a class can have several names.

        Raises:
            ValueError: if another class has that name.
        """
        if self._kinds.setdefault(name, kind) is not kind:
            raise ValueError(
                f"`kind` must be new for a {self._noun}, {name!r:.80} is taken."
            )
        return kind

    def __getitem__(self, name: object) -> type[Kind]:
        """Return the class of a kind.

        Raises:
            ValueError: if there is no such kind.
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
