"""Cells of lazy tables: each is read as if it was alone, whatever the engine does."""

import itertools
import re

import duckdb
import ibis
import narwhals
import pandas as pd
import polars as pl
import pyarrow
import pytest

import dpjax as dp
from dpjax.releases.measuring import Rows, measured
from dpjax.statistics import NetworkCounts
from tests.helpers import databases
from tests.helpers.spark import of_spark


@pytest.fixture(autouse=True)
def closed():
    yield
    databases.close_all()


KINDS = {
    "levels": {"levels": ["a", "1", "2024-04"], "other": "a", "missing": "1"},
    "bins": {"lower": 0, "upper": 9, "edges": [1, 2], "missing": "[1, 2)"},
    "periods": {"lower": "2024-01-01", "upper": "2024-12-31", "unit": "month"},
    "answers": {"levels": [False, True, "?"], "other": "?", "missing": "?"},
}
CELLS = [
    *(0, 1, 1.0, 1.5, True, "1", "a", "A", None, "", b"a", 2**53 + 1, 20240430),
    *("2024-04-30", "2024-04-30T23:30:00-05:00", "04/03/2024", "0x1"),
]


def network(declared, name="x"):
    return dp.BayesNet.from_parents({name: declared}, {name: []})


def counted(net, table, ignore="y"):
    """The counts, or None if the table is refused in one line."""
    try:
        return measured(NetworkCounts(net), table, Rows(ignore=ignore))[0].tolist()
    except ValueError as error:
        refusal = str(error)
    assert re.fullmatch(r"`table` must [^\n]+", refusal)
    return None


def of_sqlite(kind, cells, encoding="UTF-8"):
    connection = databases.sqlite()
    connection.con.execute(f"pragma encoding = '{encoding}'")
    connection.con.execute(f"create table t (x {kind} collate nocase, y real)")
    connection.con.executemany("insert into t values (?, 1)", [(x,) for x in cells])
    return connection.table("t")


def of_dask(cells):
    frames = pytest.importorskip("dask.dataframe")
    column = pd.Series(cells, dtype=object)
    return frames.from_pandas(pd.DataFrame({"x": column}), npartitions=1)


def moved(make, declared, cells):
    """Pairs of cells that are not counted as each of them alone."""
    net = network(declared)
    alone = [counted(net, make([x])) for x in cells]
    for (a, first), (b, second) in itertools.permutations(
        zip(cells, alone, strict=True), 2
    ):
        both = counted(net, make([a, b]))
        refused = first is None or second is None
        if both != (
            None if refused else [x + y for x, y in zip(first, second, strict=True)]
        ):
            yield a, b


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["integer", "boolean", "date", "text", "timestamp"])
def test_a_cell_of_sqlite_is_read_as_if_it_was_alone(kind):
    """Columns hold cells of any type, which Ibis converts together."""
    declared = "periods" if kind in ("date", "timestamp") else "levels"
    cells = CELLS[-8:] if declared == "periods" else CELLS[:8] + CELLS[-2:]
    assert not list(moved(lambda x: of_sqlite(kind, x), KINDS[declared], cells))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["integer", "boolean", "date", "text", "timestamp"])
@pytest.mark.parametrize("declared", ["answers", "bins"])
def test_more_cells_of_sqlite_are_read_as_if_they_were_alone(kind, declared):
    assert not list(moved(lambda x: of_sqlite(kind, x), KINDS[declared], CELLS[::2]))


@pytest.mark.slow
def test_a_cell_of_dask_is_read_as_if_it_was_alone():
    """1, 1.0 and True are equal in a column of objects."""
    dask = pytest.importorskip("dask")
    with dask.config.set({"dataframe.convert-string": False}):
        for declared in (KINDS["levels"], {"levels": ["a", "b"], "other": "a"}):
            assert not list(moved(of_dask, declared, [1, 1.0, True, "1", "a"]))


