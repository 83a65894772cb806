"""Kinds of a noun, by name, to which anyone may add."""

__all__ = ["Registry"]

import importlib.metadata
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type)


class Registry(Generic[Kind]):
    """Classes by their `kind`.

    Installed packages add theirs by an entry point of the group `dpjax.NOUNS`, such as
    `dpjax.mechanisms`, whose name is the kind. It is loaded when first asked for.

    Args:
        noun: what they are kinds of, in errors.
        nouns: the last part of the name of the group of entry points, where that is not
            the noun with an s.
    """

    def __init__(self, noun: str, nouns: str = "") -> None:
        self._noun, self._group = noun, f"dpjax.{nouns or noun + 's'}"
        self._kinds: dict[str, Any] = {}

    def add(self, kind: Added) -> Added:
        """Register a class under its `kind`; also as a decorator.

        Raises:
            ValueError: if another class has that kind.
        """
        return self.add_as(getattr(kind, "kind"), kind)  # noqa: B009  (types hide it)

    def add_as(self, name: str, kind: Added) -> Added:
        """Register a class under a name, where one class has several.

        Raises:
            ValueError: if another class has it.
        """
        if self._kinds.setdefault(name, kind) is not kind:
            raise ValueError(
                f"`kind` must be new for a {self._noun}, {name!r:.80} is taken."
            )
        return kind

    def __getitem__(self, name: object) -> type[Kind]:
        """The class of that kind.

        Raises:
            ValueError: if there is none.
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
