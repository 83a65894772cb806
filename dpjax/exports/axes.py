"""Parameters of a posterior as arrays by name, and the names of the arrays' axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpjax.data.bayes_net import BayesNet
from dpjax.data.mixed_net import MixedNet
from dpjax.families.conjugate_base import Axes, level_axis
from dpjax.posteriors.base import NetworkPosterior, Posterior


def by_name(values: Any) -> dict[str, np.ndarray]:
    """Return arrays by parameter name; that of a model with one is `parameter`.

    Those of a numeric leaf "x" are `x.mean` and `x.variance`.
    """
    named = values if isinstance(values, Mapping) else {"parameter": values}
    found = {}
    for name, value in named.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{part}": np.asarray(x) for part, x in value.items()}
        else:
            found[name] = np.asarray(value)
    return found


def net_of(posterior: Posterior) -> BayesNet | None:
    """Return the network of categorical variables of a posterior; None without one."""
    return posterior.net if isinstance(posterior, NetworkPosterior) else None


def variable_of(axis: str) -> str:
    """Return the name of the variable whose levels an axis has."""
    return axis.removesuffix("_level")


def axes_of(posterior: Posterior) -> Axes:
    """Return the names of each array's axes, and the labels of each named axis.

    The table of a network's variable "x" has an axis for each parent of "x", and then
    the axis "x_level": no axis may have the name of an array. The parameters of a
    numeric leaf have an axis for each parent. Other arrays have those of
    `Posterior.axes`.
    """
    own = posterior.axes()
    if own is not None:
        return own
    known = getattr(posterior, "net", None)
    mixed = known if isinstance(known, MixedNet) else None
    net = net_of(posterior) if mixed is None else mixed.discrete
    if net is None:
        return {}, {}
    axes = [*map(level_axis, net.names)]
    dims = {net.names[group[-1]]: [axes[i] for i in group] for group in net.families}
    if mixed is not None:
        for leaf, parents in zip(mixed.leaves, mixed.leaf_parents, strict=True):
            for part in ("mean", "variance"):
                dims[f"{leaf.name}.{part}"] = [axes[i] for i in parents]
    levels = [list(variable.levels) for variable in net.variables]
    return dims, dict(zip(axes, levels, strict=True))
