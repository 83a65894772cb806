"""`dpjax schema`: draft a schema from column names, types and public documents."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

from dpjax._documents import write_atomically
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.data import sources
from dpjax.data.kinds import declared
from dpjax.data.levels import Variable
from dpjax.data.public_lists import of_json_schema

_DRAFTS: dict[str, dict[str, Any]] = {
    "yes or no": {"levels": [False, True]},
    "number": {"lower": None, "upper": None},
    "time": {"lower": None, "upper": None, "unit": "month"},
    "text": {"levels": []},
}


def run(options: argparse.Namespace) -> None:
    """Run `dpjax schema` with the given options."""
    codes = dict(map(_pair, options.codes))
    if len(codes) < len(options.codes):
        raise ValueError("`codes` must give every column once.")
    inputs = [options.data, options.json_schema, *codes.values()]
    refuse_outputs([("out", options.out)], inputs, new=True)
    path = options.json_schema
    stated = of_json_schema(path, draft=True) if path else {}
    listed = {x: Variable.from_code_list(x, path) for x, path in codes.items()}
    known = stated | {name: variable.to_json() for name, variable in listed.items()}
    kinds: dict[str, str] = {}
    for part in sources.parts(options.data):
        kinds = {**part.kinds(), **kinds}
    _refuse_other_separator([*kinds])
    for name in codes:
        if name not in kinds:
            raise ValueError(f"`codes` must be of columns, got {name!r:.80}.")
    ignored = {*options.ignore}
    if "*" in ignored:
        ignored |= {*kinds} - {*known}
    drafts = {
        name: known.get(name, _DRAFTS[kind])
        for name, kind in kinds.items()
        if name not in ignored
    }
    write_atomically(options.out, json.dumps({"variables": drafts}, indent=2) + "\n")
    left = {
        name: fault if name in known else _remark(kinds[name])
        for name, draft in drafts.items()
        if (fault := _fault(name, draft))
    }
    absent = [name for name in stated if name not in kinds]
    if options.json:
        parts = {"variables": [*drafts], "left": left, "absent": absent}
        print_json({"out": options.out, **parts})
        return
    print(f"{options.out}: {len(drafts)} variables")
    for name in absent:
        print(f"not a column, left out: {name}")
    for name, remark in left.items():
        print(f"left to declare: {name} ({remark})")


def _refuse_other_separator(names: Sequence[str]) -> None:
    """Raise `ValueError` if a table has one column whose name looks like a header."""
    for sign in (";", "\t", "|"):
        if len(names) == 1 and sign in names[0]:
            raise ValueError(
                "`data` must have cells that are separated by commas, but its header "
                f"has {sign!r}: see “Tables from other programs” in the documentation."
            )


def _pair(spec: str) -> tuple[str, str]:
    name, _, path = spec.partition("=")
    if not name or not path:
        raise ValueError(f"`codes` must be COLUMN=FILE, got {spec}.")
    return name, path


def _fault(name: str, draft: dict[str, Any]) -> str:
    """Return what is wrong with a declaration; empty text if nothing is."""
    try:
        declared(name, draft)
    except ValueError as error:
        return str(error)
    return ""


def _remark(kind: str) -> str:
    if kind == "number":
        return 'lower and upper, with "edges" or "bins" for a network; or levels'
    if kind == "time":
        return "lower and upper, as days; and the unit"
    return "levels, or lower and upper of a number in text"
