"""Records for Figure 2: simulated ones of a census's shape, or the user's own."""

__all__ = ["Wages", "own_wages", "simulated_wages"]

import pathlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpjax.data.intervals import Interval
from dpjax.data.schema import Schema


class Wages(NamedTuple):
    """Records for a regression, scaled by public bounds.

    Attributes:
        records: a row a record; features, a constant one first, of norm 1 at most, and
            last the target, between -1 and 1.
        unit: what 1 of the target is in its own unit.
    """

    records: np.ndarray
    unit: float


def simulated_wages(rng: np.random.Generator, n: int) -> Wages:
    """Log weekly wages, and 13 numbers about each person.

    Years of education, age, being married, black, in a city, and eight indicators of
    nine regions: a shape such as that of the census extract of the paper.
    """
    education = np.clip(np.round(rng.normal(12.8, 3.3, n)), 0, 20)
    age = rng.uniform(20, 65, n)
    flags = rng.random((n, 3)) < np.array([0.7, 0.1, 0.6])
    regions = rng.integers(0, 9, n)[:, None] == np.arange(8)
    effects = np.array([0.25, -0.2, 0.15])
    wage = 4.2 + 0.07 * education + 0.012 * (age - 20) + flags @ effects
    wage += regions @ np.linspace(-0.15, 0.15, 8) + rng.normal(0, 0.6, n)
    columns = np.column_stack([education, age, flags, regions, wage])
    return _scaled(columns, np.zeros(14), np.array([20, 100, *[1] * 11, 12]))


def own_wages(data: pathlib.Path, schema_file: pathlib.Path) -> Wages:
    """Those of a table of numbers; the schema's last variable is the target.

    Raises:
        ValueError: if the schema has levels, or the table too few records, cells
            without a number, or one value of the target alone.
    """
    schema = Schema.from_json(schema_file)
    variables = list(schema.values())
    if len(variables) < 2 or not all(isinstance(x, Interval) for x in variables):
        raise ValueError(
            "`schema` must be of two numbers or more, with bounds, for this figure."
        )
    table = np.asarray(schema.encode(data, ignore="*"), float)
    if len(table) < 100:
        raise ValueError(f"`data` must have 100 records or more, got {len(table)}.")
    ends = np.array([(x.lower, x.upper) for x in variables if isinstance(x, Interval)])
    _check_cells(table, data, schema)
    return _scaled(table, *ends.T)


def _check_cells(table: np.ndarray, data: pathlib.Path, schema: Schema) -> None:
    """A cell without a number is one that changes with what stands for it."""
    other = Schema(
        [
            replace(x, missing=x.lower if x.missing == x.upper else x.upper)
            for x in schema.values()
            if isinstance(x, Interval)
        ]
    )
    if (np.asarray(other.encode(data, ignore="*"), float) != table).any():
        raise ValueError("`data` must have a number in every cell: leave records out.")
    if np.ptp(table[:, -1]) == 0:
        raise ValueError("`data` must have two values or more of the target.")


def _scaled(columns: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Wages:
    half = (upper - lower) / 2
    inside = np.clip((columns - lower) / half - 1, -1, 1)
    constant = np.ones((len(columns), 1))
    features = np.hstack([constant, inside[:, :-1]]) / np.sqrt(columns.shape[1])
    records = np.hstack([features, inside[:, -1:]])
    return Wages(records.astype(np.float32), float(half[-1]))
