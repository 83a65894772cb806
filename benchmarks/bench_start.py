"""How long does a user wait: for imports, help, commands on the demo, and posteriors?

Every run is a process of its own. It may keep bytecode, as an installed package does. A
cold command starts with an empty folder of compiled programs, and the second one with
the folder that the first has left.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

from benchmarks.report import Row, shown

IMPORTS = {
    "import jax, equinox": "import jax, equinox",
    "import dpjax": "import dpjax",
    "import dpjax and first use of release": "import dpjax; dpjax.release",
}
HELP = {
    "--help": ("--help",),
    "release --help": ("release", "--help"),
    "--version": ("--version",),
    "a wrong option": ("release", "--wrong"),
}
FIELDS = ("--schema", "schema.json", "--network", "naive-bayes:affair")
BUDGET = ("--epsilon", "1", "--adjacency", "replace-one")
COMMANDS = {
    "release": ("release", "survey.csv", *FIELDS, *BUDGET, "--out", "new.json"),
    "verify": ("verify", "release.json"),
    "predict": ("predict", "release.json", "survey.csv", "--target", "affair"),
}

NAIVE_BAYES = """
import sys
import numpy as np
import dpjax as dp

sizes, n, epsilon = [int(k) for k in sys.argv[1].split()], int(sys.argv[2]), sys.argv[3]
levels = {f"x{i}": list(range(k)) for i, k in enumerate(sizes)}
random = np.random.default_rng(0)
y = random.random(n) < 0.25
columns = {"y": y.astype(int)}
for name, of in levels.items():
    laws = random.dirichlet(np.ones(len(of)), 2).cumsum(axis=1)[y.astype(int)]
    above = (random.random(n)[:, None] > laws).sum(axis=1)
    columns[name] = np.minimum(above, len(of) - 1)
net = dp.BayesNet.naive_bayes({"y": [0, 1], **levels}, "y")
released = dp.release(net, columns, epsilon=epsilon, adjacency="add-remove")
"""
REGRESSION = """
import numpy as np
import dpjax as dp

random = np.random.default_rng(0)
records = random.uniform(-1, 1, (10_000, 21))
records[:, -1] = records @ np.linspace(-0.3, 0.3, 21)
names = [f"x{i}" for i in range(20)] + ["y"]
columns = tuple(dp.Interval(name, -1, 1) for name in names)
what = dp.statistics.Sufficient.of("linear-regression", columns, "replace-one")
table = dict(zip(names, records.T))
released = dp.release(what, table, epsilon=1, adjacency="replace-one")
"""
NETWORK = """
import numpy as np
import dpjax as dp
from benchmarks.programs import network

net, random = network(), np.random.default_rng(0)
records = random.integers(0, net.sizes, (10_000, len(net.sizes)), dtype=np.int32)
released = dp.release(net, records, epsilon=1, adjacency="replace-one")
"""
TIMED = """
import time
import jax
start = time.perf_counter()
jax.tree.map(np.asarray, dp.posterior(released).mean())
print(time.perf_counter() - start)
"""
ADULT = "10 8 16 16 7 14 6 5 2 10 10 10 12 4"  # levels of 14 attributes in public bins
BINARY = " ".join(["2"] * 16)
BAYES = "naive Bayes "
POSTERIORS = {
    **{
        f"{BAYES}like Adult, n = 30,000, ε = {x}": (NAIVE_BAYES, ADULT, 30_000, x)
        for x in ("1/10", 1, 10)
    },
    f"{BAYES}16 binary features, n = 10^6, ε = 1": (NAIVE_BAYES, BINARY, 10**6, 1),
    "a regression with 20 features, n = 10,000, ε = 1": (REGRESSION,),
    "a network of 37 variables, n = 10,000, ε = 1": (NETWORK,),
}


def seconds(
    arguments: Sequence[str], folder: pathlib.Path, cache: pathlib.Path, status: int = 0
) -> float:
    """Seconds of one process of Python with these arguments, run in `folder`."""
    start = time.perf_counter()
    output(arguments, folder, cache, status)
    return time.perf_counter() - start


def output(
    arguments: Sequence[str], folder: pathlib.Path, cache: pathlib.Path, status: int = 0
) -> str:
    """What a process of Python with these arguments prints."""
    root = pathlib.Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    ours = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**ours, "PYTHONPATH": path, "DPJAX_CACHE": str(cache)},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def rows(full: bool = False) -> Iterator[Row]:
    """Imports, help and errors, then the demo and commands on its files."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        yield from _imports(folder)
        yield from _help(folder)
        demo = ("-m", "dpjax", "demo", "--out", ".")
        for when, target in (("cold", 15), ("the second time", None)):
            took = seconds(demo, folder, folder / "cache")
            yield Row("W4", f"dpjax demo, {when}", took, "s", target, at_least=False)
        for command in COMMANDS:
            yield from _twice(command, folder)
        for name, (program, *given) in POSTERIORS.items():
            run = "-c", program + TIMED, *map(str, given)
            took = [float(output(run, folder, folder / "none")) for _ in range(3)]
            case, median = f"posterior of {name}", statistics.median(took)
            yield Row("W5", f"{case}, cold", median, "s", 5, at_least=False)


def _imports(folder: pathlib.Path) -> Iterator[Row]:
    times = {name: [] for name in IMPORTS}
    for _ in range(7):  # in turns
        for name, program in IMPORTS.items():
            times[name].append(seconds(("-c", program), folder, folder / "none"))
    (base, least), *others = [(x, statistics.median(y)) for x, y in times.items()]
    for name, median in others:
        found = {base: least, name: median}
        ratio, unit = median / least, f"× {base}"
        yield Row("W1", name, ratio, unit, 1.1, at_least=False, seconds=found)


def _help(folder: pathlib.Path) -> Iterator[Row]:
    for name, given in HELP.items():
        status = 2 if "--wrong" in given else 0
        run = ("-m", "dpjax", *given), folder, folder / "none", status
        median = statistics.median(seconds(*run) for _ in range(5))
        yield Row("W2", f"dpjax {name}", median, "s", 0.25, at_least=False)


def _twice(command: str, folder: pathlib.Path) -> Iterator[Row]:
    cold, again = [], []
    for i in range(3):
        run = ("-m", "dpjax", *COMMANDS[command]), folder, folder / f"{command}{i}"
        for times in (cold, again):
            (folder / "new.json").unlink(missing_ok=True)  # no release is replaced
            times.append(seconds(*run))
    for times, when, target in ((cold, "cold", 3), (again, "the second time", 1.5)):
        case, median = f"dpjax {command} of the demo, {when}", statistics.median(times)
        found = {f"process {i}": took for i, took in enumerate(times)}
        yield Row("W3", case, median, "s", target, at_least=False, seconds=found)


def main() -> None:
    """Print all."""
    for line in shown(rows()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
