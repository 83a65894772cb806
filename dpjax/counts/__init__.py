"""Counting records into contingency tables, exactly: an array, or batch after batch."""

__all__ = [
    "PackedRecords",
    "check_records",
    "count",
    "count_batches",
    "odd_parities",
    "pack",
    "parities",
]

from dpjax.counts.batches import count_batches
from dpjax.counts.packed import PackedRecords, odd_parities, pack, parities
from dpjax.counts.tables import check_records, count
