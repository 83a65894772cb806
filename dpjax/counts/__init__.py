"""Counting records into contingency tables, exactly: an array, or batch after batch."""

__all__ = ["check_records", "count", "count_batches"]

from dpjax.counts.batches import count_batches
from dpjax.counts.tables import check_records, count
