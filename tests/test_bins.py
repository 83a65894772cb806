"""Numbers in bins, dates in periods, and codes that stand for levels."""

import datetime
import json
from decimal import Decimal

import jax.random as jr
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpjax as dp
from dpjax.data import Bins
from dpjax.data.kinds import declared
from dpjax.data.marks import Marks
from dpjax.noise.keys import study_key
from dpjax.releases import file_format
from tests.helpers.release_files import rehashed

AGE = {"lower": 0, "upper": 100, "edges": [18, 65.5]}
MONTHS = {"lower": "2023-12-25", "upper": "2024-03-01", "unit": "month"}
CHAPTERS = {"levels": ["I", "II"], "codes": {"A00": "I", "B99": "I", "07": "II"}}
ULP = np.nextafter(65.5, 0)
NANOSECOND = np.datetime64("2024-01-01T00:00:00.000000001")
SENTINELS = {"missing": "?", "missing_values": ["1900-01-01", "9999-12-31"]}


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ((0, 17, 17.9, -5, -np.inf, "-1e400", "17", " 3 ", Decimal(1), False), 0),
        ((18, 18.0, "18", "1.8e1", 30, np.float32(40), 65, np.int8(64), 65.4), 1),
        ((65.5, "65.5", ULP, str(ULP), 100, 1e9, 10**400, np.inf, "inf"), 2),
        (("[0, 18)",), 0),
        (("[65.5, 100]",), 2),
        ((None, np.nan, "", "nan", "NA", "old", b"1", 1j, [1], "0x1", "１"), None),
        ((datetime.date(2020, 1, 1), np.timedelta64(1, "D"), "[0,18)", "1,000"), None),
        ((np.float32(65.5), np.float32(18), np.float16(65.5)), None),
        ((np.float16(np.inf), np.float32(-np.inf)), None),
        ((65.5 * (1 - 2**-48), str(65.5 * (1 - 2**-48))), None),
    ],
)
def test_a_number_is_in_the_bin_of_public_edges(cells, code):
    variable = declared("age", AGE)
    assert [variable.code(cell) for cell in cells] == [code] * len(cells)
    assert variable.encoder()(cells) == [code] * len(cells)


@pytest.mark.parametrize(
    ("cells", "code"),
    [
        (("2023-12-25", "2023-12-31 23:59:59.99", "1999-01-01", "2023-12"), 0),
        (("2024-01-01T00:00", datetime.date(2024, 1, 31), "2024-01"), 1),
        ((datetime.datetime(2024, 2, 29, 23), np.datetime64("2024-02-29T23", "ns")), 2),
        ((pd.Timestamp("2024-02-01"), np.datetime64("2024-02"), " 2024-02-03 "), 2),
        (("2024-03-01", "9999-12-31", np.datetime64("9999-12-31", "us")), 3),
        (("2024-02-30", "01/02/2024", "20240201", "2024-02-01T24:00", "x", 2024), None),
        (("2024-02-01T00:00Z", pd.Timestamp("2024-02-01", tz="UTC")), None),
        (("12000-01-01", "0000-05-05", np.datetime64(10**16, "Y")), None),
        ((np.datetime64("12000-01-01"), np.datetime64("-0005-01-01")), None),
        (
            (None, pd.NaT, np.datetime64("NaT", "s"), "", "2024-02-01 1:00", 1.5, b"x"),
            None,
        ),
    ],
)
def test_a_date_is_in_the_period_of_its_own_calendar(cells, code):
    variable = declared("day", MONTHS)
    assert [variable.code(cell) for cell in cells] == [code] * len(cells)
    assert variable.encoder()(cells) == [code] * len(cells)


DAY = np.timedelta64(24, "h")
DAYS = ("2019-01-01", "2022-01-01")


