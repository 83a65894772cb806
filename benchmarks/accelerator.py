"""The first commands on a machine with a GPU or TPU, each of at most ten minutes.

    python -m benchmarks.accelerator tests
    python -m benchmarks.accelerator programs --out accelerator.jsonl

`tests` runs the tests that are marked `device`. `programs` runs the programs of
`benchmarks.programs`, each in a process of its own: at a small size on the device and
on the CPU, where exact results must have equal bits, and at its size for the time,
beside a copy of as many bytes. The same command again goes on with the programs that
are not in its file. `--small` rehearses it where there is only a CPU.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from benchmarks import machine
from benchmarks.program import Drawn, Program
from benchmarks.programs import NAMED, named
from benchmarks.record import put_between_marks
from benchmarks.report import figure
from benchmarks.runner import answer
from benchmarks.targets import TARGETS
from benchmarks.timing import first_call, medians

LIMIT = 590.0  # seconds of a command
TESTS = ("-m", "pytest", "-q", "-m", "device and not thorough", "-p", "no:xdist")
QUIET = ("-o", "addopts=--strict-markers")
ENVIRONMENT = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def placed(program: Program, size: int, devices: list[Any]) -> tuple[Any, list[Any]]:
    """The compiled program and its arguments on the devices."""
    call, arguments = program.prepared(size)
    given = []
    for argument in arguments:
        where = program.sharding(argument, devices)
        if isinstance(argument, Drawn):
            given.append(jax.jit(argument.array, out_shardings=where)())
        else:
            given.append(jax.device_put(argument, where))
    return jax.jit(call), given


def difference(program: Program) -> tuple[bool, float]:
    """Whether results on the device and the CPU are equal; largest relative difference.

    They are compared at the small size.
    """
    leaves = []
    for devices in (jax.devices(), jax.devices("cpu")):
        call, given = placed(program, program.small, devices[: program.devices])
        leaves.append([np.asarray(x) for x in jax.tree.leaves(call(*given))])
    pairs = list(zip(*leaves, strict=True))
    equal = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
    return equal, max(
        float(np.max(np.abs(a - b), initial=0) / np.max(np.abs(b), initial=1e-30))
        for a, b in ((x.astype(float), y.astype(float)) for x, y in pairs)
    )


def run_one(program: Program, small: bool) -> dict[str, Any]:
    """Seconds of a call, seconds to compile, bytes, and the difference from the CPU."""
    equal, largest = difference(program)
    size = program.small if small else program.size
    call, given = placed(program, size, jax.devices()[: program.devices])
    first = first_call(lambda: call(*given))
    seconds = medians({"call": lambda: call(*given)}, rounds=5)["call"]
    leaves = [*given, *jax.tree.leaves(call(*given))]
    shared = min(program.devices, jax.device_count())
    return {
        "seconds": seconds,
        "first_call": first,
        "bytes": sum(x.nbytes for x in leaves) / shared,
        "equal": equal,
        "difference": largest,
        "size": size,
    }


def shown(row: dict[str, Any]) -> str:
    """One line."""
    if "failed" in row:
        return f"{row['name']:<50} FAILED: {row['failed']}"
    device = row["device"]
    copies = row["seconds"] * device["copy_bytes_per_second"] / row["bytes"]
    peaks = [x.bandwidth for x in TARGETS.values() if x.kind == device["kind"]]
    roofs = [f"{figure(row['seconds'] * x / row['bytes'])} × roofline" for x in peaks]
    same = "equal bits" if row["equal"] else f"differs by {figure(row['difference'])}"
    verdict = "  MISSED" if missed(row) else ""
    ratios = ", ".join([f"{figure(copies)} × a copy", *roofs, same])
    return f"{row['name']:<50} {figure(1e3 * row['seconds']):>9} ms, {ratios}{verdict}"


def missed(row: dict[str, Any]) -> bool:
    """Whether it failed, or bits differ that must be equal."""
    return "failed" in row or (NAMED[row["name"]].exact and not row["equal"])


def run_programs(chosen: argparse.Namespace) -> int:
    """Those that are not in the file, until time is over."""
    start, path, rows = time.monotonic(), chosen.out, []
    if path.exists():
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    done = {row["name"] for row in rows}
    left = [x.name for x in named(chosen.only) if x.name not in done]
    about = {"device": machine.device(), "versions": machine.versions()}
    while left and time.monotonic() - start < LIMIT - chosen.limit:
        command = ["benchmarks.accelerator", "one", "--only", name := left.pop(0)]
        command += ["--small"] if chosen.small else []
        found = answer(command, chosen.limit, ENVIRONMENT)
        rows.append({"name": name, **about, **machine.commit(), **found})
        print(shown(rows[-1]), flush=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    if left:
        print(f"{len(left)} are left: give the same command again")
    if chosen.update_readme:
        mark = f"programs on {about['device'].get('kind')}"
        put_between_marks(mark, ["```text", *map(shown, rows), "```"])
    wrong = sum(map(missed, rows))
    print(f"missed: {wrong}")
    return int(wrong > 0)


def run_tests() -> int:
    """Of what must hold on every device."""
    command = [sys.executable, *TESTS, *QUIET]
    try:
        return subprocess.run(command, timeout=LIMIT, check=False).returncode
    except subprocess.TimeoutExpired:
        print(f"the tests took longer than {LIMIT:g} s")
        return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """0, 1 where something failed or bits differ, 2 for arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accelerator",
        description=(__doc__ or "").split("\n")[0],
    )
    add = parser.add_argument
    add("what", choices=("tests", "programs", "one"))
    add("--only", nargs="+", default=[""], metavar="WORD", help="names with a WORD")
    add("--small", action="store_true", help="at small sizes")
    add("--limit", type=float, default=120, help="seconds of a program (default: 120)")
    add("--out", type=pathlib.Path, default=pathlib.Path("accelerator.jsonl"))
    text = "put the lines into benchmarks/README.md, between the device's marks"
    add("--update-readme", action="store_true", help=text)
    chosen = parser.parse_args(arguments)
    if chosen.what == "tests":
        return run_tests()
    if chosen.what == "programs":
        return run_programs(chosen)
    print(json.dumps(run_one(NAMED[chosen.only[0]], chosen.small)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
