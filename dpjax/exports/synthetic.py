"""Synthetic records with the labels of the schema."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.random as jr
import numpy as np
from jaxtyping import Array, Real, Shaped

from dpjax._checks import of_type, typed_key
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.data.mixed_net import MixedNet
from dpjax.exports.packages import as_dataframe
from dpjax.posteriors.base import Posterior

if TYPE_CHECKING:
    import pandas


def synthesize(
    key: Key, posterior: Posterior, n: int, given: Mapping[str, Any] | None = None
) -> "pandas.DataFrame":
    """Draw all parameters once from the posterior, then a frame of synthetic records.

    Args:
        key: typed JAX key. Frames of different keys have their own parameters, so that
            analyses of all of them can be combined (`dpjax.study.combine_synthetic`).
        posterior: the posterior of a network, with or without numeric leaves, or of
            marginal tables.
        n: number of records.
        given: levels that all records have, by name of the variable.

    Returns:
        A column for each variable, with the levels of the schema, that for missing
        cells among them. The value of a variable with bins is a number within its bin,
        and that of a date a day within its period, drawn uniformly.

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ImportError: if pandas is not installed.
        ValueError: if the posterior has no synthetic records, the key is not typed, `n`
            is negative, or `given` has no such variable or level.
    """
    return as_dataframe(draw_columns(key, posterior, n, given)[1])


def draw_columns(
    key: Key, posterior: Any, n: int, given: Mapping[str, Any] | None = None
) -> tuple[Real[Array, "n d"], dict[str, Shaped[np.ndarray, " n"]]]:
    """Return encoded synthetic records, and their columns with labels by name."""
    typed_key(key=key)
    net = network_of_records(posterior)
    key_records, key_values = jr.split(key)
    records = posterior.sample_records(key_records, n, given)
    return records, net.schema.decode(np.asarray(records), key_values)


def network_of_records(posterior: Any) -> BayesNet | MixedNet:
    """Return the network of a posterior that has synthetic records.

    Raises:
        ValueError: if it has none.
    """
    of_type(Posterior, "make one with `dpjax.posterior(released)`", posterior=posterior)
    net = getattr(posterior, "net", None)
    if not isinstance(net, BayesNet | MixedNet):
        raise ValueError(
            "`posterior` must be of a network or of marginal tables to have synthetic "
            f"records, got the method {posterior.method!r}."
        )
    return net
