"""Tables that are counted where they live are counted as they are counted here."""

import contextlib
import datetime
import sqlite3

import duckdb
import ibis
import narwhals
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest

import dpjax as dp
from dpjax.data.sources import queries
from dpjax.releases.measuring import Rows, measured
from dpjax.statistics import (
    FourierCoefficients,
    NetworkCounts,
    Sufficient,
    exact_counts,
)
from tests.helpers import databases
from tests.helpers.spark import of_spark


@pytest.fixture(autouse=True)
def closed():
    yield
    databases.close_all()


SCHEMA = dp.Schema(
    {
        "t": {"levels": ["no", "ja", "e\\x41", "eA"], "missing": "no"},
        "x": {
            "levels": ["a", "A", "a ", "other", "?"],
            "other": "other",
            "missing": "?",
        },
        "age": {"lower": 0, "upper": 100, "edges": [18, 65], "missing": "0 to 18"},
        "b": {"levels": [False, True], "missing": False},
        "day": {"lower": "2024-01-01", "upper": "2024-12-31", "unit": "month"},
    }
)
NET = dp.BayesNet.from_parents(
    SCHEMA, {"t": [], "x": ["t"], "age": ["t", "x"], "b": ["t"], "day": ["b"]}
)


def independent(levels):
    return dp.BayesNet.from_parents(levels, dict.fromkeys(levels, ()))


SECRET = "a value that no message shows"
WORDS = independent({"x": ["a", "b"], "y": [0, 1]})
FEW = pl.DataFrame({"x": ["a", "b", "b"], "y": [0, 1, 1]})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 500
    days = np.datetime64("2023-12-20") + rng.integers(0, 400, n)
    return pyarrow.table(
        {
            "x": rng.choice(["a", "A", "a ", "b", "B", None], n).tolist(),
            "t": rng.choice(["no", "ja", "e\\x41", "eA", None], n).tolist(),
            "age": pyarrow.array(rng.integers(-5, 120, n)),
            "b": pyarrow.array(rng.choice([True, False, None], n).tolist()),
            "day": pyarrow.array(days.astype(object)),
            "extra": np.arange(n),
        }
    )


def statistics():
    yield NetworkCounts(NET)
    yield NetworkCounts(NET, "all")
    yield FourierCoefficients.of_network(NET, "replace-one")


def of_duckdb(table):
    connection = duckdb.connect()
    connection.register("people", table)
    connection.execute(
        "create table folded (x varchar collate nocase, t varchar collate noaccent, "
        "age int, b boolean, day date, extra int)"
    )
    connection.execute("insert into folded select * from people")
    return connection.table("folded")


def of_sqlite(table):
    """SQLite has no dates, which are text there."""
    connection = databases.sqlite()
    connection.con.execute(
        "create table folded (x text collate nocase, t text collate nocase, age int, "
        "b boolean, day text, extra int)"
    )
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    shown = [[x.isoformat() if isinstance(x, datetime.date) else x for x in row]
             for row in rows]  # fmt: skip
    connection.con.executemany("insert into folded values (?, ?, ?, ?, ?, ?)", shown)
    return connection.table("folded")


def of_polars(table):
    return pl.from_arrow(table).lazy()


def of_dask(table):
    frames = pytest.importorskip("dask.dataframe")
    nullable = {pyarrow.bool_(): pd.BooleanDtype(), pyarrow.int64(): pd.Int64Dtype()}
    return frames.from_pandas(table.to_pandas(types_mapper=nullable.get), npartitions=3)


LAZY = {
    "duckdb": of_duckdb,
    "ibis over sqlite": of_sqlite,
    "ibis over duckdb": ibis.memtable,
    "polars": of_polars,
    "narwhals": lambda table: narwhals.from_native(of_polars(table)),
    "dask": of_dask,
    "spark": of_spark,
}
SLOW = {"dask", "spark"}


