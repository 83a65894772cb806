import gzip
import json

import jsonschema
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from dpjax import BayesNet, Schema, release

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
        ({"extra": [SECRET] * 4}, "only columns of the schema, column 4 is not"),
        ({"sex": [{}, "f", "f", "m"]}, "must hold text, or numbers .*column 'sex'"),
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
    with pytest.raises(ValueError, match="in a header line; columns 1 and"):
        SCHEMA.encode(twice)
    with pytest.raises(ValueError, match="a mapping of arrays, got int"):
        SCHEMA.encode(3)


def test_extra_columns_may_be_ignored_by_name():
    records = SCHEMA.encode(TABLE | {"id": [1, 2, 3, 4]}, ignore=["id"])
    np.testing.assert_array_equal(records, CODES)


@pytest.mark.parametrize("ignore", ["sex", ["id", "sex"]])
def test_a_declared_column_is_never_ignored(ignore):
    wanted = "`ignore` must not name a column that is used, got 'sex'"
    with pytest.raises(ValueError, match=wanted):
        SCHEMA.encode(TABLE | {"id": [1, 2, 3, 4]}, ignore=ignore)
    net = BayesNet.from_parents(SCHEMA, {name: [] for name in SCHEMA})
    with pytest.raises(ValueError, match=wanted):
        release(net, TABLE, epsilon=1, adjacency="replace-one", ignore=ignore)


@pytest.mark.parametrize("ignore", ["id", "*", ["id", "other"]])
def test_columns_are_ignored_by_their_whole_name(ignore):
    assert SCHEMA.encode(TABLE | {"id": [1, 2, 3, 4]}, ignore=ignore).shape == (4, 3)
    with pytest.raises(ValueError, match="column 4 is not"):
        SCHEMA.encode(TABLE | {"i": [1, 2, 3, 4]}, ignore="id")


def test_ignored_columns_are_not_even_read(tmp_path):
    path = tmp_path / "t.CSV.GZ"
    path.write_bytes(gzip.compress(b"x,note\na,caf\xe9\nb,\xff\n"))
    schema = Schema({"x": ["a", "b"]})
    np.testing.assert_array_equal(schema.encode(path, ignore="note"), [[0], [1]])


def test_an_empty_line_in_a_table_of_one_column_is_a_missing_value(tmp_path):
    (tmp_path / "t.csv").write_text("x\na\n\nb\n")
    with pytest.raises(ValueError, match="lacks a value"):
        Schema({"x": ["a", "b"]}).encode(tmp_path / "t.csv")


def test_arrow_batches_are_tables():
    batch = pyarrow.RecordBatch.from_pydict(TABLE)
    np.testing.assert_array_equal(SCHEMA.encode(batch), CODES)


def test_levels_of_numpy_become_plain(tmp_path):
    levels = [np.arange(3), np.array(["a", "b"]), np.array([0.1, 2], np.float32)]
    schema = Schema(dict(zip("xyz", levels, strict=True)))
    assert [v.levels for v in schema.values()] == [(0, 1, 2), ("a", "b"), (0.1, 2.0)]
    (tmp_path / "s.json").write_text(json.dumps(schema.to_json()))
    assert Schema.from_json(tmp_path / "s.json") == schema


@pytest.mark.parametrize("levels", ["ab", {"a", "b"}, None, 3])
def test_levels_must_be_a_list(levels):
    with pytest.raises(ValueError, match="by a list of levels"):
        Schema({"x": levels})


def test_schemas_differ_if_their_columns_are_in_another_order():
    assert Schema({"a": [0, 1], "b": [0, 1]}) != Schema({"b": [0, 1], "a": [0, 1]})


def test_only_a_variable_may_be_absent():
    with pytest.raises(ValueError, match="`absent` must be one of the variables"):
        SCHEMA.encode(TABLE, absent="typo")


def test_decoding_needs_indices_of_levels():
    with pytest.raises(ValueError, match="must hold indices of levels"):
        SCHEMA.decode(np.array([[-1, 0, 0]]))


ODD_CELLS = {
    "numbers and booleans": [1, True, 1.0, 0, False, 0.0, -0.0, "1", "True", 1.5],
    "numpy's": [np.int64(1), np.bool_(True), np.float64(0.0), np.float64(-0.0), 1],
    "texts": ["1", "1.0", " 1", "inf", "unk", "None", "0", "-0.0"],
    "beyond": [2**70, -(2**70), 1e300, float("inf"), "9" * 70, 1e-300, "0"],
}


def as_objects(cells):
    column = np.empty(len(cells), object)
    column[:] = cells
    return column


