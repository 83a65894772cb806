"""Exact counts of records in arrays, packed bits, batches, and on many devices."""

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

from dpjax.tables.counts.batches import count_batches, count_sharded, sum_batches
from dpjax.tables.counts.packed import PackedRecords, odd_parities, pack, parities
from dpjax.tables.counts.tables import check_records, count
