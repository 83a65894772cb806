"""Fuzzing in processes of their own: one that dies is only another crash."""

__all__ = ["fuzz_in_processes"]

import multiprocessing
import pathlib
import tempfile

from .engine import SECONDS, Tally, fuzz

_PART = 10_000  # inputs of a process


def fuzz_in_processes(format: str, inputs: int, seed: int, keep: pathlib.Path) -> Tally:
    """What `fuzz` finds, every few inputs in a new process."""
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
