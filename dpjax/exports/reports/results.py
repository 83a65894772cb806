"""Tables of results with intervals, for reports."""

__all__ = ["Results", "results_of"]

from statistics import NormalDist
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from dpjax.data.categorical import Categorical
from dpjax.event_logs.events import cell_counts, log_variables
from dpjax.exports.summaries import columns_of
from dpjax.mechanisms import MechanismWithLaw
from dpjax.posteriors import posterior
from dpjax.releases.released import Released
from dpjax.statistics import NetworkCounts, Statistic


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
        released: any release with a posterior.
        level: probability of the intervals.
    """
    found = _of_event_log(released, level)
    if found is not None:
        return found
    fitted = posterior(released)
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
        for key in rest:  # parents that there are not, intervals of covariances
            if key != "index" and all(x == "" or x != x for x in table[key]):
                del table[key]
    words = (
        f"With probability {level:g}, given the release, the true value lies between "
        f"lower and upper. The method is {fitted.method}; "
    )
    aware = "it does not account" if fitted.method == "plug-in" else "it accounts"
    return Results(fitted.method, f"{words}{aware} for the noise.", tables)


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
    net, noise = released.statistic.network, None
    is_counted = released.statistic.kind == NetworkCounts.kind
    if isinstance(released.mechanism, MechanismWithLaw) and is_counted:
        noise = released.mechanism.noise(np.shape(released.values))
    try:
        if net is None or noise is None:
            return None
        _, time, fields = log_variables(net)
    except ValueError:
        return None
    values = np.asarray(released.values, float)
    both = np.stack([values, np.broadcast_to(noise.variance(), values.shape)])
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


def _totals(
    variable: Categorical, found: Float64[np.ndarray, "2 k"], level: float
) -> dict[str, list]:
    """Return columns of noisy totals, given them and the variances of their noise."""
    total, sd = found[0], np.sqrt(found[1])
    half = NormalDist().inv_cdf((1 + level) / 2) * sd
    columns = {"count": total, "sd": sd, "lower": total - half, "upper": total + half}
    named = {name: x.tolist() for name, x in columns.items()}
    return {variable.name: [*variable.levels], **named}
