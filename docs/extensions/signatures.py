"""Signatures as the source has them: `Float[Array, "n d"]`, `Key`, `Epsilon`.

At run time such annotations are classes of jaxtyping, whose names nobody wants to read.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

from docutils import nodes
from sphinx.addnodes import desc_sig_literal_string, pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", _signature)
    app.connect("doctree-read", _double_quotes)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True}


def _signature(app, kind, name, thing, options, arguments, returned):
    """What autodoc is to show in place of its own signature."""
    found = None
    if kind in ("class", "exception"):
        found = _of_class(thing)
    elif kind in ("function", "method"):
        found = _of_function(inspect.unwrap(thing), method=kind == "method")
    return tuple(text and _shapes(text) for text in found or (arguments, returned))


def _shapes(text: str) -> str:
    """`Float[Array, ' n']` without the blank that other tools need."""
    return re.sub(r"\[([\w |.]+), ' ?([^']*)'\]", r'[\1, "\2"]', text)


def _double_quotes(app: Sphinx, page: nodes.document) -> None:
    """Texts in signatures as in the source, and not as Python's `repr` has them."""
    for node in page.findall(desc_sig_literal_string):
        text = node.astext()
        if re.fullmatch(r"'[^'\"]*'", text):
            node.children = [nodes.Text(f'"{text[1:-1]}"')]


def _of_function(thing: object, *, method: bool) -> tuple[str, str | None] | None:
    definition = _parsed(thing)
    if not isinstance(definition, ast.FunctionDef):
        return None
    arguments = definition.args
    first = [*arguments.posonlyargs, *arguments.args][:1]
    static = any(ast.unparse(x) == "staticmethod" for x in definition.decorator_list)
    if method and first and not static:
        (arguments.posonlyargs or arguments.args).pop(0)
    returned = ast.unparse(definition.returns) if definition.returns else None
    return f"({ast.unparse(arguments)})", _plain(returned)


def _of_class(thing: type) -> tuple[str, str | None] | None:
    own = thing.__dict__.get("__init__")
    written = own is not None and _parsed(own)
    if isinstance(written, ast.FunctionDef) and written.name == "__init__":
        text, _ = _of_function(own, method=True) or ("()", None)
        return text, None
    if not (dataclasses.is_dataclass(thing) or hasattr(thing, "_fields")):
        return None
    annotations = _fields(thing)
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:
        return None
    parts, keyword = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not keyword:
            parts.append("*")
            keyword = True
        text = f"{one.name}: {annotations.get(one.name, 'object')}"
        simple = isinstance(one.default, str | int | float | tuple | None)
        default = repr(one.default) if simple else "..."
        parts.append(text if one.default is one.empty else f"{text} = {default}")
    return f"({', '.join(parts)})", None


def _fields(thing: type) -> dict[str, str]:
    """Annotations of a class and its bases, as they are written."""
    found = {}
    for base in reversed(thing.__mro__):
        definition = base.__module__.startswith("dpjax") and _parsed(base)
        for line in definition.body if isinstance(definition, ast.ClassDef) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                found[line.target.id] = _plain(ast.unparse(line.annotation))
    return found


def _plain(annotation: str | None) -> str | None:
    """Without the quotes around a name that is defined later."""
    quoted = annotation and annotation[0] == annotation[-1] and annotation[0] in "'\""
    return annotation[1:-1] if annotation and quoted else annotation


def _parsed(thing: Any) -> ast.stmt | None:
    try:
        source = textwrap.dedent(inspect.getsource(thing))
        return ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):
        return None


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: nodes.Element
) -> nodes.Element | None:
    """A name as the source has it, found wherever the reference has it.

    Names of other packages are shown without a link.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].rpartition(".")[2]
    objects = env.get_domain("py").objects
    places = {
        entry.docname + entry.node_id: entry
        for name, entry in objects.items()
        if name.rpartition(".")[2] == target and entry.objtype in _KINDS
    }
    if len(places) == 1:
        (entry,) = places.values()
        page = node.get("refdoc", "")
        return make_refnode(app.builder, page, entry.docname, entry.node_id, shown)
    ours = node["reftarget"].startswith("dpjax")
    return None if ours else shown


_KINDS = ("class", "exception", "data")
