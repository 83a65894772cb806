"""Results of a sweep in xarray and pandas, which are slow to import."""

__all__ = ["to_dataframe", "to_xarray"]

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import xarray
else:
    try:
        import xarray
    except Exception:  # absent or broken: `to_xarray` raises
        xarray = None
    try:
        import pandas
    except Exception:
        pandas = None


def to_xarray(variables: Mapping[str, Any], coordinates: Mapping) -> "xarray.Dataset":
    """Make an xarray data set of `variables`, given as {name: (*axis names, array)}."""
    if xarray is None:
        raise ImportError('this needs xarray: pip install "dpjax[sweep]"')
    return xarray.Dataset(dict(variables), coords=dict(coordinates))


def to_dataframe(columns: Mapping[str, Any]) -> "pandas.DataFrame":
    """Make a pandas data frame from a mapping of column names to columns."""
    if pandas is None:
        raise ImportError('this needs pandas: pip install "dpjax[data]"')
    return pandas.DataFrame(dict(columns))
