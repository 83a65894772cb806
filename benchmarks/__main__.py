"""Run the benchmarks: `python -m benchmarks --help`."""

import argparse
import datetime
import os
import pathlib
import sys
import time
from collections.abc import Sequence

from benchmarks import machine
from benchmarks.curves import draw_curves
from benchmarks.record import Record, load, markdown, update_readme
from benchmarks.report import Row, shown
from benchmarks.runner import Result, modules, run

LIMIT = 600.0  # seconds: a benchmark that takes longer at its default sizes hangs
DIFFPRIVLIB = "DPJAX_DIFFPRIVLIB_PYTHON"


def main(arguments: Sequence[str] | None = None, package: str = "benchmarks") -> int:
    """Run, print and write; 0, 1 where a benchmark failed, 2 for arguments."""
    having, by_hand = modules(package)
    parser = _parser(having, by_hand)
    chosen = parser.parse_args(arguments)
    try:
        record = load(chosen.read) if chosen.read else _run(package, having, chosen)
        if chosen.markdown:
            _write(chosen.markdown, "\n".join(markdown(record)) + "\n")
        if chosen.update_readme:
            update_readme(record)
        if chosen.figure:
            draw_curves(record, chosen.figure)
    except (ImportError, OSError, ValueError) as error:
        parser.error(str(error))
    print(f"missed: {record.missed}")
    return int(any(result.failed for result in record.results))


def _write(path: pathlib.Path, table: str) -> None:
    try:
        path.write_text(table, encoding="utf-8")
    except OSError as error:
        raise ValueError(
            f"`--markdown` must be writable, got {path}: {error.strerror}."
        ) from error


def _parser(having: list[str], by_hand: list[str]) -> argparse.ArgumentParser:
    """Its help names all benchmarks."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Run the benchmarks, each in a process of its own, print their "
        "ratios beside their targets, and write a record in JSON.",
        epilog=f"Benchmarks: {_names(having)}. By hand, since they need data: "
        f"{_names(by_hand)}.",
    )
    path = pathlib.Path
    parser.add_argument("--full", action="store_true", help="the large sizes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these benchmarks")
    parser.add_argument(
        "--out",
        type=path,
        default=path("benchmarks.json"),
        help="where the record goes (default: benchmarks.json in the current folder)",
    )
    parser.add_argument("--markdown", type=path, metavar="FILE", help="write the table")
    parser.add_argument(
        "--update-readme",
        action="store_true",
        help="put the table into benchmarks/README.md, between its marks",
    )
    parser.add_argument(
        "--figure",
        type=path,
        metavar="FILE",
        help="draw how time grows, of a run with scaling (PNG or SVG, by matplotlib)",
    )
    parser.add_argument(
        "--read", type=path, metavar="FILE", help="take this record; run nothing"
    )
    parser.add_argument(
        "--diffprivlib-python",
        metavar="PATH",
        help="a Python that imports diffprivlib (default: the environment variable "
        f"{DIFFPRIVLIB})",
    )
    return parser


def _names(names: list[str]) -> str:
    return ", ".join(name.removeprefix("bench_") for name in names)


def _asked(having: list[str], only: list[str] | None) -> list[str]:
    """Names of modules, in their own order."""
    if only is None:
        return having
    asked = {f"bench_{name.removeprefix('bench_')}" for name in only}
    unknown = _names(sorted(asked - set(having)))
    if unknown:
        known = _names(having)
        raise ValueError(f"`--only` must name benchmarks of {known}, got {unknown}.")
    return [name for name in having if name in asked]


def _run(package: str, having: list[str], chosen: argparse.Namespace) -> Record:
    """Run those asked for, print as they go, and write the record."""
    asked = _asked(having, chosen.only)
    try:  # before the work
        chosen.out.touch()
    except OSError as error:
        raise ValueError(f"`--out` must be writable, got {chosen.out}.") from error
    if chosen.diffprivlib_python:
        os.environ[DIFFPRIVLIB] = chosen.diffprivlib_python
    start, about = time.perf_counter(), _about(chosen.full)
    record = Record({**about, "wall_seconds": 0}, ())
    for module in asked:
        result = _one(package, module, chosen.full)
        seconds = round(time.perf_counter() - start)
        about = {**record.about, "wall_seconds": seconds}
        record = Record(about, (*record.results, result))
        record.save(chosen.out)  # as it goes: what has been measured stays
    print(f"{record.about['wall_seconds']} s; record: {chosen.out.resolve()}")
    return record


def _one(package: str, module: str, full: bool) -> Result:
    """Run one and print its rows."""
    name = module.removeprefix("bench_")

    def show(found: Row | str) -> None:
        lines = shown([found]) if isinstance(found, Row) else [found]
        print(f"{name:<12} {next(iter(lines))}", flush=True)

    limit = None if full else LIMIT
    result = run(package, module, full=full, limit=limit, show=show)
    if result.failed:
        show(f"FAILED: {result.failed}")
    return result


def _about(full: bool) -> dict[str, object]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "sizes": "full" if full else "default",
        "machine": machine.machine(),
        "device": machine.device(),
        "versions": machine.versions(),
        "commit": machine.commit(),
    }


if __name__ == "__main__":
    sys.exit(main())
