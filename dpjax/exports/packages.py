"""Optional packages, and frames of them that are filled here alone."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import xarray


def optional(package: str, installed: str) -> Any:
    """Import and return a package, which `pip install` of `installed` brings.

    Raises:
        ImportError: if it is not installed or cannot be imported.
    """
    try:
        return importlib.import_module(package)
    except Exception:  # absent or broken
        name = package.partition(".")[0]
        message = f'this needs {name}: pip install "{installed}"'
        raise ImportError(message) from None


def as_dataset(variables: Mapping[str, Any], coordinates: Mapping) -> "xarray.Dataset":
    """Make an xarray data set of `variables`, given as {name: (*axis names, array)}."""
    xarray = optional("xarray", "dpjax[sweep]")
    return xarray.Dataset(dict(variables), coords=dict(coordinates))


def as_dataframe(columns: Mapping[str, Any]) -> "pandas.DataFrame":
    """Make a pandas data frame from a mapping of column names to columns."""
    return optional("pandas", "dpjax[data]").DataFrame(dict(columns))
