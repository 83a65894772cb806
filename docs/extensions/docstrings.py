"""Docstrings have `code`, $mathematics$ and lists as Markdown has: here made RST."""

import re

from sphinx.application import Sphinx

PIECE = re.compile(
    r"(?P<display>\$\$.+?\$\$[.,;]?) ?|(?P<math>\$[^$]+?\$)|(?P<code>`+[^`]+?`+)",
    re.DOTALL,
)
COLON = "\ue000"  # napoleon takes what is before a colon for a type


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _convert, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _restore, priority=600)  # after it
    return {"parallel_read_safe": True}


def _convert(app, kind, name, thing, options, lines: list[str]) -> None:
    text = "\n".join(lines)
    parts, start = [], 0
    for found in PIECE.finditer(text):
        parts.append(_escaped(text[start : found.start()]))
        before = text[: found.start()].rpartition("\n")[2]
        parts.append(_piece(found, before, text[found.end() :]))
        start = found.end()
    parts.append(_escaped(text[start:]))
    lines[:] = _hidden_colons(_spaced("".join(parts).split("\n")), kind)


def _restore(app, kind, name, thing, options, lines: list[str]) -> None:
    lines[:] = [line.replace(COLON, ":") for line in lines]


def _hidden_colons(lines: list[str], kind: str) -> list[str]:
    """Those of properties and of what is returned, where no type is given."""
    within, hidden = kind in ("attribute", "data", "property"), []
    for line in lines:
        if re.match(r"\w+:$", line):
            within = line in ("Returns:", "Yields:")
        elif within:
            line = re.sub(r": ", f"{COLON} ", re.sub(r":$", COLON, line))
        hidden.append(line)
    return hidden


def _escaped(text: str) -> str:
    return re.sub(r"([|*\\])|(?<=\w)(_)(?=\W|$)", r"\\\g<0>", text)


def _piece(found: re.Match, before: str, after: str) -> str:
    text = found[0]
    joined = "\\ " if after[:1].isalnum() else ""  # RST wants a boundary after markup
    if found["display"]:
        return _display(found["display"], before, after)
    if found["math"]:
        return f":math:`{_one_line(text[1:-1])}`{joined}"
    name = _one_line(text.strip("`"))
    if re.fullmatch(r"dpjax(\.\w+)+|[A-Z][a-z]+(?:[A-Z]\w*)?", name):
        return f":py:obj:`{name}`{joined}"
    return f"``{name}``{joined}"


def _display(text: str, before: str, after: str) -> str:
    """A paragraph of its own, with the punctuation that followed the formula."""
    indent = before[: len(before) - len(before.lstrip())]
    _, formula, punctuation = text.split("$$")
    above = f"\n\n{indent}" if before.strip() else ""
    below = f"\n\n{indent}" if after.strip() else ""
    return f"{above}.. math:: {_one_line(formula)}{punctuation}{below}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _spaced(lines: list[str]) -> list[str]:
    """With an empty line before every list, and none but spaces before what follows."""
    spaced: list[str] = []
    for line in lines:
        item = re.match(r"\s*- ", line)
        if item and spaced and spaced[-1].strip() and not _in_list(spaced):
            spaced.append("")
        spaced.append(line)
    return spaced


def _in_list(lines: list[str]) -> bool:
    for line in reversed(lines):
        if not line.strip():
            return False
        if re.match(r"\s*- ", line):
            return True
    return False