def as_series(cells):
    return pd.Series(as_objects(cells), dtype=object)


@pytest.mark.parametrize("levels", [[0, 1, "unk"], ["0", "1", "unk"], ["0.0", "True"]])
@pytest.mark.parametrize("cells", ODD_CELLS.values(), ids=ODD_CELLS)
@pytest.mark.parametrize(
    "make", [list, as_objects, lambda x: pd.Series(x, dtype=object)]
)
def test_a_records_code_does_not_depend_on_other_records(levels, cells, make):
    """Else one record could move all others, whatever the sensitivity says."""
    schema = Schema({"x": {"levels": levels, "other": levels[-1]}})
    alone = [int(schema.encode({"x": make([cell])})[0, 0]) for cell in cells]
    for order in (1, -1):
        together = schema.encode({"x": make(cells[::order])})[::order, 0]
        np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("levels", [[0, 1, 2], ["0", "1", "2"], [0.0, "1", 2.0]])
def test_the_type_that_one_record_gives_a_column_does_not_move_the_others(levels):
    """A table of integers becomes one of floats when one record holds 1.5."""
    schema = Schema({"x": {"levels": levels, "other": levels[2]}})
    plain = schema.encode({"x": np.array([0, 1, 1, 0, 2])})
    for changed in ([0, 1, 1, 0, 1.5], [-0.0, 1, 1, 0, 1e300]):
        np.testing.assert_array_equal(schema.encode({"x": np.array(changed)}), plain)


def test_arrow_dictionaries_of_any_width_are_read(rng):
    values = [f"v{i}" for i in range(128)]
    codes = rng.permutation(128).astype(np.int8)
    column = pyarrow.DictionaryArray.from_arrays(codes, values)
    table = pyarrow.table({"x": column})
    np.testing.assert_array_equal(Schema({"x": values}).encode(table)[:, 0], codes)


def test_header_lines_are_not_shown_for_they_may_be_records(tmp_path):
    (tmp_path / "t.csv").write_text(f"{SECRET},{SECRET}\n0,1\n")
    with pytest.raises(ValueError, match="a header line") as error:
        SCHEMA.encode(tmp_path / "t.csv")
    assert SECRET not in str(error.value)
    (tmp_path / "t.csv").write_text(f"age,sex,smokes,{SECRET}\n22,f,True,1\n")
    with pytest.raises(ValueError, match="column 4 is not") as error:
        SCHEMA.encode(tmp_path / "t.csv")
    assert SECRET not in str(error.value)


def test_masked_values_are_missing():
    masked = np.ma.masked_array([22, 17.5, 27, 22], mask=[0, 0, 0, 1])
    with pytest.raises(ValueError, match="column 'age' does not"):
        SCHEMA.encode(TABLE | {"age": masked})


def test_a_declared_other_level_takes_what_is_not_listed_but_not_what_is_missing():
    schema = Schema({"x": {"levels": ["a", "b", "rest"], "other": "rest"}})
    np.testing.assert_array_equal(
        schema.encode({"x": ["a", "z", "b"]}), [[0], [2], [1]]
    )
    for missing in (None, "", " ", float("nan"), "nan", "NaN"):
        with pytest.raises(ValueError, match="lacks a value"):
            schema.encode({"x": ["a", missing]})


def test_check_shows_the_curator_what_is_wrong():
    assert not SCHEMA.check(TABLE)
    outside = SCHEMA.check(TABLE | {"sex": ["m", "x", "f", "y"]})
    assert outside.values == {"sex": ["x", "y"]}
    assert str(outside) == "NOT PRIVATE, for the curator alone.\n'sex': ['x', 'y']"
    with pytest.raises(ValueError, match="got no 'sex'"):
        SCHEMA.check({"age": [22], "smokes": [True]})


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


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"variables": []},
        {"variables": {}},
        {"variables": {"x": [0, 1]}},
        {"variables": {"x": {"levels": [0]}}},
        {"variables": {"x": {"levels": [0, None]}}},
        {"variables": {"x": {"levels": [0, 1], "colour": 7}}},
        {"variables": {"": {"levels": [0, 1]}}},
        {"variables": {"x": {"levels": [0, 1]}}, "more": 1},
    ],
)
def test_the_json_schema_refuses_what_has_the_wrong_form(document):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, Schema.json_schema())


def test_selecting_keeps_the_order():
    assert list(SCHEMA.select(["smokes", "age"])) == ["age", "smokes"]
    with pytest.raises(ValueError, match="must be declared, got 'z'"):
        SCHEMA.select(["z"])
