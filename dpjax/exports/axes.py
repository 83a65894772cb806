"""Parameters of a posterior as arrays by name, and the names of the arrays' axes."""

__all__ = ["axes_of", "by_name", "net_of"]

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpjax.data.bayes_net import BayesNet
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


def axes_of(posterior: Posterior) -> tuple[dict[str, list[str]], dict[str, list]]:
    """Return the names of each array's axes, and the labels of each named axis.

    The table of a network's variable "x" has an axis for each parent of "x", and then
    the axis "x_level": no axis may have the name of an array. Other arrays have none.
    """
    net = net_of(posterior)
    if net is None:
        return {}, {}
    axes = [f"{name}_level" for name in net.names]
    dims = {net.names[group[-1]]: [axes[i] for i in group] for group in net.families}
    levels = [list(variable.levels) for variable in net.variables]
    return dims, dict(zip(axes, levels, strict=True))
