"""Reader of network structures in BIF files: names, states and parents."""

import re

_QUOTED = r"\"[^\"\n]*\""
# An unclosed comment matches to the end, so that time is linear in the text.
_COMMENT = re.compile(rf"{_QUOTED}|//[^\n]*|/\*.*?(\*/|\Z)", re.DOTALL)
_NAME = rf"({_QUOTED}|[^\s{{}}()|,;\"]+)"
_LISTED = re.compile(rf"{_QUOTED}|[^\s,\"]+")
_IN_BRACES = rf"((?:{_QUOTED}|[^{{}}\"])*+)"
_VARIABLE = re.compile(
    rf"\bvariable\s+{_NAME}\s*{{[^{{}}]*?\btype\s+discrete\s*\[\s*(\d{{1,9}})\s*\]\s*"
    rf"{{{_IN_BRACES}}}\s*;[^{{}}]*}}"
)
_PROBABILITY = re.compile(
    rf"\bprobability\s*\(\s*{_NAME}\s*(?:\|((?:{_QUOTED}|[^()\"])*+))?\)\s*"
    rf"{{{_IN_BRACES}}}"
)
_BLOCK = re.compile(
    rf"\b(variable|probability)\b\s*+(?:{_QUOTED}|[^\s{{}}(;|\"]*+)\s*+[{{(]"
)


def parse_bif(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return two dictionaries: variable name to states, and variable name to parents.

    Raises:
        ValueError: if a block cannot be read, a name is declared twice, or the number
            of states differs from the declared number.
    """
    text = _COMMENT.sub(_space, text)
    variables, tables = _VARIABLE.findall(text), _PROBABILITY.findall(text)
    kinds = _BLOCK.findall(text)
    if not variables or kinds.count("variable") != len(variables):
        raise ValueError(
            "`network` must be BIF with blocks "
            "`variable X { type discrete [k] {...}; }`."
        )
    if kinds.count("probability") != len(tables):
        raise ValueError(
            "`network` must be BIF with blocks `probability ( X | Y, Z ) {...}`."
        )
    states = {}
    for name, size, listed in variables:
        names = _names(listed)
        if len(names) != int(size):
            raise ValueError(
                f"`network` must list as many states of {_bare(name)!r:.80} as it "
                f"declares, {size}, got {len(names)}."
            )
        states[_bare(name)] = names
    parents = {_bare(name): _names(given) for name, given, _ in tables}
    if len(states) != len(variables) or len(parents) != len(tables):
        raise ValueError("`network` must declare every variable and table once.")
    return states, {name: parents.get(name, []) for name in states | parents}


def _space(found: re.Match) -> str:
    if found[0].startswith('"'):
        return found[0]
    if found[0].startswith("/*") and not found[1]:
        raise ValueError("`network` must be BIF that closes every comment.")
    return " "


def _names(listed: str) -> list[str]:
    return [_bare(name) for name in _LISTED.findall(listed)]


def _bare(name: str) -> str:
    return name.strip('"')
