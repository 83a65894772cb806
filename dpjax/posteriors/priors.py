"""Conversion of priors to one vector, and updates of priors with further records."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from dpjax._checks import brief, positive
from dpjax._types import Scalar
from dpjax.data.bayes_net import BayesNet
from dpjax.data.records import as_records
from dpjax.statistics import FamilyStatistic, Statistic

Prior = Scalar | Mapping[str, Array]


def is_hierarchical(prior: Any) -> bool:
    """Return whether it is the name of the prior that is learned from the release."""
    return isinstance(prior, str) and prior == "hierarchical"


def flat_prior(net: BayesNet, prior: Prior | str) -> Float[Array, " m"]:
    """Return the Dirichlet parameter of every cell, in the order of `net.layout`."""
    if isinstance(prior, Mapping):
        flat = flatten(net, prior, "prior")
    elif (
        isinstance(prior, float | int | np.number | jax.Array) and jnp.ndim(prior) == 0
    ):
        flat = jnp.asarray(prior, float)
    else:
        raise ValueError(
            "`prior` must be a number, a table for each variable by name, or, for a "
            f"point estimate, 'hierarchical', got {brief(prior)}."
        )
    positive(prior=flat)
    return jnp.broadcast_to(flat, (net.layout.length,))


def flatten(net: BayesNet, tables: Mapping[str, Any], argument: str) -> Array:
    """Convert tables by variable name to one vector, in the order of `net.layout`."""
    unknown = [name for name in tables if name not in net.names]
    if unknown:
        raise ValueError(f"`{argument}` must name variables, got {unknown[0]!r}.")
    shapes = [net.layout.shape(group) for group in net.layout.groups]
    for name, shape in zip(net.names, shapes, strict=True):
        if name not in tables or jnp.shape(tables[name]) != shape:
            came = jnp.shape(tables[name]) if name in tables else "none"
            raise ValueError(
                f"`{argument}` must hold a table of shape {shape} for {name!r}, "
                f"got {came}."
            )
    return _join([tables[name] for name in net.names])


@jax.jit
def _join(tables: list[Any]) -> Float[Array, " m"]:
    return jnp.concatenate([jnp.ravel(jnp.asarray(x, float)) for x in tables])


def updated_prior(statistic: Statistic, prior: Any, records: Any) -> Any:
    """Update the conjugate parameters of a statistic's family with further records."""
    assert isinstance(statistic, FamilyStatistic)
    return statistic.family.update(prior, *summed(statistic, records))


def summed(statistic: Statistic, records: Any) -> tuple[Float[Array, " k"], int]:
    """Return the sum of a family's statistic over further records, and their number."""
    assert isinstance(statistic, FamilyStatistic)
    encoded = as_records(records, statistic.variables, ignore="*")
    return statistic.family.statistics(encoded).sum(axis=0), encoded.shape[0]
