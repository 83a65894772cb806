"""How much sooner is a sweep of private naive Bayes than a loop of the same fits?

Three mechanisms at seven ε, thousands of random splits of 1,000 records with 16 binary
features; predictions for all held-out records follow each fit. Against a loop in
NumPy that shares each split; diffprivlib is in bench_peers. And how long does the sweep
take to compile, without and with the persistent cache, each in a process of its own?
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.naive_bayes_loop import Loop
from benchmarks.private_fits import (
    BLOCK,
    CHANGE,
    EPSILONS,
    FITS,
    TRAINING,
    Study,
    survey,
)
from benchmarks.report import Row, shown
from benchmarks.timing import compilation_parts, medians
from dpjax.runtime import cache_compilations
from dpjax.statistics import FourierCoefficients, NetworkCounts
from dpjax.study import SweepResult


def loop(study: Study) -> Loop:
    """The same fits in NumPy."""
    net, law = study.experiment.net, study.mechanisms["posterior-sample"].law
    statistics = {
        "laplace": NetworkCounts(net),
        "fourier": FourierCoefficients.of_network(net, CHANGE),
    }
    return Loop(
        survey(),
        TRAINING,
        [float(epsilon) for epsilon in EPSILONS],
        {name: float(x.sensitivity(CHANGE).value) for name, x in statistics.items()},
        np.asarray(law.temperature),
        np.asarray(law.omega)[:, 0],
    )


def rows(full: bool = False) -> Iterator[Row]:
    study = Study()
    numpy, repeats = loop(study), 10_000 if full else 1_024
    agree(study(1_024), numpy)
    # The loop takes as long a fit whatever their number: a sample of it is timed.
    some = 256 if full else 32
    rng = np.random.default_rng(1)
    seconds = medians(
        {"dpjax": lambda: study(repeats)["accuracy"], "loop": lambda: numpy(rng, some)},
        rounds=5,
    )
    each = {
        "dpjax": seconds["dpjax"] / (repeats * FITS),
        "NumPy loop": seconds["loop"] / (some * FITS),
    }
    case = f"{repeats * FITS:,} private fits and predictions"
    ratio = each["NumPy loop"] / each["dpjax"]
    yield Row("S1", case, ratio, "× as fast as a NumPy loop", 15, seconds=each)
    with tempfile.TemporaryDirectory() as folder:
        cold = [compile_seconds() for _ in range(5)]
        compile_seconds(folder)  # fills the cache
        cached = [compile_seconds(folder) for _ in range(5)]
    for name, runs, target in (("without", cold, 3.0), ("with", cached, 0.5)):
        case = f"compiling that sweep {name} the persistent cache"
        seconds = {f"process {i}": run["all"] for i, run in enumerate(runs)}
        parts = {
            part: float(np.median([run[part] for run in runs])) for part in cold[0]
        }
        whole = parts.pop("all")
        yield Row("S2", case, whole, "s", target, at_least=False, seconds=seconds)
        for part, middle in parts.items():
            yield Row("S2", case, middle, f"s of {part}", at_least=False)


def agree(result: SweepResult, numpy: Loop) -> None:
    """Both have the same accuracies, within chance: else they are not the same work."""
    found = numpy(np.random.default_rng(2), 128)
    error = np.sqrt(
        result.standard_error("accuracy") ** 2 + found.var(axis=0, ddof=1) / len(found)
    )
    apart = np.abs(result.mean("accuracy") - found.mean(axis=0)) / error
    if apart.max() > 6:
        raise AssertionError(f"the loop and the sweep differ: {apart.max():.1f} s.e.")


def compile_seconds(cache: str | None = None) -> dict[str, float]:
    """`first_sweep`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_sweep", "--compile-only"]
    command += [] if cache is None else ["--cache", cache]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def first_sweep(cache: str | None) -> dict[str, float]:
    """What a user waits beyond the sweep itself: its first call less its second.

    And what JAX says of the parts of that.
    """
    if cache is not None:
        cache_compilations(cache)
    study, spent, seconds = Study(), compilation_parts(), []
    for _ in range(2):
        start = time.perf_counter()
        study(BLOCK)
        seconds.append(time.perf_counter() - start)
    return {"all": seconds[0] - seconds[1], **spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--cache")
    options = parser.parse_args()
    if options.compile_only:
        print(json.dumps(first_sweep(options.cache)))
        return
    for line in shown(rows(options.full)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
