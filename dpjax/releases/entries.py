"""Entries of release files that other entries do not determine, and their errors."""

from typing import Any

import numpy as np

from dpjax.data.categorical import Categorical
from dpjax.data.kinds import AnyVariable, declared
from dpjax.mechanisms import ExactMechanism
from dpjax.noise.discrete_laplace import WIDEST
from dpjax.privacy import REPLACE_ONE, Adjacency
from dpjax.statistics import Statistic


class UnreadableRelease(ValueError):
    """Raised if a file is not a complete release file of a supported format."""


class InconsistentRelease(ValueError):
    """Raised if entries of a release file contradict each other."""


def refuse_missing(
    values: np.ndarray, statistic: Statistic, kind: type[ExactMechanism]
) -> None:
    """Raise unless there is a number for each noisy number of the statistic."""
    least = statistic.least_length if kind.additive else 0
    if values.size < least or (kind.additive and values.shape != (statistic.length,)):
        raise InconsistentRelease("`values` must be all of what was measured.")


def parse_variables(
    described: list[dict[str, Any]], most: int
) -> dict[str, AnyVariable]:
    """Make the variables, which may have `most` levels that the file does not list."""
    variables, unlisted = {}, 0
    for entries in described:
        name = entries["name"]
        if "bins" in entries:
            raise InconsistentRelease("`variables` must state the edges of bins.")
        variable = declared(name, {k: x for k, x in entries.items() if k != "name"})
        variables[name] = variable
        if isinstance(variable, Categorical) and not variable.listed:
            unlisted += variable.size
        if unlisted > most:
            raise InconsistentRelease("`variables` must have fewer levels.")
    return variables


def parse_number_of_records(n: object, adjacency: Adjacency) -> int | None:
    """Return n if it is public, else None."""
    if adjacency != REPLACE_ONE:
        if n is not None:
            raise InconsistentRelease("`records` must be null where n is private.")
        return None
    if type(n) is not int or not 1 <= n <= WIDEST:
        raise InconsistentRelease("`records` must be the number n, from 1 to 2^53.")
    return n


def parse_values(values: object) -> np.ndarray:
    """Return the released integers, with a row for each sample if there are rows."""
    if not isinstance(values, list) or not values:
        raise InconsistentRelease("`values` must be a list of integers.")
    rows = values if isinstance(values[0], list) else [values]
    lengths = {len(row) if isinstance(row, list) else None for row in rows}
    if len(lengths) != 1 or None in lengths:
        raise InconsistentRelease("`values` must be lists of equal length.")
    if any(type(x) is not int or abs(x) > WIDEST for row in rows for x in row):
        raise InconsistentRelease("`values` must be integers between -2^53 and 2^53.")
    return np.array(values, np.int64)
