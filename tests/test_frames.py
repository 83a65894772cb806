"""Frames of pandas and polars: each cell of a column is read as if it was alone.

The packages have types of their own; what a cell becomes must depend neither on the
other cells of its column nor on the way in which the column is handed over.
"""

import collections
import datetime
import math
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpjax as dp
from dpjax.data.sources import encode_column, encoded_columns, frames, read_numbers
from dpjax.data.sources.encoded_columns import read_column

VARIABLES = {
    "words": {"levels": ["a", "b", "rest"], "other": "rest", "missing": "gap"},
    "strict": ["a", "1", "true", "2020-01-01"],
    "numbers": {"levels": [0, 1, 0.1, 9], "other": 9, "missing": "gap"},
    "listed": {"levels": [0, 1, 0.1, "a", "z"], "missing": "z"},
    "large": {"levels": [2**53, 2**53 + 64, "x"], "other": "x", "missing": "gap"},
    "codes": {"levels": ["01", "1.50", "rest"], "other": "rest"},
    "literals": {"levels": ["0x1", "a", "rest"], "other": "rest", "missing": "gap"},
    "bounds": {"lower": 0, "upper": 120, "missing": 40},
}
VARIABLES = {name: dp.Schema({"x": declared}) for name, declared in VARIABLES.items()}

TEXT = ["a", "b", "1", "01", "1.0", "", " ", "NA", "nan", "0x1", "true", "é", "a\0"]
TEXT += ["x" * 300, "9" * 400, "2020-01-01", "１", "1.50", None]
NUMBERS = [0, 1, 9, 40, None, 2**53, 2**53 + 1, -1]
FLOATS = [0.0, -0.0, 0.1, 1.0, 1.5, math.inf, math.nan, None, 2.0**53, 5e-324, 1e300]
SINGLES = [0.0, 0.1, 1.0, 9.0, 2.0**27, None, math.nan, math.inf]
BOOLEANS = [True, False, None]
DAYS = [datetime.date(2020, 1, 1), None]
OBJECTS = [1, "1", True, 1.0, 0, 0.0, -0.0, False, b"1", collections.UserString("1")]
OBJECTS += [Decimal(1), Decimal("1.50"), None, math.nan, -math.nan, float("nan"), 2**64]
OBJECTS += [pd.NA, pd.NaT, np.float32(0.1), np.float64(0.1), np.str_("a"), "\ud800"]
OBJECTS += [np.ma.masked, [1], {"a": 1}, 1j, pa.scalar("a"), *DAYS]
MIXED = [1, "1", "a", 0.1, b"1", Decimal("1.50"), datetime.date(2020, 1, 1), None]


def objects(cells):
    array = np.empty(len(cells), object)
    array[:] = cells
    return pd.Series(array, dtype=object)  # pandas would infer `str`


def series(cells, dtype):
    return pd.Series(cells, dtype=dtype)


def categories(cells, labels):
    codes = [-1 if x is None else cells.index(x) for x in cells]
    return pd.Series(pd.Categorical.from_codes(codes, labels))


def present(cells):
    return [x for x in cells if x is not None and x == x]


def of_labels(cells, dtype):
    """Categories in another order than the cells, some of which no cell has."""
    labels = pd.Index(present(cells)[::-1], dtype=dtype).drop_duplicates()
    codes = [*range(len(labels) - 1), -1, 0]
    return pd.Series(pd.Categorical.from_codes(codes, labels))


def dictionary(indices, values):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values)


