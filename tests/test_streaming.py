"""Records a batch at a time: the same counts as at once, the same refusals."""

import gzip
import os
import pathlib
import subprocess
import sys
import threading

import duckdb
import jax
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

import dpjax as dp
from dpjax.data.sources import csv_blocks, files
from dpjax.noise.discrete_laplace import LARGEST, WIDEST
from dpjax.releases.publish import measured
from dpjax.statistics import NetworkCounts
from dpjax.tables.counts import batches, count_batches, sum_batches

SCHEMA = dp.Schema(
    {"t": [False, True], "x": ["a", "b", "c"], "k": {"levels": [3, 4, 9], "other": 9}}
)
NET = dp.BayesNet.naive_bayes(SCHEMA, "t")
SECRET = "s3cret"
STATUS = pathlib.Path("/proc/self/status")
ROWS = 1003


@pytest.fixture(scope="module")
def table():
    """As Arrow has it: booleans, text, and integers some of which are not listed."""
    rng = np.random.default_rng(0)
    return pyarrow.table(
        {
            "t": rng.integers(0, 2, ROWS).astype(bool),
            "x": np.array(["a", "b", "c"])[rng.integers(0, 3, ROWS)],
            "k": rng.integers(-3, 12, ROWS),
        }
    )


@pytest.fixture(scope="module")
def expected(table):
    """By pandas, from the cells themselves."""
    frame = table.to_pandas()
    frame["k"] = frame["k"].where(frame["k"].isin([3, 4]), 9)
    counts = [
        ((frame["t"] == t) & (frame[name] == level)).sum()
        for name in ("x", "k")
        for t in (False, True)
        for level in SCHEMA[name].levels
    ]
    return np.array(counts)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Many batches and blocks of a small table, neither of which divides it."""
    monkeypatch.setattr(files, "BATCH", 100)
    monkeypatch.setattr(csv_blocks, "_BLOCK", 1000)
    monkeypatch.setattr(batches, "_MOST_ROWS", 64)


def parquet(table, path, rows=240):
    pyarrow.parquet.write_table(table, path, row_group_size=rows)
    return path


def csv(table, path):
    pyarrow.csv.write_csv(table, path)
    return path


def csv_gz(table, path):
    path.write_bytes(gzip.compress(csv(table, path.with_suffix("")).read_bytes()))
    return path


def folder(table, path):
    (path / "deeper").mkdir()
    (path / "_SUCCESS").touch()
    parquet(table.slice(0, 400), path / "1.parquet")
    csv(table.slice(400, 3), path / "2.csv")
    csv_gz(table.slice(403), path / "deeper" / "3.csv.gz").with_suffix("").unlink()
    return path


def dataset(table, path):
    pyarrow.dataset.write_dataset(
        table, path / "set", format="parquet", partitioning=["t"]
    )
    return pyarrow.dataset.dataset(path / "set", partitioning=["t"])


def filtered(table, path):
    more = pyarrow.table({"t": [True] * 50, "x": ["none"] * 50, "k": [3] * 50})
    whole = pyarrow.dataset.dataset(pyarrow.concat_tables([table, more]))
    return whole.filter(pyarrow.dataset.field("x") != "none")


SOURCES = {
    "Parquet": lambda t, p: str(parquet(t, p / "t.parquet")),
    "CSV": lambda t, p: csv(t, p / "t.csv"),
    "CSV.gz": lambda t, p: csv_gz(t, p / "t.csv.gz"),
    "folder": folder,
    "files": lambda t, p: sorted(folder(t, p).rglob("[0-9].*")),
    "data set": dataset,
    "data set with a filter": filtered,
    "reader": lambda t, _: t.to_reader(max_chunksize=77),
    "Arrow table": lambda t, _: t,
    "frames": lambda t, _: (t.slice(i, 300).to_pandas() for i in range(0, ROWS, 300)),
    "polars frame": lambda t, _: polars.DataFrame(t),
    "LazyFrame": lambda t, _: polars.DataFrame(t).lazy(),
    "relation": lambda t, _: duckdb.from_arrow(t),
    "arrays": lambda t, _: np.array_split(np.asarray(SCHEMA.encode(t)), 11),
    "dictionaries": lambda t, _: iter(
        [{name: t[name].to_numpy() for name in t.schema.names}]
    ),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_every_kind_of_source_is_counted_as_if_at_once(make, table, expected, tmp_path):
    counted = dp.statistics.exact_counts(NET, make(table, tmp_path))
    assert counted.dtype == np.int64
    np.testing.assert_array_equal(counted, expected)


def test_batches_are_encoded_in_order_as_the_whole_is(table, tmp_path):
    whole = SCHEMA.encode(table)
    for source in (parquet(table, tmp_path / "t.parquet"), csv(table, tmp_path / "t")):
        parts = list(SCHEMA.encode_batches(source))
        assert max(map(len, parts)) <= 240
        assert all(isinstance(x, np.ndarray) and x.dtype == np.uint8 for x in parts)
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        np.testing.assert_array_equal(SCHEMA.encode(source), whole)


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 128])
def test_padding_is_not_counted(rows, table, tmp_path):
    part = table.slice(0, rows)
    counted = dp.statistics.exact_counts(
        NET, parquet(part, tmp_path / "t.pq"), families="all"
    )
    exact = jax.jit(NetworkCounts(NET, "all").measure)(SCHEMA.encode(part))
    np.testing.assert_array_equal(counted, exact)
    assert counted[:2].sum() == rows


def test_the_blocks_of_no_record_are_those_of_one():
    """Compiled programs are kept, and must not say whether a table is empty."""
    measured = []

    def measure(block):
        measured.append(block.shape)
        return np.array([block.sum()], np.int64)

    shapes = []
    for n in range(3):
        total = sum_batches(measure, [np.ones((n, 2), np.uint8)], 1, most=8)
        assert total.values == [2 * n]
        assert total.records == n
        shapes.append([*measured])
        measured.clear()
    assert shapes[0] == shapes[1] == shapes[2] == [(8, 2)] * 2


def test_batches_of_different_types_are_counted_together():
    layout = NetworkCounts(NET).measured
    wide = np.array([[0, 1, 0], [256, 0, 0]], np.int32)  # 256 is no level, nor is it 0
    given = [np.zeros((2, 3), np.uint8), wide, np.zeros((1, 3), np.uint8)]
    together = count_batches(given, layout)
    one_by_one = sum(count_batches([x], layout) for x in given)
    np.testing.assert_array_equal(together, one_by_one)


@pytest.mark.parametrize("mechanism", ["laplace", "fourier"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_release_measures_of_a_file_what_it_does_in_memory(
    mechanism, adjacency, table, tmp_path
):
    statistic = dp.recipes.RECIPES[mechanism]().statistic(NET, adjacency)
    file = parquet(table, tmp_path / "t.parquet")
    exact, rows = measured(statistic, table)
    assert rows == ROWS
    for source in (file, SCHEMA.encode_batches(file)):
        streamed, rows = measured(statistic, source)
        assert rows == ROWS
        assert streamed.dtype == exact.dtype == np.int64
        np.testing.assert_array_equal(streamed, exact)


def test_numbers_come_from_many_files_too(tmp_path):
    numbers = pyarrow.table({"x": np.linspace(-5, 5, 500)})
    schema = dp.Schema({"x": {"lower": -1, "upper": 1}})
    for i in range(5):
        parquet(numbers.slice(100 * i, 100), tmp_path / f"{i}.pq")
    np.testing.assert_array_equal(schema.encode(tmp_path), schema.encode(numbers))
    family = dp.families.Gaussian(-1.0, 1.0)
    statistic = dp.statistics.Sufficient(family, (schema["x"],), "add-remove")
    streamed, rows = measured(statistic, sorted(tmp_path.iterdir()))
    assert rows == 500
    np.testing.assert_array_equal(streamed, measured(statistic, numbers)[0])


def test_too_many_records_are_refused_while_they_are_read(monkeypatch):
    monkeypatch.setattr(dp.mechanisms.DiscreteLaplace, "largest", 500)
    source = iter([np.zeros((100, 3), np.uint8)] * 10)
    ledger = dp.Ledger(1, adjacency="add-remove")
    with pytest.raises(ValueError, match="must have at most 500 records for exact"):
        dp.release(NET, source, epsilon=1, adjacency="add-remove", ledger=ledger)
    assert len(list(source)) == 4  # of which 5 make 500: the sixth was too much
    assert ledger.spent == 0
    assert (LARGEST, WIDEST) == (2**29, 2**53)


def test_records_are_not_touched_if_the_budget_is_gone():
    ledger = dp.Ledger("1/2", adjacency="add-remove")
    source = iter([np.zeros((1, 3), np.uint8)])
    with pytest.raises(dp.BudgetExceeded):
        dp.release(NET, source, epsilon=1, adjacency="add-remove", ledger=ledger)
    assert len(list(source)) == 1


def damaged_parquet(table, path):
    """Four row groups of 300, the third of which is not what its header says."""
    file = parquet(table, path / "bad.parquet", 300)
    column = pyarrow.parquet.ParquetFile(file).metadata.row_group(2).column(0)
    content = bytearray(file.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * (
        column.total_compressed_size
    )
    file.write_bytes(content)
    return file


def damaged_csv(ending):
    def make(table, path):
        csv(table, path / "bad.csv")
        with (path / "bad.csv").open("a") as file:
            file.write(ending)
        return path / "bad.csv"

    return make


def one_file_without_a_column(table, path):
    parquet(table, path / "1.parquet")
    parquet(table.drop_columns("x"), path / "2.parquet")
    return path


def strange_file(table, path):
    (path / "notes.txt").write_text(SECRET)
    return one_file_without_a_column(table, path)


def exhausted(table, path):
    batches = SCHEMA.encode_batches(table)
    dp.statistics.exact_counts(NET, batches)
    return batches


def replaced(name, values):
    def make(table, path):
        whole = table.set_column(table.schema.names.index(name), name, [values])
        return [table, parquet(whole, path / "t.parquet")]

    return make


BAD = {
    "a damaged row group": (damaged_parquet, "bad.parquet is not, in row group 2."),
    "a damaged row group of a data set": (
        lambda t, p: pyarrow.dataset.dataset(damaged_parquet(t, p)),
        "bad.parquet, in row group 2, is not.",
    ),
    "a ragged row": (damaged_csv(f"{SECRET},1\n"), "bad.csv is not, in row 1005 with"),
    "no text": (damaged_csv("\udcff,a,1\n".encode("utf8", "surrogateescape").decode(
        "latin1")), "column 't'"),
    "a file without a column": (one_file_without_a_column, r"'x' in .*2\.parquet\."),
    "a data set without a column": (
        lambda t, p: pyarrow.dataset.dataset(one_file_without_a_column(t, p)),
        r"in every file, .*2\.parquet has no 'x'\.",
    ),
    "a file of another kind": (strange_file, "of only Parquet and CSV files, got"),
    "an empty folder": (lambda _, p: p, "CSV files, got none in"),
    "nothing": (lambda *_: [], "at least one batch, got none from list"),
    "an exhausted iterator": (exhausted, "got none from generator: create a new one"),
    "a column taken for a table": (
        lambda *_: [SECRET, "b"], "no such file at place 1"
    ),
    "a Series taken for a table": (
        lambda *_: pd.Series([SECRET]), "no such file at place 1"
    ),
    "a number": (lambda *_: [3], "a mapping of arrays, got int"),
    "a level outside": (
        replaced("x", [SECRET] * ROWS), r"column 'x' in .*t\.parquet does not"
    ),
    "a missing value": (replaced("k", pyarrow.array([4] * 1002 + [None])), "lacks"),
    "lists": (replaced("x", [[SECRET]] * ROWS), "column 'x' does not"),
    "codes out of range": (
        lambda *_: [np.full((2, 3), 7, np.uint8)], "must hold indices of levels"
    ),
    "codes of another width": (
        lambda *_: [np.zeros((2, 2), np.uint8)], r"must have shape \(n, 3\)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_that_shows_no_value(name, table, tmp_path):
    make, message = BAD[name]
    source = make(table, tmp_path)
    ledger = dp.Ledger(1, adjacency="add-remove")
    with pytest.raises(ValueError, match=message) as error:
        dp.release(NET, source, epsilon=1, adjacency="add-remove", ledger=ledger)
    assert ledger.spent == 0
    assert "\n" not in str(error.value)
    assert SECRET not in str(error.value)


def test_a_column_that_one_file_has_too_many_is_named_by_its_place(table, tmp_path):
    parquet(table.append_column(SECRET, table["k"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 4 in .*t\.parquet is not") as error:
        dp.statistics.exact_counts(NET, tmp_path)
    assert SECRET not in str(error.value)
    assert dp.statistics.exact_counts(NET, tmp_path, ignore="*").sum() == 2 * ROWS


def test_the_curator_is_shown_what_is_wrong_in_any_batch(table, tmp_path):
    cells = ["a"] * 500 + ["x", "y"] + ["a"] * (ROWS - 503) + ["x"]
    path = replaced("x", cells)(table, tmp_path)[1]
    assert sorted(SCHEMA.check(path).values["x"]) == ["x", "y"]


def test_progress_wraps_the_batches(table, tmp_path):
    seen = []

    def progress(batches):
        for batch in batches:
            seen.append(len(batch))
            yield batch

    dp.statistics.exact_counts(
        NET, parquet(table, tmp_path / "t.parquet"), progress=progress
    )
    assert sum(seen) == ROWS
    assert len(seen) > 10


HIGH_WATER = """
import pathlib, sys, numpy as np
import dpjax as dp
net = dp.BayesNet.naive_bayes({f"x{i}": [0, 1] for i in range(17)}, "x0")
batch = np.random.default_rng(0).integers(0, 2, (10_000, 17)).astype(np.uint8)
dp.statistics.exact_counts(net, (batch.copy() for _ in range(int(sys.argv[1]))))
status = pathlib.Path("/proc/self/status").read_text()
print(next(x.split()[1] for x in status.splitlines() if x.startswith("VmHWM")))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not STATUS.exists(), reason="reads /proc, which Linux has")
def test_memory_stays_flat():
    """170 MB more of records than the first run has must not be held."""

    def peak(batches):
        command = [sys.executable, "-c", HIGH_WATER, str(batches)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stdout) / 1e3

    assert peak(1100) - peak(100) < 60


@pytest.mark.skipif(not STATUS.exists(), reason="reads /proc, which Linux has")
def test_a_file_that_is_not_read_to_its_end_is_closed(tmp_path):
    """The thread that reads ahead ends with its reader, and the file is closed."""
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [0, 1] * 10**5}), path)
    threads = threading.active_count()
    read = files.File(path).read(["x"])
    next(read)
    assert _is_open(path)
    read.close()
    assert threading.active_count() == threads
    assert not _is_open(path)


def _is_open(path):
    links = pathlib.Path("/proc/self/fd").iterdir()
    return str(path) in [os.path.realpath(link) for link in links]