def by_hand(table):
    """The printed queries, run in SQLite."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table people (x, t, age, b, day, extra)")
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        shown = [
            [str(x) if isinstance(x, datetime.date) else x for x in row] for row in rows
        ]
        connection.executemany("insert into people values (?, ?, ?, ?, ?, ?)", shown)
        results = []
        for names, query in dp.tables.sql(NET, "people").items():
            found = zip(*connection.execute(query), strict=True)
            results.append(dict(zip([*names, "n"], map(list, found), strict=True)))
    return dp.data.Grouped(results)


@pytest.fixture
def grouped(monkeypatch):
    """The columns of each query that an engine groups."""
    seen, groups = [], queries.Query.groups

    def spy(self, names, *arguments):
        seen.append(tuple(names))
        return groups(self, names, *arguments)

    monkeypatch.setattr(queries.Query, "groups", spy)
    return seen


@pytest.mark.parametrize(
    "engine",
    [pytest.param(x, marks=[pytest.mark.thorough] * (x in SLOW)) for x in LAZY],
)
@pytest.mark.filterwarnings("ignore:os.fork")  # Spark forks for its JVM
def test_an_engine_counts_what_we_count(engine, table, grouped):
    source = LAZY[engine](table)
    for statistic in statistics():
        exact, n = measured(statistic, table, Rows(ignore="extra"))
        grouped.clear()
        given = source
        if engine == "ibis over duckdb":
            given = dp.data.group(source, NET, binary=True, ignore="extra")
        found, total = measured(statistic, given, Rows(ignore="extra"))
        assert total == n == 500
        np.testing.assert_array_equal(found, exact)
        assert sorted(map(len, grouped)) == [2, 2, 3]


def test_printed_queries_count_what_we_count(table):
    results = by_hand(table)
    assert [[*x] for x in results.tables] == [
        ["t", "x", "age", "n"], ["t", "b", "n"], ["b", "day", "n"],
    ]  # fmt: skip
    for statistic in statistics():
        exact, n = measured(statistic, table, Rows(ignore="extra"))
        found, total = measured(statistic, results)
        assert total == n
        np.testing.assert_array_equal(found, exact)


def test_a_grouped_table_names_its_own_column():
    results = dp.data.group(FEW.lazy(), WORDS)
    with pytest.raises(
        ValueError, match="`table` must not be grouped if `multiplicity`"
    ):
        measured(NetworkCounts(WORDS), results, Rows(multiplicity="n"))
    with pytest.raises(ValueError, match="not grouped or with a `mesh`"):
        measured(
            Sufficient.of("poisson", (dp.Interval("y", 0, 1),), "add-remove"), results
        )


def test_queries_quote_their_names():
    net = independent({'a"; drop': [0, 1]})
    ((names, query),) = dp.tables.sql(net, 'b.pe"ople', multiplicity="k").items()
    assert names == ('a"; drop',)
    assert query == (
        'SELECT "pe""ople"."a""; drop", COUNT(*) AS "k" FROM "b"."pe""ople" '
        'GROUP BY "pe""ople"."a""; drop"'
    )
    for given in ({"table": ""}, {"multiplicity": ""}):
        with pytest.raises(ValueError, match="must be a name, text that is not empty"):
            dp.tables.sql(**{"net": WORDS, "table": "people", **given})


def test_a_printed_query_reads_no_name_as_text():
    """SQLite takes a name in quotes that is no column for text."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table people (y)")
        for query in dp.tables.sql(independent({"x": [0, 1]}), "people").values():
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(query)
    with pytest.raises(ValueError, match="`multiplicity` must be no variable's name"):
        dp.tables.sql(WORDS, "people", multiplicity="x")


@pytest.mark.slow
def test_a_release_of_a_query_is_that_of_its_records(tmp_path):
    connection = duckdb.connect()
    connection.register("people", FEW.to_arrow())
    ledger = dp.Ledger(60, adjacency="replace-one")
    released = dp.release(
        WORDS, connection.sql("from people"), epsilon=60, ledger=ledger
    )
    assert released.values.tolist() == [1, 2, 1, 2]
    assert released.n == 3
    assert ledger.spent == 60
    exact = exact_counts(WORDS, FEW.lazy())
    assert exact.tolist() == [1, 2, 1, 2]
    assert exact_counts(WORDS, dp.data.group(FEW.lazy(), WORDS)).tolist() == [
        1,
        2,
        1,
        2,
    ]


def test_numbers_with_a_fraction_are_read_here(grouped):
    net = independent({"x": {"lower": 0, "upper": 1, "bins": 2}})
    frame = pl.LazyFrame({"x": [0.1, 0.7, 0.9]})
    exact, n = measured(NetworkCounts(net), frame)
    assert (exact.tolist(), n) == ([1, 2], 3)
    assert not grouped
    with pytest.raises(
        ValueError, match="`table` must be a lazy table with columns of"
    ):
        dp.data.group(frame, net)


def test_names_of_columns_are_quoted():
    name = 'a" b'
    relation = duckdb.from_arrow(pyarrow.table({name: ["x", "ä", "ä"]}))
    net = independent({name: ["x", "ä"]})
    assert measured(NetworkCounts(net), relation)[0].tolist() == [1, 2]


def test_a_count_has_a_name_of_its_own():
    net = independent({"n0": [0, 1], "n": [0, 1]})
    frame = pl.LazyFrame({"n0": [0, 1, 1], "n": [0, 0, 1]})
    assert measured(NetworkCounts(net), frame)[0].tolist() == [1, 2, 2, 1]


def test_a_comparison_of_text_that_is_not_known_is_refused():
    table = ibis.memtable(FEW)
    with pytest.raises(
        ValueError, match="compares text byte by byte, ibis over duckdb may"
    ):
        dp.release(WORDS, table, epsilon=1, adjacency="replace-one")
    by_bytes = dp.data.group(table, WORDS, binary=True)
    assert measured(NetworkCounts(WORDS), by_bytes)[0].tolist() == [1, 2, 1, 2]
    exact, _ = measured(NetworkCounts(WORDS), table.to_pyarrow())  # the other remedy
    assert exact.tolist() == [1, 2, 1, 2]


