"""Columns of frames such as those of pandas and polars, which are not imported.

A column is handed over through Arrow where its type is fixed. A column of Python
objects never is: Arrow would infer its type from all records.
"""

import contextlib
import math
import re
import sys
from typing import Any

import numpy as np

from dpjax.data.intervals import number
from dpjax.data.sources.arrow import pyarrow
from dpjax.data.sources.arrow_columns import is_arrow

_ROUNDS = (3, 1)  # the first pandas that makes the nearest double of every decimal
_PARSERS = {"pandas", "modin"}  # packages whose columns the parser of pandas made
_DIGIT = re.compile(r"\d")
_EXACT = re.compile(r"\s*[+-]?[0-9]{1,15}\s*")  # text that any pandas reads alike
_SHOWN = re.compile("0|-?[1-9][0-9]{0,14}|True|False")  # as numbers are shown as text
_OF_POLARS = {"Object", "Int128", "UInt128"}  # Arrow has none, older polars crashes


def as_arrow(column: Any) -> Any:
    """Return a column of text, numbers or booleans of one type as an Arrow array.

    Any other column is returned as it is, or as a list of its objects.
    """
    column = _unwrapped(column)  # the wrapper would hand over objects too
    dtype = getattr(column, "dtype", None)
    if str(dtype) in _OF_POLARS and hasattr(column, "to_list"):
        return column.to_list()
    of_objects = getattr(dtype, "storage", None) == "python" or categories_of(column)
    if not pyarrow or is_arrow(column) or isinstance(dtype, np.dtype) or of_objects:
        return column
    with contextlib.suppress(Exception):  # classes of columns raise anything
        array = _handed_over(getattr(column, "array", column))
        if _is_plain(array.type):
            view = array.type == pyarrow.string_view()  # older Arrow cannot read it
            return array.dictionary_encode() if view else array
    return column


def may_round(column: Any) -> bool:
    """Whether a pandas made the column that may have rounded its numbers.

    pandas before 3.1 makes another double than the nearest of some decimals and of some
    integers from 2^53 on, and 0 of some decimals that are not 0. One cell that it takes
    for text makes text of the whole column, and one decimal makes doubles of integers.
    """
    bases = type(_unwrapped(column)).__mro__
    if _PARSERS.isdisjoint(base.__module__.partition(".")[0] for base in bases):
        return False
    major, minor, *_ = sys.modules["pandas"].__version__.split(".")
    return (int(major), int(minor)) < _ROUNDS


def is_read_alike(cell: Any) -> bool:
    """Whether a cell shows no number in text, or one that any pandas reads alike."""
    if not isinstance(cell, str) or not _DIGIT.search(cell) or _EXACT.fullmatch(cell):
        return True
    shown = number(cell)
    return shown is None or not math.isfinite(shown)


def is_inferred(cell: Any) -> bool:
    """Whether a reader may change text by making a number or boolean of it first."""
    if not isinstance(cell, str) or _SHOWN.fullmatch(cell):
        return False
    with contextlib.suppress(ValueError):
        float(cell)
        return True
    return cell.strip().lower() in ("true", "false")


def categories_of(column: Any) -> tuple[np.ndarray, Any] | None:
    """Return the codes and the categories of a categorical column of pandas."""
    cells = getattr(column, "array", column)
    codes, categories = (getattr(cells, x, None) for x in ("codes", "categories"))
    return (codes, categories) if isinstance(codes, np.ndarray) else None


def _unwrapped(column: Any) -> Any:
    if hasattr(type(column), "to_native"):
        column = column.to_native()
    return column


def _handed_over(cells: Any) -> Any:
    if hasattr(cells, "__arrow_c_stream__"):
        return pyarrow.chunked_array(cells)
    if hasattr(cells, "__arrow_array__") or hasattr(cells, "__arrow_c_array__"):
        return pyarrow.array(cells)
    raise TypeError


def _is_plain(kind: Any) -> bool:
    """Whether Arrow can group the cells, in all versions but for views of text."""
    types = pyarrow.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return (
        types.is_null(kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or (types.is_floating(kind) and not types.is_float16(kind))
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
    )