COLUMNS = {
    "pandas objects": lambda: objects(OBJECTS),
    "pandas text and gaps": lambda: objects([*TEXT, math.nan, float("nan"), pd.NA]),
    "pandas objects of integers": lambda: objects(NUMBERS),
    "pandas objects of equal numbers": lambda: objects([1, True, 1.0, 0.0, False, "a"]),
    "pandas objects of equal numbers in turn": lambda: objects([1, 1, True, True]),
    "pandas objects of many values": lambda: objects([str(x) for x in range(300)]),
    "pandas objects of equal text": lambda: objects(["1", collections.UserString("1")]),
    "pandas objects of narrow numbers": lambda: objects([np.float32(0.1), 1, 0.5]),
    "pandas objects of floats": lambda: objects(FLOATS),
    "pandas str": lambda: series(TEXT, "str"),
    "pandas string[python]": lambda: series(TEXT, "string[python]"),
    "pandas string[pyarrow]": lambda: series(TEXT, "string[pyarrow]"),
    "pandas Int64": lambda: series(NUMBERS, "Int64"),
    "pandas Float64": lambda: series(FLOATS, "Float64"),
    "pandas boolean": lambda: series(BOOLEANS, "boolean"),
    "pandas int64": lambda: series(present(NUMBERS), "int64"),
    "pandas float32": lambda: series(SINGLES, "float32"),
    "pandas Float32": lambda: series(SINGLES, "Float32"),
    "pandas uint64": lambda: series([1, 2**63, 2**64 - 1], "uint64"),
    "pandas Sparse": lambda: series(FLOATS, "Sparse[float64]"),
    "pandas datetime": lambda: series(DAYS, "datetime64[s]"),
    "pandas datetime with a zone": lambda: series(DAYS, "datetime64[s, UTC]"),
    "pandas Period": lambda: series(["2020-01", None], "period[M]"),
    "pandas Interval": lambda: pd.Series(pd.cut([1, 2, 3, math.nan], 2)),
    "pandas of Arrow text": lambda: series(TEXT, pd.ArrowDtype(pa.large_string())),
    "pandas of Arrow days": lambda: series(DAYS, pd.ArrowDtype(pa.date32())),
    "pandas of Arrow decimals": lambda: series(
        [Decimal("1.50"), None], pd.ArrowDtype(pa.decimal128(9, 2))
    ),
    "pandas of Arrow halves": lambda: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(np.float16([0.1, 1]), pa.float16()))
    ),
    "pandas of Arrow bytes": lambda: series([b"a", None], pd.ArrowDtype(pa.binary())),
    "pandas of Arrow lists": lambda: series(
        [[1], [2]], pd.ArrowDtype(pa.list_(pa.int8()))
    ),
    "categories of text": lambda: of_labels(TEXT, "str"),
    "categories of objects": lambda: of_labels(MIXED, object),
    "categories of integers": lambda: of_labels(NUMBERS, "int64"),
    "categories of nullables": lambda: of_labels(NUMBERS, "Int64"),
    "categories of floats": lambda: of_labels(FLOATS, "float64"),
    "categories of singles": lambda: of_labels(SINGLES, "float32"),
    "categories of booleans": lambda: of_labels(BOOLEANS, "bool"),
    "categories of days": lambda: of_labels([*DAYS, DAYS[0]], "datetime64[s]"),
    "categories without a series": lambda: of_labels(TEXT, "str").array,
    "an index of categories": lambda: pd.Index(of_labels(TEXT, "str")),
    "polars text": lambda: pl.Series(TEXT),
    "polars text without gaps": lambda: pl.Series(["a\0", "a", "b"]),
    "polars Categorical": lambda: pl.Series(TEXT, dtype=pl.Categorical),
    "polars Enum": lambda: pl.Series(["b", "a", None], dtype=pl.Enum(["z", "a", "b"])),
    "polars Int64": lambda: pl.Series(NUMBERS),
    "polars UInt64": lambda: pl.Series([1, 2**63, None], dtype=pl.UInt64),
    "polars Int128": lambda: pl.Series([1, 2**53, 2**70, None], dtype=pl.Int128),
    "polars Float64": lambda: pl.Series(FLOATS),
    "polars Float32": lambda: pl.Series(SINGLES, dtype=pl.Float32),
    "polars Boolean": lambda: pl.Series(BOOLEANS),
    "polars Date": lambda: pl.Series(DAYS),
    "polars Null": lambda: pl.Series([None, None]),
    "polars Object": lambda: pl.Series(OBJECTS[:9], dtype=pl.Object),
    "polars Decimal": lambda: pl.Series([Decimal("1.50"), None]),
    "polars List": lambda: pl.Series([[1], [2]]),
    "polars Struct": lambda: pl.Series([{"a": 1}, {"a": 2}]),
    "polars Binary": lambda: pl.Series([b"a", b"1"]),
    "large text": lambda: pa.array(TEXT, pa.large_string()),
    "views of text": lambda: pa.array(TEXT, pa.string_view()),
    "a dictionary with nulls": lambda: dictionary(
        [0, 1, None, 2], pa.array(["b", None, "a"])
    ),
    "a dictionary of singles": lambda: dictionary(
        [0, 1, None], pa.array([0.1, None], pa.float32())
    ),
}


def read(variable, encode, column):
    """The codes of a column, or None if it is refused."""
    try:
        if isinstance(variable, dp.Interval):
            numbers, outside = read_numbers({"x": column}, "x")
            found = variable.clip(numbers)
        else:
            found, outside = encode_column({"x": column}, variable, encode)
    except ValueError:
        return None
    return None if outside else found.tolist()


def taken(column, places):
    if isinstance(column, pa.Array):  # not every type has a `take`
        return pa.chunked_array([column[i : i + 1] for i in places])
    take = getattr(column, "gather", None) or column.take
    return take(places)


TYPED = ("single", "32", "halves")  # no cell of Python has such a type