@pytest.mark.parametrize(
    ("unit", "labels"),
    [
        ("year", ["2020", "2021"]),
        ("quarter", ["2020-Q4", "2021-Q1"]),
        ("month", ["2020-12", "2021-01"]),
        ("week", ["2020-W53", "2021-W01"]),
        ("day", ["2020-12-31", "2021-01-01"]),
        ("hour", ["2020-12-31T23", "2021-01-01T00"]),
    ],
)
def test_every_hour_is_in_one_period_of_each_unit(unit, labels):
    first, last = ("2020-11-30", "2021-02-02") if unit == "hour" else DAYS
    variable = declared("t", {"lower": first, "upper": last, "unit": unit})
    hours = np.arange(np.datetime64(first, "h"), np.datetime64(last, "h") + DAY)
    codes = variable.encoder()([*hours])
    assert sorted({*codes}) == list(range(variable.size))
    assert codes == sorted(codes)
    days = [day.astype(object) for day in hours[::50]]
    assert [variable.code(day) for day in days] == codes[::50]
    assert [variable.code(day.isoformat()) for day in days] == codes[::50]
    assert {*labels} <= {*variable.levels}
    place = variable.levels.index(labels[0])
    assert [*variable.levels[place : place + 2]] == labels
    new_year = np.datetime64("2021-01-04" if unit == "week" else "2021-01-01", "h")
    assert variable.levels[variable.code(new_year)] == labels[1]
    assert variable.code(new_year - DAY / 24) == variable.code(new_year) - 1


@pytest.mark.parametrize("name", ["age", "day"])
def test_all_types_of_a_column_give_a_cell_the_same_level(name):
    """One more record may change the type that a reader infers."""
    variable = declared(name, AGE if name == "age" else MONTHS)
    text = "3 17.9 18 65 65.5 99 -4 65.49999".split()
    if name == "day":
        text = "2023-12-31 2024-01-01 2024-02-29 2025-01-01 1990-05-05".split()
    frames = [
        pd.DataFrame({name: text}),
        pd.DataFrame({name: text}, dtype="string"),
        pd.DataFrame({name: text}, dtype="category"),
        pa.table({name: text}),
        pa.table({name: pa.array(text).dictionary_encode()}),
    ]
    if name == "age":
        frames += [
            pd.DataFrame({name: [float(x) for x in text]}),
            {name: [float(x) for x in text]},
            {name: [Decimal(x) for x in text]},
            pa.table({name: [float(x) for x in text]}),
        ]
    else:
        dates = [datetime.date.fromisoformat(x) for x in text]
        frames += [
            pd.DataFrame({name: pd.to_datetime(pd.Series(text))}),
            {name: dates},
            {name: np.array(text, "M8[D]")},
            {name: np.array(text, "M8[ns]")},
            pa.table({name: dates}),
            pa.table({name: pa.array(dates).cast(pa.timestamp("ms"))}),
        ]
    schema, codes = dp.Schema([variable]), [variable.code(x) for x in text]
    for frame in frames:
        assert np.asarray(schema.encode(frame))[:, 0].tolist() == codes


def test_times_with_a_zone_are_refused_in_every_type():
    """A reader may move them to another zone, for the sake of other records."""
    schema, day = dp.Schema({"day": MONTHS}), datetime.datetime(2024, 1, 1)
    zoned = pa.array([day]).cast(pa.timestamp("us", tz="UTC"))
    for column in (
        ["2024-01-01T00:00+01:00"],
        [day.replace(tzinfo=datetime.UTC)],
        pd.Series([pd.Timestamp(day, tz="UTC")]),
        zoned,
        zoned.dictionary_encode(),
        pl.Series("day", [day]).dt.replace_time_zone("America/New_York"),
    ):
        table = {"day": column}
        for source in (
            table,
            pa.table(table) if isinstance(column, pa.Array) else table,
        ):
            with pytest.raises(ValueError, match="without a time zone"):
                schema.encode(source)


