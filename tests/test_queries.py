"""Queries of polars, DuckDB and others: whole records, in one pass and in batches."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpjax as dp
from dpjax.data.sources import streams

SECRET = "s3cret"
WORDS = dp.Schema({"x": {"levels": ["a", "b", "rest"], "other": "rest"}})


def shuffled(table):
    """A relation whose records come in another order each time."""
    return duckdb.from_arrow(table).order("random()")


class Ibis:
    """A query with the interface of Ibis: each column, too, is a query of its own."""

    columns = ("x", "y")

    def __init__(self, table):
        self.table = table

    def __getitem__(self, name):
        return shuffled(self.table).select(name).to_arrow_table()[name]

    def __len__(self):
        raise AssertionError

    def __array__(self, dtype=None, copy=None):
        raise AssertionError

    def __arrow_c_stream__(self, requested_schema=None):
        return shuffled(self.table).__arrow_c_stream__(requested_schema)


class ByArray:
    """An object with Arrow's interface for one array alone."""

    def __init__(self, array):
        self.array = array

    def __arrow_c_array__(self, requested_schema=None):
        return self.array.__arrow_c_array__(requested_schema)


class ByStream:
    """An object with Arrow's interface for arrays in pieces alone."""

    def __init__(self, arrays):
        self.arrays = arrays

    def __arrow_c_stream__(self, requested_schema=None):
        return self.arrays.__arrow_c_stream__(requested_schema)


class Wrapped:
    """A frame of narwhals, whose columns hand over objects too."""

    def __init__(self, table):
        self.columns = table.column_names
        self.frame = table.to_pandas().astype(object)

    def __getitem__(self, name):
        return WrappedColumn(self.frame[name])


class WrappedColumn:
    dtype = "whatever"

    def __init__(self, column):
        self.column = column

    def to_native(self):
        return self.column

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array([["rest"] * len(self.column)]).__arrow_c_stream__()


QUERIES = {
    "LazyFrame": lambda table: pl.DataFrame(table).lazy(),
    "relation": duckdb.from_arrow,
    "shuffled relation": shuffled,
    "Ibis": Ibis,
    "polars frame in pieces": lambda table: pl.concat(
        [pl.DataFrame(table[:5]), pl.DataFrame(table[5:])], rechunk=False
    ),
    "batch": lambda table: ByArray(pa.record_batch(table.to_pydict())),
    "stream": ByStream,
    "narwhals": Wrapped,
}


@pytest.mark.parametrize("make", QUERIES.values(), ids=QUERIES)
def test_a_query_gives_whole_records_in_one_pass(make):
    cells = ["a", "b", "rest"] * 700
    table = pa.table({"x": cells, "y": cells})
    schema = dp.Schema({"x": ["a", "b", "rest"], "y": ["a", "b", "rest"]})
    for source in (make(table), iter([make(table), make(table)])):
        records = np.concatenate(list(schema.encode_batches(source)))
        assert (records[:, 0] == records[:, 1]).all()
        times = len(records) // len(cells)
        assert np.bincount(records[:, 0]).tolist() == [700 * times] * 3
    assert times == 2
    assert sum(map(len, schema.encode_batches(make(table[:0])))) == 0


def test_large_relations_come_in_batches():
    query = "select case when range % 2 = 0 then 'a' else 'b' end x from range(2500000)"
    sizes = [len(x) for x in WORDS.encode_batches(duckdb.sql(query))]
    assert sum(sizes) == 2_500_000
    assert max(sizes) <= 1_000_000


def closed():
    connection = duckdb.connect()
    relation = connection.sql("select 'a' x")
    connection.close()
    return relation


def bad_column():
    of_text = pl.Series([SECRET])
    return pl.LazyFrame({"x": of_text}).select(pl.col("x").cast(pl.Int64))


FAILING = {
    "a late conversion": lambda: duckdb.sql(
        f"select case when range = 399999 then '{SECRET}' else '1' end::int x "
        "from range(400000)"
    ),
    "a closed connection": closed,
    "a lazy conversion": bad_column,
    "a lazy column that is not there": lambda: pl.LazyFrame({"y": [1]}).select("x"),
    "a column alone": lambda: ByStream(pl.Series([SECRET])),
    "a column of polars": lambda: pl.Series([SECRET]),
    "a column of Arrow": lambda: pa.chunked_array([[SECRET]]),
    "an array of Arrow": lambda: pa.array([SECRET]),
    "records that are null": lambda: ByStream(pl.Series([{"x": SECRET}, None])),
    "an array alone": lambda: ByArray(pa.table({"x": [SECRET]})["x"].chunk(0)),
}


@pytest.mark.parametrize("make", FAILING.values(), ids=FAILING)
def test_a_query_that_fails_is_one_clear_line(make):
    message = "^`table` must give records with named columns throughout, the .* does n"
    for source in (make(), iter([make()])):
        with pytest.raises(ValueError, match=message) as error:
            list(WORDS.encode_batches(source))
        assert SECRET not in str(error.value)
        assert "\n" not in str(error.value)
        assert error.value.__context__ is None


def test_a_query_without_arrow_names_the_extra(monkeypatch):
    monkeypatch.setattr(streams, "pyarrow", None)
    with pytest.raises(ImportError, match=r'DuckDBPyRelation .*"dpjax\[data\]"'):
        WORDS.encode(duckdb.sql("select 'a' x"))
    assert WORDS.encode(pl.LazyFrame({"x": ["a"]})).tolist() == [[0]]
