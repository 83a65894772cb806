"""The branches of functions, from their source, and the lines that a mutant changes.

A branch is a set of lines: an arm of an `if` with its condition, a loop, a handler of
exceptions, the lines of a conditional expression, of `and` or `or`, or of the `if` of a
comprehension, a function within; and what is in none of these, the straight part of a
function. Lines of a branch within a branch belong to the inner one.
"""

__all__ = ["Branch", "branches", "lines_changed"]

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from tests.mutants.mutant import Mutant

Lines = frozenset[int]


class Branch(NamedTuple):
    """Some lines of a function of the package.

    Attributes:
        function: file and name, as in "noise/tables.py:build".
        start: the text of its first line.
        lines: their numbers, from 1.
        refuses: whether it does nothing but raise an error.
    """

    function: str
    start: str
    lines: Lines
    refuses: bool


def branches(file: str, source: str, names: Sequence[str]) -> Iterator[Branch]:
    """Those of the functions of these names, as in "Class.method".

    Raises:
        KeyError: if there is no function of one of the names.
    """
    functions, text = dict(_functions(ast.parse(source))), source.splitlines()
    for name in names:
        found = dict(_parts(functions[name]))
        for lines in found:
            own = lines.difference(*(inner for inner in found if inner < lines))
            own = {x for x in own if not _is_nothing(text[x - 1])}
            if own:
                start = text[min(own) - 1].strip()
                yield Branch(f"{file}:{name}", start, frozenset(own), found[lines])


def lines_changed(mutant: Mutant, source: str) -> Lines:
    """Of the file without the fault; of what is only added, the line before."""
    first = source[: source.index(mutant.old)].count("\n") + 1
    old, new = mutant.old.split("\n"), mutant.new.split("\n")
    before = _alike(old, new)
    after = _alike(old[before:][::-1], new[before:][::-1])
    changed = range(first + before, first + len(old) - after)
    return frozenset(changed or [first + max(before - 1, 0)])


def _is_nothing(line: str) -> bool:
    """Whether there is nothing on it that could be wrong."""
    return line.partition("#")[0].strip(" ()[]{},") in ("", "else:", "try:")


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines are the same from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _functions(tree: ast.AST, around: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            name = around + node.name
            if isinstance(node, ast.FunctionDef):
                yield name, node
            yield from _functions(node, name + ".")


def _parts(node: ast.AST) -> Iterator[tuple[Lines, bool]]:
    """The lines of all branches, and whether they only raise."""
    inner: Collection[ast.AST] = list(ast.iter_child_nodes(node))
    match node:
        case ast.FunctionDef():
            first = ast.get_docstring(node) is not None
            inner = node.body[first:]
            yield _lines(*inner), False
        case ast.If():
            yield _lines(node.test, *node.body), _raises(node.body)
            if node.orelse and not isinstance(node.orelse[0], ast.If):
                yield _lines(*node.orelse), _raises(node.orelse)
            inner = [] if _raises(node.body) else [*node.body]
            inner += [] if _raises(node.orelse) else [*node.orelse]
        case ast.For():
            yield _lines(node.iter, *node.body), False
        case ast.While():
            yield _lines(node.test, *node.body), False
            inner = node.body
        case ast.ExceptHandler():
            yield _lines(*node.body), _raises(node.body)
        case ast.comprehension():
            if node.ifs:
                yield _lines(*node.ifs), False
        case ast.IfExp() | ast.BoolOp():
            yield _lines(node), False
    for part in inner:
        yield from _parts(part)


def _lines(*nodes: ast.AST) -> Lines:
    ends = [(node.lineno, node.end_lineno) for node in nodes]
    return frozenset(range(min(a for a, _ in ends), max(b for _, b in ends) + 1))


def _raises(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Raise)
