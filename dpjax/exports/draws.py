"""Draws from posteriors for ArviZ."""

from typing import Any

import jax
import jax.random as jr

from dpjax._checks import of_type, typed_key, whole
from dpjax._types import Key
from dpjax.exports.axes import axes_of, by_name
from dpjax.exports.packages import optional
from dpjax.posteriors.base import Posterior


def to_arviz(key: Key, posterior: Posterior, draws: int = 1000) -> Any:
    """Export draws from a posterior distribution, with named axes, to ArviZ.

    Args:
        key: typed JAX key.
        posterior: any posterior of dpjax. If a `ChainPosterior` is given, the draws of
            its Markov chains are exported, and `key` and `draws` are not used; of a
            `HiddenMarkovPosterior`, those of the chain that its results are of.
        draws: number of independent draws that `posterior.sample` makes otherwise. They
            are exported as one chain.

    Returns:
        An `arviz.InferenceData` before ArviZ 1.0, an `xarray.DataTree` from 1.0 on. A
        network's table for a variable "x" has an axis for each parent of "x", followed
        by the axis "x_level".

    Privacy:
        Post-processing of a release has no privacy cost.

    Raises:
        ImportError: if ArviZ is not installed.
        ValueError: if the key is not typed or `draws` is below 1.
    """
    az = optional("arviz", "dpjax[arviz]")
    typed_key(key=key)
    of_type(Posterior, "make one with `dpjax.posterior(released)`", posterior=posterior)
    whole(1, draws=draws)
    arrays = posterior.chains()
    if arrays is None:
        drawn = jax.vmap(posterior.sample)(jr.split(key, draws))
        arrays = {name: value[None] for name, value in by_name(drawn).items()}
    dims, coords = axes_of(posterior)
    groups = {"posterior": by_name(arrays)}
    if int(az.__version__.split(".")[0]) >= 1:
        return az.from_dict(groups, dims=dims, coords=coords)
    return az.from_dict(**groups, dims=dims, coords=coords)
