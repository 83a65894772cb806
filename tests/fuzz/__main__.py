"""`python -m tests.fuzz --seconds 60`: atheris looks for files that readers fail on.

It counts which branches of the library, and of the checker without it, an input takes,
and keeps inputs that take new ones. JAX is not looked at. Each target has a process of
its own, of which libFuzzer is in charge until the end.
"""

import argparse
import contextlib
import functools
import hashlib
import inspect
import io
import multiprocessing
import os
import pathlib
import random
import re
import sys
import tempfile
import warnings

import atheris

# What is imported within is looked at; atheris lists its modules, which are many.
looked_at = functools.partial(atheris.instrument_imports, include=["dpjax"])

with contextlib.redirect_stderr(io.StringIO()), looked_at():
    from tests.helpers.checker import checker

    from .corpus import CASES, HERE, SEEDS, seeds
    from .formats import FORMATS, file_name
    from .verdicts import attempt, limits

_WHOLE = 0.3  # of the alterations take a file as bytes, whatever its structure
_PATIENCE = 60  # seconds for the last input, and the same again for the first ones
_RECORDED = {"release": "format_*", "ledger": "formats"}  # more valid files
_OPTIONS = {
    "dict": HERE / "dictionary.txt",
    "max_len": 1 << 14,
    "rss_limit_mb": 4096,
    "timeout": _PATIENCE,
}
_STATED = {
    "inputs": r"(?m)^#(\d+)",
    "branches": r"cov: (\d+)",
    "kept": r"corp: (\d+)",
}
_FAULT = r"(?m)^[\w.]*(?:Fault|Hang|Error)\b.*|^SUMMARY.*"
_KEPT = "Test unit written to "


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--target", choices=FORMATS, action="append")
    parser.add_argument("--keep", default="fuzz-kept", help="folder of what is found")
    options = parser.parse_args()
    targets, keep = options.target or [*FORMATS], pathlib.Path(options.keep)
    print(f"{'target':<12}" + "".join(f"{x:>10}" for x in _STATED))
    faults, few = 0, len(os.sched_getaffinity(0))
    for place in range(0, len(targets), few):  # which take equally long
        running = [
            (x, _started(x, options.seconds, keep)) for x in targets[place:][:few]
        ]
        for target, process in running:
            process.join(options.seconds + 2 * _PATIENCE)
            process.kill()
            process.join()
            faults += _line(target, process.exitcode, keep)
    return int(faults > 0)


def _started(target: str, seconds: int, keep: pathlib.Path) -> multiprocessing.Process:
    (keep / target).mkdir(parents=True, exist_ok=True)
    process = multiprocessing.get_context("fork").Process(
        target=fuzz, args=(target, seconds, keep)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX has computed nothing yet
        process.start()
    return process


def _line(target: str, status: int | None, keep: pathlib.Path) -> bool:
    """Print what atheris says at the end; whether it found a fault."""
    said = (keep / f"{target}.log").read_text(errors="replace")
    shown = [re.findall(x, said)[-1:] or ["?"] for x in _STATED.values()]
    print(f"{target:<12}" + "".join(f"{x:>10}" for (x,) in shown), flush=True)
    if status:
        kind, kept = re.search(_FAULT, said), re.findall(f"{_KEPT}(.*)", said)
        print(f"    {kind[0] if kind else f'ends by {status}'}", *kept, flush=True)
    return bool(status)


def fuzz(target: str, seconds: int, keep: pathlib.Path) -> None:
    """Fuzz a target, and end the process; inputs that take new branches are kept.

    Valid files, and those on which a reader once failed, come first.
    """
    log = os.open(keep / f"{target}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    recorded = HERE.parent.joinpath("recorded").glob(_RECORDED.get(target, "-"))
    folders = [keep / target, SEEDS / target, CASES / target, *recorded]
    options = {
        **_OPTIONS, "artifact_prefix": f"{keep}/{target}-", "max_total_time": seconds
    }  # fmt: skip
    words = [f"-{name}={value}" for name, value in options.items()]
    words += [str(x) for x in folders if x.exists()]
    with tempfile.TemporaryDirectory() as name:
        try_one = functools.partial(_try_one, target, pathlib.Path(name), keep)
        with looked_at():  # what is imported late
            for data in seeds(target).values():
                try_one(data)
        for function in vars(checker).values():
            if inspect.isfunction(function):
                atheris.instrument_func(function)
        alter = functools.partial(_alter, target)
        atheris.Setup(["", *words], try_one, custom_mutator=alter)
        with limits():
            atheris.Fuzz()


def _try_one(
    target: str, folder: pathlib.Path, keep: pathlib.Path, data: bytes
) -> None:
    path = folder / file_name(data)
    path.write_bytes(data)
    try:
        attempt(target, path)
    except BaseException:
        kept = keep / f"{target}-fault-{hashlib.sha256(data).hexdigest()[:12]}"
        kept.write_bytes(data)
        print(f"{_KEPT}{kept}", flush=True)
        raise
    path.unlink()


def _alter(target: str, data: bytes, most: int, seed: int) -> bytes:
    rng = random.Random(seed)
    if rng.random() > _WHOLE:
        try:
            made = FORMATS[target].alter(rng, data, _mutated)
        except Exception:  # an earlier alteration left nothing of the structure
            made = b""
        if 0 < len(made) <= most:
            return made
    return atheris.Mutate(data, most)


def _mutated(data: bytes) -> bytes:
    return atheris.Mutate(data, 2 * len(data) + 64)


if __name__ == "__main__":
    sys.exit(main())