def test_numbers_and_times_are_encoded_at_once_as_they_are_one_by_one():
    large = Bins("x", 0, 2**60, (2**55,), "?", ())
    near = 65.5 * (1 - 2**-48)
    for variable, cells in (
        (declared("x", AGE), [3, 65.5, near, ULP, np.nan, -np.inf, np.inf, 18.0]),
        (declared("x", AGE), [10**400, 3, -(10**400), 2**70, near]),
        (declared("x", AGE | {"missing": "?", "missing_values": [-9]}), [-9.0, 17.0]),
        (declared("x", AGE | {"missing": "?"}), [np.nan, 17.0, np.float64(70)]),
        (large, [2**55, 2**55 - 128, 2.0**55 - 128, 2**54, 2**55 - 4, np.nan]),
        (
            declared("x", MONTHS),
            [np.datetime64(x) for x in ("2024-01-02", "2024-02-03")],
        ),
        (declared("x", MONTHS | {"missing": "?"}), [np.datetime64("NaT", "ns")]),
        (declared("x", MONTHS), [np.datetime64(-(10**16), "Y")]),
        (declared("x", MONTHS), [np.datetime64("9999-12-31"), NANOSECOND]),
        (declared("x", MONTHS), [np.datetime64("1500-01-01"), NANOSECOND]),
        (declared("x", MONTHS | SENTINELS), [np.datetime64("1900-01-01")]),
    ):
        assert variable.encoder()(cells) == [variable.code(cell) for cell in cells]
    assert declared("x", AGE).encoder()([near, np.nan, 10.0]) == [None, None, 0]
    assert large.encoder()([2**55 - 128, 2**54, np.nan]) == [None, 0, 2]


def test_a_missing_cell_has_the_declared_level():
    marks = {"missing": "?", "missing_values": [-9, "n/a"]}
    for name, plain, last in (("age", AGE, 3), ("day", MONTHS, 4)):
        variable = declared(name, plain | marks)
        cells = (None, np.nan, "", "NA", "?", -9, "-9", -9.0, "n/a", pd.NaT)
        cells += (np.datetime64("NaT", "s"),)
        assert [variable.code(cell) for cell in cells] == [last] * len(cells)
        assert variable.encoder()(cells) == [last] * len(cells)
        assert variable.levels[-1] == "?"
        assert variable.code("-9.5" if name == "age" else "1990-01-01") == 0
    within = declared("age", AGE | {"missing": "[0, 18)"})
    assert (within.size, within.code(None), within.code(17)) == (3, 0, 0)
    assert declared("age", AGE | marks).code(-9.000000000000001) is None


def test_a_date_that_marks_a_missing_cell_does_so_in_every_type():
    variable = declared("day", MONTHS | SENTINELS)
    for text in SENTINELS["missing_values"]:
        day = datetime.date.fromisoformat(text)
        time = datetime.datetime.fromisoformat(text)
        cells = [text, text + " 00:00", day, time, np.datetime64(day), pd.NaT]
        assert [variable.code(x) for x in cells] == [4] * len(cells)
        assert variable.encoder()([np.datetime64(day)]) == [4]
    assert variable.code("1900-01-02") == 0
    only = declared("day", MONTHS | {"missing": "1900-01-01"})
    for cell in ("1900-01-01", datetime.date(1900, 1, 1), np.datetime64("1900-01-01")):
        assert only.code(cell) == only.encoder()([cell])[0] == 4


def test_a_number_of_half_precision_near_zero_has_an_absolute_error():
    variable = declared("x", {"lower": 0, "upper": 1, "edges": [1e-9, 0.5]})
    assert variable.code("2e-9") == 1
    assert variable.code(np.float16(2e-9)) is None
    assert variable.code(np.float16(0.25)) == 1


def test_codes_stand_for_levels():
    variable = declared("cause", CHAPTERS)
    cells = ("A00", "B99", "I", "07", 7, "7", "II", "B98", None)
    assert [variable.code(x) for x in cells] == [0, 0, 0, 1, 1, 1, 1, None, None]
    free = declared("cause", {"codes": {"A": "x", "B": "y", "x": "x"}, "other": "y"})
    assert free.levels == ("x", "y")
    assert [free.code(x) for x in "A B x q".split()] == [0, 1, 0, 1]
    no_codes = (["A00"], 3, {"A": ["I"]}, {"A": None})
    for faulty in ({"A": "III"}, {"I": "II"}, {"A00": "I", "NA": "I"}, *no_codes):
        with pytest.raises(ValueError, match=r"`(codes|levels|schema)` "):
            declared("cause", {"levels": ["I", "II"], "missing": "II", "codes": faulty})


