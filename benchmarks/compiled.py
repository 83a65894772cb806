"""Compile the hot programs for accelerators that are not there, and read what they do.

    python -m pip install -e ".[aot,aot-tpu]"
    python -m benchmarks.compiled --targets h200 v5e v6e
    python -m benchmarks.compiled --only walsh counts --limit 60

Each program is compiled in a process of its own. Nothing is run, and nothing is timed
but the compiler: launches and bytes are read from the optimised program, and the time
of a call is a model. The last line is `missed: N`; the exit status is 1 if N > 0.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax

from benchmarks import machine
from benchmarks.hlo import Module
from benchmarks.program import Program
from benchmarks.programs import NAMED, named
from benchmarks.record import put_between_marks
from benchmarks.report import figure
from benchmarks.runner import answer
from benchmarks.targets import ENVIRONMENT, TARGETS, devices, missing

LAUNCH = 2.5e-6  # seconds of a kernel on a GPU, however short
WAIT = 15e-6  # seconds in which the host reads whether a loop goes on
OF_BANDWIDTH = 0.9  # what a copy reaches
OPERATIONS = 16.7e12  # 32-bit ones a second, of an H100 or H200
RECORD = pathlib.Path(__file__).with_name("compiled.jsonl")
_SLACK = 1.02  # versions of XLA differ
_WORDS = {
    "launches": "launches",
    "passes": "passes",
    "times_results": "temporaries, × results,",
    "seconds": "seconds to compile",
}

Found = dict[str, Any]  # of one program and target


def compile_one(program: Program, target: str) -> Found:
    """What the program compiled for the target does, by name."""
    lowered = program.lowered(devices(target, program.devices))
    given, results = (
        sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(info)) / program.devices
        for info in (lowered.in_avals, lowered.out_info)
    )
    if given + results > TARGETS[target].memory:
        return {"too_large": "arguments and results exceed the device's memory"}
    start = time.perf_counter()
    compiled = lowered.compile()
    seconds = time.perf_counter() - start
    text, memory = compiled.as_text(), compiled.memory_analysis()
    assert text is not None
    assert memory is not None
    module = Module(text, program.turns)
    found = {
        "seconds": seconds,
        "launches": module.launches,
        "turns_by_data": module.waits,
        "passes": module.bytes / (given + results),
        "temporaries": memory.temp_size_in_bytes,
        "times_results": memory.temp_size_in_bytes / results,
        "least_bytes": given + results,
        "defects": dict(module.defects()),
    }
    if not TARGETS[target].topology:
        found["model"] = modelled(module, TARGETS[target].bandwidth)
    return found


def modelled(module: Module, bandwidth: float) -> float:
    """Seconds of a call on a GPU: a model, of which nothing is measured here.

    Each kernel takes the longest of its launch, its bytes and its operations.
    """
    kernels = sum(
        kernel.times
        * max(
            LAUNCH,
            kernel.bytes / (OF_BANDWIDTH * bandwidth),
            kernel.operations / OPERATIONS,
        )
        for kernel in module.kernels
    )
    return kernels + WAIT * module.waits


def faults(
    found: Found, rows: Sequence[Found], before: Sequence[Found] | None = None
) -> list[str]:
    """What misses its budget.

    Args:
        found: of one program and target.
        rows: all that was found, among it that which this is compared with.
        before: what was found earlier. If given, nothing may exceed both its budget and
            what it was earlier, and times do not count.
    """
    if "launches" not in found:
        return [found["failed"]] if "failed" in found else []
    program, target = NAMED[found["name"]], TARGETS[found["target"]]
    earlier = _beside(found, found["name"], before or ()) or {}
    budgets = {
        "launches": program.launches,
        "passes": program.passes,
        "times_results": program.temporaries,
        "seconds": target.seconds,
    }
    if before is not None:
        del budgets["seconds"]
    if target.topology:  # the others are those of a GPU
        budgets = {x: most for x, most in budgets.items() if x == "seconds"}
    wrong = []
    for name, budget in budgets.items():
        most = max(budget or math.inf, _SLACK * earlier.get(name, 0))
        if found[name] > most:
            wrong.append(f"{_WORDS[name]} {figure(found[name])} > {figure(most)}")
    if program.slower and before is None and "model" in found:
        other, times = program.slower
        model = (_beside(found, other, rows) or found).get("model", math.inf)
        if found["model"] > times * model:
            wrong.append(f"{figure(found['model'] / model)} × {other} > {times:g}")
    allowed = earlier.get("defects", {})
    doubtful = found["defects"].items()
    return wrong + [f"{x} ({n})" for x, n in doubtful if n > allowed.get(x, 0)]


def _beside(found: Found, name: str, rows: Iterable[Found]) -> Found | None:
    """The row of a program for the same target."""
    wanted = name, found["target"]
    return next((x for x in rows if (x["name"], x["target"]) == wanted), None)


def table(rows: Sequence[Found]) -> Iterator[str]:
    """Lines of Markdown; budgets in parentheses."""
    yield (
        "Compiled, not measured: launches, passes and temporaries are read from the "
        "optimised programs; milliseconds are a model. Roofline: bytes of arguments "
        "and results over the memory's bandwidth. Turns by data: assumed turns of "
        "loops whose end the data decide, which the launches include."
    )
    for name in ("jax", "revision"):
        yield f"{name} {', '.join(sorted({str(row.get(name)) for row in rows}))}"
    yield ""
    yield (
        "| program | target | launches | turns by data | passes | temporaries, MiB "
        "| s to compile | ms, model | ms, roofline | missed |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---|"
    for row in rows:
        yield "| " + " | ".join(_cells(row, faults(row, rows))) + " |"
    yield ""
    yield f"missed: {sum(bool(faults(row, rows)) for row in rows)}"


def _cells(row: Found, wrong: list[str]) -> list[str]:
    program, target = NAMED[row["name"]], TARGETS[row["target"]]
    start = [row["name"], row["target"]]
    if "launches" not in row:
        return [*start, *[""] * 7, row.get("failed") or row["too_large"]]
    gpu = not target.topology

    def beside(number: float, budget: float | None) -> str:
        return figure(number) + (f" (≤ {figure(budget)})" if budget else "")

    return [
        *start,
        beside(row["launches"], program.launches if gpu else None),
        figure(row["turns_by_data"]) if row["turns_by_data"] else "",
        beside(row["passes"], program.passes if gpu else None),
        figure(round(row["temporaries"] / 2**20, 1)),
        beside(row["seconds"], target.seconds),
        figure(1e3 * row["model"]) if gpu else "",
        figure(1e3 * row["least_bytes"] / target.bandwidth),
        "; ".join(wrong),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile and print; 0, 1 where something missed its budget, 2 for arguments."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.one:
        name, target = chosen.one
        print(json.dumps(compile_one(NAMED[name], target)), flush=True)
        os._exit(0)  # libtpu waits for devices that are not there
    if chosen.read:
        rows, wrong = read(chosen.read), []
        wrong = [faults(row, rows) for row in rows]
    else:
        if wanted := missing(chosen.targets):
            parser.error(f"`--targets` {' '.join(chosen.targets)} needs {wanted}")
        rows, wrong = _compile(chosen)
    if chosen.markdown:
        chosen.markdown.write_text("\n".join(table(rows)) + "\n", encoding="utf-8")
    if chosen.update_readme:
        put_between_marks("compiled programs", table(rows))
    print(f"missed: {sum(map(bool, wrong))}")
    return int(any(wrong))


def _compile(chosen: argparse.Namespace) -> tuple[list[Found], list[list[str]]]:
    """Rows and what each missed, printed and written as they come."""
    rows: list[Found] = []
    wrong: list[list[str]] = []
    before = read(RECORD) if chosen.guarded else None
    about = {"jax": jax.__version__, "revision": machine.commit()["revision"]}
    asked = [
        (program.name, target)
        for target in chosen.targets
        for program in named(chosen.only)
        if program.guarded or not chosen.guarded
    ]
    for name, target in asked:
        command = ["benchmarks.compiled", "--one", name, target]
        found = answer(command, chosen.limit, ENVIRONMENT)
        rows.append({"name": name, "target": target, **about, **found})
        wrong.append(faults(rows[-1], rows, before))
        print(" | ".join(_cells(rows[-1], wrong[-1])), flush=True)
        if chosen.out:
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    return rows, wrong


def read(path: pathlib.Path) -> list[Found]:
    """The last row of each program and target, in the order of both."""
    lines = path.read_text(encoding="utf-8").splitlines()
    last = {(row["target"], row["name"]): row for row in map(json.loads, lines)}
    pairs = [(target, name) for target in TARGETS for name in NAMED]
    return [last[pair] for pair in pairs if pair in last]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compiled", description=(__doc__ or "").split("\n")[0]
    )
    path, add = pathlib.Path, parser.add_argument
    targets = ", ".join(TARGETS)
    add(
        "--targets",
        nargs="+",
        default=["h200"],
        choices=TARGETS,
        metavar="TARGET",
        help=f"some of {targets} (default: h200)",
    )
    add("--only", nargs="+", default=[""], metavar="WORD", help="names with a WORD")
    add(
        "--guarded",
        action="store_true",
        help="the most important; nothing may exceed both its budget and the record in "
        f"{RECORD.name}, and seconds do not count",
    )
    add("--limit", type=float, default=300, help="seconds of a program (default: 300)")
    add("--out", type=path, metavar="FILE", help="where lines of JSON are added")
    add("--markdown", type=path, metavar="FILE", help="write the table")
    add(
        "--update-readme",
        action="store_true",
        help="put the table into benchmarks/README.md, between its marks",
    )
    add(
        "--read",
        type=path,
        metavar="FILE",
        help="take these lines of JSON; compile nothing",
    )
    add("--one", nargs=2, help=argparse.SUPPRESS)
    return parser  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
