"""Registries of classes by name, to which other packages can add."""

import importlib.metadata
import warnings
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Kind = TypeVar("Kind")
Added = TypeVar("Added", bound=type)


class Registry(Generic[Kind]):
    """A mapping from names, called kinds, to the classes of one base class.

    Another package can add a class by an entry point. Its name is the class's kind, and
    its group is the plural of `noun`, such as `dpjax.mechanisms`. The class is imported
    when it is first looked up.

    Args:
        base: the abstract base class.
        noun: word for one of the classes, such as "mechanism".
        nouns: the plural of `noun`, if it is not formed with an s.
        attribute: the attribute of a class that is its kind.
    """

    def __init__(
        self, base: type[Kind], noun: str, nouns: str = "", attribute: str = "kind"
    ) -> None:
        self._noun, self._group = noun, f"dpjax.{nouns or noun + 's'}"
        self._base, self._attribute = base, attribute
        self._kinds: dict[str, Any] = {}

    def add(self, kind: Added) -> Added:
        """Register a class under its kind; usable as a class decorator.

        Raises:
            ValueError: if it is not a class of this kind of thing, does not define all
                abstract methods, or another class is registered under its kind.
        """
        return self.add_as(getattr(kind, self._attribute, None), kind)

    def add_as(self, name: object, kind: Added) -> Added:
        """Register a class under a name, of which a class can have several.

        Raises:
            ValueError: as `add`.
        """
        if self._base not in getattr(kind, "__mro__", ()):
            raise ValueError(
                f"`kind` must be a subclass of `{self._base.__name__}`, to be added as "
                f"a {self._noun}, got {kind!r:.80}."
            )
        if missing := sorted(getattr(kind, "__abstractmethods__", ())):
            raise ValueError(
                f"`kind` must define {', '.join(missing)} to be added, {kind.__name__} "
                "does not."
            )
        if not isinstance(name, str):
            raise ValueError(
                f"`kind` must be a class of a {self._noun} whose attribute "
                f"`{self._attribute}` is its name, {kind.__name__} has none."
            )
        both = self._kinds.get(name, kind), kind
        if len({(x.__module__, x.__qualname__) for x in both}) > 1:
            raise ValueError(
                f"`kind` must be new for a {self._noun}, {name!r:.80} is taken: choose "
                "another name."
            )
        self._kinds[name] = kind  # a class that is defined again replaces itself
        return kind

    def __getitem__(self, name: object) -> type[Kind]:
        """Return the class that is registered under a kind.

        Raises:
            ValueError: if no class is registered under this kind, or its package cannot
                be imported.
        """
        if isinstance(name, str) and name not in self._kinds:
            for entry in self._installed():
                if entry.name == name:
                    self._import(entry)
        if not isinstance(name, str) or name not in self._kinds:
            raise ValueError(
                f"`kind` must be that of a {self._noun}, one of {', '.join(self)}, got "
                f"{name!r:.80}: add it, or import the package that adds it."
            )
        return self._kinds[name]

    def usable(self) -> Iterator[type[Kind]]:
        """Yield all classes; warn of those whose package cannot be imported."""
        for name in self:
            try:
                yield self[name]
            except ValueError as error:
                warnings.warn(f"{error}", RuntimeWarning, stacklevel=3)

    def _import(self, entry: Any) -> None:
        try:
            found = self.add(entry.load())
        except Exception as error:  # of another package
            raise ValueError(
                f"`kind` must be that of a {self._noun} that can be imported, but "
                f"{entry.name!r:.80} cannot: {type(error).__name__}: {error}"
            ) from error
        if getattr(found, self._attribute) != entry.name:
            raise ValueError(
                f"`kind` must be the name of an entry point in {self._group}, got the "
                f"class {found.__name__} for {entry.name!r:.80}."
            )

    def __repr__(self) -> str:
        return f"Registry({self._group}: {', '.join(self)})"

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._kinds, *(x.name for x in self._installed())]))

    def _installed(self) -> importlib.metadata.EntryPoints:
        return importlib.metadata.entry_points(group=self._group)
