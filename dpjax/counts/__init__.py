"""Counting records into contingency tables, exactly.

Of an array, of batch after batch, and on many devices.
"""

__all__ = ["check_records", "count", "count_batches", "count_sharded", "sum_batches"]

from dpjax.counts.batches import count_batches, sum_batches
from dpjax.counts.sharded import count_sharded
from dpjax.counts.tables import check_records, count
