"""`dpjax check`: compare a table with a schema, for the curator."""

import argparse
from typing import Any

from dpjax._documents import printable
from dpjax.cli.options import saying
from dpjax.cli.printing import print_json
from dpjax.data.schema import Schema

_MOST = 20  # cells that are shown of a column


def run(options: argparse.Namespace) -> int:
    """Run `dpjax check` with the given options; return 1 if a cell does not fit."""
    schema = Schema.from_json(options.schema)
    with saying("check", "reading the records"):
        rejected = schema.check(options.data, ignore=options.ignore).values
    if options.json:
        texts = {name: [*map(_text, cells)] for name, cells in rejected.items()}
        print_json({"fits": not texts, "rejected": texts})
    elif rejected:
        print("NOT PRIVATE, for the curator alone: cells that the schema rejects.")
    else:
        print(f"{options.data}: every cell fits {options.schema}")
    for name, cells in () if options.json else rejected.items():
        listed = [printable(_text(cell) or "(no value)") for cell in cells[:_MOST]]
        more = len(cells) - _MOST
        listed += [f"and {more} more"] * (more > 0)
        print(f"{printable(name)}: {', '.join(listed)}")
    return 1 if rejected else 0


def _text(cell: Any) -> str:
    """A cell as text; empty if it has no value."""
    return "" if cell is None or cell != cell else str(cell)
