"""Results of a sweep: arrays with named axes, and their conversion to tables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.exports.packages import as_dataframe, as_dataset
from dpjax.exports.tables import write_table

if TYPE_CHECKING:
    import pandas
    import xarray


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
        if name not in self.arrays:
            names = ", ".join(map(repr, self.arrays))
            raise KeyError(
                f"`name` must be the name of a result, {names}: got {name!r}."
            )
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
        return as_dataset(variables, self.coordinates)

    def to_dataframe(self) -> "pandas.DataFrame":
        """Return a pandas data frame with the columns of `to_columns`.

        Raises:
            ImportError: if pandas is not installed.
        """
        return as_dataframe(self.to_columns())

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
            ImportError: if pyarrow is not installed, which Parquet files need.
        """
        write_table(path, self.to_columns())
