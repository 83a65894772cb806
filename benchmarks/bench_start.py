"""How long does a user wait: for an import, for help, and for commands on the demo?

Every run is a process of its own. A cold command starts with an empty folder of
compiled programs, and the second one with the folder that the first has left.
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


def seconds(
    arguments: Sequence[str], folder: pathlib.Path, cache: pathlib.Path, status: int = 0
) -> float:
    """Seconds of one process of Python with these arguments, run in `folder`."""
    root = pathlib.Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "DPJAX_CACHE": str(cache)},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
    return time.perf_counter() - start


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
        cold.append(seconds(*run))
        again.append(seconds(*run))
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
