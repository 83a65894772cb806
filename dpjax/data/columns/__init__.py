"""Columns of tables in memory, or read from files batch by batch.

Only files and Arrow tables need pyarrow.
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

from dpjax.data.columns.cells import encode_column, remembering
from dpjax.data.columns.in_memory import (
    InMemoryTable,
    Part,
    Table,
    is_array,
    is_in_memory,
)
from dpjax.data.columns.sources import parts
