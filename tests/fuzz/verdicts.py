"""What a reader may do with a file: accept it, or refuse it in one line, in time."""

__all__ = ["SECONDS", "Fault", "Hang", "attempt", "limits", "refuse_message"]

import contextlib
import pathlib
import re
import resource
import signal
from collections.abc import Callable, Iterator

from jaxtyping import TypeCheckError

from .corpus import CANARIES
from .formats import FORMATS

SECONDS = 5.0
_MEMORY = 1 << 32  # of addresses, more than when reading starts: threads take many
_RESIDENT = 1 << 19  # KiB that one input may add to the most the process ever held
_STYLE = re.compile(r"`[^`]+`( and `[^`]+`)*( of .+?)? must |a file must be writable")
_LONGEST = 1000  # characters of a message


class Fault(AssertionError):
    """A reader did what it must not: how an input is found to be a crash."""


class Hang(BaseException):
    """The alarm, which no reader may catch."""


@contextlib.contextmanager
def limits(memory: int = _MEMORY) -> Iterator[None]:
    """Within, so much more address space than now, and the alarm is a `Hang`."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    before = signal.signal(signal.SIGPROF, _ring)
    try:
        yield
    finally:
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _ring(*_: object) -> None:
    raise Hang


def attempt(format: str, path: pathlib.Path) -> bool | None:
    """Read a file as the format; whether a reader of it accepted the file.

    None, if the tests' type checker stopped one, which no user has.

    Raises:
        Fault: if it is refused otherwise than by one printable line in the library's
            style that quotes no record, or anything is left behind.
        Hang: if it takes longer than `SECONDS` of the processors.
    """
    found = [_attempt(format, read, path) for read in FORMATS[format].readers]
    return None if None in found else any(found)


def _attempt(
    format: str, read: Callable[[pathlib.Path], object], path: pathlib.Path
) -> bool | None:
    before, held = sorted(path.parent.iterdir()), _most_held()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of work
    try:
        read(path)
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