@pytest.mark.parametrize("declaration", [AGE, MONTHS, CHAPTERS])
def test_a_declaration_is_what_it_was(declaration):
    marks = {} if "levels" in declaration else {"missing": "?", "missing_values": [-9]}
    variable = declared("x", declaration | marks)
    document = {"variables": {"x": variable.to_json()}}
    jsonschema.validate(document, dp.Schema.json_schema())
    again = declared("x", json.loads(json.dumps(variable.to_json())))
    assert again == variable
    assert hash(again) == hash(variable)
    assert again.levels == variable.levels


def test_bins_of_equal_widths_have_the_decimal_edges():
    assert Bins.from_json("x", {"lower": 0, "upper": 1, "bins": 10}).edges == tuple(
        i / 10 for i in range(1, 10)
    )


def test_records_decode_to_labels_or_to_values_within_them():
    schema = dp.Schema(
        {"age": AGE | {"missing": "?"}, "day": MONTHS, "cause": CHAPTERS}
    )
    codes = np.array(
        [(a, b, c) for a in range(3) for b in range(4) for c in range(2)] * 50, np.uint8
    )
    labels, values = schema.decode(codes), schema.decode(codes, study_key(0))
    assert labels["age"][0] == "[0, 18)"
    assert values["cause"].tolist() == labels["cause"].tolist()
    for table in (labels, values, pd.DataFrame(values)):
        assert np.array_equal(schema.encode(table), codes)
    assert len(set(values["age"].tolist())) > 1000
    assert np.isnan(schema.decode(np.array([[3, 0, 0]]), study_key(0))["age"])


def test_values_stay_within_their_bins_at_both_ends():
    for declaration in (AGE, MONTHS):
        variable = declared("x", declaration)
        codes = np.arange(variable.size)
        for share in (0.0, 0.5, np.nextafter(1, 0)):
            values = variable.values(codes, np.full(variable.size, share))
            assert [variable.code(x) for x in values] == codes.tolist()


FAULTY = [
    ({"lower": 0, "upper": 9, "edges": []}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": [0]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": [5, 3]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": [3, 3]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": ["3"]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": [True]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": [np.nan]}, "`edges` of 'x' must be from 1"),
    ({"lower": 0, "upper": 9, "edges": 3}, "`edges` and `missing_values` of 'x'"),
    ({"lower": 9, "upper": 0, "edges": [3]}, "`lower` and `upper` of 'x'"),
    ({"lower": 0, "edges": [3]}, "`schema` must declare the bins of 'x'"),
    ({"lower": 0, "upper": 9, "edges": [3], "bins": 2}, "declare the bins of 'x'"),
    ({"lower": 0, "upper": 9, "edges": [3], "other": 1}, "declare the bins of 'x'"),
    ({"lower": 0, "upper": 9, "bins": 1}, "`bins` of 'x' must be a whole number"),
    ({"lower": 0, "upper": 9, "bins": 2.0}, "`bins` of 'x' must be a whole number"),
    ({"lower": 0, "upper": 9, "bins": 10**9}, "`bins` of 'x' must be a whole number"),
    ({"lower": 0, "upper": 9, "bins": 2, "missing": True}, "`missing` of 'x'"),
    ({"levels": [1, 2], "edges": [3]}, "got two of"),
    ({"edges": [3], "unit": "day", "lower": 0, "upper": 9}, "got two of"),
    ({"lower": "2024-01-01", "upper": "2024-03-01", "unit": "era"}, "`unit` must be"),
    ({"lower": "2024-03-01", "upper": "2024-01-01", "unit": "day"}, "must be days"),
    ({"lower": "2024", "upper": "2025", "unit": "year"}, "must be days as text"),
    ({"lower": 2024, "upper": 2025, "unit": "year"}, "must be days as text"),
    ({"lower": "2024-01-01", "upper": "2024-01-09", "unit": "year"}, "`unit` of 'x'"),
    ({"lower": "1900-01-01", "upper": "2024-01-09", "unit": "hour"}, "`unit` of 'x'"),
    ({"unit": "day"}, "`schema` must declare the periods of 'x'"),
    ({"lower": 0, "upper": 9, "edegs": [3]}, "`schema` must declare 'x' by names am"),
    ({"levels": [1, 2], "mising": 3}, "upper, got 'mising'"),
]


