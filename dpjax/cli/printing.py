"""How commands print results for programs: a line of JSON, or CSV."""

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dpjax.data import sources
from dpjax.data.matching import is_missing


def print_json(facts: Mapping[str, object]) -> None:
    """Print the result of a command as one line of JSON."""
    print(json.dumps(facts, allow_nan=False, default=_number), flush=True)


def print_rows(
    options: argparse.Namespace,
    method: str,
    columns: Sequence[str],
    rows: Iterable[Iterable[object]],
    kept: Mapping[str, Sequence[object]] = MappingProxyType({}),
) -> None:
    """Print a table that a posterior answers with, as CSV or, with --json, as JSON.

    The columns `kept` of the records come first. With CSV, the method of inference is
    written to the standard error.
    """
    if kept:
        columns = [*kept, *columns]
        rows = ([*x, *y] for *x, y in zip(*kept.values(), rows, strict=True))
    if options.json:
        table = [
            [_number(x) if isinstance(x, float) else x for x in row] for row in rows
        ]
        print_json({"method": method, "columns": [*columns], "rows": table})
        return
    print(f"dpjax: posterior by method {method}", file=sys.stderr)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)  # each number as short as its precision allows
    sys.stdout.flush()


def kept_of(options: argparse.Namespace) -> dict[str, list[object]]:
    """Read the columns of the records that --keep names, as text, numbers or None."""
    kept: dict[str, list[object]] = {name: [] for name in options.keep}
    for part in sources.parts(options.data) if kept else ():
        for name in kept:
            if name not in part.names():
                raise ValueError(
                    f"`keep` must name columns of the records, {name!r:.80} "
                    "is none of them."
                )
        for block in part.read([*kept]):
            for name, cells in kept.items():
                values, places = sources.read_column(block, name)
                shown = [_shown(x) for x in values]
                cells.extend(shown[i] for i in places.tolist())
    return kept


def _shown(cell: object) -> object:
    """Return a cell as CSV and JSON show it, None if it is missing."""
    if is_missing(cell):
        return None
    plain = cell.item() if isinstance(cell, np.generic) else cell
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def _number(value: object) -> float | None:
    """Return an element of an array as CSV shows it, or None if it is not finite."""
    number = float(str(value))
    return number if math.isfinite(number) else None
