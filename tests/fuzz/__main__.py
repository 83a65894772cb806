"""`python -m tests.fuzz --inputs 100000`: the nightly size, with a table at the end."""

import argparse
import multiprocessing
import pathlib
import sys
import tempfile

from .engine import SECONDS, Tally, fuzz
from .formats import FORMATS

_PART = 10_000  # inputs of a process


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--inputs", type=int, default=100_000, help="of each format")
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="fuzz-faults", help="folder for bad inputs")
    options = parser.parse_args()
    print(_line("format", Tally.__dataclass_fields__))
    bad = False
    for format in options.format or FORMATS:
        tally = _in_processes(
            format, options.inputs, options.seed, pathlib.Path(options.keep)
        )
        print(_line(format, vars(tally).values()), flush=True)
        for fault, name in tally.faults.items():
            print(f"    {name}: {fault}")
        bad |= bool(tally.faults)
    return int(bad)


def _in_processes(format: str, inputs: int, seed: int, keep: pathlib.Path) -> Tally:
    """A process for every few inputs, so that one that dies is only another crash."""
    context, total = multiprocessing.get_context("spawn"), Tally()
    for part in range(-(-inputs // _PART)):
        number = min(_PART, inputs - part * _PART)
        found = context.SimpleQueue()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            process = context.Process(
                target=_fuzz, args=(found, format, number, seed + part, folder, keep)
            )
            process.start()
            process.join(number * SECONDS)
            process.kill()
            total.add(_found(found, format, folder, keep))
    return total


def _fuzz(found, *arguments) -> None:
    found.put(fuzz(*arguments))


def _found(found, format: str, folder: pathlib.Path, keep: pathlib.Path) -> Tally:
    """What the process found, or that it died, and of which file."""
    if not found.empty():
        return found.get()
    keep.mkdir(parents=True, exist_ok=True)
    files = [x for x in folder.iterdir() if x.suffix != ".lock"]
    for file in files:
        (keep / f"{format}-dead-{file.name}").write_bytes(file.read_bytes())
    return Tally(inputs=1, crashes=1, faults={"died": str([x.name for x in files])})


def _line(format: str, entries) -> str:
    shown = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in entries]
    return f"{format:<12}" + "".join(f"{x:>10}" for x in shown[:6])


if __name__ == "__main__":
    sys.exit(main())