def test_more_groups_than_can_be_held_are_refused(monkeypatch):
    monkeypatch.setattr(queries, "_MOST", 1)
    with pytest.raises(
        ValueError, match="`table` must have at most 1 different rows of"
    ):
        measured(NetworkCounts(WORDS), FEW.lazy())
    monkeypatch.setattr(queries, "_MOST", 2)
    assert measured(NetworkCounts(WORDS), FEW.lazy())[1] == 3


def test_a_table_that_changes_between_queries_is_refused():
    ledger = dp.Ledger(1, adjacency="add-remove")
    tables = [{"x": ["a"], "n": [2]}, {"y": [0, 1], "n": [1, 2]}]
    with pytest.raises(ValueError, match="their numbers of records differ: group all"):
        dp.release(
            WORDS, dp.data.Grouped(tables), epsilon=1, adjacency="add-remove",
            ledger=ledger,
        )  # fmt: skip
    assert ledger.spent == 0


def test_a_variable_of_two_tables_is_counted_once():
    both = {"x": ["a", "b"], "y": [0, 1], "n": [1, 2]}
    results = dp.data.Grouped([both, {"y": [0, 1], "n": [1, 2]}])
    assert measured(NetworkCounts(WORDS), results)[0].tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("tables", "match"),
    [
        ([], "`tables` must be a list of at least one table"),
        ([{"x": ["a"], "n": [1]}] * 2, "must have a table with the columns y: see `dp"),
        ([{"z": [1], "n": [1]}] * 2, "must have a column of a variable in each table"),
        ([{"x": ["a"], "n": [1]}], "a column for each variable, got no 'y'"),
        ([iter([]), FEW], "must be tables in memory with names of columns, or paths"),
        (
            [{"x": ["a"]}, {"y": [1]}],
            "`multiplicity` must name a column of the table, got no 'n'",
        ),
        (
            [{"x": ["a"], "y": [1], "n": [-1]}],
            "`multiplicity` must be an integer from 0 to",
        ),
        ([np.zeros((1, 2))], "encoded records have no names: give the table itself"),
        ([np.zeros((1, 2))] * 2, "must be tables in memory with names of columns, or"),
        ([{"x": [SECRET], "n": [1]}, {"y": [1], "n": [1]}], "'x'"),
    ],
)
def test_other_results_of_queries_are_refused(tables, match):
    with pytest.raises(ValueError, match=match) as caught:
        measured(NetworkCounts(WORDS), dp.data.Grouped(tables))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_query_without_records(adjacency):
    options = {"epsilon": 1, "adjacency": adjacency}
    if adjacency == "add-remove":
        assert dp.release(WORDS, FEW.lazy().head(0), **options).n is None
        return
    with pytest.raises(ValueError, match="`table` must not be empty under replace-one"):
        dp.release(WORDS, FEW.lazy().head(0), **options)


@pytest.mark.parametrize(
    ("frame", "match"),
    [
        (FEW.lazy().select("x"), "a column for each variable, got no 'y'"),
        (
            FEW.lazy().with_columns(z=1),
            "must have only columns of the schema, column 3",
        ),
        (FEW.lazy().select(pl.col("x"), pl.col("nowhere")), "the LazyFrame does not"),
        (FEW.lazy().select("x", y=pl.col("x").cast(int)), "the LazyFrame does not"),
    ],
)
def test_other_queries_are_refused(frame, match):
    with pytest.raises(ValueError, match=match):
        measured(NetworkCounts(WORDS), frame)


def test_an_error_of_an_engine_shows_no_value():
    connection = duckdb.connect()
    query = f"select '{SECRET}' as x, cast('{SECRET}' as int) as y"
    with pytest.raises(ValueError, match="the DuckDBPyRelation does not") as caught:
        measured(NetworkCounts(WORDS), connection.sql(query))
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_without_narwhals_records_are_read_in_one_pass(monkeypatch):
    def absent():
        raise ImportError

    monkeypatch.setattr(queries, "_narwhals", absent)
    relation = duckdb.from_arrow(FEW.to_arrow())
    assert measured(NetworkCounts(WORDS), relation)[0].tolist() == [1, 2, 1, 2]
    with pytest.raises(ImportError, match=r'pip install "dpjax\[data\]"'):
        measured(NetworkCounts(WORDS), FEW.lazy())


def test_columns_of_equal_levels_are_told_apart():
    net = dp.BayesNet.from_parents({"x": [0, 1], "y": [0, 1]}, {"x": [], "y": ["x"]})
    statistic = NetworkCounts(net)
    rows = pl.DataFrame({"x": [0, 0, 1, 1, 1], "y": [1, 1, 0, 0, 0]})
    lazy, _ = measured(statistic, rows.lazy())
    np.testing.assert_array_equal(lazy, measured(statistic, rows)[0])
    assert lazy.tolist() == [0, 2, 3, 0]
