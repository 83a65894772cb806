"""Schemas from code lists, JSON Schema and types, and never from records."""

import enum
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpjax as dp

STATED = {
    "properties": {
        "sex": {"enum": ["f", "m", None]},
        "age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 120},
        "smokes": {"type": "boolean"},
        "grade": {"anyOf": [{"$ref": "#/$defs/Grade"}, {"type": "null"}]},
        "unit": {"anyOf": [{"const": "kg"}, {"const": "lb"}]},
    },
    "$defs": {"Grade": {"enum": [1, 2]}},
}
DECLARED = {
    "sex": {"levels": ["f", "m"], "missing": "missing"},
    "age": {"lower": 0, "upper": 120},
    "smokes": [False, True],
    "grade": {"levels": [1, 2], "missing": "missing"},
    "unit": ["kg", "lb"],
}


class Model:
    """What a pydantic model gives."""

    @staticmethod
    def model_json_schema():
        return STATED


def test_a_json_schema_of_a_record_is_a_schema(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(STATED))
    for source in (STATED, Model, tmp_path / "s.json", str(tmp_path / "s.json")):
        assert dp.Schema.from_json_schema(source) == dp.Schema(DECLARED)


@pytest.mark.parametrize(
    "stated",
    [
        *({"type": "string"}, {"minimum": 0}, {}, 3, {"anyOf": 3}, {"anyOf": [3]}),
        *({"enum": 3}, {"$ref": "#/$defs/None"}),
        {"anyOf": [{"enum": [1]}, {"type": "string"}]},
        {"$ref": "#/$defs/True"},
    ],
)
def test_a_property_without_finitely_many_values_is_one_clear_line(stated):
    with pytest.raises(ValueError, match="from public facts"):
        dp.Schema.from_json_schema({"properties": {"x": stated}})
    for odd in (None, [], {"True": True}):
        document = {"properties": {"x": stated}, "$defs": odd, "definitions": odd}
        with pytest.raises(ValueError, match="from public facts"):
            dp.Schema.from_json_schema(document)


def test_a_level_of_the_name_of_what_is_missing_is_not_merged_with_it():
    with pytest.raises(ValueError, match="no value 'missing' beside null"):
        dp.Schema.from_json_schema(
            {"properties": {"x": {"enum": ["missing", "b", None]}}}
        )


@pytest.mark.parametrize("source", [3, [], {}, {"properties": {}}, {"properties": 1}])
def test_what_is_no_json_schema_is_one_clear_line(source):
    with pytest.raises(ValueError, match="must be the JSON Schema of a record"):
        dp.Schema.from_json_schema(source)


def test_code_lists_are_read(tmp_path):
    def variable(name, text):
        (tmp_path / name).write_text(text, "utf-8")
        return dp.Variable.from_code_list("x", tmp_path / name)

    codes = "\ufeffcode,chapter\nA00,I\n\nB99,I\n07,II\n"
    found = variable("icd.csv", codes)
    assert found.levels == ("I", "II")
    assert [found.code(x) for x in ("A00", "B99", 7, "I")] == [0, 0, 1, 0]
    assert variable("icd.json", '{"A00": "I", "B99": "I", "07": "II"}') == found
    assert variable("one.csv", 'code\nA\n"B, b"\n').levels == ("A", "B, b")
    assert variable("one.json", '["A", 2]').levels == ("A", 2)
    for name, text, message in (
        ("a.csv", "", "must be CSV with a header line"),
        ("a.csv", "code\n", "must be CSV with a header line"),
        ("a.csv", "a,b,c\n1,2,3\n", "must be CSV with a header line"),
        ("a.csv", "a,b\n1,2\n3\n", "must be CSV with a header line"),
        ("a.csv", 'a,b\n"1,2\n', "must be CSV with a header line"),
        ("a.csv", "a,b\n1,2\n1,3\n", "must give every code once"),
        ("a.csv", "a;b\n1;2\n", "whose cells are separated by commas"),
        ("a.csv", "a\n1\n1\n", "must all differ"),
        ("a.json", "3", "must declare 'x' by a list"),
        ("a.json", "{", "must be JSON"),
    ):
        with pytest.raises(ValueError, match=message):
            variable(name, text)


class Answer(enum.Enum):
    """A type with two values."""

    NO = "n"
    YES = "y"


def test_types_declare_levels_and_columns_do_not():
    answers = dp.Schema({"x": ["n", "y"]})
    for kind in (Answer, pd.CategoricalDtype(["n", "y"]), np.array(["n", "y"])):
        assert dp.Schema({"x": kind}) == answers
    column = pd.Series(["n", "y"])
    for columns in (column, column.astype("category"), pa.array(["n"])):
        with pytest.raises(ValueError, match="has them from records: write the list"):
            dp.Schema({"x": columns})
    for kind in (pa.dictionary(pa.int8(), pa.string()), pd.CategoricalDtype()):
        with pytest.raises(ValueError, match=r"`(schema|levels)`"):
            dp.Schema({"x": kind})
