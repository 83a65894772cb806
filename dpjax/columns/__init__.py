"""Columns of whatever table a user has, in memory or read a batch at a time.

DataFrames and mappings of arrays need no other package; files and Arrow tables need
pyarrow.
"""

__all__ = [
    "Column",
    "Held",
    "Numbers",
    "Part",
    "Table",
    "column_names",
    "encode_column",
    "is_array",
    "is_in_memory",
    "parts",
    "read_column",
    "read_numbers",
    "remembering",
]

from dpjax.columns.cells import Column, Numbers, read_column, read_numbers
from dpjax.columns.codes import encode_column, remembering
from dpjax.columns.held import Held, Part, Table, column_names, is_array, is_in_memory
from dpjax.columns.sources import parts
