"""`python -m tests.fuzz --seconds 60`: atheris looks for files that readers fail on.

With `--neighbours N`, tables that differ in a record; with `--hostile`, growing files.
"""

import argparse
import functools
import os
import pathlib
import re
import subprocess
import sys
from multiprocessing.pool import ThreadPool
from typing import NamedTuple

from . import hostile, neighbours
from .corpus import CASES, HERE, SEEDS
from .formats import FORMATS

_RECORDED = {"release": "format_*", "ledger": "formats"}  # more valid files
_PATIENCE = 120  # seconds for imports and for the last input
_OPTIONS = {
    "dict": HERE / "dictionary.txt",
    "max_len": 1 << 14,
    "print_final_stats": 1,
    "rss_limit_mb": 4096,
    "timeout": 60,  # of the clock, where others use the processors
}


class Found(NamedTuple):
    """What atheris says at its end: numbers as text, and the first fault."""

    inputs: str
    branches: str
    corpus: str
    fault: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--target", choices=FORMATS, action="append")
    parser.add_argument("--keep", default="fuzz-kept", help="folder of what is found")
    parser.add_argument("--neighbours", type=int, metavar="N", help="tables to compare")
    parser.add_argument("--seed", type=int, default=0, help="of the neighbours")
    parser.add_argument("--hostile", nargs="*", metavar="WORD", help="files that grow")
    options = parser.parse_args()
    processes = len(os.sched_getaffinity(0))
    if options.hostile is not None:
        return hostile.main(options.hostile)
    if options.neighbours is not None:
        return neighbours.main(options.neighbours, options.seed, processes)
    targets, keep = options.target or [*FORMATS], pathlib.Path(options.keep)
    print(f"{'target':<12}" + "".join(f"{x:>10}" for x in Found._fields[:3]))
    faults = 0
    with ThreadPool(processes) as pool:
        work = functools.partial(fuzzed, seconds=options.seconds, keep=keep)
        for name, found in zip(targets, pool.imap(work, targets), strict=True):
            print(f"{name:<12}" + "".join(f"{x:>10}" for x in found[:3]), flush=True)
            faults += bool(found.fault)
            print(f"    {found.fault}\n" if found.fault else "", end="", flush=True)
    return int(faults > 0)


def fuzzed(target: str, seconds: int, keep: pathlib.Path) -> Found:
    """Fuzz a target; inputs that take new branches stay in a folder of `keep`.

    Valid files, and those on which a reader once failed, come first.
    """
    recorded = HERE.parent.joinpath("recorded").glob(_RECORDED.get(target, "-"))
    folders = [keep / target, SEEDS / target, CASES / target, *recorded]
    folders[0].mkdir(parents=True, exist_ok=True)
    options = {
        **_OPTIONS, "artifact_prefix": f"{keep}/{target}-", "max_total_time": seconds
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.fuzz.guided", target]
    command += [f"-{name}={value}" for name, value in options.items()]
    command += [str(x) for x in folders if x.exists()]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace",
            timeout=seconds + _PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Found("", "", "", "is not at an end after two minutes more")
    said = done.stdout + done.stderr
    fault = "" if done.returncode == 0 else _fault(said)
    stated = (r"number_of_executed_units: +(\d+)", r"cov: (\d+)", r"corp: (\d+)")
    return Found(*(_last(x, said) for x in stated), fault)


def _fault(said: str) -> str:
    """The exception, and the file with the input."""
    kind = re.search(r"^[\w.]*(Fault|Hang|Error)\b.*|^SUMMARY.*", said, re.MULTILINE)
    kept = _last("Test unit written to (.*)$", said)
    return f"{kind[0] if kind else said[-300:]} {kept}"


def _last(pattern: str, said: str) -> str:
    return (re.findall(pattern, said, re.MULTILINE) or [""])[-1]


if __name__ == "__main__":
    sys.exit(main())
