import json
import math

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest

from dpjax import BayesNet, Schema
from dpjax.data.intervals import Interval
from dpjax.data.records import as_records
from tests.helpers.encoded import assert_encoded

SCHEMA = Schema(
    {
        "age": {"lower": 0, "upper": 120, "missing": 40},
        "pay": {"lower": -1.5, "upper": 10},
        "smokes": {"lower": 0, "upper": 1},
    }
)
MIXED = Schema({"age": {"lower": 0, "upper": 120}, "sex": ["f", "m"]})
TABLE = {
    "age": [22, 130, -3, 22],
    "pay": [0.1, 1e300, -2.5, None],
    "smokes": [True, False, False, True],
}
NUMBERS = [[22, 0.1, 1], [120, 10, 0], [0, -1.5, 0], [22, 4.25, 1]]


def test_columns_must_fit_the_schema():
    with pytest.raises(ValueError, match="columns of one length, not 'pay'"):
        SCHEMA.encode(TABLE | {"pay": [1.0]})
    with pytest.raises(ValueError, match="got no 'pay'"):
        SCHEMA.encode({"age": [1], "smokes": [1]})
    with pytest.raises(ValueError, match="column 4 is not"):
        SCHEMA.encode(TABLE | {"more": [1] * 4})
    assert_encoded(SCHEMA.encode(TABLE | {"more": [1] * 4}, ignore="more"), NUMBERS)


def test_an_absent_variable_takes_its_default():
    table = {name: column for name, column in TABLE.items() if name != "age"}
    expected = np.array(NUMBERS)
    expected[:, 0] = 40
    assert_encoded(SCHEMA.encode(table, absent="age"), expected)
    given = as_records(np.array(NUMBERS), list(SCHEMA.values()), absent="age")
    assert_encoded(given, expected)


def test_check_shows_the_cells_that_are_no_numbers():
    assert not SCHEMA.check(TABLE)
    outside = MIXED.check({"age": [1, 400, "old", None, b"x"], "sex": [*"fmfmz"]})
    assert outside.values == {"age": ["old", b"x"], "sex": ["z"]}
    assert str(outside).startswith("NOT PRIVATE")


def test_decoding_gives_the_numbers_back():
    columns = SCHEMA.decode(SCHEMA.encode(TABLE))
    assert list(columns) == list(SCHEMA)
    for i, column in enumerate(columns.values()):
        assert column.dtype == np.float64
        np.testing.assert_allclose(column, np.array(NUMBERS)[:, i], rtol=1e-6)
    exact = np.array([[0.1, 0.2, 300.0]])
    for i, column in enumerate(SCHEMA.decode(exact).values()):
        np.testing.assert_array_equal(column, exact[:, i])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (np.ones((2, 2)), r"shape \(n, 3\), one column per variable, got \(2, 2\)"),
        (np.ones(3), r"shape \(n, 3\)"),
        (np.ones((2, 3), bool), "must be real numbers, got bool"),
        (np.ones((2, 3), complex), "must be real numbers, got complex"),
        (np.ones((2, 3), object), "must be real numbers, got object"),
    ],
)
def test_arrays_must_have_the_form_of_records(records, message):
    with pytest.raises(ValueError, match=message):
        as_records(records, list(SCHEMA.values()))


def test_arrays_are_taken_as_they_are_for_the_statistic_clips_them():
    given = [[1e3, math.inf, math.nan]]
    variables = list(SCHEMA.values())
    assert_encoded(as_records(np.array(given), variables), given)
    assert_encoded(as_records(jnp.array(given), variables), given)
    assert_encoded(as_records(np.array([[2**40, 0, -1]]), variables), [[2**40, 0, -1]])
    assert_encoded(as_records(jnp.array([[1, 2, 3]]), variables), [[1, 2, 3]])
    wide = as_records(np.array([[1e300, -1e300, 0]]), variables)
    np.testing.assert_array_equal(np.clip(wide, -1, 1), [[1, -1, 0]])
    masked = np.ma.masked_array([[1, 2, 3]], mask=[[0, 1, 0]])
    assert_encoded(as_records(masked, variables), [[1, math.nan, 3]])
    assert_encoded(as_records(TABLE, variables), NUMBERS)
    compiled = jax.jit(lambda rows: as_records(rows, variables, absent="age"))
    assert_encoded(compiled(jnp.array([[1, 2, 3]])), [[40, 2, 3]])


