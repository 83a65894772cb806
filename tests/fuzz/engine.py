"""Many inputs, each within limits of time and memory, and what became of them."""

__all__ = ["SECONDS", "Fault", "Tally", "attempt", "fuzz", "limits"]

import contextlib
import pathlib
import random
import re
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxtyping import TypeCheckError

from .corpus import CANARIES, CASES, seeds
from .formats import FORMATS
from .mutations import mutated_bytes

SECONDS = 5.0
_PATIENCE = 12  # times as long may pass where others use the processors
_MEMORY = 1 << 32  # of addresses, more than when fuzzing starts: threads take many
_RESIDENT = 1 << 19  # KiB that one input may add to the most the process ever held
_STYLE = re.compile(r"`[^`]+`( and `[^`]+`)*( of .+?)? must |a file must be writable")
_KEPT = 30  # inputs with faults, of a format
_LONGEST = 1000  # characters of a message


class Fault(AssertionError):
    """A reader did what it must not: how an input is found to be a crash."""


class Hang(BaseException):
    """The alarm, which no reader may catch."""


@dataclass
class Tally:
    """What became of the inputs of a format."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    crashes: int = 0
    hangs: int = 0
    slowest: float = 0.0
    faults: dict[str, str] = field(default_factory=dict)  # the first input of each

    def add(self, other: "Tally") -> None:
        """Count what became of others too."""
        for name in ("inputs", "accepted", "refused", "crashes", "hangs"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest = max(self.slowest, other.slowest)
        self.faults = other.faults | self.faults


@contextlib.contextmanager
def limits(memory: int = _MEMORY) -> Iterator[None]:
    """Within, so much more address space than now, and alarms are a `Hang`."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    before = {x: signal.signal(x, _ring) for x in (signal.SIGALRM, signal.SIGPROF)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _ring(*_: object) -> None:
    raise Hang


def attempt(format: str, path: pathlib.Path) -> bool | None:
    """Read a file as the format; whether it was accepted.

    None, if the tests' type checker stopped it, which no user has.

    Raises:
        Fault: if it is refused otherwise than by one printable line in the library's
            style that quotes no record, or anything is left behind.
        Hang: if it takes longer than `SECONDS` of the processors.
    """
    before, held = sorted(path.parent.iterdir()), _most_held()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of work
    signal.setitimer(signal.ITIMER_REAL, _PATIENCE * SECONDS)  # of waiting, too
    try:
        FORMATS[format].read(path)
        accepted = True
    except ValueError as error:
        accepted = False
        message = str(error).replace(str(path), path.suffix)
        refuse_message(message, type(error), FORMATS[format].private)
    except TypeCheckError:
        accepted = None
    except Exception as error:
        raise Fault(f"{type(error).__name__} at {_place(error)}") from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    if _most_held() - held > _RESIDENT:
        raise Fault("takes more memory than any file of its size needs")
    lock = f"{path.name}.lock" if format == "checkpoint" else ""
    left = [x for x in path.parent.iterdir() if x not in before and x.name != lock]
    if left:
        raise Fault(f"leaves {left[0].suffix} behind")
    return accepted


def _most_held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def refuse_message(message: str, kind: type, private: bool) -> None:
    """Raise `Fault` unless a message is one that the library may show."""
    name = f"{kind.__name__}: {message[:60]!a}"
    if not message.isprintable() or len(message) > _LONGEST:
        raise Fault(f"not one short printable line: {name}")
    if not _STYLE.match(message):
        raise Fault(f"not in the style: {name}")
    if private and any(canary in message for canary in CANARIES):
        raise Fault(f"shows a record: {name}")


def _place(error: BaseException) -> str:
    """The last line of the library's own that an error went through."""
    place, trace = "", error.__traceback__
    while trace:
        file = trace.tb_frame.f_code.co_filename
        if "dpjax" in file or "fuzz" in file:
            place = f"{pathlib.Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def fuzz(
    format: str, inputs: int, seed: int, folder: pathlib.Path, keep: pathlib.Path
) -> Tally:
    """Try many mutations of the format's seeds, one file at a time in `folder`.

    Before these come the files on which a reader once failed, as they are.

    The first input of each kind of fault is kept in the folder `keep`.
    """
    rng, tally = random.Random(f"{format} {seed}"), Tally()
    corpus = list(seeds(format).items())
    cases = [path for path in sorted(CASES.glob(f"{format}/*")) if path.is_file()]
    with limits():
        for _ in range(inputs):
            name, data = rng.choice(corpus)
            mutated = cases[-1].read_bytes() if cases else _mutated(rng, format, data)
            path = folder / (cases.pop().name if cases else name)
            path.write_bytes(mutated)
            _count(tally, format, path, keep)
            path.unlink(missing_ok=True)
    return tally


def _mutated(rng: random.Random, format: str, data: bytes) -> bytes:
    try:
        return FORMATS[format].mutate(rng, data)
    except RecursionError:  # nested too deeply for the mutations themselves
        return mutated_bytes(rng, data)


def _count(tally: Tally, format: str, path: pathlib.Path, keep: pathlib.Path) -> None:
    tally.inputs += 1
    start, data = time.perf_counter(), path.read_bytes()
    try:
        if attempt(format, path):
            tally.accepted += 1
        else:
            tally.refused += 1  # by the type checker, perhaps
        fault = None
    except Hang:
        tally.hangs += 1
        fault = "hang"
    except Fault as error:
        tally.crashes += 1
        fault = str(error)
    tally.slowest = max(tally.slowest, time.perf_counter() - start)
    fault = fault and re.sub(r"\d+", "0", fault)
    if fault is not None and fault not in tally.faults and len(tally.faults) < _KEPT:
        kept = keep / f"{format}-{len(tally.faults)}-{path.name}"
        keep.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(data)
        tally.faults[fault] = kept.name
