import math
from decimal import Decimal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from dpjax import Schema
from dpjax.data.intervals import number
from tests.helpers.encoded import assert_encoded

SCHEMA = Schema(
    {
        "age": {"lower": 0, "upper": 120, "missing": 40},
        "pay": {"lower": -1.5, "upper": 10},
        "smokes": {"lower": 0, "upper": 1},
    }
)
TABLE = {
    "age": [22, 130, -3, 22],
    "pay": [0.1, 1e300, -2.5, None],
    "smokes": [True, False, False, True],
}
NUMBERS = [[22, 0.1, 1], [120, 10, 0], [0, -1.5, 0], [22, 4.25, 1]]


def in_csv(name):
    def write(frame, folder):
        frame.to_csv(folder / name, index=False)
        return folder / name

    return write


def in_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet", index=False)
    return folder / "t.parquet"


def as_chunks(frame, _):
    table = pyarrow.Table.from_pandas(frame)
    return pyarrow.concat_tables([table.slice(0, 1), table.slice(1)])


def as_dictionaries(frame, _):
    table = as_chunks(frame, _)
    return pyarrow.table(
        {name: table[name].dictionary_encode() for name in table.column_names}
    )


CONTAINERS = {
    "csv": in_csv("t.csv"),
    "csv.gz": in_csv("t.csv.gz"),
    "parquet": in_parquet,
    "arrow": lambda frame, _: pyarrow.Table.from_pandas(frame),
    "chunked arrow": as_chunks,
    "arrow dictionaries": as_dictionaries,
    "frame": lambda frame, _: frame,
    "frame of nullable types": lambda frame, _: frame.convert_dtypes(),
    "frame of arrow types": lambda frame, _: frame.convert_dtypes(
        dtype_backend="pyarrow"
    ),
    "frame of objects": lambda frame, _: frame.astype(object),
    "frame of categories": lambda frame, _: frame.astype("category"),
    "lists": lambda frame, _: {name: frame[name].tolist() for name in frame},
    "tuples": lambda frame, _: {name: (*frame[name],) for name in frame},
    "arrays": lambda frame, _: {name: frame[name].to_numpy() for name in frame},
}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_every_kind_of_table_is_encoded_alike(make, tmp_path):
    table = make(pd.DataFrame(TABLE), tmp_path)
    assert_encoded(SCHEMA.encode(table), NUMBERS)
    empty = make(pd.DataFrame(TABLE)[:0], tmp_path)
    assert_encoded(SCHEMA.encode(empty), np.zeros((0, 3)))


COLUMNS = {
    "integers": pd.Series([3, -7, 2**53 + 1, 0]),
    "narrow": pd.Series([3, 200, 0], dtype="uint8"),
    "wide": pd.Series([2**63 + 1025, 1], dtype="uint64"),
    "floats": pd.Series([0.1, -0.0, 0.0, math.inf, -math.inf, math.nan, 1e300]),
    "single": pd.Series([0.5, 3, math.nan], dtype="float32"),
    "half": pd.Series([0.5, 3, math.nan], dtype="float16"),
    "booleans": pd.Series([True, False]),
    "nullable integers": pd.Series([3, None, 2**53 + 1], dtype="Int64"),
    "nullable floats": pd.Series([0.1, None, -0.0], dtype="Float64"),
    "nullable booleans": pd.Series([True, None, False], dtype="boolean"),
    "decimals": pd.Series([Decimal("0.10"), None, Decimal("-7.25")], dtype=object),
    "texts": pd.Series(["0.1", "", " 3 ", "1e3", "1e400", "-0.0", "true", "nan"]),
    "texts with gaps": pd.Series(["0.1", None, "-inf", "9" * 70], dtype=object),
    "nothing": pd.Series([None, None], dtype=object),
}
WIDE = Schema({"x": {"lower": -5, "upper": 1e20, "missing": 7}})


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_cells_number_does_not_depend_on_other_cells(column, make, tmp_path):
    """Else one record could move all others, whatever the sensitivity says."""
    frame = pd.DataFrame({"x": column})
    if column.dtype == "float16" and make is CONTAINERS["frame of categories"]:
        frame = frame.astype("float32")  # pandas has no categories of float16

    def encoded(part):
        return np.asarray(WIDE.encode(make(part, tmp_path)))[:, 0]

    together = encoded(frame)
    numbers = [number(cell) for cell in column.tolist()]
    assert_encoded(together, WIDE["x"].clip(numbers))
    alone = np.concatenate([encoded(frame[i : i + 1]) for i in range(len(frame))])
    backwards = encoded(frame[::-1])[::-1]
    assert together.tobytes() == alone.tobytes() == backwards.tobytes()


MIXTURES = {
    "numbers": [
        1,
        True,
        1.0,
        0,
        -0.0,
        0.0,
        1.5,
        2**53 + 1,
        10**400,
        1e300,
        -(10**5000),
    ],
    "numpy's": [np.int64(1), np.bool_(True), np.float16(0.1), np.float64(0.1), 0.1],
    "texts": ["1", 1, "1.0", "nan", "", "  ", None, math.nan, "True", "inf", -math.inf],
    "decimals": [Decimal("0.1"), 0.1, Decimal("nan"), pd.NA, Decimal("1e400"), 3],
}


def as_objects(cells):
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