ONES = ["01", "1.0", "1e0", " 1", "+1", "TRUE", "true", "Infinity", "1" * 16]
WORDS = ["1", "-7", "0", "True", "False", "x", "1,0", "0x1", "2024-04-30"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["string", "category"])
def test_text_that_dask_may_have_made_from_numbers_is_refused(kind):
    """Which text a cell is may depend on the other cells of its block."""
    frames = pytest.importorskip("dask.dataframe")
    net = network({"levels": [*ONES[:2], *ONES[4:6], *WORDS], "other": "x"})

    def of(cells, id="p"):
        frame = pd.DataFrame({"x": cells, "person": [id] * len(cells)})
        frame = frames.from_pandas(frame, npartitions=1)
        return frame.astype({"x": kind})

    for cell in ONES:
        assert counted(net, of(["x", cell]), "person") is None
    counts = counted(net, of(WORDS), "person")
    assert counts == [0] * 4 + [1] * len(WORDS)
    options = {"epsilon": 1, "adjacency": "add-remove", "ignore": "*"}
    with pytest.raises(ValueError, match="`table` must have no text that shows"):
        dp.release(net, of(["x"], "1.0"), id="person", contributions=1, **options)


@pytest.mark.slow
def test_a_block_of_a_file_of_dask_moves_no_record(tmp_path):
    """One cell of a block that is no number makes the block's other cells text."""
    frames = pytest.importorskip("dask.dataframe")
    net = network({"levels": ["01", "1", "x"]})
    for last in ("01", "x"):
        text = "x,y\n" + "x,0\n" * 50 + "01,0\n" * 40 + f"{last},0\n"
        (tmp_path / "a.csv").write_text(text)
        table = frames.read_csv(tmp_path / "a.csv", blocksize=205, sample=100)
        assert counted(net, table) is None


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_text_of_sqlite_is_text_in_every_encoding(encoding, wrapped):
    table = of_sqlite("text", ["a", "A", "A", "a\0"], encoding)
    table = narwhals.from_native(table) if wrapped else table
    assert counted(network({"levels": ["a", "A", "a\0"]}), table) == [1, 2, 1]


def test_text_that_is_not_utf8_is_refused():
    connection = databases.sqlite()
    connection.con.execute("create table t (x text)")
    connection.con.execute("insert into t values (cast(x'ff41' as text))")
    assert counted(network(KINDS["levels"]), connection.table("t")) is None


def test_a_table_of_no_database_is_refused():
    assert counted(network(KINDS["levels"]), ibis.table({"x": "string"})) is None


@pytest.mark.parametrize("name", ["a.b", "*", " x ", "`a`", "N", 'a"b', "select"])
def test_a_column_of_duckdb_may_have_any_name(name):
    """A query that groups by " x " would read it as x, and others as SQL."""
    for cells in ([0, 1, 1], [0.0, 1.0, 1.0]):  # grouped there, and read here
        other = {"x": [1, 1, 1]} if name == " x " else {}
        table = duckdb.from_arrow(pyarrow.table({name: cells, **other}))
        for given in (table, narwhals.from_native(table)):
            assert counted(network([0, 1], name), given, "x") == [1, 2]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:os.fork")  # Spark forks for its JVM
def test_a_column_of_spark_may_have_any_name():
    for name in ("a.b", " x ", "`a`", "N", 'a"b', "select"):
        for cells in ([0, 1, 1], ["0", "1", "1"]):
            table = of_spark(pyarrow.table({name: cells}))
            assert counted(network([0, 1], name), table) == [1, 2]
    table = of_spark(pyarrow.table({"x": [0.0, 1.0, 1.0]}))  # which is read here
    assert counted(network([0, 1]), table) == [1, 2]


@pytest.mark.parametrize("kind", [pl.Int128, pl.UInt128, pl.Categorical])
def test_a_lazy_column_of_polars_is_read_as_an_eager_one(kind):
    frame = pl.DataFrame({"x": ["0", "1", "1"]}).select(pl.col("x").cast(kind))
    net = network([0, 1])
    assert counted(net, frame.lazy()) == counted(net, frame) == [1, 2]
