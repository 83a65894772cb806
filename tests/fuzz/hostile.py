"""Hostile files of growing size: `python -m tests.fuzz.hostile`.

Time must grow in proportion to the file, and memory must be a small multiple of it;
small files that ask for much take a second or two at most, accepted or refused.
"""

__all__ = ["main"]

import ctypes
import gc
import json
import math
import multiprocessing
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import dpjax as dp
from dpjax.statistics import NetworkCounts

from .builders import binary, cells
from .families import CONSTANTS, FAMILIES

GROWTH = (1 / 4, 1, 4)
STEEPEST = 1.1  # exponent of the time, in terms of the file
LEAST_SECONDS = 0.1  # that the largest file takes, for an exponent to be fitted
MOST_SECONDS = 2.0  # of a small file at a stated limit
MOST_MEMORY = 40  # bytes a byte of the file
SPARE_MEMORY = 1 << 28  # bytes, whatever the file
PATIENCE = 60.0  # seconds of a file
AGAIN = 3  # times at most
RUNS, ENOUGH_SECONDS = 5, 0.5  # of a file: the quickest counts


class Measured(NamedTuple):
    """Of one file: its bytes, the seconds and the bytes that reading it took."""

    size: int
    seconds: float
    memory: int
    accepted: bool


def _read_network(path: pathlib.Path) -> None:
    parents = json.loads(path.read_bytes())["parents"]
    names = {*parents, *(name for group in parents.values() for name in group)}
    _use(dp.BayesNet.from_json(path, binary(len(names))))


def _use(net: dp.BayesNet) -> None:
    statistic = NetworkCounts(net)
    statistic.sensitivity("replace-one")
    assert statistic.length <= net.layout.length


READERS: dict[str, Callable[[pathlib.Path], object]] = {
    "release": dp.load,
    "schema": dp.Schema.from_json,
    "network": _read_network,
    "bif": lambda path: _use(dp.BayesNet.from_bif(path)),
}


def main(words: Sequence[str] = ()) -> int:
    """Print a line a family of whose name all words are part; 1 if one is too slow."""
    print(f"{'family':<44}{'bytes':>11}{'seconds':>22}{'power':>7}{'memory':>8}  is")
    chosen = [x for x in (*FAMILIES, *CONSTANTS) if all(word in x for word in words)]
    reader = _Reader()
    bad = [name for name in chosen if not _line(name, reader)]
    reader.stop()
    print(f"{len(chosen) - len(bad)} of {len(chosen)} within limits", *bad, sep="\n  ")
    return int(bool(bad) or not chosen)


def _line(name: str, reader: "_Reader") -> bool:
    """Measure a family, print its line, and say whether it is within limits."""
    with tempfile.TemporaryDirectory() as folder:
        files = list(_written(name, pathlib.Path(folder)))
        found = reader.read_all(files)
        for _ in range(AGAIN):  # whoever else uses the processors is no fault of files
            if exponent(found) > STEEPEST:
                found = quickest(found, reader.read_all(files))
    seconds = " ".join(f"{x.seconds:.3f}" for x in found) or "hangs"
    power, memory = (
        exponent(found),
        max((x.memory / x.size for x in found[-1:]), default=0),
    )
    wanted = FAMILIES[name].accepted if name in FAMILIES else True
    limit = math.inf if name in FAMILIES else MOST_SECONDS
    expected = len(found) == len(files) and all(x.accepted == wanted for x in found)
    small = power <= STEEPEST and all(x.memory <= most_memory(x) for x in found)
    within = expected and small and all(x.seconds <= limit for x in found)
    size = found[-1].size if found else 0
    kind = "accepted" if found and found[-1].accepted else "refused"
    print(
        f"{name:<44}{size:>11}{seconds:>22}{power:>7.2f}{memory:>8.1f}  {kind}"
        + ("" if within else ", TOO MUCH" if expected else ", NOT AS EXPECTED"),
        flush=True,
    )
    return within


def exponent(found: Sequence[Measured]) -> float:
    """Of the seconds in terms of the bytes, by least squares; 0 for a constant."""
    if len(found) < 2 or found[-1].seconds < LEAST_SECONDS:
        return 0.0
    x = [math.log(one.size) for one in found]
    y = [math.log(max(one.seconds, 1e-4)) for one in found]
    x = [value - sum(x) / len(x) for value in x]
    return sum(a * b for a, b in zip(x, y, strict=True)) / sum(a * a for a in x)


def quickest(some: Sequence[Measured], others: Sequence[Measured]) -> list[Measured]:
    """Of two measurements of each file, the better one."""
    return [
        min(x, y, key=lambda z: z.seconds) for x, y in zip(some, others, strict=False)
    ]


def most_memory(one: Measured) -> float:
    """Bytes that reading the file may take."""
    return SPARE_MEMORY + MOST_MEMORY * one.size


def _written(name: str, folder: pathlib.Path) -> Iterator[tuple]:
    """The reader, the path of each file, and how often it is to be read at most."""
    if name in CONSTANTS:
        path = folder / "file.json"
        path.write_bytes(CONSTANTS[name]())
        yield "release", path, 1  # the second time, caches would help
        return
    family = FAMILIES[name]
    for factor in GROWTH:
        path = folder / f"{factor}"
        path.write_bytes(family.make(int(family.size * factor)))
        yield family.format, path, RUNS


class _Reader:
    """A process that reads files, and another one after each that hangs."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,))
        self.process.start()
        assert self.pipe.recv() == "ready"

    def stop(self) -> None:
        self.process.kill()
        self.process.join()

    def read_all(self, files: Sequence[tuple]) -> list[Measured]:
        """What reading each takes, without those that hang."""
        return [x for x in (self.read(*file) for file in files) if x is not None]

    def read(self, *file) -> Measured | None:
        """What reading a file takes; None if it hangs, or the process dies."""
        self.pipe.send(file)
        try:
            if self.pipe.poll(PATIENCE):
                return self.pipe.recv()
        except EOFError:
            pass
        self.stop()
        self.start()
        return None


def _serve(pipe) -> None:
    with tempfile.TemporaryDirectory() as folder:  # programs, imports and caches
        first = pathlib.Path(folder, "first")
        first.write_bytes(cells(8, 2))
        dp.load(first)
    gc.disable()  # its share is in proportion to the file, too, but comes in steps
    pipe.send("ready")
    while True:
        pipe.send(_best(*pipe.recv()))
        gc.collect()


def _best(format: str, path: pathlib.Path, runs: int) -> Measured:
    """The quickest of some runs, and the memory of the first."""
    best, spent, memory, accepted = math.inf, 0.0, 0, True
    for run in range(runs):
        held = _forget_peak()
        start = time.process_time()
        try:
            READERS[format](path)
        except ValueError:
            accepted = False
        seconds = time.process_time() - start
        memory = memory if run else _status("VmHWM") - held
        best, spent = min(best, seconds), spent + seconds
        if spent > ENOUGH_SECONDS:
            break
    return Measured(path.stat().st_size, best, memory, accepted)


def _forget_peak() -> int:
    """Start to look for the most memory held; what is held now."""
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is held no more
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) << 10 for x in lines if x.startswith(f"{name}:"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
