"""The optional package pyarrow, which only this module imports."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import csv, parquet
else:
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except Exception:  # absent or broken
        pyarrow = csv = parquet = None
