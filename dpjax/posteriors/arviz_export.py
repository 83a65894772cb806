"""Export of posteriors to ArviZ; no other module imports ArviZ."""

__all__ = ["to_arviz"]

from typing import TYPE_CHECKING, Any

import jax
import jax.random as jr
import numpy as np

from dpjax._checks import typed_key, whole
from dpjax._types import Key
from dpjax.data.bayes_net import BayesNet
from dpjax.posteriors.base import NetworkPosterior, Posterior

if TYPE_CHECKING:
    az: Any = None
else:
    try:
        import arviz as az
    except Exception:  # absent or broken: `to_arviz` raises
        az = None


def to_arviz(key: Key, posterior: Posterior, draws: int = 1000) -> Any:
    """Export draws from a posterior distribution, with named axes, to ArviZ.

    Args:
        key: typed JAX key.
        posterior: any posterior of dpjax. If a `ChainPosterior` is given, the draws of
            its Markov chains are exported, and `key` and `draws` are not used.
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
    if az is None:
        raise ImportError('this needs ArviZ: pip install "dpjax[arviz]"')
    typed_key(key=key)
    whole(1, draws=draws)
    values = posterior.chains()
    if values is None:
        drawn = jax.vmap(posterior.sample)(jr.split(key, draws))
        drawn = drawn if isinstance(drawn, dict) else {"parameter": drawn}
        values = {name: value[None] for name, value in drawn.items()}
    arrays = {name: np.asarray(value) for name, value in values.items()}
    axes = _axes(posterior.net) if isinstance(posterior, NetworkPosterior) else {}
    if int(az.__version__.split(".")[0]) >= 1:
        return az.from_dict({"posterior": arrays}, **axes)
    return az.from_dict(posterior=arrays, **axes)


def _axes(net: BayesNet) -> dict[str, dict[str, list]]:
    """ArviZ's names of axes and levels; no axis may have the name of its table."""
    axes = [f"{name}_level" for name in net.names]
    dims = {net.names[group[-1]]: [axes[i] for i in group] for group in net.families}
    levels = [list(variable.levels) for variable in net.variables]
    return {"dims": dims, "coords": dict(zip(axes, levels, strict=True))}
