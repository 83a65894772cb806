"""The first commands on a machine with a GPU or TPU, each of at most ten minutes.

    python -m benchmarks.accelerator tests
    python -m benchmarks.accelerator programs --out accelerator.jsonl
    python -m benchmarks.accelerator table --out accelerator.jsonl

`tests` runs the tests that are marked `device`. `programs` compares and times the
programs of `benchmarks.programs`. It first compiles them, several beside one another,
and compares their results at a small size with the CPU's: exact results must have equal
bits. Then it times one after another at its size, beside a read of as many bytes at the
bandwidth that the device's maker states, or a copy of them, while nothing else runs.
The same command again goes on with the programs that are not in its file, and `table`
puts that file into `benchmarks/README.md`. `--small` rehearses it on a CPU.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from benchmarks import compiled, machine
from benchmarks.compiled import RECORD
from benchmarks.program import Drawn, Program
from benchmarks.programs import NAMED, named
from benchmarks.record import put_between_marks
from benchmarks.report import figure
from benchmarks.runner import answer, answers
from benchmarks.targets import TARGETS
from benchmarks.timing import QUEUED, first_call, medians, queued

LIMIT = 590.0  # seconds of a command
ROOT = pathlib.Path(__file__).parents[1]
TESTS = ("-m", "pytest", "-q", "-m", "device and not thorough")
OPTIONS = (
    *("-n", "auto", "--maxprocesses", "8", "-o", "addopts=--strict-markers"),
    *("-p", "no:benchmark"),  # which warns beside processes, where it is installed
)
ENVIRONMENT = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}


def given(program: Program, size: int, devices: list[Any]) -> list[jax.Array]:
    """The arguments, on the devices."""

    def placed(argument: Any) -> jax.Array:
        where = program.sharding(argument, devices)
        if isinstance(argument, Drawn):
            return jax.jit(argument.array, out_shardings=where)()
        return jax.device_put(argument, where)

    return [placed(x) for x in program.prepared(size)[1]]


def compare(program: Program, small: bool) -> dict[str, Any]:
    """Whether results on the device and the CPU are equal, and seconds to compile.

    Results are compared at the small size; a difference is relative to the largest.
    """
    leaves = []
    for devices in (jax.devices(), jax.devices("cpu")):
        devices = devices[: program.devices]
        run = program.lowered(devices, program.small).compile()
        results = run(*given(program, program.small, devices))
        leaves.append([np.asarray(x) for x in jax.tree.leaves(results)])
    pairs = list(zip(*leaves, strict=True))
    equal = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
    largest = max(
        float(np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1e-30))
        for a, b in ((x.astype(float), y.astype(float)) for x, y in pairs)
    )
    size = program.small if small else program.size
    lowered = program.lowered(jax.devices()[: program.devices], size)
    seconds = first_call(lowered.compile)
    return {"compile_seconds": seconds, "equal": equal, "difference": largest}


def measure(program: Program, small: bool) -> dict[str, Any]:
    """Seconds of a call, and of one among many that are queued; bytes of a device."""
    size = program.small if small else program.size
    devices = jax.devices()[: program.devices]
    arguments = given(program, size, devices)
    run = program.lowered(devices, size).compile()

    def call() -> Any:
        return run(*arguments)

    seconds = medians({"call": call, "queued": queued(call)}, rounds=5)
    leaves = [*arguments, *jax.tree.leaves(call())]
    return {
        "seconds": seconds["call"],
        "queued_seconds": seconds["queued"] / QUEUED,
        "bytes": sum(x.nbytes for x in leaves) / len(devices),
        "size": size,
    }


def shown(row: dict[str, Any]) -> str:
    """One line."""
    if "failed" in row:
        return f"{row['name']:<50} FAILED: {row['failed']}"
    device, seconds = row["device"], row["queued_seconds"]
    target = next((x for x, y in TARGETS.items() if y.kind == device["kind"]), "")
    bandwidth, limit = device["copy_bytes_per_second"], "a copy"
    if target:
        bandwidth, limit = TARGETS[target].bandwidth, "roofline"
    wanted = row["name"], target
    models = {(x["name"], x["target"]): x.get("model") for x in compiled.read(RECORD)}
    facts = [
        f"{figure(1e3 * seconds):>8} ms, {figure(1e3 * row['seconds']):>6} alone",
        f"{figure(seconds * bandwidth / row['bytes']):>8} × {limit}",
        *(f"{figure(seconds / x):>5} × model" for x in [models.get(wanted)] if x),
        f"compiled in {figure(row['compile_seconds']):>6} s",
        "equal bits" if row["equal"] else f"differs by {figure(row['difference'])}",
    ]
    verdict = "  MISSED" if missed(row) else ""
    return f"{row['name']:<50} {', '.join(facts)}{verdict}"


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Of the README: where, by which versions, and a line a program."""
    for key in ("jax", "jaxlib", "python"):
        yield f"{key} {', '.join(sorted({row['versions'][key] for row in rows}))}"
    revisions = {f"{x['revision']}{' with changes' * x['dirty']}" for x in rows}
    yield f"commit {', '.join(sorted(revisions))}"
    yield from ("", "```text", *map(shown, rows), "```")


