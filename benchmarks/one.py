"""Run one benchmark in a process of its own: `python -m benchmarks.one MODULE`.

Each row is printed as it is found, as a line of JSON, `{"row": …}`; other lines are
what the benchmark has to say.
"""

import argparse
import dataclasses
import importlib
import json


def main() -> None:
    """Print all rows of one module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one")
    parser.add_argument("module", help="full name, such as benchmarks.bench_walsh")
    parser.add_argument("--full", action="store_true")
    chosen = parser.parse_args()
    for row in importlib.import_module(chosen.module).rows(full=chosen.full):
        found = {"row": dataclasses.asdict(row)}
        print(json.dumps(found, default=float), flush=True)  # NumPy's numbers, too


if __name__ == "__main__":
    main()
