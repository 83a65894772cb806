"""`{room} MODULE [NAME…]`: the public names of a module, or some of them, documented.

The fence stands alone in a page of the reference; it is replaced before Markdown is
parsed. A name that the package itself has, too, is documented there, once.
"""

import importlib
import inspect
import re
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import dpjax

FENCE = re.compile(r"^```\{room\} (dpjax[\w.]*)((?: \w+)*)\n```$", re.MULTILINE)
_LONGEST_VALUE = 200  # letters
# bases whose members are not ours, or say nothing here
FOREIGN = (
    "object,Module,Unpickled,ABC,Generic,Distribution,Mapping,tuple,Exception,"
    "BaseException"
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _expand)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}


def _expand(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = FENCE.sub(lambda found: _room(found[1], found[2].split()), source[0])


def _skip(app, kind, name, thing, skip, options) -> bool | None:
    """Leave out fields of a named tuple, which its `Attributes` explain."""
    return True if type(thing).__name__ == "_tuplegetter" else None


def _room(path: str, chosen: list[str]) -> str:
    module = importlib.import_module(path)
    names = chosen or [name for name in module.__all__ if _is_listed(module, name)]
    if chosen:
        head = f".. py:currentmodule:: {path}"
    else:
        head = f".. automodule:: {path}\n   :no-members:"
    parts = [_entry(module, name) for name in names]
    return "\n\n".join(["```{eval-rst}\n" + head, *parts]) + "\n```"


def _is_listed(module: ModuleType, name: str) -> bool:
    return not isinstance(getattr(module, name), ModuleType)


def _entry(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if module is not dpjax and getattr(dpjax, name, None) is value:
        return f"``{name}`` is :py:obj:`dpjax.{name}`."
    package = getattr(value, "__module__", "dpjax").partition(".")[0]
    if package != "dpjax" and inspect.isclass(value):
        return f"``{name}`` is that of {package}."
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return (
            f".. auto{kind}:: {name}\n   :members:\n   :inherited-members: {FOREIGN}\n"
            "   :special-members: __call__"
        )
    if callable(value) and hasattr(value, "__name__"):
        return f".. autofunction:: {name}"
    return _constant(module, name, value)


def _constant(module: ModuleType, name: str, value: object) -> str:
    """A constant or an alias, with what its source says above or below it."""
    imported = re.search(
        rf"^from (dpjax[\w.]*) import (?:\([^)]*\b{name}\b|.*\b{name}\b)",
        inspect.getsource(module),
        re.MULTILINE,
    )
    source = imported[1] if imported else module.__name__
    analyzer = ModuleAnalyzer.for_module(source)
    words = analyzer.find_attr_docs().get(("", name), [])
    short = isinstance(value, str | tuple) and len(repr(value)) <= _LONGEST_VALUE
    shown = f"   :value: {value!r}\n" if short else ""
    body = "\n".join(f"   {line}" for line in words)
    return f".. py:data:: {name}\n{shown}\n{body}"
