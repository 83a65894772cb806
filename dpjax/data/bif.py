"""Reader of network structures in BIF files: names, states and parents."""

__all__ = ["parse_bif"]

import re

# An unclosed comment matches to the end, so that time is linear in the text.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(\*/|\Z)", re.DOTALL)
_NAME = r"(\"[^\"]*\"|[^\s{}()|,;\"]+)"
_VARIABLE = re.compile(
    rf"\bvariable\s+{_NAME}\s*{{[^{{}}]*?\btype\s+discrete\s*\[\s*(\d{{1,9}})\s*\]\s*"
    r"{([^{}]*)}\s*;[^{}]*}"
)
_PROBABILITY = re.compile(
    rf"\bprobability\s*\(\s*{_NAME}\s*(?:\|([^()]*))?\)\s*{{[^{{}}]*}}"
)
_BLOCK = re.compile(r"\b(variable|probability)\b\s*+[^\s{}(;|]*+\s*+[{(]")


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
    parents = {_bare(name): _names(given) for name, given in tables}
    if len(states) != len(variables) or len(parents) != len(tables):
        raise ValueError("`network` must declare every variable and table once.")
    return states, {name: parents.get(name, []) for name in states | parents}


def _space(comment: re.Match) -> str:
    if comment[0].startswith("/*") and not comment[1]:
        raise ValueError("`network` must be BIF that closes every comment.")
    return " "


def _names(listed: str) -> list[str]:
    return [_bare(name) for name in re.split(r"[,\s]\s*", listed.strip()) if name]


def _bare(name: str) -> str:
    return name.strip().strip('"')