@pytest.mark.slow
def test_variables_of_both_kinds_are_floats_together_or_encoded_apart():
    table = {"age": [30, 150], "sex": ["m", "f"]}
    assert_encoded(MIXED.encode(table), [[30, 1], [120, 0]])
    assert_encoded(as_records(table, MIXED, absent="sex"), [[30, 0], [120, 0]])
    decoded = MIXED.decode(MIXED.encode(table))
    assert {k: v.tolist() for k, v in decoded.items()} == {
        "age": [30, 120], "sex": ["m", "f"]
    }  # fmt: skip
    given = np.array([[150, 1.0]])
    assert_encoded(as_records(given, MIXED), given)  # which the statistic clips
    for wrong in (0.5, 2, -1, np.nan, np.inf, 1e10):
        for array in (np.array([[30, wrong]]), jnp.array([[30, wrong]])):
            with pytest.raises(ValueError, match="`records` must hold indices"):
                as_records(array, MIXED)
            with pytest.raises(ValueError, match="`records` must hold indices"):
                [*MIXED.encode_batches([np.asarray(array)])]
        assert as_records(np.array([[30, wrong]]), MIXED, absent="sex")[0, 1] == 0
    with pytest.raises(ValueError, match="`records` must hold indices"):
        MIXED.decode(np.array([[30, 2]]))
    table = {"age": [30], "sex": ["m"]}
    assert_encoded(MIXED.select(["age"]).encode(table, ignore="sex"), [[30]])
    codes = MIXED.select(["sex"]).encode(table, ignore="age")
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, [[1]])


def test_schemas_say_what_they_hold():
    assert repr(MIXED) == "Schema(age: [0, 120], sex: 2)"
    assert repr(Schema({"x": {"lower": -1234567.5, "upper": 0}})) == (
        "Schema(x: [-1234567.5, 0])"
    )
    assert MIXED == Schema([Interval("age", 0.0, 120.0), MIXED["sex"]])
    assert MIXED != Schema({"age": {"lower": 0, "upper": 121}, "sex": ["f", "m"]})
    assert SCHEMA != SCHEMA.select(["age", "pay"])


@pytest.mark.parametrize("schema", [SCHEMA, MIXED])
def test_a_schema_goes_through_its_file(schema, tmp_path):
    document = schema.to_json()
    jsonschema.validate(document, Schema.json_schema())
    (tmp_path / "schema.json").write_text(json.dumps(document))
    loaded = Schema.from_json(tmp_path / "schema.json")
    assert loaded == schema
    assert loaded.to_json() == document


WRONG_FORMS = [
    {},
    {"lower": 0},
    {"upper": 1},
    {"other": 1},
    {"lower": 0, "upper": 1, "levels": [0, 1]},
    {"lower": 0, "levels": [0, 1]},
    {"lower": 0, "upper": 1, "other": 0},
    {"lower": 0, "upper": 1, "colour": 7},
    {"lower": "0", "upper": 1},
    {"lower": False, "upper": 1},
    {"lower": 0, "upper": None},
    {"lower": 0, "upper": 1, "missing": "0"},
]
WRONG_VALUES = [
    {"lower": 1, "upper": 1},
    {"lower": 1, "upper": 0},
    {"lower": 0, "upper": 1e300},
    {"lower": 0, "upper": 1, "missing": 2},
]


@pytest.mark.parametrize("declared", [*WRONG_FORMS, *WRONG_VALUES])
def test_a_bad_declaration_is_refused_in_one_line(declared, tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"variables": {"x": declared}}))
    with pytest.raises(ValueError, match=r"of 'x' must|must declare .*'x'") as error:
        Schema.from_json(path)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="'x'"):
        Schema({"x": declared})


@pytest.mark.parametrize("declared", WRONG_FORMS)
def test_the_json_schema_refuses_what_has_the_wrong_form(declared):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"variables": {"x": declared}}, Schema.json_schema())


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999", "9" * 101])
def test_bounds_in_a_file_are_finite(text, tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(f'{{"variables": {{"x": {{"lower": 0, "upper": {text}}}}}}}')
    with pytest.raises(ValueError, match="must hold finite numbers"):
        Schema.from_json(path)


def test_both_or_neither_kind_of_domain_is_one_clear_error():
    with pytest.raises(ValueError, match="got two of these"):
        Schema({"x": {"levels": [0, 1], "lower": 0, "upper": 1}})
    with pytest.raises(ValueError, match="got none of these"):
        Schema({"x": {}})


def test_networks_have_categorical_variables_only():
    message = "categorical variables only, 'age' is numeric: declare \"edges\""
    for make in (
        lambda: BayesNet.naive_bayes(MIXED, "sex"),
        lambda: BayesNet.naive_bayes(MIXED, "age"),
        lambda: BayesNet.from_parents(MIXED, {"sex": ["age"]}),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    assert BayesNet.from_parents(MIXED, {"sex": []}).names == ("sex",)
