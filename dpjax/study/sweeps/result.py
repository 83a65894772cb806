"""Results of a sweep: arrays with named axes, and their conversion to tables."""

__all__ = ["SweepResult", "check_table_path"]

import importlib
import io
import os
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax._documents import write_atomically
from dpjax.data.sources.arrow import csv, parquet, pyarrow

if TYPE_CHECKING:
    import pandas
    import xarray


_ENDINGS = (".csv", ".parquet")


def check_table_path(path: str | os.PathLike, name: str = "path") -> None:
    """Raise an error about `name` unless a table can be written to `path`."""
    if pathlib.Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"`{name}` must end in .csv or .parquet, got {path}.")
    if pyarrow is None:
        raise ImportError('writing tables needs pyarrow: pip install "dpjax[data]"')


@dataclass(frozen=True, eq=False)
class SweepResult(Mapping[str, np.ndarray]):
    """A mapping from the names of a sweep's results to arrays.

    The leading axes of an array are `dimensions`; further axes are those of the array
    that the experiment returns. An array that is returned without a name is called
    "value"; dots join the names of nested arrays.

    Args:
        arrays: a mapping from the name of each result to its array.
        coordinates: a mapping from the name of each leading axis to its labels.

    Privacy:
        The results are not private: show them only to those who may see the data.
    """

    arrays: Mapping[str, np.ndarray]
    coordinates: Mapping[str, list]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def __iter__(self):
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(x)}" for name, x in self.coordinates.items())
        return f"SweepResult({', '.join(self.arrays)}; {axes})"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the leading axes: dataset, mechanism (if named), epsilon, repeat."""
        return tuple(self.coordinates)

    def mean(self, name: str) -> np.ndarray:
        """Return the mean over repeats of the result `name`, in double precision."""
        return self[name].mean(axis=len(self.dimensions) - 1, dtype=np.float64)

    def standard_error(self, name: str) -> np.ndarray:
        """Return the standard error of `mean(name)`; NaN if there is one repeat."""
        axis = len(self.dimensions) - 1
        repeats = self[name].shape[axis]
        if repeats == 1:
            return np.full_like(self.mean(name), np.nan)
        spread = self[name].std(axis=axis, ddof=1, dtype=np.float64)
        return spread / np.sqrt(repeats)

    def to_xarray(self) -> "xarray.Dataset":
        """Convert to an xarray data set; axes after `dimensions` are `NAME_0`, ….

        Raises:
            ImportError: if xarray is not installed.
        """
        named, variables = len(self.dimensions), {}
        for name, array in self.arrays.items():
            own = [f"{name}_{i}" for i in range(array.ndim - named)]
            variables[name] = (*self.dimensions, *own), array
        return _frames().to_xarray(variables, self.coordinates)

    def to_dataframe(self) -> "pandas.DataFrame":
        """Return a pandas data frame with the columns of `to_columns`.

        Raises:
            ImportError: if pandas is not installed.
        """
        return _frames().to_dataframe(self.to_columns())

    def to_columns(self) -> dict[str, Any]:
        """Return a dictionary of columns with the labels of each axis and the results.

        There is one row for each data set, mechanism, budget and repeat; repeats vary
        fastest. A result that is an array has the columns `NAME.0`, `NAME.1`, ….
        """
        shape = [len(labels) for labels in self.coordinates.values()]
        places = np.indices(shape).reshape(len(shape), -1)
        columns: dict[str, Any] = {
            name: np.array(labels)[place]
            for (name, labels), place in zip(
                self.coordinates.items(), places, strict=True
            )
        }
        for name, array in self.arrays.items():
            flat = array.reshape(places.shape[1], *array.shape[len(shape) :])
            for index in np.ndindex(flat.shape[1:]):
                label = ".".join([name, *map(str, index)])
                columns[label] = flat[(slice(None), *index)]
        return columns

    def save(self, path: str | os.PathLike) -> None:
        """Write the columns of `to_columns` to a CSV or Parquet file, reproducibly.

        Raises:
            ValueError: if `path` does not end in .csv or .parquet or is not writable.
            ImportError: if pyarrow is not installed.
        """
        check_table_path(path)
        table = pyarrow.table(self.to_columns())
        content = io.BytesIO()
        if pathlib.Path(path).suffix.lower() == ".csv":
            csv.write_csv(table, content, csv.WriteOptions(quoting_style="needed"))
        else:
            parquet.write_table(table, content)
        write_atomically(path, content.getvalue())


def _frames() -> Any:
    return importlib.import_module("dpjax.study.sweeps.frames")
