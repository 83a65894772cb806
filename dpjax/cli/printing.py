"""How commands print results for programs: a line of JSON, or CSV."""

__all__ = ["print_json", "print_rows"]

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence


def print_json(facts: Mapping[str, object]) -> None:
    """Print the result of a command as one line of JSON."""
    print(json.dumps(facts, allow_nan=False, default=_number), flush=True)


def print_rows(
    options: argparse.Namespace,
    method: str,
    columns: Sequence[str],
    rows: Iterable[Iterable[object]],
) -> None:
    """Print a table that a posterior answers with, as CSV or, with --json, as JSON.

    With CSV, the method of inference is written to the standard error.
    """
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


def _number(value: object) -> float | None:
    """Return an element of an array as CSV shows it, or None if it is not finite."""
    number = float(str(value))
    return number if math.isfinite(number) else None
