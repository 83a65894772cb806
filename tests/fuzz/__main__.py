"""`python -m tests.fuzz --inputs 100000`: the nightly size, with a table at the end.

With `--neighbours`, tables that differ in one record in place of mutated files.
"""

import argparse
import os
import pathlib
import sys

from . import hostile, neighbours
from .engine import Tally
from .formats import FORMATS
from .processes import fuzz_in_processes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument(
        "--inputs", type=int, default=100_000, help="of each format, or neighbours"
    )
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="fuzz-faults", help="folder for bad inputs")
    parser.add_argument("--neighbours", action="store_true", help="tables and readers")
    parser.add_argument("--hostile", nargs="*", metavar="WORD", help="files that grow")
    options = parser.parse_args()
    if options.hostile is not None:
        return hostile.main(options.hostile)
    if options.neighbours:
        processes = len(os.sched_getaffinity(0))
        return neighbours.main(options.inputs, options.seed, processes)
    print(_line("format", Tally.__dataclass_fields__))
    bad = False
    for format in options.format or FORMATS:
        keep = pathlib.Path(options.keep)
        tally = fuzz_in_processes(format, options.inputs, options.seed, keep)
        print(_line(format, vars(tally).values()), flush=True)
        for fault, name in tally.faults.items():
            print(f"    {name}: {fault}", flush=True)
        bad |= bool(tally.faults)
    return int(bad)


def _line(format: str, entries) -> str:
    shown = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in entries]
    return f"{format:<12}" + "".join(f"{x:>10}" for x in shown[:6])


if __name__ == "__main__":
    sys.exit(main())