@pytest.mark.parametrize(("declaration", "message"), FAULTY)
def test_a_faulty_declaration_is_one_clear_line(declaration, message):
    with pytest.raises(ValueError, match=message) as caught:
        declared("x", declaration)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_release_of_bins_is_verified_and_predicts(tmp_path):
    schema = dp.Schema(
        {"age": AGE, "day": MONTHS | {"missing": "?"}, "cause": CHAPTERS}
    )
    net = dp.BayesNet.naive_bayes(schema, target="cause")
    rows = {
        "age": [3.5, 40, 80, None][:3] * 20,
        "day": ["2024-01-03", "", "2024-02-01"] * 20,
        "cause": ["A00", "07", "I"] * 20,
    }
    released = dp.release(net, rows, epsilon=100, adjacency="replace-one")
    released.save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["version"] == 3
    again = dp.load(tmp_path / "r.json")
    assert again.schema == schema
    posterior = dp.posterior(again, method="plug-in")
    found = posterior.predict(rows, target="cause")
    assert [*schema["cause"].labels()[np.asarray(found)]] == ["I", "II", "I"] * 20
    synthetic = posterior.sample_records(jr.key(0), 50)
    assert schema.decode(synthetic, jr.key(1))["age"].max() <= 100


def test_a_file_cannot_have_many_levels_that_it_does_not_list(tmp_path, monkeypatch):
    """The limit is lowered, since levels up to the real one take seconds to make."""
    assert file_format._MOST_UNLISTED == 100_000
    days = {"lower": "2000-01-01", "upper": "2000-04-09", "unit": "day"}
    net = dp.BayesNet.from_parents(dp.Schema({"t": days}), {"t": []})
    table = {"t": ["2000-01-01"]}
    dp.release(net, table, epsilon=1, adjacency="add-remove").save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    (variable,) = document["content"]["variables"]
    assert dp.load(tmp_path / "r.json").values.size == 100
    monkeypatch.setattr(file_format, "_MOST_UNLISTED", 1000)
    for number, message in ((11, "variables of the schema"), (12, "fewer levels")):
        many = [{**variable, "name": str(i)} for i in range(number)]
        (tmp_path / "r.json").write_text(json.dumps(rehashed(document, variables=many)))
        with pytest.raises(ValueError, match=message):
            dp.load(tmp_path / "r.json")


def test_what_is_no_list_is_one_clear_line():
    for key, arguments in (
        ("levels", (5,)),
        ("levels", ("ab",)),
        ("missing_values", (["a", "b"], "a", "NA")),
        ("codes", (["a", "b"], None, (), {"A": "a"})),
    ):
        with pytest.raises(ValueError, match=f"`{key}` of 'x' must be a list"):
            Marks("x", *arguments)


def test_a_file_states_the_edges_of_bins(tmp_path):
    net = dp.BayesNet.from_parents({"age": AGE}, {"age": []})
    released = dp.release(net, {"age": [3]}, epsilon=1, adjacency="add-remove")
    released.save(tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    (variable,) = document["content"]["variables"]
    variable["bins"] = len(variable.pop("edges")) + 1
    (tmp_path / "r.json").write_text(json.dumps(rehashed(document)))
    with pytest.raises(ValueError, match="`variables` must state the edges"):
        dp.load(tmp_path / "r.json")


def test_a_table_of_bins_is_refused_without_a_value():
    schema = dp.Schema({"age": AGE})
    with pytest.raises(
        ValueError, match="only numbers and labels of bins, column 'age'"
    ):
        schema.encode({"age": ["secret"]})
    with pytest.raises(ValueError, match="read it as text"):
        schema.encode({"age": np.array([65.5], np.float32)})
    assert schema.check({"age": ["secret", 3]}).values == {"age": ["secret"]}
