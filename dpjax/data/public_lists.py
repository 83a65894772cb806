"""Declarations of variables that public documents and types contain.

A document about the variables is public. Records are not: no function here reads any.
"""

import csv
import enum
import io
import os
import pathlib
from collections.abc import Mapping
from typing import Any

from dpjax._documents import parse_json, read_text

_NULL = {"type": "null"}
_MISSING = "missing"  # the level of what may be null


def code_list(path: str | os.PathLike) -> dict[str, Any]:
    """Read the declaration of a variable from a code list, a CSV or JSON file.

    Args:
        path: CSV with a header line, and in each row a code and, in a second column,
            the level that it stands for; without a second column, codes are levels. Or
            JSON (`.json`): a list of levels, or an object from code to level.

    Raises:
        ValueError: if the file is not of this form, or repeats a code.
    """
    text = read_text(path, "codes")
    if pathlib.Path(path).suffix.lower() == ".json":
        document = parse_json(text, "codes")
        return {"codes" if isinstance(document, dict) else "levels": document}
    try:
        _, *rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    except (csv.Error, ValueError):
        rows = []
    rows = [row for row in rows if row]
    widths = {len(row) for row in rows}
    if widths not in ({1}, {2}):
        raise ValueError(
            f"`codes` must be CSV with a header line and one or two columns, code and "
            f"level, {path} is not."
        )
    if widths == {1} and any(x in text.partition("\n")[0] for x in ";\t"):
        raise ValueError(
            f"`codes` must be CSV whose cells are separated by commas, {path} has "
            "semicolons or tabs in its header line."
        )
    if widths == {1}:
        return {"levels": [code for (code,) in rows]}
    codes = dict(rows)
    if len(codes) < len(rows):
        raise ValueError(f"`codes` must give every code once, {path} does not.")
    return {"codes": codes}


def of_json_schema(source: Any, *, draft: bool = False) -> dict[str, dict[str, Any]]:
    """Return the declarations that a JSON Schema of a record contains.

    A property with "enum", "const" or type "boolean" has levels, and one with a minimum
    and a maximum has bounds. One that may be null has a level for missing cells.

    Args:
        source: the JSON Schema as a dictionary, its path, or a pydantic model.
        draft: whether to leave out the properties that would raise an error.

    Raises:
        ValueError: if `source` is none of these, or a property is neither of finitely
            many values nor bounded.
    """
    if hasattr(source, "model_json_schema"):
        source = source.model_json_schema()
    elif isinstance(source, str | os.PathLike):
        source = parse_json(read_text(source, "schema"), "schema")
    properties = source.get("properties") if isinstance(source, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        raise ValueError(
            "`schema` must be the JSON Schema of a record, with properties, its path, "
            "or a pydantic model."
        )
    found = {}
    for name, stated in properties.items():
        try:
            found[name] = _declared(name, stated, source)
        except ValueError:
            if not draft:
                raise
    return found


def _declared(name: str, stated: Any, document: Mapping) -> dict[str, Any]:
    stated = stated if isinstance(stated, Mapping) else {}
    listed = stated.get("anyOf")
    options = listed if isinstance(listed, list) else [stated]
    options = [_resolved(x, document) for x in options if isinstance(x, Mapping)]
    some = [x for x in options if x != _NULL]
    levels = [level for x in some for level in _levels(x)]
    if levels and all(map(_levels, some)):
        found: dict[str, Any] = {"levels": [x for x in levels if x is not None]}
        absent = None in levels or len(some) < len(options)
        if absent and _MISSING in levels:
            raise ValueError(
                f"`schema` must give {name!r:.80} no value {_MISSING!r} beside null, "
                "whose level has this name: declare the variable yourself."
            )
    elif len(some) == 1 and (bounds := _bounds(some[0])):
        return bounds
    else:
        raise ValueError(
            f'`schema` must give {name!r:.80} an "enum", or a minimum and a maximum: '
            "declare its levels or bounds yourself, from public facts."
        )
    return found | ({"missing": _MISSING} if absent else {})


def _resolved(stated: Any, document: Mapping) -> Mapping:
    """Follow a reference within the document, one step."""
    *_, last = str(stated.get("$ref", "")).rpartition("/")
    tables = (document.get(key) for key in ("$defs", "definitions"))
    found = [x[last] for x in tables if isinstance(x, Mapping) and last in x]
    return found[0] if found and isinstance(found[0], Mapping) else stated


def _levels(stated: Mapping) -> list[Any]:
    if isinstance(stated.get("enum"), list):
        return stated["enum"]
    if "const" in stated:
        return [stated["const"]]
    return [False, True] if stated.get("type") == "boolean" else []


def _bounds(stated: Mapping) -> dict[str, Any] | None:
    lower = stated.get("minimum", stated.get("exclusiveMinimum"))
    upper = stated.get("maximum", stated.get("exclusiveMaximum"))
    if lower is None or upper is None:
        return None
    return {"lower": lower, "upper": upper}


def of_type(name: str, declaration: Any) -> Any:
    """Return the declaration that a type contains: an `Enum` or a `CategoricalDtype`.

    Anything else is returned as it is. A dtype that was written by hand is public; the
    dtype of a column of records lists their values.

    Raises:
        ValueError: if `declaration` is a column of records, or a type without levels.
    """
    if isinstance(declaration, type) and issubclass(declaration, enum.Enum):
        return [member.value for member in declaration]
    if type(declaration).__name__ == "CategoricalDtype":
        declaration = declaration.categories
        return [] if declaration is None else declaration.tolist()
    if hasattr(declaration, "index_type") or hasattr(declaration, "to_numpy"):
        raise ValueError(
            f"`schema` must declare {name!r:.80} from public facts, got "
            f"{type(declaration).__name__}, which has no levels or has them from "
            "records: write the list."
        )
    return declaration
