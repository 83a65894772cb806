"""Sources of records: tables in memory, and files that are read batch by batch.

Only files and Arrow tables need pyarrow.
"""

__all__ = [
    "InMemoryTable",
    "Part",
    "Table",
    "encode_column",
    "is_array",
    "is_in_memory",
    "may_round",
    "parts",
    "read_column",
    "read_numbers",
]

from dpjax.data.sources.encoded_columns import (
    encode_column,
    read_column,
    read_numbers,
)
from dpjax.data.sources.frames import may_round
from dpjax.data.sources.in_memory import (
    InMemoryTable,
    Part,
    Table,
    is_array,
    is_in_memory,
)
from dpjax.data.sources.reading import parts
