"""Is a table counted from disk about as fast as it is read, and in flat memory? (C5)"""

import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow
from pyarrow import csv, parquet

from benchmarks.report import Row, shown
from benchmarks.timing import medians
from dpjax import BayesNet
from dpjax.statistics import exact_counts

try:
    import duckdb
except ImportError:
    duckdb = None
try:
    import polars
except ImportError:
    polars = None

BINARY = [f"x{i}" for i in range(15)]
LEVELS = {name: [0, 1] for name in BINARY} | {
    "text": ["aa", "bb", "cc"],
    "more": [0, 1, 2, 3, 4],
}
NETWORK = BayesNet.naive_bayes(LEVELS, BINARY[0])
PIECE = 10**6  # records written at once
_PEAK = """
import pathlib, sys
from benchmarks.bench_streaming import NETWORK, exact_counts
exact_counts(NETWORK, sys.argv[1])
status = pathlib.Path("/proc/self/status").read_text()
print(next(x.split()[1] for x in status.splitlines() if x.startswith("VmHWM")))
"""


def main() -> None:
    """Print a line for each ratio."""
    print(*shown(rows()), sep="\n")


def rows(full: bool = False) -> Iterator[Row]:
    """Time of counting from disk beside a pass that only reads; growth of memory.

    Args:
        full: 10^8 records of Parquet instead of 10^6, and their peak of memory beside
            that of 10^6; else 3·10^6 beside 10^5.
    """
    with tempfile.TemporaryDirectory() as folder:
        large = write(pathlib.Path(folder) / "large.parquet", 10**8 if full else 10**6)
        yield _speed(large, "Parquet", read_parquet, 10**8 if full else 10**6)
        yield from _beside_engines(write(pathlib.Path(folder) / "mid.parquet", 10**6))
        table = write(pathlib.Path(folder) / "table.csv", 10**6)
        yield _speed(table, "CSV", read_csv, 10**6)
        few, many = (10**6, 10**8) if full else (10**5, 3 * 10**6)
        small = write(pathlib.Path(folder) / "small.parquet", few)
        if not full:
            large = write(large, many)
        growth = peak(large) - peak(small)
        yield Row(
            "C5",
            f"peak memory, {many:.0e} records over {few:.0e}",
            growth,
            "MB more",
            300.0,
            at_least=False,
        )


def write(path: pathlib.Path, records: int) -> pathlib.Path:
    """A table of random records; the same ones again after a million."""
    random = np.random.default_rng(0)
    size = min(records, PIECE)
    piece = pyarrow.table(
        {
            name: np.array(levels)[random.integers(0, len(levels), size)]
            for name, levels in LEVELS.items()
        }
    )
    writer = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
    with writer(path, piece.schema) as file:
        for _ in range(records // size):
            file.write_table(piece)
    return path


def read_parquet(path: pathlib.Path) -> None:
    """A pass that only reads, with Arrow's own settings."""
    for _ in parquet.ParquetFile(path).iter_batches():
        pass


def read_csv(path: pathlib.Path) -> None:
    """A pass that only reads, with Arrow's own settings."""
    with csv.open_csv(path) as reader:
        for _ in reader:
            pass


def peak(path: pathlib.Path) -> float:
    """The most memory in MB that a process of its own holds while it counts a file.

    Of its own address space: `ru_maxrss` would be at least that of this process.
    """
    command = [sys.executable, "-c", _PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e3


def _speed(
    path: pathlib.Path, kind: str, read: Callable[[pathlib.Path], None], records: int
) -> Row:
    seconds = medians(
        {
            "read": lambda: read(path),
            "count": lambda: exact_counts(NETWORK, path),
        },
        rounds=5,
    )
    ratio = seconds["count"] / seconds["read"]
    case = f"{kind}, {records:.0e} records of 17 variables"
    return Row("C5", case, ratio, "× a read", 3.0, False, seconds)


def _beside_engines(path: pathlib.Path) -> Iterator[Row]:
    """Time of grouping a file in an engine beside that of counting it here."""
    engines = {}
    if duckdb is not None:
        engines["DuckDB"] = lambda: duckdb.connect().read_parquet(str(path))
    if polars is not None:
        engines["Polars"] = lambda: polars.scan_parquet(path)
    if not engines:
        print("neither duckdb nor polars is installed: no row.")
        return
    candidates = {x: lambda y=y: exact_counts(NETWORK, y()) for x, y in engines.items()}
    candidates["count"] = lambda: exact_counts(NETWORK, path)
    seconds = medians(candidates, rounds=5)
    best = min(engines, key=seconds.__getitem__)
    ratio = seconds[best] / seconds["count"]
    case = f"group by in {best}, the better of {' and '.join(engines)}, 1e+06 records"
    yield Row("C5", case, ratio, "× our count", 2.0, True, seconds)


if __name__ == "__main__":
    main()
