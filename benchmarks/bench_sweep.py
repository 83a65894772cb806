"""How much sooner is a sweep of private naive Bayes than a loop of the same fits?

Three mechanisms at seven ε, thousands of random splits of 1,000 records with 16 binary
features; predictions for all held-out records follow each fit. Against a loop in
NumPy that shares each split, and against diffprivlib's Gaussian naive Bayes, fit and
predictions, where `--diffprivlib-python` names a Python that has it. And how long does
the sweep take to compile, without and with the persistent cache, each in a process of
its own?
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import dpjax as dp
from benchmarks.naive_bayes_loop import Loop
from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax.experiments import NaiveBayesExperiment
from dpjax.random import study_key
from dpjax.statistics import FamilyCounts, FourierCoefficients

EPSILONS = ["0.1", "0.2", "0.5", "1", "2", "5", "10"]
MECHANISMS = ("laplace", "fourier", "posterior-sample")
FITS = len(EPSILONS) * len(MECHANISMS)  # a repeat
RECORDS, FEATURES, TRAINING = 1000, 16, 700
BLOCK = 32
CHANGE = "replace-one"

_DIFFPRIVLIB = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.models import GaussianNB
warnings.simplefilter("ignore")
given = json.load(sys.stdin)
records, training = np.array(given["records"]), given["training"]
rng, seconds = np.random.default_rng(0), []
for _ in range(given["rounds"]):
    start = time.perf_counter()
    for epsilon in given["epsilons"]:
        order = rng.permutation(len(records))
        train, rest = records[order[:training]], records[order[training:]]
        model = GaussianNB(epsilon=float(epsilon), bounds=(0, 1))
        model.fit(train[:, 1:], train[:, 0])
        (model.predict(rest[:, 1:]) == rest[:, 0]).mean()
    seconds.append((time.perf_counter() - start) / len(given["epsilons"]))
print(json.dumps(float(np.median(seconds))))
"""


def survey() -> np.ndarray:
    """Records of a target and features that depend on it; the target first."""
    rng = np.random.default_rng(0)
    target = rng.random(RECORDS) < 0.4
    laws = rng.random((2, FEATURES))
    features = rng.random((RECORDS, FEATURES)) < laws[target.astype(int)]
    return np.column_stack([target, features]).astype(np.uint8)


def experiment() -> NaiveBayesExperiment:
    levels = {f"x{i}": [0, 1] for i in range(FEATURES + 1)}
    net = dp.BayesNet.naive_bayes(levels, "x0")
    return NaiveBayesExperiment(net, "x0", TRAINING, CHANGE, scores=("accuracy",))


class Study:
    """One sweep, called with a number of repeats."""

    def __init__(self) -> None:
        self.experiment, self.records = experiment(), jnp.asarray(survey())
        self.mechanisms = self.experiment.mechanisms(MECHANISMS, EPSILONS)

    def __call__(self, repeats: int) -> dp.SweepResult:
        return dp.sweep(
            study_key(0),
            self.experiment,
            self.records,
            epsilons=EPSILONS,
            mechanisms=self.mechanisms,
            prepare=self.experiment.prepare,
            repeats=repeats,
            block=BLOCK,
        )


def loop(study: Study) -> Loop:
    """The same fits in NumPy."""
    net, law = study.experiment.net, study.mechanisms["posterior-sample"].law
    statistics = {
        "laplace": FamilyCounts(net),
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


def rows(full: bool = False, diffprivlib: str | None = None) -> Iterator[Row]:
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
    if diffprivlib is not None:
        each["diffprivlib"] = diffprivlib_seconds(diffprivlib)
        ratio = each["diffprivlib"] / each["dpjax"]
        unit = "× as fast as diffprivlib's GaussianNB"
        yield Row("S1", case, ratio, unit, 2_000, seconds=each)
    with tempfile.TemporaryDirectory() as folder:
        cold = [compile_seconds() for _ in range(5 if full else 3)]
        compile_seconds(folder)  # fills the cache
        cached = [compile_seconds(folder) for _ in range(5 if full else 3)]
    for name, times, target in (("without", cold, 3.0), ("with", cached, 0.5)):
        case = f"compiling that sweep {name} the persistent cache"
        seconds = {f"process {i}": x for i, x in enumerate(times)}
        middle = float(np.median(times))
        yield Row("S2", case, middle, "s", target, at_least=False, seconds=seconds)


def agree(result: dp.SweepResult, numpy: Loop) -> None:
    """Both have the same accuracies, within chance: else they are not the same work."""
    found = numpy(np.random.default_rng(2), 128)
    error = np.sqrt(
        result.standard_error("accuracy") ** 2 + found.var(axis=0, ddof=1) / len(found)
    )
    apart = np.abs(result.mean("accuracy") - found.mean(axis=0)) / error
    if apart.max() > 6:
        raise AssertionError(f"the loop and the sweep differ: {apart.max():.1f} s.e.")


def diffprivlib_seconds(python: str) -> float:
    """Of one fit and its predictions, in a Python that has diffprivlib."""
    given = {
        "records": survey().astype(float).tolist(),
        "training": TRAINING,
        "epsilons": EPSILONS,
        "rounds": 7,
    }
    done = subprocess.run(
        [python, "-c", _DIFFPRIVLIB],
        input=json.dumps(given),
        capture_output=True,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def compile_seconds(cache: str | None = None) -> float:
    """`first_sweep`, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_sweep", "--compile-only"]
    command += [] if cache is None else ["--cache", cache]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def first_sweep(cache: str | None) -> float:
    """What a user waits beyond the sweep itself: its first call less its second."""
    if cache is not None:
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    study = Study()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        study(BLOCK)
        seconds.append(time.perf_counter() - start)
    return seconds[0] - seconds[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--diffprivlib-python")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--cache")
    options = parser.parse_args()
    if options.compile_only:
        print(json.dumps(first_sweep(options.cache)))
        return
    for line in shown(rows(options.full, options.diffprivlib_python)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
