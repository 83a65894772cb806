"""Columns of whatever table a user has, in memory or read a batch at a time.

DataFrames and mappings of arrays need no other package; files and Arrow tables need
pyarrow.
"""

__all__ = [
    "InMemoryTable",
    "Part",
    "Table",
    "encode_column",
    "is_array",
    "is_in_memory",
    "parts",
    "remembering",
]

from dpjax.data.columns.codes import encode_column, remembering
from dpjax.data.columns.in_memory import (
    InMemoryTable,
    Part,
    Table,
    is_array,
    is_in_memory,
)
from dpjax.data.columns.sources import parts
