import decimal
import json
import math

import numpy as np
import pandas as pd
import pytest

from dpjax.data.intervals import Interval, number

AGE = Interval("age", 0, 120, missing=40)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (1, 1),
        (1, 0),
        (0, math.nan),
        (math.nan, 0),
        (0, math.inf),
        (-math.inf, 0),
        (False, True),
        (0, np.True_),
        ("0", "1"),
        (0, None),
        (0, 1e39),
        (0, 10**400),
        (1, 1 + 1e-12),
        (0, np.timedelta64(1, "D")),
        (0, 1j),
    ],
)
def test_bounds_must_be_finite_numbers_in_order(lower, upper):
    with pytest.raises(ValueError, match="`lower` and `upper` of 'x' must") as error:
        Interval("x", lower, upper)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("missing", [-0.1, 2, math.nan, math.inf, "1", True])
def test_what_stands_for_missing_must_be_within_the_bounds(missing):
    with pytest.raises(ValueError, match="`missing` of 'x' must be a number within"):
        Interval("x", 0, 1, missing)


def test_without_a_choice_the_middle_stands_for_missing():
    assert Interval("x", -1, 2).missing == 0.5
    assert Interval("x", -3.4e38, 3.4e38).missing == 0


def test_a_variable_needs_a_name():
    with pytest.raises(ValueError, match="`name` of a variable"):
        Interval("", 0, 1)


def test_bounds_become_plain_numbers():
    plain = Interval("x", np.float32(0.1), np.int64(2))
    assert plain == Interval("x", 0.1, 2.0)
    assert {type(x) for x in (plain.lower, plain.upper, plain.missing)} == {float}
    assert hash(plain) == hash(Interval("x", 0.1, 2))


@pytest.mark.parametrize("declared", [{"lower": 0, "upper": 1}, AGE.to_json()])
def test_a_variable_goes_through_json(declared):
    variable = Interval.from_json("x", declared)
    text = json.dumps(variable.to_json())
    assert Interval.from_json("x", json.loads(text)) == variable


@pytest.mark.parametrize(
    "declared",
    [{}, {"lower": 0}, {"upper": 0}, {"lower": 0, "upper": 1, "levels": [0, 1]}],
)
def test_a_declaration_has_both_bounds_and_nothing_else(declared):
    with pytest.raises(ValueError, match="must declare the number 'x' by"):
        Interval.from_json("x", declared)


def test_values_are_clipped_and_nan_becomes_the_public_default():
    cells = [-1, -math.inf, 0, 0.1, 120, 121, math.inf, math.nan, 1e300]
    expected = [0, 0, 0, 0.1, 120, 120, 120, 40, 120]
    np.testing.assert_array_equal(AGE.clip(cells), expected)


@pytest.mark.parametrize("lower", [-1, 0, -0.0])
def test_there_is_one_zero(lower):
    assert math.copysign(1, Interval("x", lower, 1, 0.5).clip([-0.0])[0]) == 1


CELLS = [
    (3, 3.0),
    (True, 1.0),
    (np.False_, 0.0),
    (np.uint8(200), 200.0),
    (2**53 + 1, 2.0**53),
    (0.1, 0.1),
    (np.float32(0.1), float(np.float32(0.1))),
    (decimal.Decimal("1.10"), 1.1),
    (10**400, math.inf),
    (-(10**400), -math.inf),
    (-math.inf, -math.inf),
    (decimal.Decimal("-1e999999"), -math.inf),
    (np.longdouble("1e4000"), math.inf),
    ("3", 3.0),
    (" 3 ", 3.0),
    (np.str_("+.5"), 0.5),
    ("3.", 3.0),
    ("1e3", 1000.0),
    ("-1.5E-2", -0.015),
    ("0.1", 0.1),
    ("9007199254740993", 2.0**53),
    ("9" * 70, 1e70),
    ("1e400", math.inf),
    ("-1e99999", -math.inf),
    ("1e-400", 0.0),
    ("inf", math.inf),
    ("-Infinity", -math.inf),
    ("true", 1.0),
    ("False", 0.0),
]
MISSING = [
    *(None, math.nan, np.float32("nan"), decimal.Decimal("nan"), pd.NA, pd.NaT),
    *(decimal.Decimal("snan"), np.ma.masked, "", "  ", "nan", "-NaN"),
]
NONE_AT_ALL = [
    *("ten", "0x10", "１", "٣", "1_000", "1,5", "1 2", "--1", "e3", ".", "+", "1e"),
    *("NA", "TRUE ish", "1" * 50_000 + "x", "1\x00", "in", "infinit", "True1"),
    *(b"1", 1j, {}, [1], (1,), object(), np.datetime64("2020"), np.timedelta64(3, "s")),
    *(np.array(1.0), pd.Timestamp("2020")),
]


@pytest.mark.parametrize(("cell", "value"), CELLS)
def test_a_cell_shows_a_number(cell, value):
    assert number(cell) == value
    assert type(number(cell)) is float


@pytest.mark.parametrize("cell", MISSING, ids=repr)
def test_a_missing_cell_is_no_number_in_particular(cell):
    assert math.isnan(number(cell))


@pytest.mark.parametrize("cell", NONE_AT_ALL, ids=lambda x: f"{x!r:.20}")
def test_other_cells_show_no_number(cell):
    assert number(cell) is None


def test_numbers_are_the_nearest_of_double_precision(rng):
    values = rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, 200)
    for value in values.tolist():
        assert number(repr(value)) == value
        assert number(f"{decimal.Decimal(value)}") == value  # hundreds of digits
        assert number(decimal.Decimal(value)) == value
