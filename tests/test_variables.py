import decimal
import time

import numpy as np
import pytest

from dpjax import Variable

NUMBERS = Variable("x", (1, 2.5, 10))
TEXTS = Variable("x", ("1", "None", "yes"))


@pytest.mark.parametrize(
    ("variable", "cell", "code"),
    [
        (NUMBERS, 1, 0),
        (NUMBERS, "1", 0),
        (NUMBERS, "1.0", 0),
        (NUMBERS, 1.0, 0),
        (NUMBERS, " 2.50", 1),
        (NUMBERS, "1e1", 2),
        (NUMBERS, np.float32(2.5), 1),
        (NUMBERS, np.uint8(10), 2),
        (NUMBERS, True, 0),
        (NUMBERS, "TRUE", 0),
        (NUMBERS, False, None),
        (NUMBERS, "ten", None),
        (NUMBERS, float("nan"), None),
        (NUMBERS, None, None),
        (NUMBERS, decimal.Decimal(1), 0),
        (TEXTS, "1", 0),
        (TEXTS, 1, 0),
        (TEXTS, 1.0, 0),
        (Variable("x", ("1", "1.0", "2")), 1, None),
        (Variable("x", ("1", "1.0", "2")), 2.0, 2),
        (NUMBERS, "1" * 50_000 + "x", None),
        (TEXTS, "1.0", 0),
        (Variable("x", ("1", "1.0", "2")), "1.0", 1),
        (Variable("x", ("1", "1.0", "2")), "01", None),
        (TEXTS, "None", 1),
        (TEXTS, None, None),
        (TEXTS, np.str_("yes"), 2),
        (Variable("x", (False, True)), "true", 1),
        (Variable("x", (False, True)), "True", 1),
        (Variable("x", (False, True)), np.bool_(False), 0),
        (Variable("x", (0.1, 0.2)), np.float32(0.1), 0),
        (Variable("x", (0.1, 0.2)), "0.10", 0),
        (Variable("x", (2**27, 0)), np.float32(2**27), 0),
    ],
)
def test_a_cell_matches_a_level_as_text_or_as_a_number(variable, cell, code):
    assert variable.code(cell) == code


@pytest.mark.parametrize("start", [" ", "1", "1_", "0b1", "\u0667", "\u0667 "])
def test_a_long_cell_takes_time_in_proportion_to_it(start):
    began = time.monotonic()
    assert Variable("x", ("a", "b"), other="b").code(start * 100_000 + "x") == 1
    assert time.monotonic() - began < 20  # 40 s, when its time grew with the square


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((1,), "at least two"),
        ((1, 1.0), "all differ"),
        ((1, "1"), "all differ"),
        (("a", "a"), "all differ"),
        ((True, "true"), "all differ"),
        ((0, float("nan")), "finite"),
    ],
)
def test_levels_must_be_told_apart(levels, message):
    with pytest.raises(ValueError, match=message):
        Variable("x", levels)


def test_other_must_be_a_level():
    with pytest.raises(ValueError, match="`other` of 'x' must be one of its levels"):
        Variable("x", (0, 1), other=2)
