"""`dpjax schema`: draft a schema from column names, types and public documents."""

__all__ = ["run"]

import argparse
import json
from typing import Any

from dpjax._documents import write_atomically
from dpjax.cli.outputs import refuse_outputs
from dpjax.cli.printing import print_json
from dpjax.data import sources
from dpjax.data.kinds import declared
from dpjax.data.levels import Variable
from dpjax.data.schema import Schema

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
    known = {}
    if options.json_schema:
        stated = Schema.from_json_schema(options.json_schema)
        known = {name: variable.to_json() for name, variable in stated.items()}
    for name, path in codes.items():
        known[name] = Variable.from_code_list(name, path).to_json()
    kinds: dict[str, str] = {}
    for part in sources.parts(options.data):
        kinds = {**part.kinds(), **kinds}
    for name in known:
        if name not in kinds:
            option = "codes" if name in codes else "json-schema"
            raise ValueError(f"`{option}` must be of columns, got {name!r:.80}.")
    ignored = {*kinds} - {*known} if "*" in options.ignore else {*options.ignore}
    drafts = {
        name: known.get(name, _DRAFTS[kind])
        for name, kind in kinds.items()
        if name not in ignored
    }
    write_atomically(options.out, json.dumps({"variables": drafts}, indent=2) + "\n")
    left = {
        name: _remark(kinds[name])
        for name, draft in drafts.items()
        if not _is_complete(name, draft)
    }
    if options.json:
        print_json({"out": options.out, "variables": [*drafts], "left": left})
        return
    print(f"{options.out}: {len(drafts)} variables")
    for name, remark in left.items():
        print(f"left to declare: {name} ({remark})")


def _pair(spec: str) -> tuple[str, str]:
    name, _, path = spec.partition("=")
    if not name or not path:
        raise ValueError(f"`codes` must be COLUMN=FILE, got {spec}.")
    return name, path


def _is_complete(name: str, draft: dict[str, Any]) -> bool:
    try:
        declared(name, draft)
    except ValueError:
        return False
    return True


def _remark(kind: str) -> str:
    if kind == "number":
        return 'lower and upper, with "edges" or "bins" for a network; or levels'
    if kind == "time":
        return "lower and upper, as days; and the unit"
    return "levels, or lower and upper of a number in text"
