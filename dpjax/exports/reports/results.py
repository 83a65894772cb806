"""Tables of results with intervals, for reports."""

import itertools
import math
from statistics import NormalDist
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from dpjax.data.categorical import Categorical
from dpjax.event_logs.events import cell_counts, log_variables
from dpjax.exports.summaries import STATISTICS, columns_of
from dpjax.mechanisms import MechanismWithLaw
from dpjax.posteriors import METHODS, posterior
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts, Statistic, TableStatistic


class Results(NamedTuple):
    """Results of a release.

    Attributes:
        method: name of the method of inference, or "noise" for noisy counts.
        intervals: what the intervals are, in words.
        tables: by heading, the columns of a table.
    """

    method: str
    intervals: str
    tables: dict[str, dict[str, list]]


def results_of(released: Released, level: float) -> Results:
    """Return all parameters, or the totals of an event log, with intervals.

    Args:
        released: any release with a posterior or noise of a known law.
        level: probability of the intervals.
    """
    found = _of_event_log(released, level) or _of_numbers(released, level)
    if found is not None:
        return found
    fitted = posterior(released)
    if released.network is None and isinstance(released.statistic, TableStatistic):
        tables = _of_marginals(fitted, level)
        return Results(fitted.method, _intervals(fitted.method, level), tables)
    columns = {name: [*x] for name, x in columns_of(fitted, level).items()}
    if labels := _labels(released.statistic):
        columns["index"] = [_named(index, labels) for index in columns["index"]]
    group, *rest = columns
    tables: dict[str, dict[str, list]] = {}
    for i, name in enumerate(columns[group]):
        table = tables.setdefault(str(name), {key: [] for key in rest})
        for key in rest:
            table[key].append(columns[key][i])
    for table in tables.values():
        for key in rest:
            if key in STATISTICS:
                # variances can be infinite; covariances of two columns have no interval
                table[key] = [x if math.isfinite(x) else None for x in table[key]]
            is_empty = all(x in ("", None) for x in table[key])
            if is_empty and key not in ("index", "mean"):
                del table[key]
    words = _intervals(fitted.method, level)
    if any(map(math.isinf, [*columns["mean"], *columns["sd"]])):
        words = f"{words} A mean or sd that is infinite is left out."
    return Results(fitted.method, words, tables)


def _intervals(method: str, level: float) -> str:
    """Return what the intervals of a posterior are, in words."""
    if method == "samples":
        return (
            "The release consists of draws from a posterior distribution. The mean, "
            "sd, lower and upper are those of the draws; a share of "
            f"{level:g} of the draws lies between lower and upper. "
            "A single draw has only a mean."
        )
    aware = "it does not account" if method == "plug-in" else "it accounts"
    return (
        f"With probability {level:g}, given the release and the prior, the true value "
        f"lies between lower and upper. The method is {method}; {aware} for the noise."
    )


def _of_marginals(fitted: Any, level: float) -> dict[str, dict[str, list]]:
    """Return the shares of each variable's levels, and of all cells of each table."""
    variables, layout = fitted.net.variables, fitted.layout
    split = map(np.asarray, layout.split(fitted.shares()))
    tables = dict(zip(layout.groups, split, strict=True))
    single = {}
    for i in range(len(variables)):
        group = next((group for group in tables if i in group), None)
        if group is not None:
            others = tuple(1 + axis for axis, j in enumerate(group) if j != i)
            single[i,] = tables[group].sum(axis=others)
    found = {}
    for group, shares in (single | tables).items():
        names = [variables[i].name for i in group]
        cells = itertools.product(*(variables[i].levels for i in group))
        if len(group) == 1:
            levels = [cell[0] for cell in cells]
        else:
            pairs = (zip(names, cell, strict=True) for cell in cells)
            levels = [", ".join(f"{x} = {y}" for x, y in cell) for cell in pairs]
        columns = _summary(shares.reshape(len(shares), -1), level)
        found[" and ".join(names)] = {"level": levels, **columns}
    if fitted.released.n is None:
        number = _summary(np.asarray(fitted.n).reshape(-1, 1), level)
        found["Number of records"] = {"level": [""], **number}
    return found


def _summary(drawn: np.ndarray, level: float) -> dict[str, list]:
    """Return the columns of a table, given draws of its cells."""
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    rows = np.stack([drawn.mean(axis=0), drawn.std(axis=0), *ends])
    return dict(zip(STATISTICS, rows.tolist(), strict=True))


def _labels(statistic: Statistic) -> list[str]:
    """Return what the axes of a family's parameters stand for; none of other models."""
    family = getattr(statistic, "family", None)
    if family is None:
        return []
    variables: Any = statistic.variables
    if family.categorical:
        return [str(level) for level in variables[0].levels]
    names = [variable.name for variable in variables]
    return names[:-1] if family.predicts else names


def _named(index: str, labels: list[str]) -> str:
    return ", ".join(labels[int(i)] for i in index.split(", ") if i)


def _of_event_log(released: Released, level: float) -> Results | None:
    """Return noisy numbers of events by field and by time, if this is an event log."""
    net, both = released.statistic.network, _with_variances(released)
    is_counted = released.statistic.kind == NetworkCounts.kind
    try:
        if net is None or both is None or not is_counted:
            return None
        _, time, fields = log_variables(net)
    except ValueError:
        return None
    cells = np.asarray(cell_counts(released.counted, jnp.asarray(both)), float)
    starts = np.cumsum([0, *(field.size for field in fields)])
    tables = {
        f"Events by {field.name}": _totals(field, cells[..., i:j].sum((1, 2)), level)
        for field, i, j in zip(fields, starts, starts[1:], strict=False)
    }
    events = cells[..., : fields[0].size].sum(axis=(1, 3))
    tables[f"Events by {time.name}"] = _totals(time, events, level)
    words = (
        "The true number of events lies between lower and upper with probability "
        f"{level:g}, approximately. The command dpjax sample fits a hidden Markov "
        "model of the log to this release."
    )
    return Results("noise", words, tables)


def _of_numbers(released: Released, level: float) -> Results | None:
    """Return the noisy numbers themselves, if no method has a posterior for them."""
    both = _with_variances(released)
    if both is None or any(method.suits(released) for method in METHODS.usable()):
        return None
    words = (
        "The mean is the released number. The true number lies between lower and upper "
        f"with probability {level:g}, approximately."
    )
    places = {"index": [*map(str, range(len(both[0])))]}
    columns = places | _columns("mean", both, level)
    return Results("noise", words, {released.statistic.kind: columns})


def _with_variances(released: Released) -> Float64[np.ndarray, "2 m"] | None:
    """Return the noisy numbers and the variances of their noise, if it is known."""
    mechanism, values = released.mechanism, np.asarray(released.values, float)
    if not isinstance(mechanism, MechanismWithLaw):
        return None
    noise = mechanism.noise(values.shape)
    if noise is None:
        return None
    return np.stack([values, np.broadcast_to(noise.variance(), values.shape)])


def _totals(
    variable: Categorical, found: Float64[np.ndarray, "2 k"], level: float
) -> dict[str, list]:
    return {variable.name: [*variable.levels], **_columns("count", found, level)}


def _columns(
    name: str, found: Float64[np.ndarray, "2 k"], level: float
) -> dict[str, list]:
    """Return columns of noisy numbers, given them and the variances of their noise."""
    number, sd = found[0], np.sqrt(found[1])
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    columns = {name: number, "sd": sd, "lower": number - half, "upper": number + half}
    return {name: x.tolist() for name, x in columns.items()}
