"""How fast are noise, counts and private fits beside OpenDP, mbi and diffprivlib?

    python -m benchmarks.bench_peers

A peer that is not installed gets a line that says so, and no row. diffprivlib needs
another scikit-learn, hence a Python of its own, whose path is in the environment
variable DPJAX_DIFFPRIVLIB_PYTHON (see README.md). Each peer does in its own documented
way what we do; times are of calls, with data made beforehand, and after a first one.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import private_fits
from benchmarks.private_fits import RECORDS, TRAINING
from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax import BayesNet
from dpjax.noise import discrete_laplace, tables
from dpjax.noise.keys import release_key, study_key
from dpjax.statistics import NetworkCounts
from dpjax.study.experiments.splits import training_mask

try:
    import opendp.prelude as opendp
except ImportError:
    opendp = None
try:
    with warnings.catch_warnings():  # of float32; it has nothing to estimate here
        warnings.simplefilter("ignore")
        import mbi
except ImportError:
    mbi = None
try:
    import pandas
except ImportError:
    pandas = None

VARIABLES = [f"x{i}" for i in range(17)]
SCALES = (1, 10, 100)


def noise(draws: int) -> Iterator[Row]:
    """N1: exact discrete Laplace, per draw; ours by the key of releases."""
    if opendp is None:
        print("OpenDP is not installed: no row.")
        return
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    exact, fewer = jnp.zeros(draws, jnp.int32), [0] * 10_000
    add = jax.jit(discrete_laplace.add)
    for scale in SCALES:
        table = tables.build(Fraction(1, scale))
        theirs = space >> opendp.m.then_laplace(scale=float(scale))
        seconds = medians(
            {
                "dpjax": lambda table=table: add(release_key(), table, exact),
                "OpenDP": lambda theirs=theirs: theirs(fewer),
            }
        )
        each = {
            "dpjax": seconds["dpjax"] / draws,
            "OpenDP": seconds["OpenDP"] / len(fewer),
        }
        case = f"{draws:,} exact draws, ε/Δ = 1/{scale}"
        ratio = each["OpenDP"] / each["dpjax"]
        yield Row("N1", case, ratio, "× OpenDP, per draw", 100, seconds=each)


def counting(n: int) -> Iterator[Row]:
    """C2: the 16 tables of naive Bayes on 17 binary variables, from uint8."""
    records = np.random.default_rng(0).integers(0, 2, (n, 17), np.uint8)
    net = BayesNet.naive_bayes({name: [0, 1] for name in VARIABLES}, "x0")
    statistic, given = NetworkCounts(net), jnp.asarray(records)
    measure, case = jax.jit(statistic.measure), f"naive Bayes, n = {n:,}"
    words = records.reshape(-1)[: records.size // 8 * 8].view(np.uint64)
    peers = {"mbi": (_mbi, mbi, 150.0), "pandas": (_pandas, pandas, None)}
    for name, (peer, installed, target) in peers.items():
        if installed is None:
            print(f"{name} is not installed: no row.")
            continue
        theirs = peer(dict(zip(VARIABLES, records.T.copy(), strict=True)))
        np.testing.assert_array_equal(np.ravel(theirs()), measure(given))
        seconds = medians(
            {
                "dpjax": lambda: measure(given),
                "read": lambda: words.sum(),
                name: theirs,
            },
            rounds=9,
        )
        identifier = "" if target is None else "C2"
        ratio, bound = (seconds[name] / seconds[ours] for ours in ("dpjax", "read"))
        yield Row(identifier, case, ratio, f"× {name}", target, seconds=seconds)
        yield Row(identifier, case, bound, f"× {name}, a mere read of the bytes")


def _mbi(columns: dict[str, np.ndarray]) -> Callable[[], list]:
    dataset = mbi.Dataset(columns, mbi.Domain(VARIABLES, [2] * 17))
    return lambda: [dataset.project(["x0", name]).values for name in VARIABLES[1:]]


def _pandas(columns: dict[str, np.ndarray]) -> Callable[[], list]:
    frame = pandas.DataFrame(columns)
    return lambda: [frame.groupby(["x0", name]).size() for name in VARIABLES[1:]]


def fits(repeats: int) -> Iterator[Row]:
    """S1: private naive-Bayes fits and predictions, per fit."""
    python = os.environ.get("DPJAX_DIFFPRIVLIB_PYTHON")
    if not python:
        print("diffprivlib has no Python (--diffprivlib-python): no row.")
        return
    study, keys = private_fits.Study(), jax.random.split(study_key(1), 2)
    data = {
        "records": private_fits.survey(),
        "training": np.stack([training_mask(key, RECORDS, TRAINING) for key in keys]),
        "epsilons": np.array(private_fits.EPSILONS, float),
    }
    count, theirs_count = repeats * private_fits.FITS, len(keys) * len(data["epsilons"])
    with _fitting(python, data) as (version, theirs):
        ours = {"dpjax": lambda: study(repeats)["accuracy"]}
        seconds = medians({**ours, "diffprivlib": theirs}, rounds=5)
    each = {
        "dpjax": seconds["dpjax"] / count,
        "diffprivlib": seconds["diffprivlib"] / theirs_count,
    }
    ratio, case = each["diffprivlib"] / each["dpjax"], f"{count:,} private naive Bayes"
    unit = f"× GaussianNB of diffprivlib {version}, per fit"
    yield Row("S1", case, ratio, unit, 2000, seconds=each)


@contextlib.contextmanager
def _fitting(
    python: str, data: dict[str, np.ndarray]
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The version of a process that fits, and a function that has it fit once."""
    script = pathlib.Path(__file__).with_name("diffprivlib_fits.py")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "data.npz"
        np.savez(path, **data)
        process = subprocess.Popen(
            [python, script, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None

            def answer() -> str:
                line = stdout.readline().strip()
                if not line:
                    raise RuntimeError(f"{python} must import diffprivlib (README.md).")
                return line

            def once() -> None:
                stdin.write("\n")
                stdin.flush()
                answer()

            yield answer(), once
            stdin.close()


def rows(full: bool = False) -> Iterator[Row]:
    """All whose peer is installed."""
    yield from noise(10_000_000 if full else 1_000_000)
    yield from counting(10_000_000 if full else 1_000_000)
    yield from fits(10_000 if full else 1_024)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line)


if __name__ == "__main__":
    main()