def alone(column, name):
    """Columns of one cell each, of Python's objects unless these lack the type."""
    if any(x in name for x in TYPED):
        return [taken(column, [i]) for i in range(len(column))]
    if hasattr(column, "astype"):
        return [[x] for x in column.astype(object)]
    list_of = column.to_pylist if isinstance(column, pa.Array) else column.to_list
    return [[x] for x in list_of()]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_cell_of_a_column_is_read_as_if_it_was_alone(name, monkeypatch):
    column = COLUMNS[name]()
    cells = alone(column, name)
    for schema in VARIABLES.values():
        numeric = isinstance(schema["x"], dp.Interval)
        known = schema["x"], None if numeric else schema["x"].encoder()
        monkeypatch.setattr(frames, "pyarrow", pa)
        found = [read(*known, cell) for cell in cells]
        good = [i for i, code in enumerate(found) if code is not None]
        for library, block in ((pa, 2), (None, 1 << 13)):
            monkeypatch.setattr(frames, "pyarrow", library)
            monkeypatch.setattr(encoded_columns, "_BLOCK", block)
            if good:
                expected = [code for i in good for code in found[i]]
                assert read(*known, taken(column, good)) == expected
            assert (read(*known, column) is None) == (None in found)


COUNTED = {
    "pandas objects": lambda cells: pd.DataFrame({"x": cells}, dtype=object),
    "pandas str": lambda cells: pd.DataFrame({"x": cells}, dtype="str"),
    "pandas string[python]": lambda cells: pd.DataFrame(
        {"x": [None, *cells]}, dtype="string[python]"
    ),
    "pandas categories": lambda cells: pd.DataFrame({"x": cells}, dtype="category"),
    "polars text": lambda cells: pl.DataFrame({"x": cells}),
    "polars categories": lambda cells: pl.DataFrame(
        {"x": cells}, schema={"x": pl.Categorical}
    ),
}


@pytest.mark.parametrize("make", COUNTED.values(), ids=COUNTED)
def test_a_cell_is_looked_up_once_for_each_value(make):
    asked = []
    variable = VARIABLES["words"]["x"]
    table = make(["a", "b", "c"] * 20_000)
    known = variable.encoder()

    def encode(cells):
        asked.extend(cells)
        return known(cells)

    codes, outside = encode_column(table, variable, encode)
    np.testing.assert_array_equal(codes[-60_000:], [0, 1, 2] * 20_000)
    assert len(asked) <= 4
    assert outside == []


def test_columns_of_a_frame_may_have_any_name():
    """Those of pandas are also attributes of the frame."""
    names = ["collect", "collect_schema", "get_fragments", "__arrow_c_array__", "a b"]
    schema = dp.Schema({name: ["a", "b"] for name in names})
    frame = pd.DataFrame({name: ["a", "b"] for name in names})
    for table in (frame, pl.DataFrame(frame), duckdb.from_arrow(pa.table(frame))):
        (records,) = schema.encode_batches(table)
        assert records.tolist() == [[0] * 5, [1] * 5]


def test_text_of_a_pandas_that_rounds_otherwise_is_no_number(monkeypatch):
    """Whose doubles would change with one cell that it takes for text."""

    class Own(pd.Series):
        pass

    text = pd.DataFrame({"x": ["0.1", "  "]})
    floats = pd.DataFrame({"x": [0.1, None]})
    same = [text, {"x": text["x"]}, {"x": Own(text["x"])}]
    tables = (*same, text.astype("category"), text.astype("string"))
    later = [read_numbers(x, "x").numbers.tolist() for x in (*tables, floats)]
    assert str(later) == str([[0.1, math.nan]] * 6)
    large = [pd.DataFrame({"x": [1, 2**53]}), pd.DataFrame({"x": [0.5, -(2.0**60)]})]
    assert [read_numbers(x, "x").numbers[1] for x in large] == [2.0**53, -(2.0**60)]
    refused = "`table` must have no "
    for earlier in ("2.2.2", "3.0.9"):
        monkeypatch.setattr(pd, "__version__", earlier)
        for read in (read_column, read_numbers):
            for table in tables:
                with pytest.raises(ValueError, match=f"{refused}text that shows"):
                    read(table, "x")
        for table in large:
            with pytest.raises(ValueError, match=f"{refused}number of at least 2"):
                read_numbers(table, "x")
    for table in (floats, {"x": ["0.1", "  "]}, pl.DataFrame({"x": ["0.1", "  "]})):
        assert str(read_numbers(table, "x").numbers.tolist()) == "[0.1, nan]"
    plain = pd.DataFrame(
        {"x": ["a", "007", "-1", "123456789012345", "nan", "inf", "True"]}
    )
    assert read_column(plain, "x").values == [*plain["x"]]
    for doubtful in ("1.0", "1e3", "1234567890123456", "0.00000000000000005"):
        with pytest.raises(ValueError, match=f"{refused}text that shows"):
            read_column(pd.DataFrame({"x": ["a", doubtful]}), "x")
