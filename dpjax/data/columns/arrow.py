"""The one module that imports pyarrow: only files and Arrow tables need it."""

__all__ = ["csv", "parquet", "pyarrow"]

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import csv, parquet
else:
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except Exception:  # absent or broken: everything else must still work
        pyarrow = csv = parquet = None