@pytest.mark.parametrize("cells", MIXTURES.values(), ids=MIXTURES)
@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        as_objects,
        lambda cells: np.ma.masked_array(as_objects(cells)),
        lambda cells: pd.Series(as_objects(cells), dtype=object),
    ],
)
def test_neither_does_it_in_columns_of_mixed_types(cells, make):
    def encoded(cells):
        return np.asarray(WIDE.encode({"x": make(cells)}))[:, 0]

    alone = np.concatenate([encoded([cell]) for cell in cells])
    assert encoded(cells).tobytes() == alone.tobytes()
    assert encoded(cells[::-1]).tobytes() == alone[::-1].tobytes()


def test_the_type_that_one_record_gives_a_column_does_not_move_the_others():
    plain = WIDE.encode({"x": np.array([3, 1, 2**53 + 1, 2])})[:3]
    others = [1.5, math.nan, 1e300, True, None, "text", Decimal(1), np.float32(1)]
    for other in others[:3]:
        changed = WIDE.encode({"x": np.array([3, 1, 2**53 + 1, other])})[:3]
        np.testing.assert_array_equal(changed, plain)
    for other in others[3:]:
        column = [3, 1, 2**53 + 1, "1" if other == "text" else other]
        np.testing.assert_array_equal(WIDE.encode({"x": column})[:3], plain)


@pytest.mark.parametrize(
    "column",
    [
        np.ma.masked_array([3, 99, 5], mask=[0, 1, 0]),
        np.ma.masked_array([3, math.inf, 5], mask=[0, 1, 0]),
        np.ma.masked_array(["3", "x", "5"], mask=[0, 1, 0]),
        np.ma.masked_array([3, {}, 5], mask=[0, 1, 0], dtype=object),
        [3, np.ma.masked, 5],
        [3, pd.NA, "5"],
        pyarrow.chunked_array([[3], [None, 5]]),
        pyarrow.array([Decimal(3), None, Decimal(5)]),
        pd.Series([3, None, 5], dtype="Int64"),
        jnp.array([3, jnp.nan, 5]),
    ],
)
def test_missing_and_masked_cells_become_the_public_default(column):
    assert_encoded(WIDE.encode({"x": column})[:, 0], [3, 7, 5])


def test_numbers_of_nulls_alone_are_all_missing():
    table = pyarrow.table({"x": pyarrow.nulls(2)})
    assert_encoded(WIDE.encode(table), [[7], [7]])


def test_cells_of_text_are_numbers_by_one_rule(tmp_path):
    cells = ["-0.0", "1e400", "nan", "inf", " 3 ", "1e3", "", '""', "True", "NaN"]
    lines = "\n".join(f"{cell},0" for cell in cells)
    (tmp_path / "t.csv").write_text(f"x,y\n{lines}\n")
    records = WIDE.encode(tmp_path / "t.csv", ignore="y")[:, 0]
    assert_encoded(records, [0, 1e20, 7, 1e20, 3, 1000, 7, 7, 1, 7])
    assert not np.signbit(records[0])


def test_an_empty_line_in_a_table_of_one_column_is_a_missing_cell(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n\n3\n")
    assert_encoded(WIDE.encode(tmp_path / "t.csv")[:, 0], [1, 7, 3])


SECRET = "s3cret"


@pytest.mark.parametrize(
    "column",
    [
        [1, SECRET],
        [1, "0x1F2E"],
        [1, "３１４"],
        [1, b"s3cret"],
        [1, {SECRET: 1}],
        ["1", [SECRET]],
        np.array(["1", SECRET]),
        np.array([1, SECRET], object),
        np.array([1, 2 + 77j]),
        np.array([1, 77], "datetime64[ns]"),
        np.array([1, 77], "timedelta64[ns]"),
        np.ma.masked_array(np.array([1, 77], "datetime64[ns]"), mask=[1, 0]),
        pd.Series(["1", SECRET]),
        pd.Series(["1", SECRET], dtype="category"),
        pd.Series(pd.to_datetime(["2077-01-01", None])),
        pyarrow.chunked_array([["1"], [SECRET]]),
        pyarrow.chunked_array([["1"], [SECRET]]).dictionary_encode(),
    ],
    ids=lambda column: type(column).__name__,
)
def test_a_cell_that_is_no_number_is_refused_without_being_shown(column):
    with pytest.raises(ValueError, match="only numbers in column 'x'") as error:
        WIDE.encode({"x": column})
    message = str(error.value)
    assert error.value.__context__ is None
    assert not any(x in message for x in (SECRET, "1F2E", "３", "77", "\n"))


def test_texts_in_files_are_refused_without_being_shown(tmp_path):
    (tmp_path / "t.csv").write_text(f"x\n1\n{SECRET}\n")
    pd.DataFrame({"x": ["1", SECRET]}).to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(ValueError, match="only numbers in column 'x'") as error:
            WIDE.encode(tmp_path / name)
        assert SECRET not in str(error.value)


def test_a_column_of_lists_is_refused():
    table = pyarrow.table({"x": [[1.0], [2.0]]})
    with pytest.raises(ValueError, match="column 'x'"):
        WIDE.encode(table)
    with pytest.raises(ValueError, match="one-dimensional columns, 'x' has 2"):
        WIDE.encode({"x": np.ones((2, 2))})


def test_words_that_no_record_uses_do_no_harm():
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 0]), ["1", "word"])
    assert_encoded(WIDE.encode(pyarrow.table({"x": column})), [[1], [1]])
