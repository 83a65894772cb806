"""Means, standard deviations and intervals of all parameters, in pandas and xarray."""

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax._checks import of_type, probability
from dpjax.exports.axes import axes_of, by_name, variable_of
from dpjax.exports.packages import as_dataframe, as_dataset
from dpjax.families.conjugate_base import level_axis
from dpjax.posteriors.base import Posterior

if TYPE_CHECKING:
    import pandas
    import xarray

STATISTICS = ["mean", "sd", "lower", "upper"]


def to_xarray(posterior: Posterior, level: float = 0.95) -> "xarray.Dataset":
    """Return the mean, standard deviation and interval of every parameter, in xarray.

    Args:
        posterior: any posterior of dpjax.
        level: posterior probability of the central interval from `lower` to `upper`.

    Returns:
        An array for each parameter. Its first axis is "statistic", with the labels
        "mean", "sd", "lower" and "upper"; the last two are NaN for covariances of two
        different columns. In a network, the table of a variable "x" has an axis for
        each parent "y" of "x", "y_level", and then the axis "x_level". In a hidden
        Markov model, that of a field "x" has "hidden_state_level" and "x_level".

    Raises:
        ImportError: if xarray is not installed.
        ValueError: if `level` is not between 0 and 1, or the method of the posterior
            does not define one of these.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    dims, coords = axes_of(posterior)
    variables = {}
    for name, array in _summary(posterior, level).items():
        own = dims.get(name) or [f"{name}_{i}" for i in range(array.ndim - 1)]
        variables[name] = ["statistic", *own], array
    return as_dataset(variables, {"statistic": STATISTICS, **coords})


def to_dataframe(posterior: Posterior, level: float = 0.95) -> "pandas.DataFrame":
    """Return the mean, standard deviation and interval of every parameter, in pandas.

    Args:
        posterior: any posterior of dpjax.
        level: posterior probability of the central interval from `lower` to `upper`.

    Returns:
        One row for each number of each parameter, in the order of the arrays. The first
        columns are "variable", "given" and "level" for a network, where "given" has the
        levels of the parents, as in "a = yes, b = no", and "level" is empty for the
        parameters of a numeric leaf. They are the same for a hidden Markov model, where
        "given" has the hidden state. They are "parameter" and "index" otherwise, as in
        "slope" and "0". Then there are "mean", "sd", "lower", "upper".

    Raises:
        ImportError: if pandas is not installed.
        ValueError: if `level` is not between 0 and 1, or the method of the posterior
            does not define one of these.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    return as_dataframe(columns_of(posterior, level))


def columns_of(posterior: Posterior, level: float = 0.95) -> dict[str, Any]:
    """Return the columns of `to_dataframe` by name."""
    found = _summary(posterior, level)
    dims, coords = axes_of(posterior)
    if dims:
        columns = _cells({name: dims[name] for name in found}, coords)
    else:
        shapes = {name: array.shape[1:] for name, array in found.items()}
        places = [(name, i) for name in shapes for i in np.ndindex(shapes[name])]
        columns = {
            "parameter": [name for name, _ in places],
            "index": [", ".join(map(str, i)) for _, i in places],
        }
    rows = np.concatenate([x.reshape(len(STATISTICS), -1) for x in found.values()], 1)
    return columns | dict(zip(STATISTICS, rows, strict=True))


def _cells(
    dims: Mapping[str, list[str]], coords: Mapping[str, list]
) -> dict[str, list]:
    """Return the variable, the parents' levels and the level of each cell."""
    columns = {"variable": [], "given": [], "level": []}
    for name, axes in dims.items():
        own = axes[-1:] == [level_axis(name)]  # or a parameter of a numeric leaf
        parents = axes[: len(axes) - own]
        levels = coords[axes[-1]] if own else [""]
        for given in itertools.product(*(coords[x] for x in parents)):
            pairs = zip(parents, given, strict=True)
            text = ", ".join(f"{variable_of(axis)} = {x}" for axis, x in pairs)
            for level in levels:
                columns["variable"].append(name)
                columns["given"].append(text)
                columns["level"].append(level)
    return columns


def _summary(posterior: Posterior, level: float) -> dict[str, np.ndarray]:
    """Return arrays of all statistics, the first axis, by parameter name."""
    of_type(Posterior, "make one with `dpjax.posterior(released)`", posterior=posterior)
    probability(level=level)
    tail = (1 - level) / 2
    found = [
        by_name(x)
        for x in (
            posterior.mean(),
            posterior.sd(),
            posterior.quantile(tail),
            posterior.quantile(1 - tail),
        )
    ]
    return {
        name: np.stack([_of_shape(x, name, mean.shape) for x in found])
        for name, mean in found[0].items()
    }


def _of_shape(values: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Any:
    """Return an array; the quantiles of a covariance are those of its diagonal."""
    if name in values:
        return np.asarray(values[name], np.float64)
    found = np.full(shape, np.nan)
    if "variance" in values:
        places = np.arange(shape[-1])
        found[..., places, places] = values["variance"]
    return found