def missed(row: dict[str, Any]) -> bool:
    """Whether it failed, or bits differ that must be equal."""
    return "failed" in row or (NAMED[row["name"]].exact and not row["equal"])


def run_programs(chosen: argparse.Namespace) -> int:
    """Those that are not in the file, until time is over."""
    end, path = time.monotonic() + chosen.within, chosen.out
    rows = read(path) if path.exists() else []
    done = {row["name"] for row in rows}
    left = [x.name for x in named(chosen.only) if x.name not in done]
    about = {"device": machine.device(), "versions": machine.versions()}
    about |= machine.commit()
    for name, found in found_of(left, chosen, end):
        rows.append({"name": name, **about, **found})
        print(shown(rows[-1]), flush=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    if rest := len(done) + len(left) - len(rows):
        print(f"{rest} are left: give the same command again")
    wrong = sum(map(missed, rows))
    print(f"missed: {wrong}")
    return int(wrong > 0)


def read(path: pathlib.Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def found_of(
    names: list[str], chosen: argparse.Namespace, end: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of programs, and what is found of each before the end."""
    small = ["--small"] if chosen.small else []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**ENVIRONMENT, "JAX_COMPILATION_CACHE_DIR": cache}

        def compared(name: str) -> dict[str, Any]:
            left = min(chosen.limit, end - time.monotonic() - chosen.limit)
            command = ["benchmarks.accelerator", "compare", *small, "--only", name]
            return answer(command, left, environment) if left > 0 else {}

        with ThreadPoolExecutor(chosen.beside) as threads:
            found = dict(zip(names, threads.map(compared, names), strict=True))
        yield from ((x, y) for x, y in found.items() if "failed" in y)
        timed = [x for x, y in found.items() if "equal" in y]
        command = ["benchmarks.accelerator", "measure", *small]
        for name, times in answers(command, timed, chosen.limit, end, environment):
            yield name, found[name] | times


def each_of(chosen: argparse.Namespace) -> None:
    """Print what is found of each program, which ends the process if it takes long."""
    work = {"compare": compare, "measure": measure}[chosen.what]
    for name in chosen.only:
        signal.setitimer(signal.ITIMER_REAL, chosen.limit)
        print(json.dumps(work(NAMED[name], chosen.small)), flush=True)


def run_tests(within: float) -> int:
    """Of what must hold on every device."""
    paths = sorted((ROOT / "tests").glob("test_*.py"))
    files = [str(x) for x in paths if "mark.device" in x.read_text("utf-8")]
    command = [sys.executable, *TESTS, *OPTIONS, *files]
    environment = {**os.environ, **ENVIRONMENT}
    try:
        done = subprocess.run(command, timeout=within, check=False, env=environment)
        return done.returncode
    except subprocess.TimeoutExpired:
        print(f"the tests took longer than {within:g} s")
        return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """0, 1 where something failed or bits differ, 2 for arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accelerator",
        description=(__doc__ or "").split("\n")[0],
    )
    add = parser.add_argument
    add("what", choices=("tests", "programs", "table", "compare", "measure"))
    add("--only", nargs="+", default=[""], metavar="WORD", help="names with a WORD")
    add("--small", action="store_true", help="at small sizes")
    add("--limit", type=float, default=120, help="seconds of a program (default: 120)")
    text = f"seconds of the command (default: {LIMIT:g})"
    add("--within", type=float, default=LIMIT, help=text)
    text = "programs to compile beside one another (default: half of the cores)"
    add("--beside", type=int, default=max(1, (os.cpu_count() or 1) // 2), help=text)
    add("--out", type=pathlib.Path, default=pathlib.Path("accelerator.jsonl"))
    chosen = parser.parse_args(arguments)
    if chosen.what == "tests":
        return run_tests(chosen.within)
    if chosen.what == "table":
        rows = read(chosen.out)
        put_between_marks(f"programs on {rows[0]['device']['kind']}", lines(rows))
        return 0
    if chosen.what == "programs":
        return run_programs(chosen)
    each_of(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
