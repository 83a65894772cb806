"""Find the benchmarks of a package, and run each in a process of its own.

A fresh process has compiled nothing, gives its memory back, and when it crashes the
others still run.
"""

import ast
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import IO, Any

from benchmarks.report import Row


@dataclasses.dataclass(frozen=True)
class Result:
    """What one benchmark found.

    Args:
        module: its name, such as "bench_walsh".
        rows: as they came.
        notes: other lines that it printed, such as which peer is not installed.
        seconds: of the whole process.
        failed: why it stopped, in one line; "" where it did not.
    """

    module: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    failed: str = ""

    @property
    def missed(self) -> int:
        """Number of missed targets; a benchmark that stopped early counts as one."""
        return sum(row.missed for row in self.rows) + bool(self.failed)


def modules(package: str) -> tuple[list[str], list[str]]:
    """Names of the benchmarks that have `rows`, and of those that are run by hand."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = pathlib.Path(next(iter(spec.submodule_search_locations)))
    paths = sorted(folder.glob("bench_*.py"))
    having = [path.stem for path in paths if _has_rows(path)]
    return having, [path.stem for path in paths if path.stem not in having]


def run(
    package: str,
    module: str,
    *,
    full: bool,
    limit: float | None = None,
    show: Callable[[Row | str], None] = lambda found: None,
) -> Result:
    """Run one benchmark, and show each row or note as it comes.

    Args:
        package: that the module is in.
        module: its name in the package.
        full: whether at the large sizes.
        limit: seconds after which the process is ended; None where there is none.
        show: called with each row and note.
    """
    command = [sys.executable, "-m", "benchmarks.one", f"{package}.{module}"]
    start, rows, notes = time.perf_counter(), [], []
    with tempfile.TemporaryFile("w+") as errors:
        with _started([*command, "--full"] if full else command, errors) as process:
            late = threading.Event()
            with _alarm(limit, process, late):
                for found in _read(process):
                    (rows if isinstance(found, Row) else notes).append(found)
                    show(found)
                process.wait()
        failed = f"longer than {limit:g} s" if late.is_set() else _why(process, errors)
    seconds = time.perf_counter() - start
    return Result(module, tuple(rows), tuple(notes), seconds, failed)


def answer(
    arguments: list[str], limit: float, environment: Mapping[str, str]
) -> dict[str, Any]:
    """What `python -m` with these arguments prints as its last line, an object of JSON.

    It is `{"failed": why}` where it prints none within `limit` seconds.
    """
    with tempfile.TemporaryFile("w+") as errors:
        try:
            done = subprocess.run(
                [sys.executable, "-m", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                check=False,
                timeout=limit,
                env={**os.environ, **environment},
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"longer than {limit:g} s"}
        lines = done.stdout.splitlines()
        if done.returncode or not lines:
            return {"failed": _why(done, errors) or "nothing printed"}
    return json.loads(lines[-1])


def answers(
    arguments: list[str],
    names: list[str],
    limit: float,
    end: float,
    environment: Mapping[str, str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What `python -m` with these arguments prints of each name: a line of JSON.

    One process answers for all names. If it ends early, the name in hand is
    `{"failed": why}`, and another process goes on with the others.

    Args:
        arguments: those before `--limit` and `--only`.
        names: that are asked for.
        limit: seconds of each.
        end: the monotonic time at which the process is ended, and nothing more given.
        environment: variables that are added.
    """
    names = list(names)
    while names and (left := end - time.monotonic()) > 0:
        more = ["--limit", str(limit), "--only", *names]
        command = [sys.executable, "-m", *arguments, *more]
        with tempfile.TemporaryFile("w+") as errors:
            late = threading.Event()
            with (
                _started(command, errors, environment) as process,
                _alarm(left, process, late),
            ):
                assert process.stdout is not None
                for line in process.stdout:
                    yield names.pop(0), json.loads(line)
                process.wait()
            if late.is_set():
                return
            if names:
                yield names.pop(0), {"failed": _why(process, errors) or "no answer"}


def _has_rows(path: pathlib.Path) -> bool:
    """Read, not imported: a benchmark that cannot be imported is one that fails."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(x, ast.FunctionDef) and x.name == "rows" for x in body)


@contextlib.contextmanager
def _started(
    command: list[str], errors: IO[str], environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own, which does not outlive the block."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            _end(process)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    """End the process and those that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _alarm(
    limit: float | None, process: subprocess.Popen[str], late: threading.Event
) -> Iterator[None]:
    """End the process after the limit, and say so."""
    if limit is None:
        yield
        return

    def ring() -> None:
        late.set()
        _end(process)

    timer = threading.Timer(limit, ring)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _read(process: subprocess.Popen[str]) -> Iterator[Row | str]:
    """Rows, and lines that are none."""
    assert process.stdout is not None
    for line in process.stdout:
        text = line.strip()
        if text.startswith('{"row":'):
            yield Row(**json.loads(text)["row"])
        elif text:
            yield text


def _why(
    process: subprocess.Popen[str] | subprocess.CompletedProcess[str],
    errors: IO[str],
) -> str:
    """The last line of what went wrong; "" where nothing did."""
    if process.returncode == 0:
        return ""
    errors.seek(0)
    lines = [line.strip() for line in errors if line.strip()]
    if process.returncode < 0:
        return f"ended by {signal.Signals(-process.returncode).name}"
    return lines[-1] if lines else f"exit status {process.returncode}"
