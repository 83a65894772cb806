"""Counting records into contingency tables, exactly.

Of an array, of packed bits, of batch after batch, and on many devices.
"""

__all__ = [
    "PackedRecords",
    "check_records",
    "count",
    "count_batches",
    "count_sharded",
    "odd_parities",
    "pack",
    "parities",
    "sum_batches",
]

from dpjax.counts.batches import count_batches, sum_batches
from dpjax.counts.packed import PackedRecords, odd_parities, pack, parities
from dpjax.counts.sharded import count_sharded
from dpjax.counts.tables import check_records, count
