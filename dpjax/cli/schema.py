"""`dpjax schema`: draft a schema from column names, types and public documents."""

__all__ = ["add"]

import argparse
import json
import pathlib
from typing import Any

from dpjax._documents import write_atomically
from dpjax.cli.options import DATA_HELP, refuse_unwritable_file
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


def add(commands) -> None:
    """Declare `dpjax schema` and its options among the subparsers `commands`."""
    command = commands.add_parser(
        "schema",
        help="draft a schema from the names and types of columns",
        description="Write a first draft of a schema, and print what is left to "
        "declare. It reads the header and the types of the columns, and no record: "
        "levels and bounds must come from public facts.",
    )
    command.set_defaults(run=_run)
    command.add_argument("data", metavar="DATA", help=DATA_HELP)
    command.add_argument("--out", required=True, help="schema file to write")
    command.many(
        "--codes",
        "COLUMN=FILE",
        "code list of a column, a CSV file (code, or code and level) or a JSON file",
    )
    command.add_argument("--json-schema", help="JSON Schema of a record")
    command.common("--ignore")


def _run(options: argparse.Namespace) -> None:
    refuse_unwritable_file(options.out)
    if pathlib.Path(options.out).resolve() == pathlib.Path(options.data).resolve():
        raise ValueError(f"`out` must not be an input, got {options.out}.")
    known = dict(map(_code_list, options.codes))
    if options.json_schema:
        stated = Schema.from_json_schema(options.json_schema)
        known = {**{name: x.to_json() for name, x in stated.items()}, **known}
    kinds: dict[str, str] = {}
    for part in sources.parts(options.data):
        kinds = {**part.kinds(), **kinds}
    absent = [name for name in known if name not in kinds]
    if absent:
        raise ValueError(f"`codes` must name columns, got {absent[0]!r:.80}.")
    drafts = {
        name: known.get(name, _DRAFTS[kind])
        for name, kind in kinds.items()
        if name not in options.ignore
    }
    write_atomically(options.out, json.dumps({"variables": drafts}, indent=2) + "\n")
    print(f"{options.out}: {len(drafts)} variables")
    for name, draft in drafts.items():
        if not _is_complete(name, draft):
            print(f"left to declare: {name} ({_remark(kinds[name])})")


def _code_list(spec: str) -> tuple[str, dict[str, object]]:
    name, _, path = spec.partition("=")
    if not name or not path:
        raise ValueError(f"`codes` must be COLUMN=FILE, got {spec}.")
    return name, Variable.from_code_list(name, path).to_json()


def _is_complete(name: str, draft: dict[str, Any]) -> bool:
    try:
        declared(name, draft)
    except ValueError:
        return False
    return True


def _remark(kind: str) -> str:
    if kind == "number":
        return 'lower and upper, with "edges" or "bins" for a network; or levels'
    return "lower and upper, as days; and the unit" if kind == "time" else "levels"
