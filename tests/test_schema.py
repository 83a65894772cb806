import json

import jsonschema
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from dpjax import Schema

SCHEMA = Schema({"age": [17.5, 22, 27], "sex": ["f", "m"], "smokes": [False, True]})
TABLE = {
    "age": [22.0, 17.5, 27.0, 22.0],
    "sex": ["m", "f", "f", "m"],
    "smokes": [True, False, False, True],
}
CODES = [[1, 1, 1], [0, 0, 0], [2, 0, 0], [1, 1, 1]]


def as_csv(folder):
    pd.DataFrame(TABLE).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_csv_gz(folder):
    pd.DataFrame(TABLE).to_csv(folder / "t.csv.gz", index=False)
    return str(folder / "t.csv.gz")


def as_parquet(folder):
    frame = pd.DataFrame(TABLE).astype({"sex": "category"})
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


SOURCES = {
    "csv": as_csv,
    "csv.gz": as_csv_gz,
    "parquet": as_parquet,
    "arrow": lambda _: pyarrow.table(TABLE),
    "chunked arrow": lambda _: pyarrow.concat_tables(
        [pyarrow.table(TABLE).slice(0, 1), pyarrow.table(TABLE).slice(1)]
    ),
    "pandas": lambda _: pd.DataFrame(TABLE),
    "pandas objects": lambda _: pd.DataFrame(TABLE).astype(object),
    "lists": lambda _: TABLE,
    "arrays": lambda _: {name: np.array(x) for name, x in TABLE.items()},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_kind_of_table_is_encoded_alike(source, tmp_path):
    records = SCHEMA.encode(source(tmp_path))
    assert records.dtype == np.uint8
    np.testing.assert_array_equal(records, CODES)


def test_decoding_gives_the_levels_back():
    for name, column in SCHEMA.decode(SCHEMA.encode(TABLE)).items():
        np.testing.assert_array_equal(column, TABLE[name])


@pytest.mark.parametrize("source", ["csv", "parquet", "arrow", "pandas"])
def test_a_table_without_records_is_a_table(source, tmp_path):
    empty = pd.DataFrame(TABLE).iloc[:0]
    tables = {
        "csv": tmp_path / "e.csv",
        "parquet": tmp_path / "e.parquet",
        "arrow": pyarrow.Table.from_pandas(empty),
        "pandas": empty,
    }
    empty.to_csv(tables["csv"], index=False)
    empty.to_parquet(tables["parquet"])
    assert SCHEMA.encode(tables[source]).shape == (0, 3)


def test_many_levels_take_a_wider_type():
    schema = Schema({"x": list(range(300)), "y": [0, 1]})
    records = schema.encode({"x": [299, 0], "y": [1, 0]})
    np.testing.assert_array_equal(records, [[299, 1], [0, 0]])


def test_an_absent_target_needs_no_column():
    table = {name: column for name, column in TABLE.items() if name != "sex"}
    np.testing.assert_array_equal(
        SCHEMA.encode(table, absent="sex"), np.array(CODES) * [1, 0, 1]
    )


SECRET = "s3cret"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": [22, 17.5, 99.125, 22]}, "column 'age' does not"),
        ({"sex": ["m", "f", SECRET, "m"]}, "column 'sex' does not"),
        ({"sex": ["m", "f", None, "m"]}, "column 'sex' does not"),
        ({"age": [22, 17.5, float("nan"), 22]}, "column 'age' does not"),
        ({"age": [22, 17.5]}, "columns of one length"),
        ({"age": np.full((4, 2), 22)}, "one-dimensional columns, 'age'"),
        ({"extra": [SECRET] * 4}, "only columns of the schema, got 'extra'"),
        ({"sex": [{}, "f", "f", "m"]}, "text, numbers or booleans, column 'sex'"),
    ],
)
def test_what_is_not_in_the_schema_is_refused_without_being_shown(change, message):
    with pytest.raises(ValueError, match=message) as error:
        SCHEMA.encode(TABLE | change)
    assert SECRET not in str(error.value)
    assert "99.125" not in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_and_repeated_columns_are_named():
    with pytest.raises(ValueError, match="got no 'sex'"):
        SCHEMA.encode({"age": [22], "smokes": [True]})
    twice = pd.DataFrame([[22, 22]], columns=["age", "age"])
    with pytest.raises(ValueError, match="every column once, got 'age' twice"):
        SCHEMA.encode(twice)
    with pytest.raises(ValueError, match="a mapping of arrays, got int"):
        SCHEMA.encode(3)


def test_extra_columns_may_be_ignored_by_name():
    records = SCHEMA.encode(TABLE | {"id": [1, 2, 3, 4]}, ignore=["id"])
    np.testing.assert_array_equal(records, CODES)


def test_masked_values_are_missing():
    masked = np.ma.masked_array([22, 17.5, 27, 22], mask=[0, 0, 0, 1])
    with pytest.raises(ValueError, match="column 'age' does not"):
        SCHEMA.encode(TABLE | {"age": masked})


def test_a_declared_other_level_takes_what_is_not_listed_but_not_what_is_missing():
    schema = Schema({"x": {"levels": ["a", "b", "rest"], "other": "rest"}})
    np.testing.assert_array_equal(
        schema.encode({"x": ["a", "z", "b"]}), [[0], [2], [1]]
    )
    for missing in (None, "", float("nan")):
        with pytest.raises(ValueError, match="lacks a value"):
            schema.encode({"x": ["a", missing]})


def test_check_shows_the_curator_what_is_wrong():
    assert SCHEMA.check(TABLE) == {}
    assert SCHEMA.check(TABLE | {"sex": ["m", "x", "f", "y"]}) == {"sex": ["x", "y"]}


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1\n", b"age,sex\n1,\xff\xfe\n", b"x" * 100]
)
def test_a_damaged_table_is_refused_in_one_line(content, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="`table` must") as error:
        SCHEMA.encode(path)
    assert "\n" not in str(error.value)
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="must be Parquet throughout"):
        SCHEMA.encode(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="must be a readable file"):
        SCHEMA.encode(tmp_path / "none.csv")


def test_a_schema_goes_through_its_file(tmp_path):
    schema = Schema({"x": {"levels": ["a", "b"], "other": "b"}, "y": [1, 2.5, True]})
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(schema.to_json()))
    assert dict(Schema.from_json(path)) == dict(schema)
    jsonschema.validate(schema.to_json(), Schema.json_schema())


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"variables": []}',
        '{"variables": {}}',
        '{"variables": {"x": [0, 1]}}',
        '{"variables": {"x": {"levels": [0]}}}',
        '{"variables": {"x": {"levels": [0, 1], "other": 7}}}',
        '{"variables": {"x": {"levels": [0, 1], "colour": 7}}}',
        '{"variables": {"x": {"levels": [0, NaN]}}}',
        '{"variables": {"x": {"levels": [0, 1]}, "x": {"levels": [0, 1]}}}',
        '{"variables": {"": {"levels": [0, 1]}}}',
        '{"variables": {"x": {"levels": [0, 1]}}, "more": 1}',
        "[" * 100_000,
    ],
)
def test_a_bad_schema_file_is_refused_in_one_line(text, tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="`") as error:
        Schema.from_json(path)
    assert "\n" not in str(error.value)


def test_selecting_keeps_the_order():
    assert list(SCHEMA.select(["smokes", "age"])) == ["age", "smokes"]
    with pytest.raises(ValueError, match="must be declared, got 'z'"):
        SCHEMA.select(["z"])
